// A Mamba layer (Gu and Dao, 2023) without its convolution: projections, a
// selective scan with skip and gate, a projection; and the gradients of a loss on
// it for every parameter.
//
//   build/bin/heddle-compile examples/mamba.mlir --entry=layer -o build/mamba.heddle --report
//   build/bin/heddle-run build/mamba.heddle --check=reference --repeats=20
//
// The states of all steps would take 2 x 100 x 64 x 16 numbers. No buffer of the
// report holds them: one step's state stays on the core, and the gradient makes
// states again from those at chunk boundaries.
//
//   build/bin/heddle-compile examples/mamba.mlir --entry=gradients --compile-to=fuse
//
// REQUIRES: heddle-compile, heddle-run
// RUN: heddle-compile %s -o %t.heddle
// RUN: heddle-run %t.heddle --function=layer --check=reference | FileCheck %s
// RUN: heddle-run %t.heddle --function=gradients --check=reference | FileCheck %s --check-prefix=GRADIENTS

// CHECK: result 0{{.*}}: float32[2,100,32]
// CHECK: matches the reference device
// GRADIENTS-COUNT-10: matches the reference device
// GRADIENTS-NOT: DIFFERS

func.func @layer(
    %in_w: tensor<32x64xf32> {heddle.arg_name = "in.kernel"},
    %gate_w: tensor<32x64xf32> {heddle.arg_name = "gate.kernel"},
    %dt_w: tensor<64x64xf32> {heddle.arg_name = "dt.kernel"},
    %dt_b: tensor<64xf32> {heddle.arg_name = "dt.bias"},
    %b_w: tensor<64x16xf32> {heddle.arg_name = "b.kernel"},
    %c_w: tensor<64x16xf32> {heddle.arg_name = "c.kernel"},
    %a_log: tensor<64x16xf32> {heddle.arg_name = "a_log"},
    %d: tensor<64xf32> {heddle.arg_name = "skip"},
    %out_w: tensor<64x32xf32> {heddle.arg_name = "out.kernel"},
    %x: tensor<2x100x32xf32>)
    -> tensor<2x100x32xf32> {
  // Products are of rows: (batch * time, width).
  %rows = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x100x32xf32> into tensor<200x32xf32>
  %zero = arith.constant 0.0 : f32
  %e64 = tensor.empty() : tensor<200x64xf32>
  %e16 = tensor.empty() : tensor<200x16xf32>
  %e32 = tensor.empty() : tensor<200x32xf32>
  %z64 = linalg.fill ins(%zero : f32) outs(%e64 : tensor<200x64xf32>) -> tensor<200x64xf32>
  %z16 = linalg.fill ins(%zero : f32) outs(%e16 : tensor<200x16xf32>) -> tensor<200x16xf32>
  %z32 = linalg.fill ins(%zero : f32) outs(%e32 : tensor<200x32xf32>) -> tensor<200x32xf32>
  %u2 = linalg.matmul ins(%rows, %in_w : tensor<200x32xf32>, tensor<32x64xf32>) outs(%z64 : tensor<200x64xf32>) -> tensor<200x64xf32>
  %g2 = linalg.matmul ins(%rows, %gate_w : tensor<200x32xf32>, tensor<32x64xf32>) outs(%z64 : tensor<200x64xf32>) -> tensor<200x64xf32>
  %dt2 = linalg.matmul ins(%u2, %dt_w : tensor<200x64xf32>, tensor<64x64xf32>) outs(%z64 : tensor<200x64xf32>) -> tensor<200x64xf32>
  %b2 = linalg.matmul ins(%u2, %b_w : tensor<200x64xf32>, tensor<64x16xf32>) outs(%z16 : tensor<200x16xf32>) -> tensor<200x16xf32>
  %c2 = linalg.matmul ins(%u2, %c_w : tensor<200x64xf32>, tensor<64x16xf32>) outs(%z16 : tensor<200x16xf32>) -> tensor<200x16xf32>
  %u = tensor.expand_shape %u2 [[0, 1], [2]] output_shape [2, 100, 64] : tensor<200x64xf32> into tensor<2x100x64xf32>
  %g = tensor.expand_shape %g2 [[0, 1], [2]] output_shape [2, 100, 64] : tensor<200x64xf32> into tensor<2x100x64xf32>
  %dt = tensor.expand_shape %dt2 [[0, 1], [2]] output_shape [2, 100, 64] : tensor<200x64xf32> into tensor<2x100x64xf32>
  %b = tensor.expand_shape %b2 [[0, 1], [2]] output_shape [2, 100, 16] : tensor<200x16xf32> into tensor<2x100x16xf32>
  %c = tensor.expand_shape %c2 [[0, 1], [2]] output_shape [2, 100, 16] : tensor<200x16xf32> into tensor<2x100x16xf32>
  // Decays are below 1: a = -exp(a_log).
  %rates = math.exp %a_log : tensor<64x16xf32>
  %a = arith.negf %rates : tensor<64x16xf32>
  // h_t = exp(dt_t a) h_{t-1} + dt_t b_t u_t; y_t = (c_t h_t + d u_t) silu(g_t),
  // with dt_t = softplus(dt + bias).
  %y = heddle.selective_scan %u, %dt, %a, %b, %c d(%d : tensor<64xf32>)
      z(%g : tensor<2x100x64xf32>) delta_bias(%dt_b : tensor<64xf32>) {delta_softplus}
    : tensor<2x100x64xf32>, tensor<2x100x64xf32>, tensor<64x16xf32>, tensor<2x100x16xf32>, tensor<2x100x16xf32>
    -> tensor<2x100x64xf32>
  %y2 = tensor.collapse_shape %y [[0, 1], [2]] : tensor<2x100x64xf32> into tensor<200x64xf32>
  %o2 = linalg.matmul ins(%y2, %out_w : tensor<200x64xf32>, tensor<64x32xf32>) outs(%z32 : tensor<200x32xf32>) -> tensor<200x32xf32>
  %o = tensor.expand_shape %o2 [[0, 1], [2]] output_shape [2, 100, 32] : tensor<200x32xf32> into tensor<2x100x32xf32>
  return %o : tensor<2x100x32xf32>
}

