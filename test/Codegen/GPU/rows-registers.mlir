// REQUIRES: ptxas
// RUN: heddle-compile %s --target=sm_80,sm_90 --report -o %t | FileCheck %s
// Row reductions of any length stay in registers: no spills, no stack frame, and
// blocks for many multiprocessors.
// CHECK-NOT: loops_
// CHECK-COUNT-2: {{name +grid +block +registers +spills +stack}}
// CHECK-NOT: {{_f32[_rc0-9]* +[0-9]+ +[0-9]+ +[0-9]+ +([1-9][0-9]* +[0-9]+|[0-9]+ +[1-9])}}
// CHECK-NOT: {{_bf16[_rc0-9]* +[0-9]+ +[0-9]+ +[0-9]+ +([1-9][0-9]* +[0-9]+|[0-9]+ +[1-9])}}

func.func @sum(%x: tensor<700x400xf32>, %y: tensor<2048x256xf32>, %z: tensor<8x65536xbf16>)
    -> (tensor<700xf32>, tensor<2048xf32>, tensor<8xbf16>) {
  %c = arith.constant dense<0.0> : tensor<700xf32>
  %d = arith.constant dense<0.0> : tensor<2048xf32>
  %e = arith.constant dense<0.0> : tensor<8xbf16>
  %p = linalg.reduce { arith.addf } ins(%x : tensor<700x400xf32>) outs(%c : tensor<700xf32>) dimensions = [1]
  %q = linalg.reduce { arith.addf } ins(%y : tensor<2048x256xf32>) outs(%d : tensor<2048xf32>) dimensions = [1]
  %r = linalg.reduce { arith.addf } ins(%z : tensor<8x65536xbf16>) outs(%e : tensor<8xbf16>) dimensions = [1]
  return %p, %q, %r : tensor<700xf32>, tensor<2048xf32>, tensor<8xbf16>
}

func.func @column_sum(%x: tensor<4096x768xf32>) -> tensor<768xf32> {
  %c = arith.constant dense<0.0> : tensor<768xf32>
  %p = linalg.reduce { arith.addf } ins(%x : tensor<4096x768xf32>) outs(%c : tensor<768xf32>) dimensions = [0]
  return %p : tensor<768xf32>
}

func.func @softmax(%x: tensor<700x1000xbf16>, %y: tensor<64x8192xf32>, %z: tensor<64x50257xbf16>)
    -> (tensor<700x1000xbf16>, tensor<64x8192xf32>, tensor<64x50257xbf16>) {
  %c = tensor.empty() : tensor<700x1000xbf16>
  %d = tensor.empty() : tensor<64x8192xf32>
  %e = tensor.empty() : tensor<64x50257xbf16>
  %p = linalg.softmax dimension(1) ins(%x : tensor<700x1000xbf16>) outs(%c : tensor<700x1000xbf16>) -> tensor<700x1000xbf16>
  %q = linalg.softmax dimension(1) ins(%y : tensor<64x8192xf32>) outs(%d : tensor<64x8192xf32>) -> tensor<64x8192xf32>
  %r = linalg.softmax dimension(1) ins(%z : tensor<64x50257xbf16>) outs(%e : tensor<64x50257xbf16>) -> tensor<64x50257xbf16>
  return %p, %q, %r : tensor<700x1000xbf16>, tensor<64x8192xf32>, tensor<64x50257xbf16>
}
