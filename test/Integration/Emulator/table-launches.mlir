// What does the same to each element of buffers of many shapes, as updates of
// parameters do, is one launch.

// RUN: %check %s %t
// RUN: heddle-compile %s --target=sm_80 --entry=momentum_of_leaves_of_all_shapes --report -o %t/a | FileCheck %s --check-prefix=ALL
// RUN: heddle-compile %s --target=sm_80 --entry=momentum_of_leaves_of_all_shapes --compile-to=tile -o - | FileCheck %s --check-prefix=TILE
// RUN: heddle-compile %s --target=sm_80 --entry=two_rates --report -o %t/b | FileCheck %s --check-prefix=RATES
// RUN: heddle-compile %s --target=sm_80 --entry=types_have_launches_of_their_own --report -o %t/c | FileCheck %s --check-prefix=TYPES
// RUN: heddle-compile %s --target=sm_80 --entry=waits_for_the_last_gradient --report -o %t/d | FileCheck %s --check-prefix=LAST
// RUN: heddle-compile %s --target=sm_80 --entry=rows_are_not_alike --report -o %t/e | FileCheck %s --check-prefix=ROWS

// A vector of one, one block and one element more, and a long one.
// ALL: elementwise_4_leaves_f32 elementwise 1 
// ALL: commands: 1 launch,
// TILE-LABEL: func.func private @elementwise_4_leaves_f32(
// TILE-SAME: memref<4xi64>, %{{.*}}: memref<4xi64>, %{{.*}}: memref<4xi64>, %[[RATE:[^:]+]]: memref<f32>
// TILE-SAME: memref<{{[0-9]+}}x3xi64>)
// TILE: scf.forall
// TILE: gpu.barrier
// TILE: %[[P:.+]] = heddle_gpu.table_entry %{{.*}}[%{{.*}}] : memref<7xi64, #gpu.address_space<workgroup>> -> memref<?xf32>
// TILE-COUNT-4: memref.load %[[P]]
func.func @momentum_of_leaves_of_all_shapes(
    %p1: tensor<1xf32> {heddle.donated}, %p2: tensor<1024xf32> {heddle.donated},
    %p3: tensor<5x205xf32> {heddle.donated}, %p4: tensor<3x40x50xf32> {heddle.donated},
    %m1: tensor<1xf32> {heddle.donated}, %m2: tensor<1024xf32> {heddle.donated},
    %m3: tensor<5x205xf32> {heddle.donated}, %m4: tensor<3x40x50xf32> {heddle.donated},
    %g1: tensor<1xf32>, %g2: tensor<1024xf32>, %g3: tensor<5x205xf32>, %g4: tensor<3x40x50xf32>,
    %rate: tensor<f32>)
    -> (tensor<1xf32>, tensor<1024xf32>, tensor<5x205xf32>, tensor<3x40x50xf32>,
        tensor<1xf32>, tensor<1024xf32>, tensor<5x205xf32>, tensor<3x40x50xf32>) {
  %c1 = arith.constant dense<0.9> : tensor<1xf32>
  %e1 = tensor.empty() : tensor<1xf32>
  %r1 = linalg.broadcast ins(%rate : tensor<f32>) outs(%e1 : tensor<1xf32>) dimensions = [0]
  %a1 = arith.mulf %m1, %c1 : tensor<1xf32>
  %n1 = arith.addf %a1, %g1 : tensor<1xf32>
  %d1 = arith.mulf %n1, %r1 : tensor<1xf32>
  %q1 = arith.subf %p1, %d1 : tensor<1xf32>
  %c2 = arith.constant dense<0.9> : tensor<1024xf32>
  %e2 = tensor.empty() : tensor<1024xf32>
  %r2 = linalg.broadcast ins(%rate : tensor<f32>) outs(%e2 : tensor<1024xf32>) dimensions = [0]
  %a2 = arith.mulf %m2, %c2 : tensor<1024xf32>
  %n2 = arith.addf %a2, %g2 : tensor<1024xf32>
  %d2 = arith.mulf %n2, %r2 : tensor<1024xf32>
  %q2 = arith.subf %p2, %d2 : tensor<1024xf32>
  %c3 = arith.constant dense<0.9> : tensor<5x205xf32>
  %e3 = tensor.empty() : tensor<5x205xf32>
  %r3 = linalg.broadcast ins(%rate : tensor<f32>) outs(%e3 : tensor<5x205xf32>) dimensions = [0, 1]
  %a3 = arith.mulf %m3, %c3 : tensor<5x205xf32>
  %n3 = arith.addf %a3, %g3 : tensor<5x205xf32>
  %d3 = arith.mulf %n3, %r3 : tensor<5x205xf32>
  %q3 = arith.subf %p3, %d3 : tensor<5x205xf32>
  %c4 = arith.constant dense<0.9> : tensor<3x40x50xf32>
  %e4 = tensor.empty() : tensor<3x40x50xf32>
  %r4 = linalg.broadcast ins(%rate : tensor<f32>) outs(%e4 : tensor<3x40x50xf32>) dimensions = [0, 1, 2]
  %a4 = arith.mulf %m4, %c4 : tensor<3x40x50xf32>
  %n4 = arith.addf %a4, %g4 : tensor<3x40x50xf32>
  %d4 = arith.mulf %n4, %r4 : tensor<3x40x50xf32>
  %q4 = arith.subf %p4, %d4 : tensor<3x40x50xf32>
  return %q1, %q2, %q3, %q4, %n1, %n2, %n3, %n4 : tensor<1xf32>, tensor<1024xf32>, tensor<5x205xf32>, tensor<3x40x50xf32>,
    tensor<1xf32>, tensor<1024xf32>, tensor<5x205xf32>, tensor<3x40x50xf32>
}

