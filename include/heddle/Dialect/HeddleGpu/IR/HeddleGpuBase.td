//===- HeddleGpuBase.td - the heddle_gpu dialect, attributes and types ----===//

#ifndef HEDDLE_GPU_BASE_TD
#define HEDDLE_GPU_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/TensorEncoding.td"

def HeddleGpu_Dialect : Dialect {
  let name = "heddle_gpu";
  let cppNamespace = "::heddle_gpu";
  let summary = "tile programs for a GPU: layouts, shared memory, asynchrony";
  let description = [{
    Contract G. Values are tiles, tensors whose encoding `#heddle_gpu.layout` says
    which thread holds which element; arith, math and scf work on them directly.
    The ops here are what these dialects lack: access to global and shared memory,
    products, reductions and scans across threads, changes of layout, asynchronous
    copies and barriers. Below this dialect no schedule changes: lowering replaces
    tiles by the registers of one thread.

    `docs/layouts.md` says what layouts are and how conversions and swizzles are
    computed from them.

    A kernel may carry `heddle_gpu.warps = n : i64`, the number of its warps, and
    `heddle_gpu.shared_bytes = n : i64`, the bytes of shared memory that its tiles
    take once they have offsets.

    Constraint labels such as `gpu_load_c1` name a rule in this page, in the
    verifier that enforces it and in the test that breaks it.

    - /*gpu_warps_c1*/ `heddle_gpu.warps` is a positive integer attribute.
    - /*gpu_shared_bytes_c1*/ `heddle_gpu.shared_bytes` is an integer attribute that
      is not negative.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
    /// The number of warps of a kernel, a discardable integer attribute.
    static constexpr llvm::StringLiteral kWarpsAttrName = "heddle_gpu.warps";
    /// The bytes of shared memory of a kernel, likewise.
    static constexpr llvm::StringLiteral kSharedBytesAttrName =
        "heddle_gpu.shared_bytes";
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"
  ];
}

class HeddleGpu_Op<string mnemonic, list<Trait> traits = []>
    : Op<HeddleGpu_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

def HeddleGpu_DotMma : I32EnumAttrCase<"Mma", 0, "mma">;
def HeddleGpu_DotMmaTf32 : I32EnumAttrCase<"MmaTf32", 1, "mma_tf32">;
def HeddleGpu_DotFma : I32EnumAttrCase<"Fma", 2, "fma">;
def HeddleGpu_DotKind : I32EnumAttr<"DotKind",
    "how a product is formed: mma.m16n8k16 on bf16 or f16, mma.m16n8k8 on f32 "
    "rounded to tf32, or IEEE fused multiply-adds",
    [HeddleGpu_DotMma, HeddleGpu_DotMmaTf32, HeddleGpu_DotFma]> {
  let cppNamespace = "::heddle_gpu";
}

def HeddleGpu_CombineAdd : I32EnumAttrCase<"Add", 0, "add">;
def HeddleGpu_CombineMul : I32EnumAttrCase<"Mul", 1, "mul">;
def HeddleGpu_CombineMax : I32EnumAttrCase<"Max", 2, "max">;
def HeddleGpu_CombineMin : I32EnumAttrCase<"Min", 3, "min">;
def HeddleGpu_CombineKind : I32EnumAttr<"CombineKind",
    "what a reduction or scan combines with; max and min of floats propagate "
    "NaN, those of integers are signed",
    [HeddleGpu_CombineAdd, HeddleGpu_CombineMul, HeddleGpu_CombineMax,
     HeddleGpu_CombineMin]> {
  let cppNamespace = "::heddle_gpu";
}

def HeddleGpu_AccumulatePlain : I32EnumAttrCase<"Plain", 0, "plain">;
def HeddleGpu_AccumulateAtomic : I32EnumAttrCase<"Atomic", 1, "atomic">;
def HeddleGpu_Accumulate : I32EnumAttr<"Accumulate",
    "how a store adds: plain (no other block touches the tile) or atomic",
    [HeddleGpu_AccumulatePlain, HeddleGpu_AccumulateAtomic]> {
  let cppNamespace = "::heddle_gpu";
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class HeddleGpu_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<HeddleGpu_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def HeddleGpu_LayoutAttr : HeddleGpu_Attr<"Layout", "layout",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "which thread holds which element of a tile (tensor encoding)";
  let description = [{
    For a place (register, lane, warp) the coordinates are

    ```
    coordinate[d] = xor of basis[d] over the set bits of register, lane and warp
                  + side[d] * copy[d]
    ```

    `register`, `lane` and `warp` list one basis for each bit, lowest first, each
    with a coordinate per dimension. `side` is the power-of-two tile that the bases
    span; `repeat[d]` copies of it lie along dimension d, in further registers: the
    index of the copy is the register number above the register bits, the last
    dimension fastest. The tile's shape is side times repeat. A basis of zeros
    replicates.

    The attribute is kept in normal form: factors of two of the fastest repeat
    become register bits. Equal layouts are equal attributes. `register` and `warp`
    are left out where empty.

    Constraints:

    - /*layout_c1*/ bases and repeats obey the rules of a layout: coordinates per
      dimension, positive repeats, every element held by some thread.
    - /*layout_c2*/ there are five lane bases: a warp has 32 lanes.
    - /*layout_c3*/ the tensor's rank is the layout's.
    - /*layout_c4*/ the tensor's shape is the layout's.

    Example, the accumulator of mma.m16n8k16 for a 16x80 tile in one warp:

    ```mlir
    #acc = #heddle_gpu.layout<register = [[0, 1], [8, 0], [0, 8]],
      lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 5]>
    func.func @twice(%x: tensor<16x80xf32, #acc>) -> tensor<16x80xf32, #acc> {
      %y = arith.addf %x, %x : tensor<16x80xf32, #acc>
      return %y : tensor<16x80xf32, #acc>
    }
    ```
  }];
  let parameters = (ins
    AttrParameter<"::heddle_gpu::Layout", "the layout",
                  "const ::heddle_gpu::Layout &">:$value);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def HeddleGpu_SharedAttr : HeddleGpu_Attr<"Shared", "shared"> {
  let summary = "where the elements of a tile lie in shared memory";
  let description = [{
    Row-major with an xor swizzle. A row is cut into chunks of `vector_bytes`;
    chunk c of row r lies at chunk

    ```
    c xor ((r / rows_per_phase) mod phases)
    ```

    of its row. With `panel_bytes` the columns are cut into panels of that width
    that follow each other, each row-major: the form in which tensor maps and
    wgmma see wide tiles. `row_major` is the layout without a swizzle.

    `heddle_gpu::chooseSwizzle` computes it from the accesses.

    Constraints:

    - /*shared_c1*/ vector_bytes (at most 16), rows_per_phase and phases are
      positive powers of two, panel_bytes is not negative.

    Example: `#heddle_gpu.shared<vector_bytes = 16, rows_per_phase = 1, phases = 8>`.
  }];
  let parameters = (ins
    AttrParameter<"::heddle_gpu::SharedLayout", "the layout",
                  "const ::heddle_gpu::SharedLayout &">:$value);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def HeddleGpu_SmemType : TypeDef<HeddleGpu_Dialect, "Smem"> {
  let mnemonic = "smem";
  let summary = "tiles in shared memory, one for each pipeline stage";
  let description = [{
    `stages` tiles of one shape and layout that lie behind one another. A tile of
    several stages is named with an index, `%s[%i]`; without an index it is stage 0.

    Constraints:

    - /*smem_c1*/ the shape is static, of rank 1 or 2, without a size of 0.
    - /*smem_c2*/ elements are integers or floats of 1, 2, 4 or 8 bytes.
    - /*smem_c3*/ the layout fits the shape.
    - /*smem_c4*/ there is at least one stage.

    Example: `!heddle_gpu.smem<64x80xbf16, #heddle_gpu.shared<row_major>, stages = 3>`.
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$shape,
    "::mlir::Type":$elementType,
    "::heddle_gpu::SharedAttr":$layout,
    "int64_t":$stages
  );
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getElementBytes() const;
    /// Bytes of one tile.
    int64_t getTileBytes() const;
    /// Bytes of all stages. Each starts at a multiple of 128 bytes where the tile
    /// is swizzled or has several stages (8 rows of 16 bytes are one phase).
    int64_t getBytes() const;
    int64_t getStageStride() const;
  }];
}

/// A tile: a tensor with a layout, whose presence the op's verifier checks.
def HeddleGpu_Tile : StaticShapeTensorOf<[AnyType]>;
def HeddleGpu_IntTile : StaticShapeTensorOf<[AnySignlessInteger, Index]>;
defvar HeddleGpu_Offset = Index;

#endif // HEDDLE_GPU_BASE_TD
