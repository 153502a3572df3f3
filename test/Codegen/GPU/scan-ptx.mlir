// RUN: heddle-compile %s --target=sm_80 --compile-to=tile --entry=selective | FileCheck %s --check-prefix=TILE
// RUN: heddle-compile %s --target=sm_80 --compile-to=gpu --entry=selective | FileCheck %s --check-prefix=GPU
// RUN: heddle-compile %s --target=sm_80 --emit=ptx -o - --entry=selective | FileCheck %s --check-prefix=PTX
// RUN: heddle-compile %s --target=sm_80 --emit=ptx -o - --entry=linear | FileCheck %s --check-prefix=LINEAR

// A selective scan: rows of b and c in shared memory, read as vectors; states and
// what the next chunk reads in registers; hardware exponentials; sums over states by
// shuffles.

// TILE: func.func private @scan_4_128_1024_bf16
// TILE-SAME: heddle.threads
// TILE: scf.forall ({{.*}}) in (128, 128)
// TILE: memref.alloc() : memref<256xf32, #gpu.address_space<workgroup>>
// TILE: gpu.barrier
// TILE: math.exp2
// TILE: gpu.shuffle xor
// TILE: gpu.barrier

// GPU: gpu.func @scan_4_128_1024_bf16
// GPU-SAME: heddle.index_bits = 32
// GPU-SAME: heddle_gpu.shared_bytes = 8192
// GPU: memref.alloc() {heddle.shared_offset = 0 : i64}

// PTX: .extern .shared
// PTX: .entry scan_4_128_1024_bf16
// PTX: .reqntid 128
// PTX: .minnctapersm 1
// PTX-NOT: .local
// PTX: st.shared.b32
// PTX: bar.sync
// PTX-NOT: .local
// PTX: ld.shared.v4.b32
// PTX: ex2.approx.ftz.f32
// PTX: fma.rn.f32
// PTX-NOT: .local
// PTX: shfl.sync.bfly.b32
// PTX-NOT: .local
// PTX: bar.sync
// PTX: st.global.b16
// PTX-NOT: .local
func.func @selective(%u: tensor<4x128x1024xbf16>, %dt: tensor<4x128x1024xbf16>, %a: tensor<1024x16xf32>, %b: tensor<4x128x16xbf16>, %c: tensor<4x128x16xbf16>) -> tensor<4x128x1024xbf16> {
  %y = heddle.selective_scan %u, %dt, %a, %b, %c {delta_softplus}
    : tensor<4x128x1024xbf16>, tensor<4x128x1024xbf16>, tensor<1024x16xf32>, tensor<4x128x16xbf16>, tensor<4x128x16xbf16> -> tensor<4x128x1024xbf16>
  return %y : tensor<4x128x1024xbf16>
}

// A linear scan: maps of the threads of a channel meet in shared memory, once a chunk.

// LINEAR: .entry scan_4_128_1024_f32
// LINEAR: .reqntid 512
// LINEAR-NOT: .local
// LINEAR: ld.global.b32
// LINEAR: st.shared.b32
// LINEAR: bar.sync
// LINEAR: ld.shared.b32
// LINEAR: st.global.b32
// LINEAR-NOT: bar.sync
// LINEAR-NOT: .local
func.func @linear(%a: tensor<4x128x1024xf32>, %b: tensor<4x128x1024xf32>) -> tensor<4x128x1024xf32> {
  %h = heddle.linear_scan %a, %b : tensor<4x128x1024xf32>, tensor<4x128x1024xf32> -> (tensor<4x128x1024xf32>)
  return %h : tensor<4x128x1024xf32>
}