// mean((layer(x) - target)^2)
func.func private @loss(
    %in_w: tensor<32x64xf32>,
    %gate_w: tensor<32x64xf32>,
    %dt_w: tensor<64x64xf32>,
    %dt_b: tensor<64xf32>,
    %b_w: tensor<64x16xf32>,
    %c_w: tensor<64x16xf32>,
    %a_log: tensor<64x16xf32>,
    %d: tensor<64xf32>,
    %out_w: tensor<64x32xf32>,
    %x: tensor<2x100x32xf32>,
    %target: tensor<2x100x32xf32>)
    -> tensor<f32> {
  // Products are of rows: (batch * time, width).
  %rows = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x100x32xf32> into tensor<200x32xf32>
  %zero = arith.constant 0.0 : f32
  %e64 = tensor.empty() : tensor<200x64xf32>
  %e16 = tensor.empty() : tensor<200x16xf32>
  %e32 = tensor.empty() : tensor<200x32xf32>
  %z64 = linalg.fill ins(%zero : f32) outs(%e64 : tensor<200x64xf32>) -> tensor<200x64xf32>
  %z16 = linalg.fill ins(%zero : f32) outs(%e16 : tensor<200x16xf32>) -> tensor<200x16xf32>
  %z32 = linalg.fill ins(%zero : f32) outs(%e32 : tensor<200x32xf32>) -> tensor<200x32xf32>
  %u2 = linalg.matmul ins(%rows, %in_w : tensor<200x32xf32>, tensor<32x64xf32>) outs(%z64 : tensor<200x64xf32>) -> tensor<200x64xf32>
  %g2 = linalg.matmul ins(%rows, %gate_w : tensor<200x32xf32>, tensor<32x64xf32>) outs(%z64 : tensor<200x64xf32>) -> tensor<200x64xf32>
  %dt2 = linalg.matmul ins(%u2, %dt_w : tensor<200x64xf32>, tensor<64x64xf32>) outs(%z64 : tensor<200x64xf32>) -> tensor<200x64xf32>
  %b2 = linalg.matmul ins(%u2, %b_w : tensor<200x64xf32>, tensor<64x16xf32>) outs(%z16 : tensor<200x16xf32>) -> tensor<200x16xf32>
  %c2 = linalg.matmul ins(%u2, %c_w : tensor<200x64xf32>, tensor<64x16xf32>) outs(%z16 : tensor<200x16xf32>) -> tensor<200x16xf32>
  %u = tensor.expand_shape %u2 [[0, 1], [2]] output_shape [2, 100, 64] : tensor<200x64xf32> into tensor<2x100x64xf32>
  %g = tensor.expand_shape %g2 [[0, 1], [2]] output_shape [2, 100, 64] : tensor<200x64xf32> into tensor<2x100x64xf32>
  %dt = tensor.expand_shape %dt2 [[0, 1], [2]] output_shape [2, 100, 64] : tensor<200x64xf32> into tensor<2x100x64xf32>
  %b = tensor.expand_shape %b2 [[0, 1], [2]] output_shape [2, 100, 16] : tensor<200x16xf32> into tensor<2x100x16xf32>
  %c = tensor.expand_shape %c2 [[0, 1], [2]] output_shape [2, 100, 16] : tensor<200x16xf32> into tensor<2x100x16xf32>
  // Decays are below 1: a = -exp(a_log).
  %rates = math.exp %a_log : tensor<64x16xf32>
  %a = arith.negf %rates : tensor<64x16xf32>
  // h_t = exp(dt_t a) h_{t-1} + dt_t b_t u_t; y_t = (c_t h_t + d u_t) silu(g_t),
  // with dt_t = softplus(dt + bias).
  %y = heddle.selective_scan %u, %dt, %a, %b, %c d(%d : tensor<64xf32>)
      z(%g : tensor<2x100x64xf32>) delta_bias(%dt_b : tensor<64xf32>) {delta_softplus}
    : tensor<2x100x64xf32>, tensor<2x100x64xf32>, tensor<64x16xf32>, tensor<2x100x16xf32>, tensor<2x100x16xf32>
    -> tensor<2x100x64xf32>
  %y2 = tensor.collapse_shape %y [[0, 1], [2]] : tensor<2x100x64xf32> into tensor<200x64xf32>
  %o2 = linalg.matmul ins(%y2, %out_w : tensor<200x64xf32>, tensor<64x32xf32>) outs(%z32 : tensor<200x32xf32>) -> tensor<200x32xf32>
  %t2 = tensor.collapse_shape %target [[0, 1], [2]] : tensor<2x100x32xf32> into tensor<200x32xf32>
  %none = arith.constant dense<0.0> : tensor<f32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> ()>],
      iterator_types = ["reduction", "reduction"]}
      ins(%o2, %t2 : tensor<200x32xf32>, tensor<200x32xf32>) outs(%none : tensor<f32>) {
  ^bb0(%v: f32, %w: f32, %acc: f32):
    %e = arith.subf %v, %w : f32
    %s = arith.mulf %e, %e : f32
    %r = arith.addf %acc, %s : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %count = arith.constant dense<6400.0> : tensor<f32>
  %mean = arith.divf %sum, %count : tensor<f32>
  return %mean : tensor<f32>
}

