// RUN: heddle-opt %s -heddle-decompose-attention -canonicalize -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-DAG: #[[$QUERY:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1, d2, d5)>
// CHECK-DAG: #[[$KEY:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5)>
// CHECK-DAG: #[[$SCORE:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
// CHECK-LABEL: func @products_accumulate_in_f32_and_p_is_rounded
// CHECK-SAME: (%[[Q:[^ ]*]]: tensor<2x8x4x16xbf16>, %[[K:[^ ]*]]: tensor<2x12x2x16xbf16>, %[[V:[^ ]*]]: tensor<2x12x2x6xbf16>)
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[SCALE:.*]] = arith.constant 2.500000e-01 : f32
// CHECK-DAG: %[[NEG_INF:.*]] = arith.constant 0xFF800000 : f32
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// Query heads split into (key head, head of the group).
// CHECK: %[[QX:.*]] = tensor.expand_shape %[[Q]] {{\[\[}}0], [1], [2, 3], [4]] output_shape [2, 8, 2, 2, 16]
// CHECK: linalg.generic {indexing_maps = [#[[$QUERY]], #[[$KEY]], #[[$SCORE]]]
// CHECK-SAME: ins(%[[QX]], %[[K]] :
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: arith.mulf %{{.*}}, %[[SCALE]] : f32
// CHECK: arith.maximumf
// The guard of rows without a visible key.
// CHECK: %[[NONE:.*]] = arith.cmpf oeq, %{{.*}}, %[[NEG_INF]] : f32
// CHECK: arith.select %[[NONE]], %[[ZERO]],
// CHECK: math.exp
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// Nothing is masked, so that no value is selected away.
// CHECK-NOT: arith.select
// CHECK: arith.cmpf oeq, %{{.*}}, %[[ZERO]] : f32
// CHECK: arith.select %{{.*}}, %[[ONE]],
// CHECK: arith.divf
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0], [1], [2, 3], [4]] : tensor<2x8x2x2x6xbf16> into tensor<2x8x4x6xbf16>
// CHECK-NOT: math.log
func.func @products_accumulate_in_f32_and_p_is_rounded(%q: tensor<2x8x4x16xbf16>,
    %k: tensor<2x12x2x16xbf16>, %v: tensor<2x12x2x6xbf16>) -> tensor<2x8x4x6xbf16> {
  %0 = heddle.attention %q, %k, %v
    : tensor<2x8x4x16xbf16>, tensor<2x12x2x16xbf16>, tensor<2x12x2x6xbf16> -> tensor<2x8x4x6xbf16>
  return %0 : tensor<2x8x4x6xbf16>
}

// -----

// CHECK-LABEL: func @masked_values_are_selected_away_before_the_product
// CHECK: %[[LEN:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: %[[SEES:.*]] = arith.cmpi slt, %{{.*}}, %[[LEN]] : index
// CHECK: arith.select %[[SEES]], %{{.*}}, %[[NEG_INF:.*]] : f32
// CHECK: math.exp
// CHECK: %[[GONE:.*]] = arith.cmpf oeq, %{{.*}}, %[[NEG_INF]] : f32
// CHECK-NEXT: %[[KEPT:.*]] = arith.select %[[GONE]], %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: arith.mulf %{{.*}}, %[[KEPT]] : f32
// lse = m + ln z
// CHECK: %[[LN:.*]] = math.log
// CHECK-NEXT: arith.addf %{{.*}}, %[[LN]] : f32
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0], [1, 2], [3]] : tensor<2x4x1x8xf32> into tensor<2x4x8xf32>
func.func @masked_values_are_selected_away_before_the_product(%q: tensor<2x4x8x16xf32>,
    %len: tensor<2xi32>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8xf32>) {
  %0:2 = heddle.attention %q, %q, %q key_lengths(%len : tensor<2xi32>) layout = bhsd
    : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>
    -> tensor<2x4x8x16xf32>, tensor<2x4x8xf32>
  return %0#0, %0#1 : tensor<2x4x8x16xf32>, tensor<2x4x8xf32>
}

// -----

