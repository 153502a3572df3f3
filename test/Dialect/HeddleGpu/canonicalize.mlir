// RUN: heddle-opt %s -canonicalize | FileCheck %s

#row = #heddle_gpu.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
#col = #heddle_gpu.layout<register = [[1, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], repeat = [1, 1]>
#mid = #heddle_gpu.layout<register = [[4, 0]], lane = [[1, 0], [2, 0], [0, 1], [0, 2], [0, 4]], repeat = [1, 1]>
#r = #heddle_gpu.layout<lane = [[0], [0], [1], [2], [4]], repeat = [1]>
// The same function as #row, written otherwise.
#same = #heddle_gpu.layout<lane = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], repeat = [1, 2]>

// CHECK-DAG: #[[$ROW:.+]] = #heddle_gpu.layout<register = {{\[}}[0, 1]], lane = {{\[}}[0, 2],
// CHECK-DAG: #[[$COL:.+]] = #heddle_gpu.layout<register = {{\[}}[1, 0]]

// CHECK-LABEL: @identity_conversion_goes
func.func @identity_conversion_goes(%x: tensor<8x8xf32, #row>) -> tensor<8x8xf32, #row> {
  // CHECK-NEXT: return %arg0
  %0 = heddle_gpu.convert_layout %x : tensor<8x8xf32, #row> -> tensor<8x8xf32, #row>
  return %0 : tensor<8x8xf32, #row>
}

// CHECK-LABEL: @the_layout_between_two_conversions_goes
func.func @the_layout_between_two_conversions_goes(%x: tensor<8x8xf32, #row>) -> tensor<8x8xf32, #col> {
  // CHECK-NEXT: %[[Y:.+]] = heddle_gpu.convert_layout %arg0 : tensor<8x8xf32, #[[$ROW]]> -> tensor<8x8xf32, #[[$COL]]>
  // CHECK-NEXT: return %[[Y]]
  %0 = heddle_gpu.convert_layout %x : tensor<8x8xf32, #row> -> tensor<8x8xf32, #mid>
  %1 = heddle_gpu.convert_layout %0 : tensor<8x8xf32, #mid> -> tensor<8x8xf32, #col>
  return %1 : tensor<8x8xf32, #col>
}

// CHECK-LABEL: @there_and_back_is_nothing
func.func @there_and_back_is_nothing(%x: tensor<8x8xf32, #row>) -> tensor<8x8xf32, #row> {
  // CHECK-NEXT: return %arg0
  %0 = heddle_gpu.convert_layout %x : tensor<8x8xf32, #row> -> tensor<8x8xf32, #mid>
  %1 = heddle_gpu.convert_layout %0 : tensor<8x8xf32, #mid> -> tensor<8x8xf32, #col>
  %2 = heddle_gpu.convert_layout %1 : tensor<8x8xf32, #col> -> tensor<8x8xf32, #row>
  return %2 : tensor<8x8xf32, #row>
}

// CHECK-LABEL: @other_layouts_stay
func.func @other_layouts_stay(%x: tensor<8x8xf32, #same>) -> tensor<8x8xf32, #row> {
  // CHECK: heddle_gpu.convert_layout
  %0 = heddle_gpu.convert_layout %x : tensor<8x8xf32, #same> -> tensor<8x8xf32, #row>
  return %0 : tensor<8x8xf32, #row>
}

