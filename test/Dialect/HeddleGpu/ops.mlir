// RUN: heddle-opt %s -verify-roundtrip | FileCheck %s
// RUN: heddle-opt %s -mlir-print-op-generic | heddle-opt | FileCheck %s

// Every op with every optional part.

#row = #heddle_gpu.layout<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [1, 0], [2, 0], [4, 0]], warp = [[8, 0], [16, 0]], repeat = [2, 1]>
#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
#a = #heddle_gpu.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
#b = #heddle_gpu.layout<register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], repeat = [1, 5]>
#c = #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 5]>
#r = #heddle_gpu.layout<register = [[8]], lane = [[0], [0], [1], [2], [4]], repeat = [1]>
#p = #heddle_gpu.layout<register = [[8, 0]], lane = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
#w = #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 8]>
#swizzled = #heddle_gpu.shared<vector_bytes = 16, rows_per_phase = 1, phases = 8>
!stages = !heddle_gpu.smem<64x64xbf16, #swizzled, stages = 3>
!one = !heddle_gpu.smem<64x32xbf16, #heddle_gpu.shared<row_major>>

// The normal form moves the factor of two into register bits; empty parts go.
// CHECK-DAG: #[[$ROW:.+]] = #heddle_gpu.layout<register = {{\[}}[0, 1], [0, 2], [0, 4], [32, 0]], lane = {{.*}}, warp = {{\[}}[8, 0], [16, 0]], repeat = [1, 1]>
// CHECK-DAG: #[[$SWIZZLE:.+]] = #heddle_gpu.shared<vector_bytes = 16, rows_per_phase = 1, phases = 8>
// CHECK-DAG: #[[$PLAIN:.+]] = #heddle_gpu.shared<row_major>
// CHECK-DAG: #[[$PANEL:.+]] = #heddle_gpu.shared<vector_bytes = 16, rows_per_phase = 1, phases = 8, panel_bytes = 128>
// CHECK-DAG: [[$STAGES:!.+]] = !heddle_gpu.smem<64x64xbf16, #[[$SWIZZLE]], stages = 3>
// CHECK-DAG: [[$ONE:!.+]] = !heddle_gpu.smem<64x32xbf16, #[[$PLAIN]]>
// CHECK-DAG: [[$PANELS:!.+]] = !heddle_gpu.smem<64x128xbf16, #[[$PANEL]]>
// CHECK-DAG: #[[$LINE:.+]] = #heddle_gpu.layout<lane = {{\[}}[1], [2], [4], [8], [16]], repeat = [3]>

// CHECK-LABEL: func @global
// CHECK-SAME: attributes {heddle_gpu.warps = 4 : i64}
func.func @global(%m: memref<4x600x8x32xbf16>, %i: index, %n: index,
                  %p: tensor<64x32xi1, #row>, %pad: bf16) attributes {heddle_gpu.warps = 4 : i64} {
  // CHECK: %[[T:.+]] = heddle_gpu.load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] dims [1, 3] : memref<4x600x8x32xbf16> -> tensor<64x32xbf16, #[[$ROW]]>
  %0 = heddle_gpu.load %m[%i, %i, %i, %i] dims [1, 3] : memref<4x600x8x32xbf16> -> tensor<64x32xbf16, #row>
  // CHECK: heddle_gpu.load %{{.*}} dims [1, 3] bounds{{ ?}}[%{{.*}}, %{{.*}}] mask %{{.*}} pad %{{.*}} : memref
  %1 = heddle_gpu.load %m[%i, %i, %i, %i] dims [1, 3] bounds [%n, %n] mask %p pad %pad : memref<4x600x8x32xbf16> -> tensor<64x32xbf16, #row>
  // CHECK: heddle_gpu.store %[[T]] into %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] dims [1, 3] : tensor<64x32xbf16, #[[$ROW]]> into memref<4x600x8x32xbf16>
  heddle_gpu.store %0 into %m[%i, %i, %i, %i] dims [1, 3] : tensor<64x32xbf16, #row> into memref<4x600x8x32xbf16>
  // CHECK: heddle_gpu.store %{{.*}} bounds{{ ?}}[%{{.*}}, %{{.*}}] mask %{{.*}} accumulate atomic :
  heddle_gpu.store %1 into %m[%i, %i, %i, %i] dims [1, 3] bounds [%n, %n] mask %p accumulate atomic : tensor<64x32xbf16, #row> into memref<4x600x8x32xbf16>
  // CHECK: accumulate plain
  heddle_gpu.store %1 into %m[%i, %i, %i, %i] dims [1, 3] accumulate plain : tensor<64x32xbf16, #row> into memref<4x600x8x32xbf16>
  return
}

