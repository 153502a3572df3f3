//===- TableKernel.h - one kernel for buffers of many lengths ---*- C++ -*-===//
//
// A training step updates each of its parameters: the same arithmetic on
// buffers of many shapes. On a GPU one launch does it all. Its kernel takes, in
// place of each buffer, a table of the buffers of all parameters, and each of
// its blocks looks up which of them, and which part of it, is its own.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_TILE_TABLEKERNEL_H
#define HEDDLE_CODEGEN_TILE_TABLEKERNEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace heddle {

/// By argument of a kernel of contract K: whether it is one number for all
/// elements, a buffer of rank 0.
using UniformArguments = llvm::SmallVector<bool>;
UniformArguments uniformArguments(mlir::func::FuncOp kernel);

/// What a kernel of contract K does to one element, as text: kernels of equal
/// text can share a table kernel, whatever their shapes. Empty for kernels that
/// do not treat all elements alike and alone.
std::string elementwiseText(mlir::func::FuncOp kernel);

/// Adds to `module` the table kernel of what `kernel`, one with a text, does to
/// each element: a program of threads (contract T) for a GPU. Arguments are
/// those of `kernel`, each that is not uniform as memref<leaves x i64>, a table
/// of addresses; and memref<blocks x 3 x i64>, which says for each block the
/// number of a buffer, the first element of its part and the one behind the
/// last.
mlir::func::FuncOp buildTableKernel(mlir::ModuleOp module, llvm::StringRef name,
                                    mlir::func::FuncOp kernel, int64_t leaves,
                                    int64_t blocks);

} // namespace heddle

#endif // HEDDLE_CODEGEN_TILE_TABLEKERNEL_H