// CHECK-LABEL: @splats_are_made_in_the_wanted_layout
func.func @splats_are_made_in_the_wanted_layout(%s: f32, %i: i32) -> (tensor<8x8xf32, #col>, tensor<8x8xf32, #col>, tensor<8x8xi32, #col>, tensor<8x8xf32, #row>, tensor<8x8xf32, #col>) {
  // CHECK-DAG: %[[C:.+]] = arith.constant dense<1.000000e+00> : tensor<8x8xf32, #[[$COL]]>
  // CHECK-DAG: %[[B:.+]] = arith.constant dense<2.000000e+00> : tensor<8x8xf32, #[[$ROW]]>
  // CHECK-DAG: %[[S:.+]] = tensor.splat %arg0 : tensor<8x8xf32, #[[$COL]]>
  // CHECK-DAG: %[[I:.+]] = heddle_gpu.iota axis 1 from %arg1 : tensor<8x8xi32, #[[$COL]]>
  // CHECK-NOT: convert_layout
  // CHECK: return %[[C]], %[[S]], %[[I]], %[[B]], %[[C]]
  %c = arith.constant dense<1.0> : tensor<8x8xf32, #row>
  %0 = heddle_gpu.convert_layout %c : tensor<8x8xf32, #row> -> tensor<8x8xf32, #col>
  %sp = tensor.splat %s : tensor<8x8xf32, #row>
  %1 = heddle_gpu.convert_layout %sp : tensor<8x8xf32, #row> -> tensor<8x8xf32, #col>
  %io = heddle_gpu.iota axis 1 from %i : tensor<8x8xi32, #row>
  %2 = heddle_gpu.convert_layout %io : tensor<8x8xi32, #row> -> tensor<8x8xi32, #col>
  %v = arith.constant dense<2.0> : tensor<8xf32, #r>
  %3 = heddle_gpu.broadcast %v dims [1] : tensor<8xf32, #r> -> tensor<8x8xf32, #row>
  %4 = heddle_gpu.trans %c [1, 0] : tensor<8x8xf32, #row>
  return %0, %1, %2, %3, %4 : tensor<8x8xf32, #col>, tensor<8x8xf32, #col>, tensor<8x8xi32, #col>, tensor<8x8xf32, #row>, tensor<8x8xf32, #col>
}

// CHECK-LABEL: @transposes_compose
func.func @transposes_compose(%x: tensor<8x8xf32, #row>) -> (tensor<8x8xf32, #row>, tensor<8x8xf32, #row>) {
  // CHECK-NEXT: return %arg0, %arg0
  %0 = heddle_gpu.trans %x [1, 0] : tensor<8x8xf32, #row>
  %1 = heddle_gpu.trans %0 [1, 0] : tensor<8x8xf32, #col>
  %2 = heddle_gpu.trans %x [0, 1] : tensor<8x8xf32, #row>
  return %1, %2 : tensor<8x8xf32, #row>, tensor<8x8xf32, #row>
}

#three = #heddle_gpu.layout<register = [[1, 0, 0]], lane = [[2, 0, 0], [0, 1, 0], [0, 2, 0], [0, 0, 1], [0, 0, 2]], repeat = [1, 1, 3]>
#cycled = #heddle_gpu.layout<register = [[0, 0, 1]], lane = [[0, 0, 2], [1, 0, 0], [2, 0, 0], [0, 1, 0], [0, 2, 0]], repeat = [1, 3, 1]>

// CHECK-LABEL: @cycles_compose
func.func @cycles_compose(%x: tensor<4x4x12xf32, #three>) -> tensor<12x4x4xf32, #heddle_gpu.layout<register = [[0, 1, 0]], lane = [[0, 2, 0], [0, 0, 1], [0, 0, 2], [1, 0, 0], [2, 0, 0]], repeat = [3, 1, 1]>> {
  // CHECK-NEXT: heddle_gpu.trans %arg0 [2, 0, 1]
  %0 = heddle_gpu.trans %x [1, 2, 0] : tensor<4x4x12xf32, #three>
  %1 = heddle_gpu.trans %0 [1, 2, 0] : tensor<4x12x4xf32, #cycled>
  return %1 : tensor<12x4x4xf32, #heddle_gpu.layout<register = [[0, 1, 0]], lane = [[0, 2, 0], [0, 0, 1], [0, 0, 2], [1, 0, 0], [2, 0, 0]], repeat = [3, 1, 1]>>
}

// CHECK-LABEL: @unused_loads_go_stores_stay
func.func @unused_loads_go_stores_stay(%m: memref<8x8xf32>, %x: tensor<8x8xf32, #row>) {
  // CHECK-NOT: heddle_gpu.load
  // CHECK: heddle_gpu.store
  // CHECK: heddle_gpu.async_commit
  // CHECK: heddle_gpu.async_wait
  // CHECK: heddle_gpu.barrier
  %c0 = arith.constant 0 : index
  %0 = heddle_gpu.load %m[%c0, %c0] dims [0, 1] : memref<8x8xf32> -> tensor<8x8xf32, #row>
  heddle_gpu.store %x into %m[%c0, %c0] dims [0, 1] : tensor<8x8xf32, #row> into memref<8x8xf32>
  heddle_gpu.async_commit
  heddle_gpu.async_wait 0
  heddle_gpu.barrier
  return
}