// CHECK-LABEL: func @tables
func.func @tables(%t: memref<68xi64>, %i: index) {
  // CHECK: heddle_gpu.table_entry %{{.*}}[%{{.*}}] : memref<68xi64> -> memref<?xbf16>
  %0 = heddle_gpu.table_entry %t[%i] : memref<68xi64> -> memref<?xbf16>
  return
}

// CHECK-LABEL: func @shared
func.func @shared(%m: memref<600x64xbf16>, %i: index, %n: index, %t: tensor<64x32xbf16, #row>) {
  // CHECK: heddle_gpu.smem_alloc : [[$STAGES]]
  %s = heddle_gpu.smem_alloc : !stages
  // CHECK: heddle_gpu.smem_alloc offset 1024 : [[$ONE]]
  %o = heddle_gpu.smem_alloc offset 1024 : !one
  // CHECK: heddle_gpu.async_copy %{{.*}}[%{{.*}}, %{{.*}}] dims [0, 1] into %{{.*}}[%{{.*}}] : memref<600x64xbf16> into
  heddle_gpu.async_copy %m[%i, %i] dims [0, 1] into %s[%i] : memref<600x64xbf16> into !stages
  // CHECK: heddle_gpu.async_copy %{{.*}} dims [0, 1] bounds{{ ?}}[%{{.*}}, %{{.*}}] into %{{.*}} : memref
  heddle_gpu.async_copy %m[%i, %i] dims [0, 1] bounds [%n, %n] into %o : memref<600x64xbf16> into !one
  // CHECK: heddle_gpu.async_commit
  heddle_gpu.async_commit
  // CHECK: heddle_gpu.async_wait 1
  heddle_gpu.async_wait 1
  // CHECK: heddle_gpu.barrier{{$}}
  heddle_gpu.barrier
  // CHECK: heddle_gpu.smem_load %{{.*}}[%{{.*}}] at [0, 32] : {{.*}} -> tensor<64x32xbf16, #[[$ROW]]>
  %0 = heddle_gpu.smem_load %s[%i] at [0, 32] : !stages -> tensor<64x32xbf16, #row>
  // CHECK: heddle_gpu.smem_load %{{.*}}[%{{.*}}] at [32, 0] trans : {{.*}} -> tensor<64x32xbf16, #[[$ROW]]>
  %1 = heddle_gpu.smem_load %s[%i] at [32, 0] trans : !stages -> tensor<64x32xbf16, #row>
  // CHECK: heddle_gpu.smem_load %{{.*}}[%{{.*}}] shift %{{.*}} along 1 : {{.*}} -> tensor<64x32xbf16, #[[$ROW]]>
  %shifted = heddle_gpu.smem_load %s[%i] shift %i along 1 : !stages -> tensor<64x32xbf16, #row>
  // CHECK: heddle_gpu.smem_load %{{.*}} : {{.*}} -> tensor<64x32xbf16, #[[$ROW]]>
  %2 = heddle_gpu.smem_load %o : !one -> tensor<64x32xbf16, #row>
  // CHECK: heddle_gpu.smem_store %{{.*}}, %{{.*}} : tensor<64x32xbf16, #[[$ROW]]>, [[$ONE]]
  heddle_gpu.smem_store %t, %o : tensor<64x32xbf16, #row>, !one
  // CHECK: heddle_gpu.smem_store %{{.*}}, %{{.*}}[%{{.*}}] at [16, 0] trans :
  heddle_gpu.smem_store %t, %s[%i] at [0, 0] : tensor<64x32xbf16, #row>, !stages
  heddle_gpu.smem_store %t, %s[%i] at [16, 0] trans : tensor<64x32xbf16, #row>, !stages
  return
}

// CHECK-LABEL: func @roles
func.func @roles() {
  // CHECK: heddle_gpu.warp_role "producer" first 8 warps 4 registers 40 {
  // CHECK-NEXT: heddle_gpu.barrier id 1 warps 12 arrive
  // CHECK-NEXT: }
  heddle_gpu.warp_role "producer" first 8 warps 4 registers 40 {
    heddle_gpu.barrier id 1 warps 12 arrive
  }
  // CHECK: heddle_gpu.warp_role "consumer" first 0 warps 8 {
  // CHECK-NEXT: heddle_gpu.barrier id 1 warps 12{{$}}
  heddle_gpu.warp_role "consumer" first 0 warps 8 {
    heddle_gpu.barrier id 1 warps 12
  }
  return
}

