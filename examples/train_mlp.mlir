// An MLP that learns t = sin(2 x) y from 256 points in 200 steps of gradient
// descent. The steps are a layer scan over the learning rates: one call runs them
// all, and the weights stay in place from one to the next.
//
//   build/bin/heddle-run examples/train_mlp.mlir --function=train --check=reference
//
// Result 0 is the loss of every 25th step, which falls; then come the trained
// weights. `gradients` takes the gradients of a loss once, which is all that a
// training loop of one's own needs:
//
//   build/bin/heddle-run examples/train_mlp.mlir --function=gradients --check=reference
//
// REQUIRES: heddle-run
// RUN: heddle-run %s --function=train --check=reference > %t.txt
// RUN: FileCheck %s < %t.txt
// RUN: heddle-run %s --function=gradients --check=reference | FileCheck %s --check-prefix=GRADIENTS
// RUN: %python -c "import re, sys; v = [float(n) for n in re.search(r'\[(.*)\]', open(sys.argv[1]).readlines()[1]).group(1).split()]; assert len(v) == 8 and v[-1] < 0.1 * v[0] and v == sorted(v, reverse=True), v" %t.txt

// CHECK: result 0{{.*}}: float32[8]
// CHECK-NEXT: all finite
// CHECK-NEXT: matches the reference device

// GRADIENTS-COUNT-4: matches the reference device

#row = affine_map<(r, c) -> (r, c)>
#column = affine_map<(r, c) -> (c)>

