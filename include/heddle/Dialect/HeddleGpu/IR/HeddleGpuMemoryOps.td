//===- HeddleGpuMemoryOps.td - global and shared memory -------------------===//

#ifndef HEDDLE_GPU_MEMORY_OPS_TD
#define HEDDLE_GPU_MEMORY_OPS_TD

include "heddle/Dialect/HeddleGpu/IR/HeddleGpuBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

def HeddleGpu_LoadOp : HeddleGpu_Op<"load", [AttrSizedOperandSegments,
    OptionalTypesMatchWith<"mask is i1 with the result's shape and layout",
      "result", "mask", "::heddle_gpu::maskTypeOf($_self)">,
    OptionalTypesMatchWith<"pad has the result's element type",
      "result", "pad", "::mlir::getElementTypeOrSelf($_self)">]> {
  let summary = "reads a tile of global memory";
  let description = [{
    Axis k of the tile is axis `dims[k]` of `source`; the other axes have extent
    one. Element (c_0, c_1, ...) is

    ```
    source[offsets + sum_k c_k * unit(dims[k])]   where it is in bounds and mask is true
    pad                                           elsewhere (0 without pad)
    ```

    In bounds means `offsets[dims[k]] + c_k < bounds[k]` for every k; without
    `bounds` they are the sizes of `source`. Offsets are not negative, bounds do
    not exceed the sizes, and offsets along other axes are in bounds. Nothing is
    read out of bounds or where the mask is false.

    Created when tile programs become GPU tile programs; replaced by ld.global of
    each thread's registers, vectors where layout and alignment allow.

    Constraints:

    - /*gpu_load_c1*/ the result has a layout.
    - /*gpu_load_c2*/ the element types agree.
    - /*gpu_load_c3*/ there is an offset for each axis of the source.
    - /*gpu_load_c4*/ `dims` has a distinct axis of the source for each axis of the
      tile.
    - /*gpu_load_c5*/ there are no bounds or one for each axis of the tile.

    Example:

    ```mlir
    #row = #heddle_gpu.layout<register = [[0, 1], [0, 2], [0, 4]],
      lane = [[0, 8], [0, 16], [1, 0], [2, 0], [4, 0]], repeat = [8, 1]>
    func.func @load(%m: memref<4x600x8x32xbf16>, %b: index, %i: index, %h: index) -> tensor<64x32xbf16, #row> {
      %c0 = arith.constant 0 : index
      %t = heddle_gpu.load %m[%b, %i, %h, %c0] dims [1, 3]
        : memref<4x600x8x32xbf16> -> tensor<64x32xbf16, #row>
      return %t : tensor<64x32xbf16, #row>
    }
    ```
  }];
  let arguments = (ins
    Arg<AnyMemRef, "", [MemRead]>:$source, Variadic<HeddleGpu_Offset>:$offsets,
    DenseI64ArrayAttr:$dims, Variadic<HeddleGpu_Offset>:$bounds,
    Optional<HeddleGpu_Tile>:$mask, Optional<AnyType>:$pad,
    UnitAttr:$inBounds);
  let results = (outs HeddleGpu_Tile:$result);
  let assemblyFormat = [{
    $source `[` $offsets `]` `dims` $dims (`bounds` `[` $bounds^ `]`)?
    (`in_bounds` $inBounds^)? (`mask` $mask^)? (`pad` $pad^)? attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def HeddleGpu_StoreOp : HeddleGpu_Op<"store", [AttrSizedOperandSegments,
    OptionalTypesMatchWith<"mask is i1 with the tile's shape and layout",
      "tile", "mask", "::heddle_gpu::maskTypeOf($_self)">]> {
  let summary = "writes a tile to global memory";
  let description = [{
    The counterpart of `heddle_gpu.load`, with the same meaning of `dims`,
    `offsets`, `bounds` and `mask`:

    ```
    dest[offsets + sum_k c_k * unit(dims[k])] = tile[c]   where in bounds and mask is true
    ```

    Elements that several threads hold are written once, by their owner. With
    `accumulate` the tile is added: `plain` reads and writes, for tiles that no
    other block touches; `atomic` is one atomic addition for each element, whose
    order is not defined.

    Created when tile programs become GPU tile programs (`heddle.tile_store`);
    replaced by st.global or red.global.

    Constraints:

    - /*gpu_store_c1*/ the tile has a layout.
    - /*gpu_store_c2*/ the element types agree.
    - /*gpu_store_c3*/ there is an offset for each axis of the destination.
    - /*gpu_store_c4*/ `dims` has a distinct axis of the destination for each axis
      of the tile.
    - /*gpu_store_c5*/ there are no bounds or one for each axis of the tile.

    Example:

    ```mlir
    #row = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [4]>
    func.func @store(%t: tensor<128xf32, #row>, %m: memref<8x600xf32>, %b: index, %i: index, %n: index) {
      heddle_gpu.store %t into %m[%b, %i] dims [1] bounds [%n] accumulate atomic
        : tensor<128xf32, #row> into memref<8x600xf32>
      return
    }
    ```
  }];
  let arguments = (ins
    HeddleGpu_Tile:$tile, Arg<AnyMemRef, "", [MemRead, MemWrite]>:$dest,
    Variadic<HeddleGpu_Offset>:$offsets, DenseI64ArrayAttr:$dims,
    Variadic<HeddleGpu_Offset>:$bounds, Optional<HeddleGpu_Tile>:$mask,
    OptionalAttr<HeddleGpu_Accumulate>:$accumulate, UnitAttr:$inBounds);
  let assemblyFormat = [{
    $tile `into` $dest `[` $offsets `]` `dims` $dims (`bounds` `[` $bounds^ `]`)?
    (`in_bounds` $inBounds^)? (`mask` $mask^)? (`accumulate` $accumulate^)? attr-dict
    `:` type($tile) `into` type($dest)
  }];
  let hasVerifier = 1;
}

def HeddleGpu_TableEntryOp : HeddleGpu_Op<"table_entry"> {
  let summary = "a buffer by its place in a table of buffers";
  let description = [{
    A table holds the device addresses of buffers, as a launch passes many
    buffers to one kernel. The result is the buffer whose address is element
    `entry`; it has as many elements as the launch says, which nothing here
    checks, and `entry` lies in the table.

    Created where one kernel takes the place of launches that do the same to
    buffers of different lengths, such as the update of each parameter by an
    optimizer; replaced by a load of the address.

    Constraints:

    - /*gpu_table_entry_c1*/ the table is a vector of i64 in global or shared
      memory.
    - /*gpu_table_entry_c2*/ the result is a vector in global memory, of a length
      that is not known, whose elements lie side by side.

    Example:

    ```mlir
    func.func @entry(%table: memref<68xi64>, %leaf: index, %i: index) -> f32 {
      %b = heddle_gpu.table_entry %table[%leaf] : memref<68xi64> -> memref<?xf32>
      %v = memref.load %b[%i] : memref<?xf32>
      return %v : f32
    }
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$table, Index:$entry);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = [{
    $table `[` $entry `]` attr-dict `:` type($table) `->` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

def HeddleGpu_SmemAllocOp : HeddleGpu_Op<"smem_alloc"> {
  let summary = "tiles in shared memory that live as long as the block";
  let description = [{
    Contents are undefined at first. `offset`, in bytes from the start of the
    block's dynamic shared memory, is set when shared memory is planned; tiles
    whose uses do not overlap may share it.

    Created together with the copies that fill it; replaced by an address.

    Constraints:

    - /*gpu_smem_alloc_c1*/ the offset is a multiple of 16 and not negative.

    Example:

    ```mlir
    func.func @alloc() {
      %s = heddle_gpu.smem_alloc : !heddle_gpu.smem<64x64xbf16, #heddle_gpu.shared<vector_bytes = 16, rows_per_phase = 1, phases = 8>, stages = 2>
      return
    }
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Res<HeddleGpu_SmemType, "", [MemAlloc]>:$result);
  let assemblyFormat = "(`offset` $offset^)? attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

def HeddleGpu_SmemLoadOp
    : HeddleGpu_Op<"smem_load", [AttrSizedOperandSegments]> {
  let summary = "reads a tile from shared memory";
  let description = [{
    ```
    result[c] = source[stage][at + c]            or, with trans,
    result[i, j] = source[stage][at_0 + j, at_1 + i]
    ```

    `at` is (0, 0) where it is not written. With `shift %n along axis` the tile
    begins `n` further along an axis of the source; n is a multiple of the tile's
    side there. The caller orders the read after the write: a barrier for
    `smem_store`, `async_wait` and a barrier for `async_copy`.

    Created when a product's operands are staged; replaced by ldmatrix where the
    result's layout and the swizzle match it, else by ld.shared.

    Constraints:

    - /*gpu_smem_load_c1*/ the result has a layout.
    - /*gpu_smem_load_c2*/ the element types agree.
    - /*gpu_smem_load_c3*/ `at`, one offset per axis, keeps the tile inside the
      source.
    - /*gpu_smem_load_c4*/ `trans` is used on rank 2.
    - /*gpu_smem_load_c5*/ a source of several stages is read with an index.
    - /*gpu_smem_load_c6*/ a shift is along an axis of the source on which the
      tile's side is a power of two and `at` is 0.

    Example:

    ```mlir
    #b = #heddle_gpu.layout<register = [[1, 0], [8, 0]],
      lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], repeat = [1, 10]>
    func.func @keys(%s: !heddle_gpu.smem<80x64xbf16, #heddle_gpu.shared<row_major>, stages = 2>, %i: index) -> tensor<16x80xbf16, #b> {
      %k = heddle_gpu.smem_load %s[%i] at [0, 16] trans
        : !heddle_gpu.smem<80x64xbf16, #heddle_gpu.shared<row_major>, stages = 2> -> tensor<16x80xbf16, #b>
      return %k : tensor<16x80xbf16, #b>
    }
    ```
  }];
  let arguments = (ins Arg<HeddleGpu_SmemType, "", [MemRead]>:$source,
    Optional<Index>:$stage, OptionalAttr<DenseI64ArrayAttr>:$at,
    Optional<Index>:$shift, OptionalAttr<I64Attr>:$shift_axis,
    UnitAttr:$trans);
  let results = (outs HeddleGpu_Tile:$result);
  let assemblyFormat = [{
    $source (`[` $stage^ `]`)? (`at` $at^)?
    (`shift` $shift^ `along` $shift_axis)? (`trans` $trans^)? attr-dict
    `:` qualified(type($source)) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$source,
    "::mlir::Value":$stage, "::mlir::DenseI64ArrayAttr":$at, "bool":$trans), [{
    build($_builder, $_state, result, source, stage, at, ::mlir::Value(),
          ::mlir::IntegerAttr(), trans);
  }]>];
  let hasVerifier = 1;
}

def HeddleGpu_SmemStoreOp : HeddleGpu_Op<"smem_store"> {
  let summary = "writes a tile to shared memory";
  let description = [{
    ```
    dest[stage][at + c] = tile[c]                or, with trans,
    dest[stage][at_0 + j, at_1 + i] = tile[i, j]
    ```

    Elements that several threads hold are written once, by their owner.

    Created when a layout conversion or an operand passes through shared memory;
    replaced by st.shared.

    Constraints:

    - /*gpu_smem_store_c1*/ the tile has a layout.
    - /*gpu_smem_store_c2*/ the element types agree.
    - /*gpu_smem_store_c3*/ `at`, one offset per axis, keeps the tile inside the
      destination.
    - /*gpu_smem_store_c4*/ `trans` is used on rank 2.
    - /*gpu_smem_store_c5*/ a destination of several stages is written with an
      index.

    Example:

    ```mlir
    #row = #heddle_gpu.layout<register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], repeat = [1]>
    func.func @write(%t: tensor<128xf32, #row>, %s: !heddle_gpu.smem<128xf32, #heddle_gpu.shared<row_major>>) {
      heddle_gpu.smem_store %t, %s : tensor<128xf32, #row>, !heddle_gpu.smem<128xf32, #heddle_gpu.shared<row_major>>
      return
    }
    ```
  }];
  let arguments = (ins HeddleGpu_Tile:$tile,
    Arg<HeddleGpu_SmemType, "", [MemWrite]>:$dest, Optional<Index>:$stage,
    OptionalAttr<DenseI64ArrayAttr>:$at, UnitAttr:$trans);
  let assemblyFormat = [{
    $tile `,` $dest (`[` $stage^ `]`)? (`at` $at^)? (`trans` $trans^)? attr-dict
    `:` type($tile) `,` qualified(type($dest))
  }];
  let hasVerifier = 1;
}

def HeddleGpu_AnyNotFiniteOp : HeddleGpu_Op<"any_not_finite",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "whether a tile in shared memory holds a NaN or an infinity";
  let description = [{
    Every thread looks at the elements that it copied with `async_copy` or would
    copy, and all threads of the block learn the answer: also a barrier, so that
    it stands in place of the one after `async_wait`. Lets a product of masked
    weights take the plain way nearly always (`skip_zeros` of `heddle_gpu.dot`).

    Created with products that skip zeros; replaced by ld.shared and
    bar.red.or.

    Constraints:

    - /*gpu_any_not_finite_c1*/ elements are floats of 2 or 4 bytes.
    - /*gpu_any_not_finite_c2*/ a source of several stages is read with an index.

    Example:

    ```mlir
    func.func @check(%s: !heddle_gpu.smem<64x64xbf16, #heddle_gpu.shared<row_major>>) -> i1 {
      heddle_gpu.async_wait 0
      %special = heddle_gpu.any_not_finite %s : !heddle_gpu.smem<64x64xbf16, #heddle_gpu.shared<row_major>>
      return %special : i1
    }
    ```
  }];
  let arguments = (ins HeddleGpu_SmemType:$source, Optional<Index>:$stage);
  let results = (outs I1:$result);
  let assemblyFormat = [{
    $source (`[` $stage^ `]`)? attr-dict `:` qualified(type($source))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

def HeddleGpu_AsyncCopyOp : HeddleGpu_Op<"async_copy",
    [AttrSizedOperandSegments]> {
  let summary = "starts a copy of a tile from global to shared memory";
  let description = [{
    ```
    dest[stage][c] = source[offsets + sum_k c_k * unit(dims[k])]   in bounds
    dest[stage][c] = 0                                            elsewhere
    ```

    with `dims`, `offsets` and `bounds` of `heddle_gpu.load`. Returns at once; the
    tile is there after `async_wait` has waited for the group that the copy was
    committed to, for the threads that copied, and after a barrier for all. Until
    then dest is not read or written.

    Created when tile programs become GPU tile programs and moved by pipelining;
    replaced by cp.async of 16, 8 or 4 bytes, or by a bulk tensor copy.

    Constraints:

    - /*gpu_async_copy_c1*/ the element types agree.
    - /*gpu_async_copy_c2*/ there is an offset for each axis of the source.
    - /*gpu_async_copy_c3*/ `dims` has a distinct axis of the source for each axis
      of the tile.
    - /*gpu_async_copy_c4*/ there are no bounds or one for each axis of the tile.
    - /*gpu_async_copy_c5*/ a destination of several stages is written with an
      index.

    Example:

    ```mlir
    func.func @copy(%m: memref<600x80xbf16>, %i: index, %s: !heddle_gpu.smem<64x80xbf16, #heddle_gpu.shared<row_major>, stages = 3>, %stage: index) {
      %c0 = arith.constant 0 : index
      heddle_gpu.async_copy %m[%i, %c0] dims [0, 1] into %s[%stage]
        : memref<600x80xbf16> into !heddle_gpu.smem<64x80xbf16, #heddle_gpu.shared<row_major>, stages = 3>
      heddle_gpu.async_commit
      heddle_gpu.async_wait 0
      heddle_gpu.barrier
      return
    }
    ```
  }];
  let arguments = (ins
    Arg<AnyMemRef, "", [MemRead]>:$source, Variadic<HeddleGpu_Offset>:$offsets,
    DenseI64ArrayAttr:$dims, Variadic<HeddleGpu_Offset>:$bounds,
    Arg<HeddleGpu_SmemType, "", [MemWrite]>:$dest, Optional<Index>:$stage,
    UnitAttr:$inBounds);
  let assemblyFormat = [{
    $source `[` $offsets `]` `dims` $dims (`bounds` `[` $bounds^ `]`)?
    (`in_bounds` $inBounds^)? `into` $dest (`[` $stage^ `]`)? attr-dict
    `:` type($source) `into` qualified(type($dest))
  }];
  let hasVerifier = 1;
}

def HeddleGpu_AsyncCommitOp : HeddleGpu_Op<"async_commit",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "closes a group of asynchronous copies";
  let description = [{
    The copies that this thread has started since the last commit form a group,
    which may be empty. Replaced by cp.async.commit_group.

    Example: see `heddle_gpu.async_copy`.
  }];
  let assemblyFormat = "attr-dict";
}

def HeddleGpu_AsyncWaitOp : HeddleGpu_Op<"async_wait",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until at most n groups of copies are under way";
  let description = [{
    Groups end in the order of their commits. Only the waiting thread's own copies
    are waited for; a barrier makes the others' visible. Replaced by
    cp.async.wait_group.

    Constraints:

    - /*gpu_async_wait_c1*/ `pending` is not negative.

    Example: see `heddle_gpu.async_copy`.
  }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
  let hasVerifier = 1;
}

def HeddleGpu_BarrierOp : HeddleGpu_Op<"barrier",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for the threads of the block or of some warps";
  let description = [{
    Without operands every warp of the block (of the role, inside `warp_role`)
    meets. With `id` the barrier of that number is met by `warps` warps in all;
    with `arrive` a warp counts and goes on. Writes to memory before the barrier
    are visible after it.

    Replaced by bar.sync and bar.arrive.

    Constraints:

    - /*gpu_barrier_c1*/ ids are from 1 to 15: 0 is the block's own barrier.
    - /*gpu_barrier_c2*/ `warps` stands with `id`, from 1 to 32.
    - /*gpu_barrier_c3*/ `arrive` needs an id.

    Example:

    ```mlir
    func.func @barriers() {
      heddle_gpu.barrier
      heddle_gpu.barrier id 1 warps 8 arrive
      heddle_gpu.barrier id 1 warps 8
      return
    }
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$id, OptionalAttr<I64Attr>:$warps,
    UnitAttr:$arrive);
  let assemblyFormat = [{
    (`id` $id^)? (`warps` $warps^)? (`arrive` $arrive^)? attr-dict
  }];
  let hasVerifier = 1;
}

def HeddleGpu_WarpRoleOp : HeddleGpu_Op<"warp_role",
    [RecursiveMemoryEffects, NoRegionArguments, SingleBlock, NoTerminator]> {
  let summary = "code that some warps of the block run alone";
  let description = [{
    The body is run by warps `first` to `first + warps - 1`; the others skip it.
    Roles meet through named barriers and shared memory. Layouts of tiles inside
    count the warps of the role, from 0. Tiles do not cross the region's border.
    `registers` is the number of registers per thread that the role asks for.

    Created when a kernel is split into producers and consumers; replaced by a
    branch on the warp's number.

    Constraints:

    - /*gpu_warp_role_c1*/ `first` is not negative and `warps` a positive power of
      two, with at most 32 warps in all.
    - /*gpu_warp_role_c2*/ `registers` is a multiple of 8 from 24 to 256.
    - /*gpu_warp_role_c3*/ no tile from outside is used in the body.

    Example:

    ```mlir
    func.func @roles() {
      heddle_gpu.warp_role "producer" first 8 warps 4 registers 40 {
        heddle_gpu.barrier id 1 warps 12 arrive
      }
      heddle_gpu.warp_role "consumer" first 0 warps 8 {
        heddle_gpu.barrier id 1 warps 12
      }
      return
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$first, I64Attr:$warps,
    OptionalAttr<I64Attr>:$registers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `first` $first `warps` $warps (`registers` $registers^)?
    $body attr-dict
  }];
  let hasVerifier = 1;
}

#endif // HEDDLE_GPU_MEMORY_OPS_TD