// CHECK-LABEL: func @products
func.func @products(%a: tensor<16x16xbf16, #a>, %b: tensor<16x40xbf16, #b>, %c: tensor<16x40xf32, #c>,
                    %s: !stages, %i: index, %w: tensor<64x64xf32, #w>, %x: tensor<64x64xbf16, #w>) {
  // CHECK: heddle_gpu.dot mma %{{.*}}, %{{.*}}, %{{.*}} : tensor<16x16xbf16, #{{.*}}>, tensor<16x40xbf16, #{{.*}}>, tensor<16x40xf32, #{{.*}}>
  %0 = heddle_gpu.dot mma %a, %b, %c : tensor<16x16xbf16, #a>, tensor<16x40xbf16, #b>, tensor<16x40xf32, #c>
  // CHECK: heddle_gpu.dot_async %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}], %{{.*}} trans_a trans_b :
  %1 = heddle_gpu.dot_async %s[%i], %s[%i], %w trans_a trans_b : !stages, !stages, tensor<64x64xf32, #w>
  // CHECK: heddle_gpu.dot_async %{{.*}}, %{{.*}}[%{{.*}}], %{{.*}} : tensor<64x64xbf16, #{{.*}}>, [[$STAGES]]
  %2 = heddle_gpu.dot_async %x, %s[%i], %1 : tensor<64x64xbf16, #w>, !stages, tensor<64x64xf32, #w>
  // CHECK: heddle_gpu.dot_wait 0, %{{.*}} : tensor<64x64xf32, #{{.*}}>
  %3 = heddle_gpu.dot_wait 0, %2 : tensor<64x64xf32, #w>
  return
}

// CHECK-LABEL: func @reductions
func.func @reductions(%c: tensor<16x40xf32, #c>, %d: tensor<16x40xi32, #c>, %l: tensor<96xf32, #line>) {
  // CHECK: %[[M:.+]] = heddle_gpu.reduce max %{{.*}} axis 1 : tensor<16x40xf32, #{{.*}}>
  %0 = heddle_gpu.reduce max %c axis 1 : tensor<16x40xf32, #c>
  // The result's layout is known.
  // CHECK: heddle_gpu.broadcast %[[M]] dims [1] : tensor<16xf32, #{{.*}}> -> tensor<16x40xf32, #{{.*}}>
  %1 = heddle_gpu.broadcast %0 dims [1] : tensor<16xf32, #r> -> tensor<16x40xf32, #c>
  // CHECK: heddle_gpu.reduce %{{.*}}, %{{.*}} axis 0 {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: i32, %{{.*}}: f32, %{{.*}}: i32):
  %2:2 = heddle_gpu.reduce %c, %d axis 0 {
  ^bb0(%x0: f32, %i0: i32, %x1: f32, %i1: i32):
    %less = arith.cmpf olt, %x0, %x1 : f32
    %x = arith.select %less, %x1, %x0 : f32
    %i = arith.select %less, %i1, %i0 : i32
    // CHECK: heddle_gpu.yield %{{.*}}, %{{.*}} : f32, i32
    heddle_gpu.yield %x, %i : f32, i32
  } : tensor<16x40xf32, #c>, tensor<16x40xi32, #c>
  // CHECK: heddle_gpu.reduce add %{{.*}} axis 0 : tensor<16xf32, #{{.*}}>
  %3 = heddle_gpu.reduce add %0 axis 0 : tensor<16xf32, #r>
  // One element for each of the four lanes along the axis.
  // CHECK: %[[P:.+]] = heddle_gpu.reduce add %{{.*}} axis 1 partial : tensor<16x40xf32, #{{.*}}>
  %p = heddle_gpu.reduce add %c axis 1 partial : tensor<16x40xf32, #c>
  // CHECK: heddle_gpu.reduce add %[[P]] axis 1 : tensor<16x4xf32, #{{.*}}>
  %q = heddle_gpu.reduce add %p axis 1 : tensor<16x4xf32, #p>
  // CHECK: heddle_gpu.scan add %{{.*}} axis 0 : tensor<96xf32, #[[$LINE]]>
  %4 = heddle_gpu.scan add %l axis 0 : tensor<96xf32, #line>
  // CHECK: heddle_gpu.scan mul %{{.*}} axis 0 reverse : tensor<96xf32, #[[$LINE]]>
  %5 = heddle_gpu.scan mul %l axis 0 reverse : tensor<96xf32, #line>
  // CHECK: heddle_gpu.scan %{{.*}} axis 0 reverse {
  %6 = heddle_gpu.scan %l axis 0 reverse {
  ^bb0(%x: f32, %y: f32):
    %z = arith.maximumf %x, %y : f32
    heddle_gpu.yield %z : f32
  } : tensor<96xf32, #line>
  return
}