// The loss is private: it becomes part of what differentiates it.
func.func private @loss(%w1: tensor<2x64xf32>, %b1: tensor<64xf32>, %w2: tensor<64x1xf32>, %points: tensor<256x2xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty_hidden = tensor.empty() : tensor<256x64xf32>
  %zeros_hidden = linalg.fill ins(%zero : f32) outs(%empty_hidden : tensor<256x64xf32>) -> tensor<256x64xf32>
  %product = linalg.matmul ins(%points, %w1 : tensor<256x2xf32>, tensor<2x64xf32>) outs(%zeros_hidden : tensor<256x64xf32>) -> tensor<256x64xf32>
  %hidden = linalg.generic {indexing_maps = [#row, #column, #row], iterator_types = ["parallel", "parallel"]}
      ins(%product, %b1 : tensor<256x64xf32>, tensor<64xf32>) outs(%empty_hidden : tensor<256x64xf32>) {
  ^bb0(%in: f32, %bias: f32, %init: f32):
    %0 = arith.addf %in, %bias : f32
    %1 = math.tanh %0 : f32
    linalg.yield %1 : f32
  } -> tensor<256x64xf32>
  %empty_out = tensor.empty() : tensor<256x1xf32>
  %zeros_out = linalg.fill ins(%zero : f32) outs(%empty_out : tensor<256x1xf32>) -> tensor<256x1xf32>
  %out = linalg.matmul ins(%hidden, %w2 : tensor<256x64xf32>, tensor<64x1xf32>) outs(%zeros_out : tensor<256x1xf32>) -> tensor<256x1xf32>

  // The targets, then the mean of the squared differences.
  %x = tensor.extract_slice %points[0, 0] [256, 1] [1, 1] : tensor<256x2xf32> to tensor<256x1xf32>
  %y = tensor.extract_slice %points[0, 1] [256, 1] [1, 1] : tensor<256x2xf32> to tensor<256x1xf32>
  %x2 = arith.addf %x, %x : tensor<256x1xf32>
  %wave = math.sin %x2 : tensor<256x1xf32>
  %target = arith.mulf %wave, %y : tensor<256x1xf32>
  %difference = arith.subf %out, %target : tensor<256x1xf32>
  %square = arith.mulf %difference, %difference : tensor<256x1xf32>
  %none = arith.constant dense<0.0> : tensor<f32>
  %sum = linalg.reduce ins(%square : tensor<256x1xf32>) outs(%none : tensor<f32>) dimensions = [0, 1]
      (%in: f32, %acc: f32) {
    %0 = arith.addf %acc, %in : f32
    linalg.yield %0 : f32
  }
  %part = arith.constant dense<0.00390625> : tensor<f32>
  %mean = arith.mulf %sum, %part : tensor<f32>
  return %mean : tensor<f32>
}

func.func @gradients(%w1: tensor<2x64xf32>, %b1: tensor<64xf32>, %w2: tensor<64x1xf32>, %points: tensor<256x2xf32>)
    -> (tensor<f32>, tensor<2x64xf32>, tensor<64xf32>, tensor<64x1xf32>) {
  %v, %g:3 = heddle.value_and_grad @loss(%w1, %b1, %w2, %points) wrt [0, 1, 2]
      : (tensor<2x64xf32>, tensor<64xf32>, tensor<64x1xf32>, tensor<256x2xf32>) -> (tensor<f32>, tensor<2x64xf32>, tensor<64xf32>, tensor<64x1xf32>)
  return %v, %g#0, %g#1, %g#2 : tensor<f32>, tensor<2x64xf32>, tensor<64xf32>, tensor<64x1xf32>
}

func.func @train(%w1: tensor<2x64xf32> {heddle.donated}, %b1: tensor<64xf32> {heddle.donated}, %w2: tensor<64x1xf32> {heddle.donated}, %points: tensor<256x2xf32>)
    -> (tensor<8xf32>, tensor<2x64xf32>, tensor<64xf32>, tensor<64x1xf32>) {
  // The weights of the second layer begin at variance 1/64.
  %eighth = arith.constant dense<0.125> : tensor<64x1xf32>
  %begin = arith.mulf %w2, %eighth : tensor<64x1xf32>
  %rates = arith.constant dense<0.05> : tensor<200xf32>
  %r:4 = heddle.layer_scan carried(%p1 = %w1, %pb = %b1, %p2 = %begin) stacked(%rate = %rates) invariant(%data = %points)
      : (tensor<2x64xf32>, tensor<64xf32>, tensor<64x1xf32>, tensor<200xf32>, tensor<256x2xf32>) -> (tensor<2x64xf32>, tensor<64xf32>, tensor<64x1xf32>, tensor<200xf32>) {
    %v, %g:3 = heddle.value_and_grad @loss(%p1, %pb, %p2, %data) wrt [0, 1, 2]
        : (tensor<2x64xf32>, tensor<64xf32>, tensor<64x1xf32>, tensor<256x2xf32>) -> (tensor<f32>, tensor<2x64xf32>, tensor<64xf32>, tensor<64x1xf32>)
    %e1 = tensor.empty() : tensor<2x64xf32>
    %eb = tensor.empty() : tensor<64xf32>
    %e2 = tensor.empty() : tensor<64x1xf32>
    %r1 = linalg.broadcast ins(%rate : tensor<f32>) outs(%e1 : tensor<2x64xf32>) dimensions = [0, 1]
    %rb = linalg.broadcast ins(%rate : tensor<f32>) outs(%eb : tensor<64xf32>) dimensions = [0]
    %r2 = linalg.broadcast ins(%rate : tensor<f32>) outs(%e2 : tensor<64x1xf32>) dimensions = [0, 1]
    %d1 = arith.mulf %g#0, %r1 : tensor<2x64xf32>
    %db = arith.mulf %g#1, %rb : tensor<64xf32>
    %d2 = arith.mulf %g#2, %r2 : tensor<64x1xf32>
    %n1 = arith.subf %p1, %d1 : tensor<2x64xf32>
    %nb = arith.subf %pb, %db : tensor<64xf32>
    %n2 = arith.subf %p2, %d2 : tensor<64x1xf32>
    heddle.yield %n1, %nb, %n2, %v : tensor<2x64xf32>, tensor<64xf32>, tensor<64x1xf32>, tensor<f32>
  }
  %some = tensor.extract_slice %r#3[0] [8] [25] : tensor<200xf32> to tensor<8xf32>
  return %some, %r#0, %r#1, %r#2 : tensor<8xf32>, tensor<2x64xf32>, tensor<64xf32>, tensor<64x1xf32>
}
