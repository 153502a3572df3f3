// RUN: heddle-opt %s -heddle-differentiate -split-input-file | FileCheck %s

// The loss goes, its value and gradient stand in its place.
// CHECK-NOT: @loss
// CHECK-LABEL: func.func @chain_rule(
// CHECK-SAME: %[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<f32>)
// CHECK: %[[T:.*]] = math.tanh %[[X]]
// CHECK: %[[V:.*]] = arith.mulf %[[T]], %[[Y]]
// CHECK: %[[ONE:.*]] = arith.constant dense<1.0{{.*}}> : tensor<f32>
// CHECK: %[[DT:.*]] = arith.mulf %[[ONE]], %[[Y]]
// CHECK: %[[TT:.*]] = arith.mulf %[[T]], %[[T]]
// CHECK: %[[S:.*]] = arith.subf %{{.*}}, %[[TT]]
// CHECK: %[[DX:.*]] = arith.mulf %[[DT]], %[[S]]
// CHECK: return %[[V]], %[[DX]]
func.func private @loss(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %a = math.tanh %x : tensor<f32>
  %b = arith.mulf %a, %y : tensor<f32>
  return %b : tensor<f32>
}
func.func @chain_rule(%x: tensor<f32>, %y: tensor<f32>)
    -> (tensor<f32>, tensor<f32>) {
  %v, %g = heddle.value_and_grad @loss(%x, %y) wrt [0]
    : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %v, %g : tensor<f32>, tensor<f32>
}

// -----

// A public loss stays. What the value does not depend on has the gradient zero.
// CHECK-LABEL: func.func @constant_loss
func.func @constant_loss(%x: tensor<2xf32>) -> tensor<f32> {
  %c = arith.constant dense<3.0> : tensor<f32>
  return %c : tensor<f32>
}
// CHECK-LABEL: func.func @no_path_gives_zeros
// CHECK: %[[Z:.*]] = arith.constant dense<0.0{{.*}}> : tensor<2xf32>
// CHECK: return %[[Z]]
func.func @no_path_gives_zeros(%x: tensor<2xf32>) -> tensor<2xf32> {
  %v, %g = heddle.value_and_grad @constant_loss(%x) wrt [0]
    : (tensor<2xf32>) -> (tensor<f32>, tensor<2xf32>)
  return %g : tensor<2xf32>
}

// -----

// One argument twice: the gradients are those of the loss's own arguments.
// CHECK-LABEL: func.func @same_value_twice(
// CHECK-SAME: %[[X:.*]]: tensor<f32>)
// CHECK: %[[ONE:.*]] = arith.constant
// CHECK: %[[N:.*]] = arith.negf %[[ONE]]
// CHECK: return %[[ONE]], %[[N]]
func.func private @difference(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %d = arith.subf %x, %y : tensor<f32>
  return %d : tensor<f32>
}
func.func @same_value_twice(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %v, %g0, %g1 = heddle.value_and_grad @difference(%x, %x) wrt [0, 1]
    : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  return %g0, %g1 : tensor<f32>, tensor<f32>
}

// -----

// Contributions of bf16 values are summed in f32 and rounded once; the gradient
// of a cast parameter is never rounded.
// CHECK-LABEL: func.func @cast_parameters_get_f32_gradients(
// CHECK: %[[L:.*]] = arith.extf %[[L16:.*]] : tensor<bf16> to tensor<f32>
// CHECK: %[[R:.*]] = arith.extf %[[R16:.*]] : tensor<bf16> to tensor<f32>
// CHECK: %[[S:.*]] = arith.addf %[[L]], %[[R]] : tensor<f32>
// CHECK-NOT: arith.extf
// CHECK: return %[[S]] : tensor<f32>
func.func private @squared(%x: tensor<f32>) -> tensor<bf16> {
  %h = arith.truncf %x : tensor<f32> to tensor<bf16>
  %y = arith.mulf %h, %h : tensor<bf16>
  return %y : tensor<bf16>
}
func.func @cast_parameters_get_f32_gradients(%x: tensor<f32>) -> tensor<f32> {
  %v, %g = heddle.value_and_grad @squared(%x) wrt [0]
    : (tensor<f32>) -> (tensor<bf16>, tensor<f32>)
  return %g : tensor<f32>
}

// -----

