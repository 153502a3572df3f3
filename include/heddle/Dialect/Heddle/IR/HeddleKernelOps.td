//===- HeddleKernelOps.td - launches and tile stores (contracts K and T) --===//

#ifndef HEDDLE_KERNEL_OPS_TD
#define HEDDLE_KERNEL_OPS_TD

include "heddle/Dialect/Heddle/IR/HeddleBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Heddle_LaunchOp : Heddle_Op<"launch",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
     DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "runs an isolated kernel";
  let description = [{
    Calls a kernel function. After fusion operands and results are tensors and
    the op has no effect on memory; after planning every operand and every
    result is a buffer, results follow the operands, and the op has no results.

    Created by `heddle-fuse-kernels`, rewritten by `heddle-plan-memory`,
    consumed when the command list is written.

    ```mlir
    %y = heddle.launch @matmul_0(%x, %w) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    heddle.launch @matmul_0(%mx, %mw, %my) : (memref<8x4xf32>, memref<4x4xf32>, memref<8x4xf32>) -> ()
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$inputs);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, results)
  }];
}

def Heddle_TileStoreOp : Heddle_Op<"tile_store",
    [MemoryEffects<[MemWrite]>]> {
  let summary = "writes a tile to a buffer, clipped to the buffer's edge";
  let description = [{
    Writes `tile` at `offsets` of `dest`. The tile's axes are the axes of `dest`
    listed in `dims`, in tile order; the other axes have extent one. Elements of
    the tile that lie beyond the end of `dest` are not written, so a ragged edge
    needs no copy. Along each of `dims` the offset is a multiple of the tile's
    size, so that the last tile alone can be ragged. With `accumulate` the tile is added to what `dest` holds.

    Created by the tile builders; lowered by the CPU and GPU code generators.

    ```mlir
    heddle.tile_store %t into %m[%b, %i, %h, %c0] dims [1, 3]
      : tensor<64x32xf32> into memref<4x600x8x32xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$tile, AnyMemRef:$dest,
    Variadic<Index>:$offsets, DenseI64ArrayAttr:$dims, UnitAttr:$accumulate);
  let assemblyFormat = [{
    $tile `into` $dest `[` $offsets `]` `dims` $dims attr-dict
    `:` type($tile) `into` type($dest)
  }];
  let hasVerifier = 1;
}

#endif // HEDDLE_KERNEL_OPS_TD
