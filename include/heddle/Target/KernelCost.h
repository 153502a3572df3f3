//===- KernelCost.h - what kernels do, and the least time for it -*- C++ -*-===//
//
// The work of a kernel whatever its schedule, the traffic of its schedule, and
// the roofline (Williams, Waterman, Patterson, CACM 2009) that a chip puts over
// both.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TARGET_KERNELCOST_H
#define HEDDLE_TARGET_KERNELCOST_H

#include "heddle/Runtime/Program.h"
#include "heddle/Target/GpuTarget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace heddle {

/// Fills the figures of one launch from a kernel of contract K: flops,
/// matrixFlops, matrixType, specialOps and minBytes. Attention counts the pairs
/// that its mask set shows, to within a thousandth of an axis; what masks of
/// data hide counts as visible.
void countWork(mlir::func::FuncOp kernel, KernelInfo &info);
/// Adds the figures of one graph op but minBytes; nothing for ops of other
/// dialects than linalg and heddle.
void countOp(mlir::Operation *op, KernelInfo &info);

/// Bytes that all blocks of a tile program (contract T) load and store in global
/// memory, each as often as its loop runs; accumulating stores count twice.
/// Grids of more than 4096 blocks along an axis are sampled along it. Nothing
/// where a loop depends on data.
std::optional<int64_t> tileTraffic(mlir::func::FuncOp kernel);

/// The least time for a kernel on a chip, and what takes it.
struct Roofline {
  double seconds = 0;
  llvm::StringRef limit; // "memory", "matrix units", "vector units",
                         // "special functions"
};
/// The largest of: minBytes at the memory's rate; products at the rate of their
/// operands' type; other arithmetic at one result per lane and clock; special
/// operations at 16 per multiprocessor and clock (CUDA C++ Programming Guide,
/// "Throughput of Native Arithmetic Instructions"). Products of IEEE f32 share
/// the vector units with other arithmetic.
Roofline computeRoofline(const GpuChip &chip, const KernelInfo &kernel);

} // namespace heddle

#endif // HEDDLE_TARGET_KERNELCOST_H