func.func @gradients(
    %in_w: tensor<32x64xf32> {heddle.arg_name = "in.kernel"},
    %gate_w: tensor<32x64xf32> {heddle.arg_name = "gate.kernel"},
    %dt_w: tensor<64x64xf32> {heddle.arg_name = "dt.kernel"},
    %dt_b: tensor<64xf32> {heddle.arg_name = "dt.bias"},
    %b_w: tensor<64x16xf32> {heddle.arg_name = "b.kernel"},
    %c_w: tensor<64x16xf32> {heddle.arg_name = "c.kernel"},
    %a_log: tensor<64x16xf32> {heddle.arg_name = "a_log"},
    %d: tensor<64xf32> {heddle.arg_name = "skip"},
    %out_w: tensor<64x32xf32> {heddle.arg_name = "out.kernel"},
    %x: tensor<2x100x32xf32>,
    %target: tensor<2x100x32xf32>)
    -> (tensor<f32>, tensor<32x64xf32>, tensor<32x64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x16xf32>, tensor<64x16xf32>, tensor<64x16xf32>, tensor<64xf32>, tensor<64x32xf32>) {
  %value, %g:9 = heddle.value_and_grad @loss(%in_w, %gate_w, %dt_w, %dt_b, %b_w, %c_w, %a_log, %d, %out_w, %x, %target)
      wrt [0, 1, 2, 3, 4, 5, 6, 7, 8]
    : (tensor<32x64xf32>, tensor<32x64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x16xf32>, tensor<64x16xf32>, tensor<64x16xf32>, tensor<64xf32>, tensor<64x32xf32>, tensor<2x100x32xf32>, tensor<2x100x32xf32>)
    -> (tensor<f32>, tensor<32x64xf32>, tensor<32x64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x16xf32>, tensor<64x16xf32>, tensor<64x16xf32>, tensor<64xf32>, tensor<64x32xf32>)
  return %value, %g#0, %g#1, %g#2, %g#3, %g#4, %g#5, %g#6, %g#7, %g#8
    : tensor<f32>, tensor<32x64xf32>, tensor<32x64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x16xf32>, tensor<64x16xf32>, tensor<64x16xf32>, tensor<64xf32>, tensor<64x32xf32>
}
