//===- TileToCpu.h - contract T to vector loops for a CPU -------*- C++ -*-===//

#ifndef HEDDLE_CODEGEN_CPU_TILETOCPU_H
#define HEDDLE_CODEGEN_CPU_TILETOCPU_H

#include "heddle/Codegen/CPU/CpuTarget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace heddle {

/// Lowers one kernel from contract T to scf, vector, memref, arith and math.
/// Returns a new function, placed before `kernel`, with the arguments of the
/// kernel, then the block number (index) and the scratch memory
/// (memref<Nxi8>); attributes `heddle.num_blocks` and `heddle.scratch_bytes`
/// say how to run it. The caller erases `kernel`. Emits an error at the op that
/// is not part of contract T.
llvm::FailureOr<mlir::func::FuncOp> lowerTileToCpu(mlir::func::FuncOp kernel,
                                                   const CpuTarget &target);

/// Gives a kernel of family `loops` the same form in place: its grid becomes
/// the block number, its temporaries parts of the scratch memory.
llvm::LogicalResult lowerLoopsToCpu(mlir::func::FuncOp kernel);

} // namespace heddle

#endif // HEDDLE_CODEGEN_CPU_TILETOCPU_H
