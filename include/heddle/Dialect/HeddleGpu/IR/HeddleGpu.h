//===- HeddleGpu.h - the heddle_gpu dialect: tiles on a GPU -----*- C++ -*-===//
//
// Contract G: tensors encoded with layouts, shared memory, asynchronous copies
// and products. The .td files beside this header are the documentation (see
// docs/dialect/HeddleGpu.md); Layout.h and its neighbours are the algebra.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_HEDDLEGPU_IR_HEDDLEGPU_H
#define HEDDLE_DIALECT_HEDDLEGPU_IR_HEDDLEGPU_H

#include "heddle/Dialect/HeddleGpu/IR/Layout.h"
#include "heddle/Dialect/HeddleGpu/IR/SharedLayout.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "heddle/Dialect/HeddleGpu/IR/HeddleGpuDialect.h.inc"
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpuEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpuAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpuTypes.h.inc"

namespace heddle_gpu {

/// The layout of a tile, or null if the type is no tensor with a layout.
LayoutAttr getLayoutAttr(mlir::Type type);

/// The layout of a tile. The type has one.
const Layout &getLayout(mlir::Type type);

/// The type with this layout, whose shape is the type's.
mlir::RankedTensorType withLayout(mlir::RankedTensorType type,
                                  const Layout &layout);

/// A tile of the layout's shape.
mlir::RankedTensorType tileType(mlir::Type elementType, mlir::MLIRContext *ctx,
                                const Layout &layout);

/// The i1 tile with the shape and layout of `type`.
mlir::Type maskTypeOf(mlir::Type type);

/// The product kind of a dot.
ProductKind toProductKind(DotKind kind);

/// The types of results, from those of inputs (which have layouts): without the
/// axis, and with the axes reordered.
mlir::RankedTensorType reducedType(mlir::RankedTensorType type, int64_t axis);
/// Of a partial reduction: one element along the axis for each thread there, in
/// the order of the bits of lanes and then of warps. Null if two threads hold one
/// element, or if a bit also moves along another dimension.
mlir::RankedTensorType partialType(mlir::RankedTensorType type, int64_t axis);
mlir::RankedTensorType transposedType(mlir::RankedTensorType type,
                                      llvm::ArrayRef<int64_t> permutation);

} // namespace heddle_gpu

#define GET_OP_CLASSES
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpuOps.h.inc"

#endif // HEDDLE_DIALECT_HEDDLEGPU_IR_HEDDLEGPU_H
