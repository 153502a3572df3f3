//===- HeddleGraphOps.td - remat, layers, differentiation, indexing -------===//

#ifndef HEDDLE_GRAPH_OPS_TD
#define HEDDLE_GRAPH_OPS_TD

include "heddle/Dialect/Heddle/IR/HeddleBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Heddle_YieldOp : Heddle_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "ends a region of a heddle op and returns its values";
  let description = [{
    The terminator of score regions, `heddle.checkpoint` and
    `heddle.layer_scan`; the op around it says which values it takes. It goes
    when that op goes.

    Example:

    ```mlir
    func.func @yield(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = heddle.checkpoint policy<full> (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
        heddle.yield %a : tensor<4xf32>
      }
      return %y : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ /* nothing */ }]>];
}

def Heddle_CheckpointOp : Heddle_Op<"checkpoint",
    [IsolatedFromAbove, RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a region with a remat policy";
  let description = [{
    Computes its region on `inputs`, which are bound to the block arguments in
    order, and returns what the region yields. The policy says which values of
    the region the backward pass may keep; the others it computes again.
    `policy<none>` keeps whatever differentiation asks for, so the op may be
    inlined. Checkpoints nest.

    Constraints:

    - /*checkpoint_c1*/ the block arguments have the types of the inputs.
    - /*checkpoint_c2*/ the region yields the types of the results.

    Created by model builders; removed by differentiation, which turns the
    policy into recomputation.

    Example:

    ```mlir
    func.func @remat(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
      %y = heddle.checkpoint policy<save_names<["gate"]>> (%a = %x, %b = %w)
          : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
        %0 = arith.mulf %a, %b : tensor<4xf32>
        %gate = heddle.name %0 "gate" : tensor<4xf32>
        %1 = math.tanh %gate : tensor<4xf32>
        heddle.yield %1 : tensor<4xf32>
      }
      return %y : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, Heddle_RematPolicyAttr:$policy);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
}

def Heddle_NameOp : Heddle_Op<"name", [Pure, SameOperandsAndResultType]> {
  let summary = "tags a value for by-name remat policies";
  let description = [{
    The identity. A `save_names` policy around it keeps the value under `name`
    for the backward pass. Canonicalization keeps the op.

    Constraints:

    - /*name_c1*/ the name is not empty.

    Created by model builders; removed after differentiation.

    Example:

    ```mlir
    func.func @tag(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = heddle.name %x "attention_out" : tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, StrAttr:$name);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$input $name attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Heddle_LayerScanOp : Heddle_Op<"layer_scan",
    [IsolatedFromAbove, AttrSizedOperandSegments, RecursiveMemoryEffects,
     SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "L equal layers over parameters stacked on a leading axis";
  let description = [{
    Runs its region L times. The block arguments are, in order: the carried
    values, one slice of each stacked operand (its type without the leading axis
    of size L), and the invariant operands as they are. The region yields the
    next carried values, then any per-layer outputs. The results are the last
    carried values, then the per-layer outputs stacked on a leading axis of
    size L.

    ```
    for l in 0 .. L-1 (from L-1 down to 0 if reverse):
      carried, out[l] = body(carried, stacked[l], invariant)
    ```

    With L = 0 the carried values come back unchanged. `policy` says what each
    layer keeps for the backward pass, as if its body were a
    `heddle.checkpoint`; without one, what differentiation asks for. The
    gradient of a layer scan is a layer scan in the other direction, whose
    per-layer outputs are the gradients of the stacked parameters.

    Constraints:

    - /*layer_scan_c1*/ there is a stacked operand, and every one has rank at
      least 1.
    - /*layer_scan_c2*/ the stacked operands agree on L.
    - /*layer_scan_c3*/ the block arguments have the types said above.
    - /*layer_scan_c4*/ the region yields the types of the carried operands first.
    - /*layer_scan_c5*/ the results are the types of the carried operands, then
      for each further yielded tensor its type with a leading axis of size L.

    Created by model builders and by differentiation; becomes one `repeat`
    of the command list, so that compile time does not grow with L.

    Example:

    ```mlir
    func.func @layers(%x: tensor<8xf32>, %ws: tensor<24x8xf32>, %s: tensor<8xf32>)
        -> tensor<8xf32> {
      %y = heddle.layer_scan carried(%h = %x) stacked(%w = %ws) invariant(%c = %s)
          policy<full>
          : (tensor<8xf32>, tensor<24x8xf32>, tensor<8xf32>) -> tensor<8xf32> {
        %0 = arith.mulf %h, %w : tensor<8xf32>
        %1 = arith.addf %0, %c : tensor<8xf32>
        heddle.yield %1 : tensor<8xf32>
      }
      return %y : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins
    Variadic<AnyRankedTensor>:$carried, Variadic<AnyRankedTensor>:$stacked,
    Variadic<AnyRankedTensor>:$invariant,
    OptionalAttr<Heddle_RematPolicyAttr>:$policy, UnitAttr:$reverse
  );
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// L; ShapedType::kDynamic if no stacked operand has it static.
    int64_t getNumLayers();
    /// The block arguments of each kind.
    ::mlir::Block::BlockArgListType getCarriedArgs() {
      return getBody().getArguments().take_front(getCarried().size());
    }
    ::mlir::Block::BlockArgListType getStackedArgs() {
      return getBody().getArguments().slice(getCarried().size(),
                                            getStacked().size());
    }
    ::mlir::Block::BlockArgListType getInvariantArgs() {
      return getBody().getArguments().take_back(getInvariant().size());
    }
    /// The results that are final carried values, and the stacked ones.
    ::mlir::ResultRange getCarriedResults() {
      return getOutputs().take_front(getCarried().size());
    }
    ::mlir::ResultRange getStackedResults() {
      return getOutputs().drop_front(getCarried().size());
    }
  }];
}

