// RUN: heddle-opt %s -heddle-verify-gpu -split-input-file -verify-diagnostics

// What contract G allows, and one case per rule.

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]], repeat = [1]>
#role = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], warp = [[32]], repeat = [2]>

func.func @kernels_and_roles_are_fine(%m: memref<600xf32>, %n: index) attributes {heddle_gpu.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<128xf32, #line>
  %s = memref.alloc() : memref<128xf32, #gpu.address_space<workgroup>>
  %sum = scf.for %i = %c0 to %n step %c128 iter_args(%acc = %zero) -> tensor<128xf32, #line> {
    %t = heddle_gpu.load %m[%i] dims [0] : memref<600xf32> -> tensor<128xf32, #line>
    %e = math.exp2 %t : tensor<128xf32, #line>
    %next = arith.addf %acc, %e : tensor<128xf32, #line>
    scf.yield %next : tensor<128xf32, #line>
  }
  heddle_gpu.store %sum into %m[%c0] dims [0] : tensor<128xf32, #line> into memref<600xf32>
  heddle_gpu.warp_role "pair" first 2 warps 2 {
    %t = heddle_gpu.load %m[%c0] dims [0] : memref<600xf32> -> tensor<128xf32, #role>
    heddle_gpu.store %t into %m[%c0] dims [0] : tensor<128xf32, #role> into memref<600xf32>
  }
  return
}

// Other functions are not looked at.
func.func @host(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{contract G: expected a layout (#heddle_gpu.layout) on every tensor, got 'tensor<128xf32>'}}
func.func @linalg_is_lowered(%x: tensor<128xf32>) attributes {heddle_gpu.warps = 4 : i64} {
  // expected-note @+1 {{contract G: 'linalg.exp' is not part of a GPU tile program; expected heddle_gpu, arith, math, scf and memref ops}}
  %0 = linalg.exp ins(%x : tensor<128xf32>) outs(%x : tensor<128xf32>) -> tensor<128xf32>
  return
}

// -----

gpu.module @kernels {
  gpu.func @tensors_have_layouts() kernel {
    // expected-error @+1 {{contract G: expected a layout (#heddle_gpu.layout) on every tensor, got 'tensor<128xf32>'}}
    %0 = arith.constant dense<0.0> : tensor<128xf32>
    gpu.return
  }
}

// -----

func.func @global_memory_is_planned() attributes {heddle_gpu.warps = 4 : i64} {
  // expected-error @+1 {{contract G: 'memref.alloc' allocates global memory; expected #gpu.address_space<workgroup>}}
  %0 = memref.alloc() : memref<128xf32>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], warp = [[32]], repeat = [1]>
func.func @layouts_have_the_kernels_warps() attributes {heddle_gpu.warps = 4 : i64} {
  // expected-error @+1 {{contract G: expected layouts over 4 warps, those of the kernel, got 2 in 'tensor<64xi32, #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], warp = [[32]], repeat = [1]>>'}}
  %0 = heddle_gpu.iota axis 0 : tensor<64xi32, #line>
  return
}

// -----

#one = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [2]>
#two = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], warp = [[32]], repeat = [1]>
func.func @layouts_agree() {
  %0 = heddle_gpu.iota axis 0 : tensor<64xi32, #one>
  // expected-error @+1 {{contract G: expected layouts over 1 warps, those of the kernel, got 2}}
  %1 = heddle_gpu.iota axis 0 : tensor<64xi32, #two>
  return
}

// -----

#one = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [2]>
func.func @roles_have_their_own_warps() attributes {heddle_gpu.warps = 4 : i64} {
  heddle_gpu.warp_role "pair" first 0 warps 2 {
    // expected-error @+1 {{contract G: expected layouts over 2 warps, those of the role, got 1}}
    %0 = heddle_gpu.iota axis 0 : tensor<64xi32, #one>
  }
  // expected-note @+1 {{contract G: a warp role ends at warp 6, but the kernel has 4}}
  heddle_gpu.warp_role "beyond" first 2 warps 4 {
    // expected-note @+1 {{contract G: a warp role stands in another; expected roles side by side}}
    heddle_gpu.warp_role "inner" first 0 warps 1 {
    }
  }
  return
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{contract G: expected a block of 4 warps (heddle_gpu.warps), got 2 in 64 threads; make the block 32 threads a warp}}
  gpu.func @blocks_have_the_kernels_warps() kernel attributes {heddle_gpu.warps = 4 : i64, known_block_size = array<i32: 64, 1, 1>} {
    gpu.return
  }
  // expected-note @+1 {{contract G: expected a block of 1 to 1024 threads, got 2048 x 1 x 1; use fewer warps}}
  gpu.func @blocks_have_at_most_1024_threads() kernel attributes {heddle_gpu.warps = 64 : i64, known_block_size = array<i32: 2048, 1, 1>} {
    gpu.return
  }
  // expected-note @+1 {{contract G: expected a grid (heddle.grid) of at least one block, got -1; launch no kernel where there is nothing to do}}
  gpu.func @grids_have_blocks() kernel attributes {heddle_gpu.warps = 1 : i64, heddle.grid = -1 : i64} {
    gpu.return
  }
}