// Checkpoints are differentiated through.
// CHECK-LABEL: func.func @through_a_checkpoint
// CHECK-NOT: heddle.checkpoint
// CHECK: arith.mulf
func.func private @remat(%x: tensor<f32>) -> tensor<f32> {
  %y = heddle.checkpoint policy<none> (%a = %x) : (tensor<f32>) -> tensor<f32> {
    %e = math.exp %a : tensor<f32>
    heddle.yield %e : tensor<f32>
  }
  return %y : tensor<f32>
}
func.func @through_a_checkpoint(%x: tensor<f32>) -> tensor<f32> {
  %v, %g = heddle.value_and_grad @remat(%x) wrt [0]
    : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %g : tensor<f32>
}

// -----

// A product's gradients are products, a bias's is a sum over rows. Operands in
// 16 bits are read as they are; the gradient of the cast weight is not rounded.
// CHECK-DAG: #[[$MK:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[$NK:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[$KM:.*]] = affine_map<(d0, d1, d2) -> (d2, d0)>
// CHECK-DAG: #[[$KN:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[$MN:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func @linear_layer(
// CHECK-SAME: %[[X:.*]]: tensor<8x4xbf16>, %[[W:.*]]: tensor<4x2xf32>, %[[B:.*]]: tensor<2xf32>)
// CHECK: %[[W16:.*]] = arith.truncf %[[W]]
// CHECK: %[[DY:.*]] = arith.truncf %{{.*}} : tensor<8x2xf32> to tensor<8x2xbf16>
// CHECK: %[[DB:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[DY]] : tensor<8x2xbf16>)
// CHECK: %[[DX:.*]] = linalg.generic {indexing_maps = [#[[$MK]], #[[$NK]], #[[$MN]]], {{.*}} ins(%[[DY]], %[[W16]] : tensor<8x2xbf16>, tensor<4x2xbf16>) outs(%{{.*}} : tensor<8x4xf32>)
// CHECK-NOT: arith.truncf
// CHECK: %[[DX16:.*]] = arith.truncf %[[DX]]
// CHECK: %[[DW:.*]] = linalg.generic {indexing_maps = [#[[$KM]], #[[$KN]], #[[$MN]]], {{.*}} ins(%[[X]], %[[DY]] : tensor<8x4xbf16>, tensor<8x2xbf16>) outs(%{{.*}} : tensor<4x2xf32>)
// CHECK-NOT: arith.truncf
// CHECK: return %[[DX16]], %[[DW]], %[[DB]]
func.func private @layer(%x: tensor<8x4xbf16>, %w: tensor<4x2xf32>, %b: tensor<2xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<8x2xf32>
  %none = arith.constant dense<0.0> : tensor<f32>
  %e = tensor.empty() : tensor<8x2xbf16>
  %w16 = arith.truncf %w : tensor<4x2xf32> to tensor<4x2xbf16>
  %p = linalg.matmul ins(%x, %w16 : tensor<8x4xbf16>, tensor<4x2xbf16>) outs(%zero : tensor<8x2xf32>) -> tensor<8x2xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%p, %b : tensor<8x2xf32>, tensor<2xf32>) outs(%e : tensor<8x2xbf16>) {
  ^bb0(%v: f32, %c: f32, %o: bf16):
    %0 = arith.addf %v, %c : f32
    %1 = arith.truncf %0 : f32 to bf16
    linalg.yield %1 : bf16
  } -> tensor<8x2xbf16>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%y : tensor<8x2xbf16>) outs(%none : tensor<f32>) {
  ^bb0(%v: bf16, %acc: f32):
    %0 = arith.extf %v : bf16 to f32
    %1 = arith.mulf %0, %0 : f32
    %2 = arith.addf %acc, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<f32>
  return %s : tensor<f32>
}
func.func @linear_layer(%x: tensor<8x4xbf16>, %w: tensor<4x2xf32>, %b: tensor<2xf32>)
    -> (tensor<8x4xbf16>, tensor<4x2xf32>, tensor<2xf32>) {
  %v, %dx, %dw, %db = heddle.value_and_grad @layer(%x, %w, %b) wrt [0, 1, 2]
    : (tensor<8x4xbf16>, tensor<4x2xf32>, tensor<2xf32>) -> (tensor<f32>, tensor<8x4xbf16>, tensor<4x2xf32>, tensor<2xf32>)
  return %dx, %dw, %db : tensor<8x4xbf16>, tensor<4x2xf32>, tensor<2xf32>
}

