//===- HeddleBase.td - the heddle dialect, its enums and attributes -------===//

#ifndef HEDDLE_BASE_TD
#define HEDDLE_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Heddle_Dialect : Dialect {
  let name = "heddle";
  let cppNamespace = "::heddle";
  let summary = "attention, scans and remat annotations at graph level";
  let description = [{
    Graph-level ops with tensor semantics. Everything that upstream already has
    (linalg, tensor, arith, math) is used from there. `Rationale.md` says why the
    dialect is shaped as it is.

    Where a page says float it means f16, bf16 or f32.

    An attribute that an op does not define is an error, which names the nearest
    that it has, unless its name has a dialect's prefix, as in `tool.note`.

    Constraint labels such as `attention_c3` name a rule in this page, in the
    verifier that enforces it and in the test that breaks it.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"
  ];
}

def Heddle_KnownAttributes : NativeOpTrait<"KnownAttributes"> {
  let cppNamespace = "::heddle";
}

class Heddle_Op<string mnemonic, list<Trait> traits = []>
    : Op<Heddle_Dialect, mnemonic,
         !listconcat(traits, [Heddle_KnownAttributes])>;

class Heddle_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Heddle_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

def Heddle_LayoutBSHD : I32EnumAttrCase<"BSHD", 0, "bshd">;
def Heddle_LayoutBHSD : I32EnumAttrCase<"BHSD", 1, "bhsd">;
def Heddle_AttentionLayout : I32EnumAttr<"AttentionLayout",
    "order of the batch, sequence, head and head_dim axes",
    [Heddle_LayoutBSHD, Heddle_LayoutBHSD]> {
  let cppNamespace = "::heddle";
}

def Heddle_PrecisionIEEE : I32EnumAttrCase<"IEEE", 0, "ieee">;
def Heddle_PrecisionTF32 : I32EnumAttrCase<"TF32", 1, "tf32">;
def Heddle_Precision : I32EnumAttr<"Precision",
    "how f32 products are formed: IEEE, or inputs rounded to TF32",
    [Heddle_PrecisionIEEE, Heddle_PrecisionTF32]> {
  let cppNamespace = "::heddle";
}

def Heddle_RematNone : I32EnumAttrCase<"None", 0, "none">;
def Heddle_RematFull : I32EnumAttrCase<"Full", 1, "full">;
def Heddle_RematDots : I32EnumAttrCase<"DotsSaveable", 2, "dots_saveable">;
def Heddle_RematNames : I32EnumAttrCase<"SaveNames", 3, "save_names">;
def Heddle_RematKind : I32EnumAttr<"RematKind", "what a checkpoint keeps",
    [Heddle_RematNone, Heddle_RematFull, Heddle_RematDots, Heddle_RematNames]> {
  let cppNamespace = "::heddle";
}

def Heddle_IndexClip : I32EnumAttrCase<"Clip", 0, "clip">;
def Heddle_IndexDrop : I32EnumAttrCase<"Drop", 1, "drop">;
def Heddle_IndexMode : I32EnumAttr<"IndexMode",
    "what an index outside the table does: clip to the nearest row, or drop "
    "(read zero, write nothing)",
    [Heddle_IndexClip, Heddle_IndexDrop]> {
  let cppNamespace = "::heddle";
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Heddle_MaskAttr : Heddle_Attr<"Mask", "mask"> {
  let summary = "a set of visible (query, key) positions";
  let description = [{
    An expression over integer positions `i` (query) and `j` (key) that says
    which pairs are visible. Positions count from 0; Sq and Sk are the lengths of
    the attention op that carries the mask.

    | term | visible where |
    |---|---|
    | `causal` | `i - j >= 0`, only where Sq = Sk |
    | `causal_upper_left` | `i - j >= 0` |
    | `causal_lower_right` | `i + (Sk - Sq) - j >= 0` |
    | `window<l, r>` | `i - l <= j <= i + r` (both ends inclusive) |
    | `prefix<n>` | `j < n` |
    | `block_diagonal<n>` | `i floordiv n == j floordiv n` |
    | `affine_set<"(i, j) : (...)">` | the quoted integer set holds |
    | `union<a, b, ...>`, `intersection<a, b, ...>` | any / all terms hold |

    Unions and intersections nest. A window whose ends cross (`l + r < 0`) is
    empty.

    Constraints:

    - /*mask_c1*/ a term has the number of integers shown.
    - /*mask_c2*/ union and intersection have at least one term, others none.
    - /*mask_c3*/ the block size is positive and the prefix length not negative.
    - /*mask_c4*/ integers are at most 2^40 in magnitude.
    - /*mask_c5*/ the set has two dims and no symbols.
    - /*mask_c6*/ divisors in the set are positive constants.

    Example: `#heddle.mask<intersection<causal_lower_right, window<128, 0>>>`.
  }];
  // A term is a dictionary-free tree: kind, its integers, its children and, for
  // affine_set, the set itself.
  let parameters = (ins
    "::heddle::MaskKind":$kind,
    ArrayRefParameter<"int64_t">:$values,
    ArrayRefParameter<"::heddle::MaskAttr">:$terms,
    "::mlir::IntegerSet":$set
  );
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether the pair (i, j) is visible for the given sequence lengths.
    bool contains(int64_t i, int64_t j, int64_t sq, int64_t sk) const;
    /// Whether the mask uses bare `causal`, which needs Sq = Sk.
    bool needsEqualLengths() const;
    /// Whether visibility depends on the query position i.
    bool dependsOnQueryPosition() const;
    /// The same set with nested unions and intersections flattened, equal terms
    /// merged and trees of one term replaced by it.
    ::heddle::MaskAttr simplify() const;
  }];
}

def Heddle_RematPolicyAttr : Heddle_Attr<"RematPolicy", "policy"> {
  let summary = "which values a checkpoint region keeps for the backward pass";
  let description = [{
    `none` keeps what differentiation asks for, `full` keeps the region's inputs
    only, `dots_saveable` also keeps results of matrix products,
    `save_names<["a", "b"]>` also keeps the values that `heddle.name` tagged.

    Constraints:

    - /*policy_c1*/ `save_names` has at least one name, none empty, none twice.

    Example: `#heddle.policy<save_names<["gate"]>>`.
  }];
  let parameters = (ins
    "::heddle::RematKind":$kind,
    OptionalArrayRefParameter<"::mlir::StringAttr">:$names
  );
  let assemblyFormat = "`<` custom<RematPolicy>($kind, $names) `>`";
  let genVerifyDecl = 1;
}

#endif // HEDDLE_BASE_TD
