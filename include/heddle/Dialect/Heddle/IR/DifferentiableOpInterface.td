//===- DifferentiableOpInterface.td - reverse-mode rules of ops -----------===//

#ifndef HEDDLE_DIFFERENTIABLEOPINTERFACE_TD
#define HEDDLE_DIFFERENTIABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::heddle";
  let description = [{
    An op whose results can be differentiated with respect to its operands
    (reverse mode, docs/differentiation.md). Ops of other dialects have the
    interface by an external model; `registerDifferentiation` registers all.
  }];
  let methods = [
    InterfaceMethod<[{
      Writes the code that takes the cotangents of the results to gradients of
      the operands.

      `builder` stands where the backward code goes; the op, its operands and its
      results dominate that place. `cotangents` has an entry per result, of the
      result's type, null where it is zero; at least one is there. `needed` has
      a bit per operand. `gradients` comes in with a null entry per operand; the
      rule sets those of needed operands, each of the operand's type, and leaves
      null what is zero. It may use operands and results of the op; what it does
      not use is not kept for it.

      A 16-bit gradient is best formed as an f32 value that `castElements` rounds
      once: a sum or a cast that follows takes the f32 value.

      Fails with an error at the op, naming it and the reason, where it cannot
      be differentiated.
    }],
    "::llvm::LogicalResult", "differentiate",
    (ins "::mlir::OpBuilder &":$builder,
         "::llvm::ArrayRef<::mlir::Value>":$cotangents,
         "const ::llvm::BitVector &":$needed,
         "::llvm::SmallVectorImpl<::mlir::Value> &":$gradients)>
  ];
}

#endif // HEDDLE_DIFFERENTIABLEOPINTERFACE_TD
