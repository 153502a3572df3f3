//===- HeddleGpuComputeOps.td - products, reductions, layouts -------------===//

#ifndef HEDDLE_GPU_COMPUTE_OPS_TD
#define HEDDLE_GPU_COMPUTE_OPS_TD

include "heddle/Dialect/HeddleGpu/IR/HeddleGpuBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

def HeddleGpu_DotOp : HeddleGpu_Op<"dot",
    [Pure, AllTypesMatch<["accumulator", "result"]>]> {
  let summary = "product of two tiles, added to a third";
  let description = [{
    ```
    result[m, n] = accumulator[m, n] + sum_k a[m, k] * b[k, n]
    ```

    | kind | a, b | accumulator | instruction |
    |---|---|---|---|
    | `mma` | bf16 or f16 | f32 | mma.m16n8k16 |
    | `mma_tf32` | f32, rounded to tf32 | f32 | mma.m16n8k8 |
    | `fma` | float | f32 | fma.rn; a and b are extended |

    With `skip_zeros` an element of a that is 0 contributes nothing, whatever b
    holds there, NaN and infinity included: the weight of a pair behind a mask.

    The order of the sum over k is that of the instruction, ascending between
    instructions. No data leaves a thread beyond what the instruction does, so the
    layouts have to fit: `heddle_gpu::mmaOperand` and `fmaOperandA` make ones that
    do.

    Created when tile programs become GPU tile programs; replaced by the
    instructions.

    Constraints:

    - /*gpu_dot_c1*/ a, b and the accumulator have layouts.
    - /*gpu_dot_c2*/ shapes are m x k, k x n and m x n.
    - /*gpu_dot_c3*/ element types are those of the kind.
    - /*gpu_dot_c4*/ the layouts are those of the instruction's operands, over the
      same threads.

    Example:

    ```mlir
    #a = #heddle_gpu.layout<register = [[0, 1], [8, 0], [0, 8]],
      lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
    #b = #heddle_gpu.layout<register = [[1, 0], [8, 0]],
      lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], repeat = [1, 5]>
    #c = #heddle_gpu.layout<register = [[0, 1], [8, 0]],
      lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 5]>
    func.func @product(%a: tensor<16x16xbf16, #a>, %b: tensor<16x40xbf16, #b>, %c: tensor<16x40xf32, #c>) -> tensor<16x40xf32, #c> {
      %d = heddle_gpu.dot mma %a, %b, %c
        : tensor<16x16xbf16, #a>, tensor<16x40xbf16, #b>, tensor<16x40xf32, #c>
      return %d : tensor<16x40xf32, #c>
    }
    ```
  }];
  let arguments = (ins HeddleGpu_DotKind:$kind, HeddleGpu_Tile:$a,
    HeddleGpu_Tile:$b, HeddleGpu_Tile:$accumulator, UnitAttr:$skipZeros);
  let results = (outs HeddleGpu_Tile:$result);
  let assemblyFormat = [{
    $kind $a `,` $b `,` $accumulator (`skip_zeros` $skipZeros^)? attr-dict
    `:` type($a) `,` type($b) `,` type($accumulator)
  }];
  let hasVerifier = 1;
}

