// A kernel written by hand at the level of GPU tiles, run on the emulator: each
// block transposes a tile of 32 x 32 through shared memory.
//
//   build/bin/heddle-run examples/transpose_kernel.mlir --device=emulator --report
//   build/bin/heddle-compile examples/transpose_kernel.mlir --target=sm_80 --emit=ptx
//
// The report has the least time for the kernel and what it did under the
// profiler's names: sectors and bytes of global memory, wavefronts of shared
// memory, barriers. A thread reads what threads of other warps wrote, so the
// barrier is needed. Without it racecheck stops the run and names both accesses
// with their ops, threads and the address:
//
//   grep -v 'heddle_gpu.barrier$' examples/transpose_kernel.mlir |
//     build/bin/heddle-run - --device=emulator --sanitize=racecheck
//
// Buffers that the kernel stores to are results. `heddle-compile MODEL.mlir
// --target=sm_80 --compile-to=gpu` writes the kernels of a model like this.
//
// REQUIRES: heddle-compile, heddle-run
// RUN: heddle-run %s --device=emulator --report --output=@%t.1.npy | FileCheck %s
// RUN: heddle-run %s --device=emulator --input=@%t.1.npy --output=@%t.2.npy
// RUN: heddle-run %s --device=emulator --seed=5 --input=@%t.2.npy --expected-output=@%t.1.npy
// RUN: not heddle-run %s --device=emulator --input=@%t.1.npy --expected-output=@%t.1.npy
// RUN: grep -v 'heddle_gpu.barrier$' %s > %t.race.mlir
// RUN: not heddle-run %t.race.mlir --device=emulator --sanitize=racecheck 2>&1 | FileCheck %s --check-prefix=RACE
// RUN: heddle-compile %s --target=sm_80 --emit=ptx | FileCheck %s --check-prefix=PTX

// CHECK: transpose_r32_c32 {{.*}} us, limited by memory
// CHECK: emulator of sm_80: sanitizers memcheck, racecheck, initcheck, synccheck
// CHECK: transpose, 1 launch
// CHECK: mem_shared_op_ld.sum 128 wavefronts
// CHECK-NOT: conflicts
// CHECK: result 0: float32[64,64]
// RACE: heddle-run: error: racecheck: race of a write with the read of thread ({{[0-9]+}},0,0) (llvm.load at
// RACE-SAME: at shared offset {{[0-9]+}}
// RACE-SAME: put a barrier between; kernel 'transpose_r32_c32', llvm.store at
// RACE-SAME: block (0,0,0), thread (
// PTX: .entry transpose_r32_c32(
// PTX: bar.sync

#rows = #heddle_gpu.layout<register = [[0, 1], [0, 2], [16, 0]],
                           lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]],
                           warp = [[4, 0], [8, 0]], repeat = [1, 1]>
// Neither rows nor columns have bank conflicts: element j of row i lies at j xor i.
!tile = !heddle_gpu.smem<32x32xf32, #heddle_gpu.shared<vector_bytes = 4, rows_per_phase = 1, phases = 32>>

gpu.module @transpose {
  gpu.func @transpose(%x: memref<64x64xf32>, %y: memref<64x64xf32>) kernel
      attributes {heddle.grid = 4 : i64, heddle.tile = "r32_c32",
                  heddle_gpu.warps = 4 : i64, heddle_gpu.shared_bytes = 4096 : i64,
                  known_block_size = array<i32: 128, 1, 1>} {
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %block = gpu.block_id x
    %i = arith.divui %block, %c2 : index
    %j = arith.remui %block, %c2 : index
    %row = arith.muli %i, %c32 : index
    %column = arith.muli %j, %c32 : index
    %s = heddle_gpu.smem_alloc offset 0 : !tile
    %0 = heddle_gpu.load %x[%row, %column] dims [0, 1] : memref<64x64xf32> -> tensor<32x32xf32, #rows>
    heddle_gpu.smem_store %0, %s : tensor<32x32xf32, #rows>, !tile
    heddle_gpu.barrier
    %1 = heddle_gpu.smem_load %s trans : !tile -> tensor<32x32xf32, #rows>
    heddle_gpu.store %1 into %y[%column, %row] dims [0, 1] : tensor<32x32xf32, #rows> into memref<64x64xf32>
    gpu.return
  }
}