// Leaves share a launch with those of their own rate.
// RATES-COUNT-2: elementwise_2_leaves_f32
// RATES: commands: 2 launch in 1 group
func.func @two_rates(%p: tensor<70xf32>, %q: tensor<30x7xf32>, %s: tensor<2xf32>, %t: tensor<4x4xf32>,
                     %slow: tensor<f32>, %fast: tensor<f32>)
    -> (tensor<70xf32>, tensor<30x7xf32>, tensor<2xf32>, tensor<4x4xf32>) {
  %ep = tensor.empty() : tensor<70xf32>
  %eq = tensor.empty() : tensor<30x7xf32>
  %es = tensor.empty() : tensor<2xf32>
  %et = tensor.empty() : tensor<4x4xf32>
  %bp = linalg.broadcast ins(%slow : tensor<f32>) outs(%ep : tensor<70xf32>) dimensions = [0]
  %bq = linalg.broadcast ins(%slow : tensor<f32>) outs(%eq : tensor<30x7xf32>) dimensions = [0, 1]
  %bs = linalg.broadcast ins(%fast : tensor<f32>) outs(%es : tensor<2xf32>) dimensions = [0]
  %bt = linalg.broadcast ins(%fast : tensor<f32>) outs(%et : tensor<4x4xf32>) dimensions = [0, 1]
  %np = arith.mulf %p, %bp : tensor<70xf32>
  %nq = arith.mulf %q, %bq : tensor<30x7xf32>
  %ns = arith.mulf %s, %bs : tensor<2xf32>
  %nt = arith.mulf %t, %bt : tensor<4x4xf32>
  return %np, %nq, %ns, %nt : tensor<70xf32>, tensor<30x7xf32>, tensor<2xf32>, tensor<4x4xf32>
}

// TYPES-DAG: elementwise_2_leaves_bf16
// TYPES-DAG: elementwise_2_leaves_f16
// TYPES: commands: 2 launch in 1 group
func.func @types_have_launches_of_their_own(%a: tensor<40xbf16>, %b: tensor<5x30xbf16>, %c: tensor<40xf16>, %d: tensor<5x30xf16>)
    -> (tensor<40xbf16>, tensor<5x30xbf16>, tensor<40xf16>, tensor<5x30xf16>) {
  %na = math.tanh %a : tensor<40xbf16>
  %nb = math.tanh %b : tensor<5x30xbf16>
  %nc = math.exp %c : tensor<40xf16>
  %nd = math.exp %d : tensor<5x30xf16>
  return %na, %nb, %nc, %nd : tensor<40xbf16>, tensor<5x30xbf16>, tensor<40xf16>, tensor<5x30xf16>
}

// The update of p is ready before the strided slice, that of q behind it.
// LAST: elementwise_2_leaves_f32 elementwise 1
// LAST: commands: 2 launch,
func.func @waits_for_the_last_gradient(%p: tensor<200xf32> {heddle.donated}, %g: tensor<200xf32>, %q: tensor<32x16xf32> {heddle.donated},
                                       %h: tensor<64x16xf32>) -> (tensor<200xf32>, tensor<32x16xf32>) {
  %np = arith.subf %p, %g : tensor<200xf32>
  %half = tensor.extract_slice %h[0, 0] [32, 16] [2, 1] : tensor<64x16xf32> to tensor<32x16xf32>
  %nq = arith.subf %q, %half : tensor<32x16xf32>
  return %np, %nq : tensor<200xf32>, tensor<32x16xf32>
}

// A vector that all rows share is not an element each.
// ROWS-NOT: leaves
// ROWS: commands: 2 launch in 1 group
func.func @rows_are_not_alike(%a: tensor<8x64xf32>, %b: tensor<3x64xf32>, %v: tensor<64xf32>) -> (tensor<8x64xf32>, tensor<3x64xf32>) {
  %ea = tensor.empty() : tensor<8x64xf32>
  %eb = tensor.empty() : tensor<3x64xf32>
  %va = linalg.broadcast ins(%v : tensor<64xf32>) outs(%ea : tensor<8x64xf32>) dimensions = [0]
  %vb = linalg.broadcast ins(%v : tensor<64xf32>) outs(%eb : tensor<3x64xf32>) dimensions = [0]
  %na = arith.mulf %a, %va : tensor<8x64xf32>
  %nb = arith.mulf %b, %vb : tensor<3x64xf32>
  return %na, %nb : tensor<8x64xf32>, tensor<3x64xf32>
}
