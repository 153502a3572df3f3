// RUN: heddle-opt %s -convert-elementwise-to-linalg -heddle-fuse-kernels=matrix-units=true | FileCheck %s
// RUN: heddle-opt %s -convert-elementwise-to-linalg -heddle-fuse-kernels | FileCheck %s --check-prefix=CPU

// Kernels of a GPU count on buffers that start at multiples of 16 bytes: a slice
// that does not is a copy, others are views.

// CHECK-LABEL: func.func @odd_offset
// CHECK: %[[COPY:.*]] = heddle.launch @loops_2_5_f32
// CHECK: heddle.launch @elementwise_2_5_f32{{.*}}(%[[COPY]])
// CPU-LABEL: func.func @odd_offset
// CPU: tensor.extract_slice
// CPU-NOT: @loops
// CPU: heddle.launch @elementwise
func.func @odd_offset(%x: tensor<8x5xf32>) -> tensor<2x5xf32> {
  %s = tensor.extract_slice %x[3, 0] [2, 5] [1, 1] : tensor<8x5xf32> to tensor<2x5xf32>
  %y = math.exp %s : tensor<2x5xf32>
  return %y : tensor<2x5xf32>
}

// CHECK-LABEL: func.func @even_offset
// CHECK: tensor.extract_slice
// CHECK-NOT: @loops
// CHECK: heddle.launch @elementwise
func.func @even_offset(%x: tensor<8x5xf32>) -> tensor<2x5xf32> {
  %s = tensor.extract_slice %x[4, 0] [2, 5] [1, 1] : tensor<8x5xf32> to tensor<2x5xf32>
  %y = math.exp %s : tensor<2x5xf32>
  return %y : tensor<2x5xf32>
}