def Heddle_ValueAndGradOp : Heddle_Op<"value_and_grad",
    [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a loss function and its gradients";
  let description = [{
    Calls the function `callee` on `inputs` and returns its value and, for each
    argument number in `wrt`, the gradient of the value with respect to that
    argument, in the order of `wrt` and with the argument's type.

    Constraints:

    - /*value_and_grad_c1*/ `wrt` is not empty and its numbers are distinct
      argument numbers.
    - /*value_and_grad_c2*/ the arguments in `wrt` are ranked float tensors.
    - /*value_and_grad_c3*/ there is one gradient per entry of `wrt`, with the
      type of the argument.
    - /*value_and_grad_c4*/ the value is a float or a float tensor of rank 0.
    - /*value_and_grad_c5*/ `callee` names a function with the types of the inputs.
    - /*value_and_grad_c6*/ the function returns the value and nothing else.

    Created by model builders; removed by differentiation.

    Example:

    ```mlir
    func.func private @loss(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<f32> {
      %0 = arith.mulf %w, %x : tensor<4xf32>
      %zero = arith.constant dense<0.0> : tensor<f32>
      %1 = linalg.reduce ins(%0 : tensor<4xf32>) outs(%zero : tensor<f32>) dimensions = [0]
        (%in: f32, %acc: f32) {
          %2 = arith.addf %in, %acc : f32
          linalg.yield %2 : f32
        }
      return %1 : tensor<f32>
    }
    func.func @step(%w: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
      %v, %dw = heddle.value_and_grad @loss(%w, %x) wrt [0]
        : (tensor<4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
      return %v, %dw : tensor<f32>, tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$inputs,
    DenseI64ArrayAttr:$wrt);
  let results = (outs AnyType:$value, Variadic<AnyRankedTensor>:$gradients);
  let assemblyFormat = [{
    $callee `(` $inputs `)` `wrt` $wrt attr-dict `:` functional-type($inputs, results)
  }];
  let hasVerifier = 1;
}

def Heddle_GatherOp : Heddle_Op<"gather",
    [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "rows of a table chosen by index";
  let description = [{
    `output[i..., r...] = table[indices[i...], r...]` for a table of shape
    (V, R...), integer indices of shape (I...) and an output of shape
    (I..., R...). Indices are signed. An index outside [0, V) reads the nearest
    row with `mode = clip` (the default) and zeros with `mode = drop`.

    Constraints:

    - /*gather_c1*/ the table has rank at least 1.
    - /*gather_c2*/ the indices are signless integers or of type index.
    - /*gather_c3*/ `clip` needs a table with at least one row where there are
      indices.
    - /*gather_c4*/ the output has the shape (I..., R...) and the table's type.

    Created by model builders (embeddings) and by differentiation of
    `heddle.scatter_add`; becomes a gather kernel.

    Example:

    ```mlir
    func.func @embed(%table: tensor<100x16xf32>, %ids: tensor<2x8xi32>) -> tensor<2x8x16xf32> {
      %y = heddle.gather %table[%ids] mode = drop
        : tensor<100x16xf32>, tensor<2x8xi32> -> tensor<2x8x16xf32>
      return %y : tensor<2x8x16xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$table, AnyRankedTensor:$indices,
    DefaultValuedAttr<Heddle_IndexMode, "::heddle::IndexMode::Clip">:$mode);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = [{
    $table `[` $indices `]` (`mode` `=` $mode^)? attr-dict
    `:` type($table) `,` type($indices) `->` type($output)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// Dynamic sizes fit static ones.
    static bool isCompatibleReturnTypes(::mlir::TypeRange inferred,
                                        ::mlir::TypeRange actual);
  }];
}

def Heddle_ScatterAddOp : Heddle_Op<"scatter_add",
    [Pure, AllTypesMatch<["base", "output"]>]> {
  let summary = "adds rows into a table at the given indices, in index order";
  let description = [{
    The output is `base` with `updates[i..., r...]` added to
    `output[indices[i...], r...]` for every i in row-major order, so that the
    result is the same on every run. Shapes and the meaning of `mode` are as in
    `heddle.gather`: an index outside the table adds to the nearest row
    (`clip`) or nowhere (`drop`).

    Constraints:

    - /*scatter_add_c1*/ the base has rank at least 1.
    - /*scatter_add_c2*/ the indices are signless integers or of type index.
    - /*scatter_add_c3*/ `clip` needs a base with at least one row where there are
      indices.
    - /*scatter_add_c4*/ the updates have the shape (I..., R...) and the base's
      element type.

    Created by differentiation of `heddle.gather` and by model builders;
    becomes a scatter kernel.

    Example:

    ```mlir
    func.func @embed_grad(%dy: tensor<2x8x16xf32>, %zero: tensor<100x16xf32>,
                          %ids: tensor<2x8xi32>) -> tensor<100x16xf32> {
      %y = heddle.scatter_add %dy into %zero[%ids] mode = drop
        : tensor<2x8x16xf32>, tensor<100x16xf32>, tensor<2x8xi32>
      return %y : tensor<100x16xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$base, AnyRankedTensor:$indices,
    AnyRankedTensor:$updates,
    DefaultValuedAttr<Heddle_IndexMode, "::heddle::IndexMode::Clip">:$mode);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = [{
    $updates `into` $base `[` $indices `]` (`mode` `=` $mode^)? attr-dict
    `:` type($updates) `,` type($base) `,` type($indices)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Heddle_RandomBitsOp : Heddle_Op<"random_bits", [Pure]> {
  let summary = "counter-based random bits (Philox4x32-10)";
  let description = [{
    Fills a tensor with random 32-bit words from Philox4x32-10 as Random123
    defines it. The key is `seed`, low word first. Element e, counted row-major,
    is word `e mod 4` of the block whose 128-bit counter is
    `offset + e floordiv 4`, with `offset` read as unsigned. Seed and offset are
    operands, so recomputation repeats the same bits.

    Constraints:

    - /*random_bits_c1*/ the result is a static tensor of i32.

    Created by model builders (dropout, initialisation); becomes an elementwise
    kernel or part of one.

    Example:

    ```mlir
    func.func @bits(%seed: tensor<i64>, %offset: tensor<i64>) -> tensor<4x7xi32> {
      %r = heddle.random_bits %seed, %offset : tensor<i64>, tensor<i64> -> tensor<4x7xi32>
      return %r : tensor<4x7xi32>
    }
    ```
  }];
  let arguments = (ins 0DTensorOf<[I64]>:$seed, 0DTensorOf<[I64]>:$offset);
  let results = (outs AnyRankedTensor:$bits);
  let assemblyFormat = "$seed `,` $offset attr-dict `:` type($seed) `,` type($offset) `->` type($bits)";
  let hasVerifier = 1;
}

#endif // HEDDLE_GRAPH_OPS_TD
