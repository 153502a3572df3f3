// RUN: heddle-opt %s -split-input-file -heddle-fuse-kernels | FileCheck %s

// A bias and an activation behind a product join its kernel; two equal layers
// share one.

// CHECK-LABEL: func.func @equal_layers_share_a_kernel
// CHECK: heddle.launch @[[K:matmul_8_8_f32]](
// CHECK: heddle.launch @[[K]](%cast,
// CHECK-NOT: heddle.launch
// CHECK: func.func private @[[K]]
// CHECK-SAME: heddle.family = "matmul"
// CHECK: linalg.generic
// CHECK: math.tanh
// CHECK-NOT: func.func
#mn = affine_map<(m, n) -> (m, n)>
#n = affine_map<(m, n) -> (n)>
func.func @equal_layers_share_a_kernel(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>,
    %w2: tensor<8x8xf32>, %b2: tensor<8xf32>) -> tensor<8x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.generic {indexing_maps = [#mn, #n, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%0, %b : tensor<8x8xf32>, tensor<8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    %t = math.tanh %s : f32
    linalg.yield %t : f32
  } -> tensor<8x8xf32>
  %c = tensor.cast %1 : tensor<8x8xf32> to tensor<8x8xf32>
  %2 = linalg.matmul ins(%c, %w2 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = linalg.generic {indexing_maps = [#mn, #n, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%2, %b2 : tensor<8x8xf32>, tensor<8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    %t = math.tanh %s : f32
    linalg.yield %t : f32
  } -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// -----

// A hidden value that one product alone reads never reaches memory.

// CHECK-LABEL: func.func @hidden_value_stays_in_the_kernel
// CHECK: heddle.launch @mlp_4_6_f32
// CHECK-NOT: heddle.launch
// CHECK: func.func private @mlp_4_6_f32
// CHECK-SAME: heddle.family = "mlp"
func.func @hidden_value_stays_in_the_kernel(%x: tensor<4x6xf32>, %w: tensor<6x20xf32>, %v: tensor<20x6xf32>) -> tensor<4x6xf32> {
  %z = arith.constant 0.0 : f32
  %eh = tensor.empty() : tensor<4x20xf32>
  %fh = linalg.fill ins(%z : f32) outs(%eh : tensor<4x20xf32>) -> tensor<4x20xf32>
  %h = linalg.matmul ins(%x, %w : tensor<4x6xf32>, tensor<6x20xf32>) outs(%fh : tensor<4x20xf32>) -> tensor<4x20xf32>
  %e = tensor.empty() : tensor<4x6xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.matmul ins(%h, %v : tensor<4x20xf32>, tensor<20x6xf32>) outs(%f : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

// It does where something else reads it as well: two kernels.

// CHECK-LABEL: func.func @hidden_value_with_two_users_is_kept
// CHECK: %[[H:.*]] = heddle.launch @matmul_4_20_f32
// CHECK: %[[Y:.*]] = heddle.launch @matmul_4_6_f32(%[[H]]
// CHECK: return %[[Y]], %[[H]]
func.func @hidden_value_with_two_users_is_kept(%x: tensor<4x6xf32>, %w: tensor<6x20xf32>, %v: tensor<20x6xf32>)
    -> (tensor<4x6xf32>, tensor<4x20xf32>) {
  %z = arith.constant 0.0 : f32
  %eh = tensor.empty() : tensor<4x20xf32>
  %fh = linalg.fill ins(%z : f32) outs(%eh : tensor<4x20xf32>) -> tensor<4x20xf32>
  %h = linalg.matmul ins(%x, %w : tensor<4x6xf32>, tensor<6x20xf32>) outs(%fh : tensor<4x20xf32>) -> tensor<4x20xf32>
  %e = tensor.empty() : tensor<4x6xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.matmul ins(%h, %v : tensor<4x20xf32>, tensor<20x6xf32>) outs(%f : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y, %h : tensor<4x6xf32>, tensor<4x20xf32>
}

// -----

// The output of attention may take the place of its query, which has its shape.

// CHECK-LABEL: func.func @attention_is_one_kernel
// CHECK: heddle.launch @attention_1_4_1_8_f32
// CHECK: func.func private @attention_1_4_1_8_f32
// CHECK-SAME: heddle.in_place = array<i64: 0>
func.func @attention_is_one_kernel(%q: tensor<1x4x1x8xf32>, %k: tensor<1x4x1x8xf32>, %v: tensor<1x4x1x8xf32>) -> tensor<1x4x1x8xf32> {
  %o = heddle.attention %q, %k, %v : tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32> -> tensor<1x4x1x8xf32>
  return %o : tensor<1x4x1x8xf32>
}

// -----

// An op without a tile builder runs alone, as loops.

// CHECK-LABEL: func.func @pad_runs_as_loops
// CHECK: heddle.launch @loops_6_f32
// CHECK: func.func private @loops_6_f32
// CHECK-SAME: heddle.family = "loops"
func.func @pad_runs_as_loops(%x: tensor<4xf32>) -> tensor<6xf32> {
  %z = arith.constant 0.0 : f32
  %p = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %z : f32
  } : tensor<4xf32> to tensor<6xf32>
  return %p : tensor<6xf32>
}

// -----

// A parameter and its moment are updated by one kernel, which may write each
// over its old value.

// CHECK-LABEL: func.func @parameter_and_moment_in_one_kernel
// CHECK: %[[R:.*]]:2 = heddle.launch @[[UPDATE:[a-z0-9_]+]](
// CHECK-NOT: heddle.launch
// CHECK: return %[[R]]#0, %[[R]]#1
// CHECK: func.func private @[[UPDATE]]
// CHECK-SAME: heddle.in_place = [array<i64: {{.*}}>, array<i64: {{.*}}>]
func.func @parameter_and_moment_in_one_kernel(%p: tensor<6x4xf32>, %m: tensor<6x4xf32>, %g: tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>) {
  %rate = arith.constant dense<0.1> : tensor<6x4xf32>
  %e = tensor.empty() : tensor<6x4xf32>
  %0 = linalg.mul ins(%g, %rate : tensor<6x4xf32>, tensor<6x4xf32>) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  %m1 = linalg.add ins(%m, %0 : tensor<6x4xf32>, tensor<6x4xf32>) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  %1 = linalg.mul ins(%m1, %rate : tensor<6x4xf32>, tensor<6x4xf32>) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  %p1 = linalg.sub ins(%p, %1 : tensor<6x4xf32>, tensor<6x4xf32>) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  return %p1, %m1 : tensor<6x4xf32>, tensor<6x4xf32>
}

// -----

// Results that share nothing stay apart, and so do results of two shapes.

// CHECK-LABEL: func.func @results_without_a_common_input_stay_apart
// CHECK-COUNT-2: heddle.launch
// CHECK: return
func.func @results_without_a_common_input_stay_apart(%a: tensor<6x4xf32>, %b: tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>) {
  %e = tensor.empty() : tensor<6x4xf32>
  %0 = linalg.exp ins(%a : tensor<6x4xf32>) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  %1 = linalg.exp ins(%b : tensor<6x4xf32>) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  return %0, %1 : tensor<6x4xf32>, tensor<6x4xf32>
}

// -----

// A result that another kernel reads in between is made by itself.

// CHECK-LABEL: func.func @result_read_by_a_product_stays_apart
// CHECK-COUNT-3: heddle.launch
// CHECK: return
func.func @result_read_by_a_product_stays_apart(%a: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = linalg.exp ins(%a : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = linalg.matmul ins(%0, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = linalg.tanh ins(%a : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// The gradient of a norm's scale sums the unit rows over time. A kernel that sums
// columns cannot make statistics of rows: these are kept, not the unit rows.

// CHECK-LABEL: func.func @statistics_are_kept_where_columns_are_summed
// CHECK: %[[MEAN:.*]] = heddle.launch @{{.*}}(%arg0) : (tensor<96x64xf32>) -> tensor<96xf32>
// CHECK-NEXT: heddle.launch @{{.*}}(%arg0, %[[MEAN]], %arg1) : {{.*}} -> tensor<64xf32>
// CHECK-NEXT: return
#tk = affine_map<(t, k) -> (t, k)>
#t = affine_map<(t, k) -> (t)>
#k = affine_map<(t, k) -> (k)>
func.func @statistics_are_kept_where_columns_are_summed(%x: tensor<96x64xf32>, %dy: tensor<96x64xf32>) -> tensor<64xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<96x64xf32>
  %er = tensor.empty() : tensor<96xf32>
  %ec = tensor.empty() : tensor<64xf32>
  %fr = linalg.fill ins(%z : f32) outs(%er : tensor<96xf32>) -> tensor<96xf32>
  %fc = linalg.fill ins(%z : f32) outs(%ec : tensor<64xf32>) -> tensor<64xf32>
  %m = linalg.generic {indexing_maps = [#tk, #t], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<96x64xf32>) outs(%fr : tensor<96xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  } -> tensor<96xf32>
  %c = linalg.generic {indexing_maps = [#tk, #t, #tk], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<96x64xf32>, tensor<96xf32>) outs(%e : tensor<96x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.subf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<96x64xf32>
  %g = linalg.generic {indexing_maps = [#tk, #tk, #k], iterator_types = ["reduction", "parallel"]} ins(%c, %dy : tensor<96x64xf32>, tensor<96x64xf32>) outs(%fc : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  return %g : tensor<64xf32>
}

// -----

// Two updates read one sum: it is made once, and both are made together.

// CHECK-LABEL: func.func @a_sum_that_updates_share_is_made_once
// CHECK: %[[G:.*]] = heddle.launch @{{rows.*}}(%arg0)
// CHECK-NEXT: heddle.launch @{{elementwise.*}}(%arg1, %[[G]], %arg2)
// CHECK-NEXT: return
#tk = affine_map<(t, k) -> (t, k)>
#k = affine_map<(t, k) -> (k)>
#id = affine_map<(k) -> (k)>
func.func @a_sum_that_updates_share_is_made_once(%dy: tensor<96x64xf32>, %mu: tensor<64xf32>, %nu: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %g = linalg.generic {indexing_maps = [#tk, #k], iterator_types = ["reduction", "parallel"]} ins(%dy : tensor<96x64xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %m = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%mu, %g : tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %n = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%nu, %g : tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.mulf %b, %b : f32
    %0 = arith.addf %a, %q : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  return %m, %n : tensor<64xf32>, tensor<64xf32>
}
