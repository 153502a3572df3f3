//===- Passes.td - passes on the heddle_gpu dialect -----------------------===//

#ifndef HEDDLE_GPU_TRANSFORMS_PASSES_TD
#define HEDDLE_GPU_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyGpuPass : Pass<"heddle-verify-gpu", "::mlir::ModuleOp"> {
  let summary = "checks contract G and lists everything that breaks it";
  let description = [{
    Looks at every kernel: a `gpu.func`, or a function that carries
    `heddle_gpu.warps` or holds an op of the heddle_gpu dialect. In a kernel

    - ops are of heddle_gpu, arith, math, scf, memref, gpu and func, `tensor.splat`
      and affine's apply, min and max; nothing else, linalg least of all;
    - every tensor has a layout;
    - `memref.alloc` makes shared memory (`#gpu.address_space<workgroup>`) only;
    - all layouts have the number of warps of `heddle_gpu.warps`, or the same number
      where the attribute is absent; in a `warp_role` that of the role;
    - a `warp_role` is made of the kernel's warps and holds no other;
    - a gpu.func's `known_block_size` has 1 to 1024 threads, and as many warps as
      `heddle_gpu.warps`; its grid, `heddle.grid`, has at least one block.
  }];
}

def RemoveConversionsPass : Pass<"heddle-gpu-remove-conversions"> {
  let summary = "moves and removes changes of layout";
  let description = [{
    A conversion moves where it costs less, by `heddle_gpu::classifyConversion`:

    - up: a value whose only use is the conversion is computed in the wanted layout
      where converting what it is made of costs less. Elementwise ops, broadcasts,
      reads of shared memory, positions and splats can be computed in any layout.
      A conversion on the way up ends there;
    - down: elementwise ops and reductions whose operands are converted from one
      layout run in that layout, and their result is converted;
    - out of loops: a carried value that is converted on entry to the body and
      back at its end is carried in the body's layout.

    Loads from and stores to global memory keep their layouts, which are chosen for
    wide accesses. Run canonicalize and cse afterwards.
  }];
  let dependentDialects = ["::heddle_gpu::HeddleGpuDialect"];
}

#endif // HEDDLE_GPU_TRANSFORMS_PASSES_TD
