// RUN: heddle-opt %s -heddle-isolate-kernels | FileCheck %s

// Entry functions go, each kernel gets a module of its own, in their order.

// CHECK-NOT: @entry
// CHECK: module @first {
// CHECK-NEXT: func.func private @first(%{{.*}}: memref<4xf32>)
// CHECK: module @second {
// CHECK-NEXT: func.func private @second(%{{.*}}: memref<8xf32>)
func.func @entry(%x: memref<4xf32>) {
  return
}
func.func private @first(%x: memref<4xf32>) attributes {heddle.family = "rows"} {
  return
}
func.func private @second(%x: memref<8xf32>) attributes {heddle.family = "rows"} {
  return
}
