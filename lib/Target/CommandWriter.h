//===- CommandWriter.h - commands of a planned function ---------*- C++ -*-===//

#ifndef HEDDLE_LIB_TARGET_COMMANDWRITER_H
#define HEDDLE_LIB_TARGET_COMMANDWRITER_H

#include "AlignBuffers.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/Heddle/Transforms/Loops.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace heddle {

/// Writes the commands, the kernels and the constants of an entry function of
/// contract K; launches of loops become repeats.
class CommandWriter {
public:
  CommandWriter(const mlir::SymbolTable &symbols, Function &function)
      : symbols(symbols), function(function) {}

  llvm::LogicalResult run(mlir::func::FuncOp entry);

  /// By kernel.
  std::vector<KernelUses> uses;

private:
  /// One buffer for each argument of a planned function.
  using Bases = llvm::SmallVector<BufferRef>;

  llvm::LogicalResult writeBody(mlir::func::FuncOp body, const Bases &bases,
                                unsigned depth, std::vector<Command> &commands);
  llvm::LogicalResult writeLaunch(LaunchOp launch, const Bases &bases,
                                  std::vector<Command> &commands);
  llvm::LogicalResult writeLoop(LaunchOp launch, const Loop &loop,
                                const Bases &bases, unsigned depth,
                                std::vector<Command> &commands);
  llvm::LogicalResult resolve(mlir::Value v, const Bases &bases,
                              BufferRef &ref) const;
  /// Where the constants of a body begin in the function's.
  int64_t constantsOf(mlir::func::FuncOp body);
  uint32_t kernelNumber(mlir::func::FuncOp kernel);

  const mlir::SymbolTable &symbols;
  Function &function;
  llvm::StringMap<uint32_t> kernels;
  llvm::DenseMap<mlir::Operation *, int64_t> constants;
};

} // namespace heddle

#endif // HEDDLE_LIB_TARGET_COMMANDWRITER_H
