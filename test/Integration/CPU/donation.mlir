// Results in the memory of donated arguments.

// RUN: %check %s %t

func.func @update_in_place(%p: tensor<37x5xf32> {heddle.donated}, %m: tensor<37x5xf32> {heddle.donated}, %g: tensor<37x5xf32>) -> (tensor<37x5xf32>, tensor<37x5xf32>) {
  %rate = arith.constant dense<0.1> : tensor<37x5xf32>
  %0 = arith.mulf %g, %rate : tensor<37x5xf32>
  %m1 = arith.addf %m, %0 : tensor<37x5xf32>
  %1 = arith.mulf %m1, %rate : tensor<37x5xf32>
  %p1 = arith.subf %p, %1 : tensor<37x5xf32>
  return %p1, %m1 : tensor<37x5xf32>, tensor<37x5xf32>
}

func.func @results_in_another_order(%a: tensor<8x8xf32> {heddle.donated}, %b: tensor<8x8xf32> {heddle.donated}, %c: tensor<8x8xf32> {heddle.donated}) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %ca = linalg.matmul ins(%c, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %ab = linalg.matmul ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %ca, %ab, %a : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

func.func @donated_and_only_read(%a: tensor<8x8xf32> {heddle.donated}, %b: tensor<8x8xf32>) -> tensor<8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.matmul ins(%b, %0 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = linalg.matmul ins(%b, %1 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = tensor.empty() : tensor<8xf32>
  %g = linalg.fill ins(%z : f32) outs(%r : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.reduce { arith.addf } ins(%2 : tensor<8x8xf32>) outs(%g : tensor<8xf32>) dimensions = [1]
  return %s : tensor<8xf32>
}

func.func @donated_argument_is_returned(%a: tensor<9xf32> {heddle.donated}, %b: tensor<9xf32> {heddle.donated}) -> (tensor<9xf32>, tensor<9xf32>) {
  %s = arith.addf %a, %b : tensor<9xf32>
  return %a, %s : tensor<9xf32>, tensor<9xf32>
}

// Adam: three results over three arguments in one pass, each read before it is
// overwritten.
func.func @moments_and_parameter(%p: tensor<70x9xf32> {heddle.donated}, %m: tensor<70x9xf32> {heddle.donated}, %v: tensor<70x9xf32> {heddle.donated}, %g: tensor<70x9xf32>) -> (tensor<70x9xf32>, tensor<70x9xf32>, tensor<70x9xf32>) {
  %b1 = arith.constant dense<0.9> : tensor<70x9xf32>
  %c1 = arith.constant dense<0.1> : tensor<70x9xf32>
  %eps = arith.constant dense<1.0e-3> : tensor<70x9xf32>
  %m0 = arith.mulf %m, %b1 : tensor<70x9xf32>
  %mg = arith.mulf %g, %c1 : tensor<70x9xf32>
  %m1 = arith.addf %m0, %mg : tensor<70x9xf32>
  %vv = arith.mulf %v, %v : tensor<70x9xf32>
  %gg = arith.mulf %g, %g : tensor<70x9xf32>
  %v1 = arith.addf %vv, %gg : tensor<70x9xf32>
  %d0 = arith.addf %v1, %eps : tensor<70x9xf32>
  %d1 = math.sqrt %d0 : tensor<70x9xf32>
  %u = arith.divf %m1, %d1 : tensor<70x9xf32>
  %p1 = arith.subf %p, %u : tensor<70x9xf32>
  return %p1, %m1, %v1 : tensor<70x9xf32>, tensor<70x9xf32>, tensor<70x9xf32>
}