// CHECK-LABEL: func @layouts
func.func @layouts(%c: tensor<16x40xf32, #c>, %row: tensor<64x32xbf16, #row>, %start: i32) {
  // CHECK: %[[T:.+]] = heddle_gpu.trans %{{.*}} [1, 0] : tensor<16x40xf32, #{{.*}}>
  %0 = heddle_gpu.trans %c [1, 0] : tensor<16x40xf32, #c>
  // CHECK: heddle_gpu.convert_layout %{{.*}} : tensor<64x32xbf16, #[[$ROW]]> -> tensor<64x32xbf16, #{{.*}}>
  %1 = heddle_gpu.convert_layout %row : tensor<64x32xbf16, #row>
    -> tensor<64x32xbf16, #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 4]>>
  // CHECK: heddle_gpu.iota axis 0 : tensor<96xi32, #[[$LINE]]>
  %2 = heddle_gpu.iota axis 0 : tensor<96xi32, #line>
  // CHECK: heddle_gpu.iota axis 1 from %{{.*}} : tensor<16x40xi32, #{{.*}}>
  %3 = heddle_gpu.iota axis 1 from %start : tensor<16x40xi32, #c>
  // arith, math and scf work on tiles as they are.
  // CHECK: arith.truncf %{{.*}} : tensor<16x40xf32, #{{.*}}> to tensor<16x40xbf16, #{{.*}}>
  %4 = arith.truncf %c : tensor<16x40xf32, #c> to tensor<16x40xbf16, #c>
  %5 = math.exp2 %c : tensor<16x40xf32, #c>
  %6 = arith.cmpi sge, %3, %3 : tensor<16x40xi32, #c>
  // CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<16x40xi1, #{{.*}}>, tensor<16x40xf32, #{{.*}}>
  %7 = arith.select %6, %5, %c : tensor<16x40xi1, #c>, tensor<16x40xf32, #c>
  return
}

// A panel is a column of the tile, for tensor maps of wide tiles.
// CHECK-LABEL: func @panels
// CHECK-SAME: [[$PANELS]]
func.func @panels(%s: !heddle_gpu.smem<64x128xbf16, #heddle_gpu.shared<vector_bytes = 16, rows_per_phase = 1, phases = 8, panel_bytes = 128>>) {
  return
}

// CHECK-LABEL: func @what_need_not_be_checked
func.func @what_need_not_be_checked(%m: memref<64x32xbf16>, %s: !one, %t: !stages, %i: index,
    %x: tensor<16x16xbf16, #a>, %y: tensor<16x40xbf16, #b>, %z: tensor<16x40xf32, #c>) {
  // CHECK: heddle_gpu.load %{{.*}} dims [0, 1] in_bounds : memref<64x32xbf16>
  %0 = heddle_gpu.load %m[%i, %i] dims [0, 1] in_bounds : memref<64x32xbf16> -> tensor<64x32xbf16, #row>
  // CHECK: heddle_gpu.store %{{.*}} dims [0, 1] in_bounds : tensor
  heddle_gpu.store %0 into %m[%i, %i] dims [0, 1] in_bounds : tensor<64x32xbf16, #row> into memref<64x32xbf16>
  // CHECK: heddle_gpu.async_copy %{{.*}} dims [0, 1] in_bounds into %{{.*}} : memref<64x32xbf16> into [[$ONE]]
  heddle_gpu.async_copy %m[%i, %i] dims [0, 1] in_bounds into %s : memref<64x32xbf16> into !one
  // CHECK: heddle_gpu.any_not_finite %{{[^ ]*}} : [[$ONE]]
  %1 = heddle_gpu.any_not_finite %s : !one
  // CHECK: heddle_gpu.any_not_finite %{{.*}}{{\[}}%{{.*}}] : [[$STAGES]]
  %2 = heddle_gpu.any_not_finite %t[%i] : !stages
  // CHECK: heddle_gpu.dot mma %{{.*}}, %{{.*}}, %{{.*}} skip_zeros : tensor<16x16xbf16
  %3 = heddle_gpu.dot mma %x, %y, %z skip_zeros : tensor<16x16xbf16, #a>, tensor<16x40xbf16, #b>, tensor<16x40xf32, #c>
  return
}
