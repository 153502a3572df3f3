//===- Loops.h - loops over whole lists of commands -------------*- C++ -*-===//
//
// A layer scan of many layers becomes one `repeat` of the command list. Until
// the list is written it is a launch of a declaration, whose attributes name
// the function that runs each time:
//
//   func.func private @loop(carried..., stacked..., invariant...)
//       -> (carried..., stacked outputs..., workspace)
//   func.func private @loop_body(carried..., slices..., invariant...)
//       -> (carried..., outputs...)
//
// The body is fused, scheduled and planned as an entry function is. What it
// needs besides the loop's operands and results is the workspace, a result that
// planning adds: the body's arena and the slots of LoopLayout.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_HEDDLE_TRANSFORMS_LOOPS_H
#define HEDDLE_DIALECT_HEDDLE_TRANSFORMS_LOOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

#include <optional>

namespace heddle {

/// On a declaration: the body, how often it runs, and which operands are what.
constexpr llvm::StringLiteral kLoopBody = "heddle.loop_body";
constexpr llvm::StringLiteral kLoopTrips = "heddle.loop_trips";
constexpr llvm::StringLiteral kLoopCarried = "heddle.loop_carried";
constexpr llvm::StringLiteral kLoopStacked = "heddle.loop_stacked";
constexpr llvm::StringLiteral kLoopReverse = "heddle.loop_reverse";
/// On a body: its first arguments that the next iteration gets from the results
/// of the same numbers. Such a result takes the memory of its argument or none.
constexpr llvm::StringLiteral kLoopState = "heddle.loop_state";

/// What a launch of a declaration runs.
struct Loop {
  mlir::func::FuncOp body;
  int64_t trips = 0;
  unsigned carried = 0, stacked = 0; // leading operands of each kind
  bool reverse = false;
};

/// The loop that `callee` stands for; nothing for a kernel.
std::optional<Loop> loopOf(mlir::func::FuncOp callee,
                           const mlir::SymbolTable &symbols);

/// Whether `function` is the body of a loop.
inline bool isLoopBody(mlir::func::FuncOp function) {
  return function->hasAttr(kLoopState);
}

/// Bytes of the workspace of a loop whose body is planned. The arena begins at
/// 0. An argument or result of the body has a slot where it cannot lie in the
/// loop's own buffers: a slice that begins at no multiple of 64 bytes, or a
/// carried value whose memory the iteration still reads when it is made.
struct LoopLayout {
  llvm::SmallVector<int64_t> argumentSlots, resultSlots; // offsets, or -1
  int64_t bytes = 0;
};
LoopLayout layoutOf(const Loop &loop);

/// Entry functions and bodies of loops, each body before what launches it.
llvm::SmallVector<mlir::func::FuncOp>
functionsToPlan(mlir::ModuleOp module, const mlir::SymbolTable &symbols);

/// Gives the loops that `function` launches, whose bodies are planned, their
/// workspace.
void addWorkspaces(mlir::func::FuncOp function,
                   const mlir::SymbolTable &symbols);

/// Moves declarations of loops from tensors to buffers, as kernels are.
void bufferizeLoops(mlir::ModuleOp module);

} // namespace heddle

#endif // HEDDLE_DIALECT_HEDDLE_TRANSFORMS_LOOPS_H
