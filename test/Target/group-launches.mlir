// Launches that do not touch what the others write share a region.

// RUN: heddle-compile %s --entry=updates_of_all_parameters --report -o %t.0 | FileCheck %s --check-prefix=UPDATES
// RUN: heddle-compile %s --entry=one_after_the_other --report -o %t.1 | FileCheck %s --check-prefix=CHAIN
// RUN: heddle-compile %s --entry=moves_up_to_its_group --report -o %t.2 | FileCheck %s --check-prefix=MOVES
// RUN: heddle-compile %s --entry=moves_up_to_its_group --report=json -o %t.2 | FileCheck %s --check-prefix=JSON
// RUN: heddle-run %t.0 --check=reference && heddle-run %t.1 --check=reference && heddle-run %t.2 --check=reference

// Leaves of three shapes, each with its state, by one rate.
// UPDATES: commands: 3 launch in 1 group,
func.func @updates_of_all_parameters(
    %p: tensor<64x32xf32> {heddle.donated}, %q: tensor<7xf32> {heddle.donated}, %r: tensor<300x5xf32> {heddle.donated},
    %g: tensor<64x32xf32>, %h: tensor<7xf32>, %k: tensor<300x5xf32>, %rate: tensor<f32>)
    -> (tensor<64x32xf32>, tensor<7xf32>, tensor<300x5xf32>) {
  %ep = tensor.empty() : tensor<64x32xf32>
  %eq = tensor.empty() : tensor<7xf32>
  %er = tensor.empty() : tensor<300x5xf32>
  %bp = linalg.broadcast ins(%rate : tensor<f32>) outs(%ep : tensor<64x32xf32>) dimensions = [0, 1]
  %bq = linalg.broadcast ins(%rate : tensor<f32>) outs(%eq : tensor<7xf32>) dimensions = [0]
  %br = linalg.broadcast ins(%rate : tensor<f32>) outs(%er : tensor<300x5xf32>) dimensions = [0, 1]
  %dp = arith.mulf %g, %bp : tensor<64x32xf32>
  %dq = arith.mulf %h, %bq : tensor<7xf32>
  %dr = arith.mulf %k, %br : tensor<300x5xf32>
  %np = arith.subf %p, %dp : tensor<64x32xf32>
  %nq = arith.subf %q, %dq : tensor<7xf32>
  %nr = arith.subf %r, %dr : tensor<300x5xf32>
  return %np, %nq, %nr : tensor<64x32xf32>, tensor<7xf32>, tensor<300x5xf32>
}

// CHAIN: commands: 3 launch,
func.func @one_after_the_other(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %z = arith.constant dense<0.0> : tensor<8x8xf32>
  %a = linalg.matmul ins(%x, %x : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = linalg.matmul ins(%x, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = linalg.matmul ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %c : tensor<8x8xf32>
}

// The sum of y reads nothing that the products write.
// MOVES: commands: 3 launch in 2 groups
// JSON: "groups": 2
func.func @moves_up_to_its_group(%x: tensor<8x8xf32>, %y: tensor<16xf32>) -> (tensor<8x8xf32>, tensor<16xf32>) {
  %z = arith.constant dense<0.0> : tensor<8x8xf32>
  %a = linalg.matmul ins(%x, %x : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = linalg.matmul ins(%x, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = math.exp %y : tensor<16xf32>
  return %b, %c : tensor<8x8xf32>, tensor<16xf32>
}
