//===- Lowering.h - shared by the parts of this conversion ------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_NVVMTOEMULATOR_LOWERING_H
#define HEDDLE_LIB_CONVERSION_NVVMTOEMULATOR_LOWERING_H

#include "heddle/Dialect/HeddleNvvm/Transforms/PointerBase.h"
#include "heddle/Runtime/EmulatorAbi.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"

#include <string>

namespace heddle::emulator {

using nvvm::findPointerBase;
using nvvm::PointerBase;

/// Rewrites one function at a time; collects the table of sites.
class Lowering {
public:
  explicit Lowering(mlir::ModuleOp module);

  /// Starts the sites of `function`, whose first argument is the thread;
  /// `kernel` is its number or -1.
  void enter(mlir::LLVM::LLVMFuncOp function, int kernel);

  void lowerMemory(mlir::Operation *op);
  /// Fails with an error for ops that the emulator lacks.
  mlir::LogicalResult lowerNvvm(mlir::Operation *op);
  /// Puts what the blocks of a function hold into the table; to be called
  /// before its ops are rewritten.
  void countBlocks(mlir::LLVM::LLVMFuncOp f);
  /// Lets all these blocks tell that they run.
  void callCounts();
  void lowerSharedAddress(mlir::LLVM::AddressOfOp op, int64_t offset);

  std::string sites; // lines of the table

private:
  /// Calls heddle_emu_<name>(thread, args...); declares it at the first use.
  mlir::Value call(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef name,
                   mlir::Type result, mlir::ValueRange args);
  mlir::Value i32(mlir::OpBuilder &b, mlir::Location loc, int64_t value);
  mlir::Value asI32(mlir::OpBuilder &b, mlir::Value value); // bits
  mlir::Value fromI32(mlir::OpBuilder &b, mlir::Value bits, mlir::Type type);
  /// Registers the op in the table and returns its number as a constant.
  mlir::Value site(mlir::OpBuilder &b, mlir::Operation *op, SiteKind kind,
                   PointerBase base = {}, int64_t bytes = 0);
  mlir::Value window(mlir::OpBuilder &b);
  /// A buffer of the function's frame, one for operands and one for results;
  /// an op is done with them before the next one starts.
  mlir::Value frame(bool results);
  mlir::Value slot(mlir::OpBuilder &b, mlir::Location loc, mlir::Value frame,
                   int64_t index);

  void access(mlir::Operation *op, mlir::OpOperand &pointer, mlir::Type type,
              bool isStore);
  void atomic(mlir::Operation *op, mlir::Value pointer, mlir::Value value,
              mlir::Value compared, Atomic kind);
  bool lowerRegister(mlir::Operation *op);
  bool lowerBarrier(mlir::Operation *op);
  bool lowerMbarrier(mlir::Operation *op);
  bool lowerAsyncCopy(mlir::Operation *op);
  bool lowerCollective(mlir::Operation *op);
  bool lowerArithmetic(mlir::Operation *op);
  bool lowerMatrix(mlir::Operation *op);
  void replace(mlir::Operation *op, mlir::Value value);

  mlir::ModuleOp module;
  mlir::LLVM::LLVMFuncOp function;
  mlir::Value thread, sharedWindow, frames[2];
  int kernel = -1;
  int numSites = 0, numOps = 0;
  llvm::SmallVector<mlir::Block *> blocks;
  llvm::StringMap<mlir::LLVM::LLVMFuncOp> declared;
};

} // namespace heddle::emulator

#endif // HEDDLE_LIB_CONVERSION_NVVMTOEMULATOR_LOWERING_H
