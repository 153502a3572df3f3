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
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ /* nothing */ }]>];
}

def Heddle_CheckpointOp : Heddle_Op<"checkpoint",
    [IsolatedFromAbove, RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a region with a remat policy";
  let arguments = (ins Variadic<AnyType>:$inputs, Heddle_RematPolicyAttr:$policy);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Heddle_NameOp : Heddle_Op<"name", [Pure, SameOperandsAndResultType]> {
  let summary = "tags a value for by-name remat policies";
  let arguments = (ins AnyRankedTensor:$input, StrAttr:$name);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$input $name attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Heddle_LayerScanOp : Heddle_Op<"layer_scan",
    [IsolatedFromAbove, AttrSizedOperandSegments, RecursiveMemoryEffects,
     SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "L equal layers over parameters stacked on a leading axis";
  let arguments = (ins
    Variadic<AnyRankedTensor>:$carried, Variadic<AnyRankedTensor>:$stacked,
    Variadic<AnyRankedTensor>:$invariant,
    OptionalAttr<Heddle_RematPolicyAttr>:$policy, UnitAttr:$reverse
  );
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Heddle_ValueAndGradOp : Heddle_Op<"value_and_grad",
    [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a loss function and its gradients";
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$inputs,
    DenseI64ArrayAttr:$wrt);
  let results = (outs AnyType:$value, Variadic<AnyRankedTensor>:$gradients);
  let assemblyFormat = [{
    $callee `(` $inputs `)` `wrt` $wrt attr-dict `:` functional-type($inputs, results)
  }];
  let hasVerifier = 1;
}

def Heddle_GatherOp : Heddle_Op<"gather", [Pure]> {
  let summary = "rows of a table chosen by index";
  let arguments = (ins AnyRankedTensor:$table, AnyRankedTensor:$indices,
    DefaultValuedAttr<Heddle_IndexMode, "::heddle::IndexMode::Clip">:$mode);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = [{
    $table `[` $indices `]` attr-dict `:` type($table) `,` type($indices) `->` type($output)
  }];
  let hasVerifier = 1;
}

def Heddle_ScatterAddOp : Heddle_Op<"scatter_add",
    [Pure, AllTypesMatch<["base", "output"]>]> {
  let summary = "adds rows into a table at the given indices, in index order";
  let arguments = (ins AnyRankedTensor:$base, AnyRankedTensor:$indices,
    AnyRankedTensor:$updates,
    DefaultValuedAttr<Heddle_IndexMode, "::heddle::IndexMode::Clip">:$mode);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = [{
    $updates `into` $base `[` $indices `]` attr-dict
    `:` type($updates) `,` type($base) `,` type($indices)
  }];
  let hasVerifier = 1;
}

def Heddle_RandomBitsOp : Heddle_Op<"random_bits", [Pure]> {
  let summary = "counter-based random bits (Philox4x32-10)";
  let arguments = (ins 0DTensorOf<[I64]>:$seed, 0DTensorOf<[I64]>:$offset);
  let results = (outs AnyRankedTensor:$bits);
  let assemblyFormat = "$seed `,` $offset attr-dict `:` type($seed) `,` type($offset) `->` type($bits)";
  let hasVerifier = 1;
}

#endif // HEDDLE_GRAPH_OPS_TD
