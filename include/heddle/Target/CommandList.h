//===- CommandList.h - a planned function as runtime data -------*- C++ -*-===//

#ifndef HEDDLE_TARGET_COMMANDLIST_H
#define HEDDLE_TARGET_COMMANDLIST_H

#include "heddle/Runtime/Program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace heddle {

/// Elements that a block of a table kernel takes at once; parts of buffers
/// begin at multiples of it.
constexpr int64_t kTableStep = 1024;

/// Makes kernels that take tables of buffers, for launches that can be one.
class TableKernels {
public:
  /// What a kernel does to each element of its buffers.
  struct Element {
    int kind = -1;     // equal where kernels do the same; -1: nothing such
    int64_t count = 0; // elements of each buffer
    llvm::SmallVector<bool> uniform; // by argument: one number for all elements
  };

  virtual ~TableKernels() = default;
  virtual Element elementOf(const KernelInfo &kernel) = 0;
  /// The name of a new kernel that does what `kernel` does to the elements of
  /// `leaves` buffers in each argument that is not uniform; the argument after
  /// those of `kernel` has three i64 for each block: the number of a buffer,
  /// the first element and the one behind the last.
  virtual std::string make(const KernelInfo &kernel, int64_t leaves,
                           int64_t blocks) = 0;
};

struct CommandOptions {
  /// Launches get buffers that begin at multiples of so many bytes: slices that
  /// do not are copied.
  int64_t launchAlignment = 1;
  /// Where it is set, launches that may run together and do the same to each
  /// element become one launch of about `tableBlocks` blocks.
  TableKernels *tables = nullptr;
  int64_t tableBlocks = 1;
};

/// Writes an entry function of contract K as signature, commands, constants and
/// plan. Kernels are listed by name with family, FLOPs and bytes; what code
/// generation adds to them comes later.
llvm::LogicalResult writeCommands(mlir::func::FuncOp entry,
                                  const mlir::SymbolTable &symbols,
                                  Function &function,
                                  const CommandOptions &options = {});

/// What kernels of a GPU need of their buffers: accesses have up to 16 bytes.
constexpr int64_t kGpuBufferAlignment = 16;

/// The runtime's element type, or failure with an error at `loc`.
llvm::FailureOr<TensorType> runtimeType(mlir::Type type, mlir::Location loc);

} // namespace heddle

#endif // HEDDLE_TARGET_COMMANDLIST_H