// CHECK-LABEL: func @every_mask_term_becomes_integer_arithmetic
// CHECK-DAG: %[[C4:.*]] = arith.constant 4 : index
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[C5:.*]] = arith.constant 5 : index
// CHECK-DAG: %[[CM2:.*]] = arith.constant -2 : index
// CHECK: %[[I:.*]] = linalg.index 3 : index
// CHECK: %[[J:.*]] = linalg.index 4 : index
// causal_lower_right: i + (12 - 8) >= j
// CHECK: %[[SHIFT:.*]] = arith.addi %[[I]], %[[C4]] : index
// CHECK: %[[CAUSAL:.*]] = arith.cmpi sge, %[[SHIFT]], %[[J]] : index
// window<2, 0>
// CHECK: %[[LEFT:.*]] = arith.addi %[[I]], %[[CM2]] : index
// CHECK: arith.cmpi sge, %[[J]], %[[LEFT]] : index
// CHECK: arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK: arith.andi
// CHECK: %[[BOTH:.*]] = arith.andi %[[CAUSAL]],
// prefix<3>
// CHECK: %[[PREFIX:.*]] = arith.cmpi slt, %[[J]], %[[C3]] : index
// CHECK: %[[U:.*]] = arith.ori %[[BOTH]], %[[PREFIX]] : i1
// block_diagonal<5>
// CHECK: arith.divui %[[I]], %[[C5]] : index
// CHECK: arith.divui %[[J]], %[[C5]] : index
// CHECK: %[[BLOCK:.*]] = arith.cmpi eq
// CHECK: %[[ALL:.*]] = arith.ori %[[U]], %[[BLOCK]] : i1
// CHECK: arith.select %[[ALL]],
func.func @every_mask_term_becomes_integer_arithmetic(%q: tensor<1x8x2x4xf32>,
    %k: tensor<1x12x2x4xf32>) -> tensor<1x8x2x4xf32> {
  %0 = heddle.attention %q, %k, %k {mask = #heddle.mask<union<
      intersection<causal_lower_right, window<2, 0>>, prefix<3>, block_diagonal<5>>>}
    : tensor<1x8x2x4xf32>, tensor<1x12x2x4xf32>, tensor<1x12x2x4xf32> -> tensor<1x8x2x4xf32>
  return %0 : tensor<1x8x2x4xf32>
}

// -----

// CHECK-LABEL: func @sizes_of_one_broadcast
// CHECK-DAG: %[[LOWEST:.*]] = arith.constant -6.550400e+04 : f16
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<2x4x1x8x8xf32>, tensor<1x1x1x8x8xf16>, tensor<2x4x1x1x8xi1>)
// A bias above the lowest finite f16 does not mask.
// CHECK: %[[ABOVE:.*]] = arith.cmpf ugt, %{{.*}}, %[[LOWEST]] : f16
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: arith.andi %[[ABOVE]], %{{.*}} : i1
func.func @sizes_of_one_broadcast(%q: tensor<2x8x4x16xf32>, %bias: tensor<1x1x8x8xf16>,
    %mask: tensor<2x4x1x8xi1>) -> tensor<2x8x4x16xf32> {
  %0 = heddle.attention %q, %q, %q bias(%bias : tensor<1x1x8x8xf16>) mask_tensor(%mask : tensor<2x4x1x8xi1>)
    : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32> -> tensor<2x8x4x16xf32>
  return %0 : tensor<2x8x4x16xf32>
}

// -----

// The region sees the query head, not the pair it was split into, and may read
// values from outside.
// CHECK-LABEL: func @score_region_sees_query_heads
// CHECK-SAME: %{{[^ ]*}}: tensor<2x8x4x16xf32>, %{{[^ ]*}}: tensor<2x8x2x16xf32>, %[[SLOPES:[^ ]*]]: tensor<4xf32>
// CHECK: %[[G:.*]] = linalg.index 1 : index
// CHECK: %[[FIRST:.*]] = arith.muli %[[G]], %{{.*}} : index
// CHECK: %[[R:.*]] = linalg.index 2 : index
// CHECK: %[[H:.*]] = arith.addi %[[FIRST]], %[[R]] : index
// CHECK: tensor.extract %[[SLOPES]][%[[H]]] : tensor<4xf32>
func.func @score_region_sees_query_heads(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x2x16xf32>,
    %slopes: tensor<4xf32>) -> tensor<2x8x4x16xf32> {
  %0 = heddle.attention %q, %k, %k score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %slope = tensor.extract %slopes[%h] : tensor<4xf32>
    %d = arith.subi %j, %i : index
    %di = arith.index_cast %d : index to i32
    %df = arith.sitofp %di : i32 to f32
    %a = arith.mulf %slope, %df : f32
    %r = arith.addf %s, %a : f32
    heddle.yield %r : f32
  } : tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32> -> tensor<2x8x4x16xf32>
  return %0 : tensor<2x8x4x16xf32>
}

// -----

// CHECK-LABEL: func @without_attention_nothing_changes
// CHECK-NEXT: return
func.func @without_attention_nothing_changes(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

func.func @shapes_are_static(%q: tensor<?x8x4x16xf32>) -> tensor<?x8x4x16xf32> {
  // expected-error @+1 {{expected static shapes to decompose, got 'tensor<?x8x4x16xf32>'; specialise the function first}}
  %0 = heddle.attention %q, %q, %q
    : tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32> -> tensor<?x8x4x16xf32>
  return %0 : tensor<?x8x4x16xf32>
}
