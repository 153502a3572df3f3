// RUN: heddle-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(gpu.module(convert-heddle-gpu-to-lanes))'

#a = #heddle_gpu.layout<lane = [[1, 0], [2, 0], [4, 0], [0, 1], [0, 2]], warp = [[0, 4]], repeat = [1, 1]>
#b = #heddle_gpu.layout<lane = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warp = [[4, 0]], repeat = [1, 1]>
gpu.module @kernels {
  gpu.func @across_warps(%x: tensor<8x8xf32, #a>, %y: memref<8x8xf32>) kernel attributes {heddle_gpu.warps = 2 : i64} {
    %c0 = arith.constant 0 : index
    // expected-error@+2 {{expected a conversion inside warps; run heddle-gpu-expand-shared first}}
    // expected-error@+1 {{failed to legalize operation 'heddle_gpu.convert_layout'}}
    %t = heddle_gpu.convert_layout %x : tensor<8x8xf32, #a> -> tensor<8x8xf32, #b>
    heddle_gpu.store %t into %y[%c0, %c0] dims [0, 1] : tensor<8x8xf32, #b> into memref<8x8xf32>
    gpu.return
  }
}

// -----

!tile = !heddle_gpu.smem<64xf32, #heddle_gpu.shared<row_major>>
#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [2]>
gpu.module @kernels {
  gpu.func @without_an_offset(%x: tensor<64xf32, #line>) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // expected-error@+2 {{expected an offset; run heddle-gpu-allocate-shared first}}
    // expected-error@+1 {{failed to legalize operation 'heddle_gpu.smem_alloc'}}
    %s = heddle_gpu.smem_alloc : !tile
    heddle_gpu.smem_store %x, %s : tensor<64xf32, #line>, !tile
    gpu.return
  }
}

// -----

!tile = !heddle_gpu.smem<64xf32, #heddle_gpu.shared<row_major>>
gpu.module @kernels {
  gpu.func @without_warps(%x: memref<64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %s = heddle_gpu.smem_alloc offset 0 : !tile
    // expected-error@+2 {{expected a kernel with heddle_gpu.warps}}
    // expected-error@+1 {{failed to legalize operation 'heddle_gpu.async_copy'}}
    heddle_gpu.async_copy %x[%c0] dims [0] into %s : memref<64xf32> into !tile
    gpu.return
  }
}

// -----

#c = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], warp = [[32]], repeat = [1]>
gpu.module @kernels {
  gpu.func @scan_across_warps(%x: tensor<64xf32, #c>, %y: memref<64xf32>) kernel attributes {heddle_gpu.warps = 2 : i64} {
    %c0 = arith.constant 0 : index
    // expected-error@+2 {{expected an axis inside one warp, each bit of a position in one register or lane bit; run heddle-gpu-expand-shared first}}
    // expected-error@+1 {{failed to legalize operation 'heddle_gpu.scan'}}
    %s = heddle_gpu.scan add %x axis 0 : tensor<64xf32, #c>
    heddle_gpu.store %s into %y[%c0] dims [0] : tensor<64xf32, #c> into memref<64xf32>
    gpu.return
  }
}