def HeddleGpu_DotAsyncOp : HeddleGpu_Op<"dot_async", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, InferTypeOpAdaptor]> {
  let summary = "starts a product of tiles in shared memory";
  let description = [{
    The product of `heddle_gpu.dot`, by the four warps of each warpgroup. b, and a
    unless it is a tile, are read from shared memory after the op returns; with
    `trans_a` (`trans_b`) the tile there is the operand's transpose. The result may
    be used only by another `dot_async`, as its accumulator, or by `dot_wait`; what
    the product reads is not written before. Shared memory written by
    `smem_store` is visible to it after a barrier: lowering adds the proxy fence.

    Created when the target has wgmma; replaced by wgmma.mma_async and
    wgmma.commit_group.

    Constraints:

    - /*gpu_dot_async_c1*/ the accumulator, and a where it is a tile, have layouts.
    - /*gpu_dot_async_c2*/ shapes are m x k, k x n and m x n.
    - /*gpu_dot_async_c3*/ a and b have one element type, bf16, f16 or f32 (tf32),
      the accumulator f32.
    - /*gpu_dot_async_c4*/ the accumulator's layout is the mma accumulator's with
      the warps of each warpgroup along m; a tile a has the operand's layout.
    - /*gpu_dot_async_c5*/ operands of several stages are read with an index.
    - /*gpu_dot_async_c6*/ the result is used by dot_wait and as an accumulator
      only.
    - /*gpu_dot_async_c7*/ f32 operands in shared memory lie along k: `trans_b`, and
      no `trans_a` (wgmma transposes 16-bit elements only).

    Example:

    ```mlir
    #c = #heddle_gpu.layout<register = [[0, 1], [8, 0]],
      lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 8]>
    !tile = !heddle_gpu.smem<64x64xbf16, #heddle_gpu.shared<vector_bytes = 16, rows_per_phase = 1, phases = 8>>
    func.func @product(%a: !tile, %b: !tile, %c: tensor<64x64xf32, #c>) -> tensor<64x64xf32, #c> {
      %d = heddle_gpu.dot_async %a, %b, %c trans_b : !tile, !tile, tensor<64x64xf32, #c>
      %e = heddle_gpu.dot_wait 0, %d : tensor<64x64xf32, #c>
      return %e : tensor<64x64xf32, #c>
    }
    ```
  }];
  let arguments = (ins
    AnyTypeOf<[HeddleGpu_Tile, HeddleGpu_SmemType]>:$a, Optional<Index>:$a_stage,
    HeddleGpu_SmemType:$b, Optional<Index>:$b_stage, HeddleGpu_Tile:$accumulator,
    UnitAttr:$trans_a, UnitAttr:$trans_b);
  let results = (outs HeddleGpu_Tile:$result);
  let assemblyFormat = [{
    $a (`[` $a_stage^ `]`)? `,` $b (`[` $b_stage^ `]`)? `,` $accumulator
    (`trans_a` $trans_a^)? (`trans_b` $trans_b^)? attr-dict
    `:` qualified(type($a)) `,` qualified(type($b)) `,` type($accumulator)
  }];
  let hasVerifier = 1;
}