// -----

// The gradient of what a strided convolution reads gathers from its cotangent,
// spread by the stride and padded by the reach of the kernel. No map of a result
// adds up two loops.
// CHECK-DAG: #[[$GATHER:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 - d4 + 3, d3)>
// CHECK-DAG: #[[$OUT:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
// CHECK-LABEL: func.func @strided_convolution
// CHECK: %[[SPREAD:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[0, 3, 0] [1, 3, 3] [1, 2, 1] : tensor<1x3x3xf32> into tensor<1x12x3xf32>
// CHECK: linalg.generic {indexing_maps = [#[[$GATHER]], #{{.*}}, #[[$OUT]]], {{.*}} ins(%[[SPREAD]], %{{.*}} : tensor<1x12x3xf32>, tensor<4x2x3xf32>) outs(%{{.*}} : tensor<1x9x2xf32>)
func.func private @conv(%x: tensor<1x9x2xf32>, %w: tensor<4x2x3xf32>) -> tensor<f32> {
  %z = arith.constant dense<0.0> : tensor<1x3x3xf32>
  %none = arith.constant dense<0.0> : tensor<f32>
  %y = linalg.conv_1d_nwc_wcf {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>}
    ins(%x, %w : tensor<1x9x2xf32>, tensor<4x2x3xf32>) outs(%z : tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
  %t = math.exp %y : tensor<1x3x3xf32>
  %s = linalg.reduce { arith.addf } ins(%t : tensor<1x3x3xf32>) outs(%none : tensor<f32>) dimensions = [0, 1, 2]
  return %s : tensor<f32>
}
func.func @strided_convolution(%x: tensor<1x9x2xf32>, %w: tensor<4x2x3xf32>) -> tensor<1x9x2xf32> {
  %v, %g = heddle.value_and_grad @conv(%x, %w) wrt [0]
    : (tensor<1x9x2xf32>, tensor<4x2x3xf32>) -> (tensor<f32>, tensor<1x9x2xf32>)
  return %g : tensor<1x9x2xf32>
}

// -----

// What no rule reads is not kept: neither the loss, whose value nobody asks for,
// nor the product, whose gradient needs its operands only.
// CHECK-LABEL: func.func @values_that_nobody_reads(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %{{.*}}: tensor<4xf32>)
// CHECK-NEXT: %[[ONES:.*]] = arith.constant dense<1.0{{.*}}> : tensor<4xf32>
// CHECK-NEXT: %[[G:.*]] = arith.mulf %[[ONES]], %[[X]]
// CHECK-NEXT: return %[[G]]
func.func private @dot(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<f32> {
  %none = arith.constant dense<0.0> : tensor<f32>
  %p = arith.mulf %x, %w : tensor<4xf32>
  %s = linalg.reduce { arith.addf } ins(%p : tensor<4xf32>) outs(%none : tensor<f32>) dimensions = [0]
  return %s : tensor<f32>
}
func.func @values_that_nobody_reads(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %v, %g = heddle.value_and_grad @dot(%x, %w) wrt [1]
    : (tensor<4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
  return %g : tensor<4xf32>
}

// -----

// A constant cotangent is padded where windows gather from it.
// CHECK-LABEL: func.func @constant_cotangent_of_windows
// CHECK: %[[ONES:.*]] = arith.constant dense<1.0{{.*}}> : tensor<1x3x2xf32>
// CHECK: %[[SPREAD:.*]] = tensor.insert_slice %[[ONES]] into %{{.*}}[0, 2, 0] [1, 3, 2] [1, 2, 1] : tensor<1x3x2xf32> into tensor<1x9x2xf32>
// CHECK: %[[G:.*]] = linalg.generic {{.*}} ins({{.*}}%[[SPREAD]] : tensor<3xf32>, tensor<1x9x2xf32>)
// CHECK: return %[[G]]
func.func private @pooled(%x: tensor<1x7x2xf32>) -> tensor<f32> {
  %z = arith.constant dense<0.0> : tensor<1x3x2xf32>
  %none = arith.constant dense<0.0> : tensor<f32>
  %k = tensor.empty() : tensor<3xf32>
  %y = linalg.pooling_nwc_sum {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>}
    ins(%x, %k : tensor<1x7x2xf32>, tensor<3xf32>) outs(%z : tensor<1x3x2xf32>) -> tensor<1x3x2xf32>
  %s = linalg.reduce { arith.addf } ins(%y : tensor<1x3x2xf32>) outs(%none : tensor<f32>) dimensions = [0, 1, 2]
  return %s : tensor<f32>
}
func.func @constant_cotangent_of_windows(%x: tensor<1x7x2xf32>) -> tensor<1x7x2xf32> {
  %v, %g = heddle.value_and_grad @pooled(%x) wrt [0]
    : (tensor<1x7x2xf32>) -> (tensor<f32>, tensor<1x7x2xf32>)
  return %g : tensor<1x7x2xf32>
}

// -----

// The gradient of a layer loop is one the other way round: it carries the
// cotangent, reads what the forward loop has stacked, and yields a gradient per
// layer of the weights.
// CHECK-LABEL: func.func @layer_loop(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[WS:.*]]: tensor<3x4xf32>)
// CHECK: %[[F:.*]]:{{[0-9]+}} = heddle.layer_scan carried(%{{.*}} = %[[X]]) stacked(%{{.*}} = %[[WS]])
// CHECK: math.tanh
// CHECK: heddle.layer_scan carried(%{{.*}}) stacked({{.*}}%[[F]]#{{.*}}) reverse
// CHECK-NOT: math.tanh
// CHECK: heddle.yield %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>
// CHECK: return %{{.*}} : tensor<3x4xf32>
func.func private @deep(%x: tensor<4xf32>, %ws: tensor<3x4xf32>) -> tensor<f32> {
  %none = arith.constant dense<0.0> : tensor<f32>
  %y = heddle.layer_scan carried(%h = %x) stacked(%w = %ws)
      : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<4xf32> {
    %0 = arith.mulf %h, %w : tensor<4xf32>
    %1 = math.tanh %0 : tensor<4xf32>
    heddle.yield %1 : tensor<4xf32>
  }
  %s = linalg.reduce { arith.addf } ins(%y : tensor<4xf32>) outs(%none : tensor<f32>) dimensions = [0]
  return %s : tensor<f32>
}
func.func @layer_loop(%x: tensor<4xf32>, %ws: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %v, %g = heddle.value_and_grad @deep(%x, %ws) wrt [1]
    : (tensor<4xf32>, tensor<3x4xf32>) -> (tensor<f32>, tensor<3x4xf32>)
  return %g : tensor<3x4xf32>
}

// The gradient of a parameter that is cast is the f32 product, whichever form the
// cast has, and behind views.
// CHECK-LABEL: func.func @gradients_of_cast_parameters_are_not_rounded
// CHECK-NOT: arith.truncf
// CHECK: return
func.func private @product_of_cast(%w: tensor<8x6xf32>, %x: tensor<4x48xbf16>) -> tensor<f32> {
  %e = tensor.empty() : tensor<8x6xbf16>
  %h = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<8x6xf32>) outs(%e : tensor<8x6xbf16>) {
  ^bb0(%p: f32, %o: bf16):
    %m = arith.truncf %p : f32 to bf16
    linalg.yield %m : bf16
  } -> tensor<8x6xbf16>
  %v = tensor.collapse_shape %h [[0, 1]] : tensor<8x6xbf16> into tensor<48xbf16>
  %z = arith.constant dense<0.0> : tensor<4xf32>
  %y = linalg.matvec ins(%x, %v : tensor<4x48xbf16>, tensor<48xbf16>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
  %zz = arith.constant dense<0.0> : tensor<f32>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<4xf32>) outs(%zz : tensor<f32>) dimensions = [0]
  return %l : tensor<f32>
}
func.func @gradients_of_cast_parameters_are_not_rounded(%w: tensor<8x6xf32>, %x: tensor<4x48xbf16>) -> tensor<8x6xf32> {
  %v, %g = heddle.value_and_grad @product_of_cast(%w, %x) wrt [0] : (tensor<8x6xf32>, tensor<4x48xbf16>) -> (tensor<f32>, tensor<8x6xf32>)
  return %g : tensor<8x6xf32>
}