def HeddleGpu_DotWaitOp : HeddleGpu_Op<"dot_wait",
    [MemoryEffects<[MemRead, MemWrite]>,
     DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "waits until at most n asynchronous products are under way";
  let description = [{
    Products end in the order in which they started. The results are the operands,
    whose products are over. Replaced by wgmma.wait_group.

    Constraints:

    - /*gpu_dot_wait_c1*/ `pending` is not negative.

    Example: see `heddle_gpu.dot_async`.
  }];
  let arguments = (ins I64Attr:$pending, Variadic<HeddleGpu_Tile>:$inputs);
  let results = (outs Variadic<HeddleGpu_Tile>:$outputs);
  let assemblyFormat = "$pending `,` $inputs attr-dict `:` type($inputs)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reductions and scans
//===----------------------------------------------------------------------===//

def HeddleGpu_ReduceOp : HeddleGpu_Op<"reduce", [Pure, InferTypeOpAdaptor]> {
  let summary = "combines the elements along an axis";
  let description = [{
    ```
    result[..., ...] = combine over i of input[..., i, ...]
    ```

    `kind`, or a region that maps two groups of scalars, one scalar per input, to
    one. The combination is associative and commutative; its order is fixed by
    the layout, and the same in every run. max and min of floats propagate NaN.

    The result's layout is the input's without the axis
    (`heddle_gpu::Layout::slice`): threads that the axis was spread over all hold
    the result.

    With `partial` each thread combines what it holds itself. The axis stays, with
    one element for each thread along it; a plain reduction of these is the whole
    one.

    Created when tile programs become GPU tile programs; replaced by arithmetic in
    the thread, butterfly shuffles, and shared memory between warps.

    Constraints:

    - /*gpu_reduce_c1*/ inputs have layouts and one shape and layout.
    - /*gpu_reduce_c2*/ the axis is one of the input's.
    - /*gpu_reduce_c3*/ there is either a kind, with one input, or a region.
    - /*gpu_reduce_c4*/ the region takes two scalars for each input, first those
      combined so far, and yields one for each.
    - /*gpu_reduce_c5*/ with `partial` no two threads, and no two registers of one,
      hold an element.

    Example:

    ```mlir
    #c = #heddle_gpu.layout<register = [[0, 1], [8, 0]],
      lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 5]>
    #r = #heddle_gpu.layout<register = [[8]], lane = [[0], [0], [1], [2], [4]], repeat = [1]>
    func.func @row_max(%s: tensor<16x40xf32, #c>) -> tensor<16xf32, #r> {
      %m = heddle_gpu.reduce max %s axis 1 : tensor<16x40xf32, #c>
      return %m : tensor<16xf32, #r>
    }
    ```
  }];
  let arguments = (ins Variadic<HeddleGpu_Tile>:$inputs, I64Attr:$axis,
    OptionalAttr<HeddleGpu_CombineKind>:$kind, UnitAttr:$partial);
  let results = (outs Variadic<HeddleGpu_Tile>:$results);
  let regions = (region AnyRegion:$combine);
  let assemblyFormat = [{
    ($kind^)? $inputs `axis` $axis (`partial` $partial^)? ($combine^)? attr-dict
    `:` type($inputs)
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def HeddleGpu_ScanOp : HeddleGpu_Op<"scan", [Pure, InferTypeOpAdaptor]> {
  let summary = "running combination along an axis";
  let description = [{
    ```
    result[..., i, ...] = input[..., 0, ...] combined with ... input[..., i, ...]
    ```

    Inclusive; with `reverse` from the end. `kind` or a region as in
    `heddle_gpu.reduce`; the combination is associative and need not commute. The
    region's first scalars are those combined so far, which come earlier along the
    axis (later with `reverse`). Results have the types of the inputs.

    Created when tile programs become GPU tile programs; replaced by a scan in the
    thread, shuffles, and shared memory between warps.

    Constraints:

    - /*gpu_scan_c1*/ inputs have layouts and one shape and layout.
    - /*gpu_scan_c2*/ the axis is one of the input's.
    - /*gpu_scan_c3*/ there is either a kind, with one input, or a region.
    - /*gpu_scan_c4*/ the region takes two scalars for each input and yields one.

    Example, h_t = a_t * h_(t-1) + b_t:

    ```mlir
    #l = #heddle_gpu.layout<register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], repeat = [1]>
    func.func @recurrence(%a: tensor<128xf32, #l>, %b: tensor<128xf32, #l>) -> tensor<128xf32, #l> {
      %p, %h = heddle_gpu.scan %a, %b axis 0 {
      ^bb0(%a0: f32, %b0: f32, %a1: f32, %b1: f32):
        %pa = arith.mulf %a0, %a1 : f32
        %t = arith.mulf %b0, %a1 : f32
        %hb = arith.addf %t, %b1 : f32
        heddle_gpu.yield %pa, %hb : f32, f32
      } : tensor<128xf32, #l>, tensor<128xf32, #l>
      return %h : tensor<128xf32, #l>
    }
    ```
  }];
  let arguments = (ins Variadic<HeddleGpu_Tile>:$inputs, I64Attr:$axis,
    OptionalAttr<HeddleGpu_CombineKind>:$kind, UnitAttr:$reverse);
  let results = (outs Variadic<HeddleGpu_Tile>:$results);
  let regions = (region AnyRegion:$combine);
  let assemblyFormat = [{
    ($kind^)? $inputs `axis` $axis (`reverse` $reverse^)? ($combine^)? attr-dict
    `:` type($inputs)
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def HeddleGpu_YieldOp : HeddleGpu_Op<"yield",
    [Pure, Terminator, ReturnLike, ParentOneOf<["ReduceOp", "ScanOp"]>]> {
  let summary = "ends a combine region and returns its scalars";
  let description = [{
    Goes when the op around it goes.

    Example: see `heddle_gpu.scan`.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

//===----------------------------------------------------------------------===//
// Shapes and layouts
//===----------------------------------------------------------------------===//

def HeddleGpu_BroadcastOp : HeddleGpu_Op<"broadcast", [Pure]> {
  let summary = "repeats a tile along new axes";
  let description = [{
    `result[c] = input[c without dims]`; `dims` are the axes of the result that the
    input lacks. The counterpart of `heddle_gpu.reduce`: every thread holds what it
    needs, so that no data moves.

    Created when tile programs become GPU tile programs; replaced by a renaming of
    registers.

    Constraints:

    - /*gpu_broadcast_c1*/ input and result have layouts and one element type.
    - /*gpu_broadcast_c2*/ `dims` are distinct, ascending axes of the result; the
      other sizes are those of the input, in order.
    - /*gpu_broadcast_c3*/ each thread holds the elements of the input that its part
      of the result repeats.

    Example:

    ```mlir
    #c = #heddle_gpu.layout<register = [[0, 1], [8, 0]],
      lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 5]>
    #r = #heddle_gpu.layout<register = [[8]], lane = [[0], [0], [1], [2], [4]], repeat = [1]>
    func.func @rows(%m: tensor<16xf32, #r>) -> tensor<16x40xf32, #c> {
      %b = heddle_gpu.broadcast %m dims [1] : tensor<16xf32, #r> -> tensor<16x40xf32, #c>
      return %b : tensor<16x40xf32, #c>
    }
    ```
  }];
  let arguments = (ins HeddleGpu_Tile:$input, DenseI64ArrayAttr:$dims);
  let results = (outs HeddleGpu_Tile:$result);
  let assemblyFormat = [{
    $input `dims` $dims attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def HeddleGpu_TransOp : HeddleGpu_Op<"trans", [Pure, InferTypeOpAdaptor]> {
  let summary = "reorders the axes of a tile";
  let description = [{
    Axis i of the result is axis `permutation[i]` of the input, in shape and in
    layout: every thread keeps its elements, at most registers change order.

    Created when tile programs become GPU tile programs; replaced by a renaming of
    registers.

    Constraints:

    - /*gpu_trans_c1*/ the input has a layout.
    - /*gpu_trans_c2*/ `permutation` is one of the input's axes.

    Example:

    ```mlir
    #l = #heddle_gpu.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
    #t = #heddle_gpu.layout<register = [[1, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], repeat = [1, 1]>
    func.func @transpose(%x: tensor<8x8xf32, #l>) -> tensor<8x8xf32, #t> {
      %y = heddle_gpu.trans %x [1, 0] : tensor<8x8xf32, #l>
      return %y : tensor<8x8xf32, #t>
    }
    ```
  }];
  let arguments = (ins HeddleGpu_Tile:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs HeddleGpu_Tile:$result);
  let assemblyFormat = "$input $permutation attr-dict `:` type($input)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def HeddleGpu_ConvertLayoutOp : HeddleGpu_Op<"convert_layout", [Pure]> {
  let summary = "the same tile in another layout";
  let description = [{
    Values do not change, their places do. What it costs follows from the two
    layouts (`heddle_gpu::classifyConversion`): nothing, a renaming of registers,
    shuffles inside warps, or a way through shared memory.

    Created wherever a consumer asks for another layout than the producer has;
    removed by `heddle-gpu-remove-conversions` where possible, else replaced by
    shuffles or by stores, a barrier and loads.

    Constraints:

    - /*gpu_convert_layout_c1*/ input and result have layouts.
    - /*gpu_convert_layout_c2*/ shapes and element types agree.
    - /*gpu_convert_layout_c3*/ the layouts have equal numbers of warps.

    Example:

    ```mlir
    #row = #heddle_gpu.layout<register = [[1]], lane = [[2], [4], [8], [16], [32]], repeat = [1]>
    #col = #heddle_gpu.layout<register = [[32]], lane = [[1], [2], [4], [8], [16]], repeat = [1]>
    func.func @convert(%x: tensor<64xf32, #row>) -> tensor<64xf32, #col> {
      %y = heddle_gpu.convert_layout %x : tensor<64xf32, #row> -> tensor<64xf32, #col>
      return %y : tensor<64xf32, #col>
    }
    ```
  }];
  let arguments = (ins HeddleGpu_Tile:$input);
  let results = (outs HeddleGpu_Tile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def HeddleGpu_IotaOp : HeddleGpu_Op<"iota", [Pure,
    OptionalTypesMatchWith<"start has the result's element type",
      "result", "start", "::mlir::getElementTypeOrSelf($_self)">]> {
  let summary = "the positions of a tile's elements along an axis";
  let description = [{
    `result[c] = start + c[axis]`, with start 0 where it is not written. Masks
    compare such positions.

    Created when tile programs become GPU tile programs (`linalg.index`); replaced
    by arithmetic on the lane's and the warp's number.

    Constraints:

    - /*gpu_iota_c1*/ the result has a layout.
    - /*gpu_iota_c2*/ the axis is one of the result's.

    Example:

    ```mlir
    #l = #heddle_gpu.layout<register = [[1]], lane = [[2], [4], [8], [16], [32]], repeat = [3]>
    func.func @positions(%first: i32) -> tensor<192xi32, #l> {
      %i = heddle_gpu.iota axis 0 from %first : tensor<192xi32, #l>
      return %i : tensor<192xi32, #l>
    }
    ```
  }];
  let arguments = (ins I64Attr:$axis, Optional<AnyType>:$start);
  let results = (outs HeddleGpu_IntTile:$result);
  let assemblyFormat = [{
    `axis` $axis (`from` $start^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

#endif // HEDDLE_GPU_COMPUTE_OPS_TD
