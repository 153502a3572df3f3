//===- ScanThreads.h - what the programs of scans share ---------*- C++ -*-===//
//
// Private to lib/Codegen/GPU. Steps are numbered in walking order.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CODEGEN_GPU_SCANTHREADS_H
#define HEDDLE_LIB_CODEGEN_GPU_SCANTHREADS_H

#include "ThreadBuilder.h"

#include "heddle/Codegen/GPU/ScanThreads.h"
#include "heddle/Codegen/Tile/KernelBody.h"

#include "llvm/Support/MathExtras.h"

namespace heddle {

class ScanThreads : public ThreadBuilder {
public:
  ScanThreads(mlir::func::FuncOp kernel, mlir::Location loc, int64_t length,
              bool reverse, Value resetIds)
      : ThreadBuilder(kernel, loc), length(length), reverse(reverse),
        resetIds(resetIds) {}

  /// Where a step lies in memory.
  Value position(Value step) {
    return reverse ? sub(index(length - 1), step) : step;
  }
  /// Whether a step starts a segment, false where it does not exist; null:
  /// nothing resets. `backward`: steps are those of a walk backward, so that
  /// the step before is the next one.
  Value startsSegment(Value step, Value exists, bool backward = false) {
    if (!resetIds)
      return {};
    auto id = [&](Value at) {
      return loadInt(resetIds, {batch, position(at)});
    };
    return when(
        exists,
        [&]() -> Values {
          Value before = backward ? mlir::arith::MinSIOp::create(
                                        b, loc, add(step, 1), index(length - 1))
                                        .getResult()
                                  : mlir::arith::MaxSIOp::create(
                                        b, loc, add(step, -1), index(0))
                                        .getResult();
          return {mlir::arith::CmpIOp::create(
              b, loc, mlir::arith::CmpIPredicate::ne, id(step), id(before))};
        },
        [&]() -> Values {
          return {
              mlir::arith::ConstantOp::create(b, loc, b.getBoolAttr(false))};
        })[0];
  }

  int64_t length;
  bool reverse;
  Value resetIds, batch;
};

inline int64_t extent(mlir::Value tensor, int64_t axis) {
  return llvm::cast<mlir::RankedTensorType>(tensor.getType()).getDimSize(axis);
}

llvm::LogicalResult buildLinearScanThreads(LinearScanOp op,
                                           mlir::func::FuncOp kernel,
                                           const TileTarget &target);
llvm::LogicalResult buildLinearScanGradThreads(LinearScanGradOp op,
                                               mlir::func::FuncOp kernel,
                                               const TileTarget &target);
llvm::LogicalResult buildSelectiveScanThreads(SelectiveScanOp op,
                                              mlir::func::FuncOp kernel,
                                              const TileTarget &target);
llvm::LogicalResult buildSelectiveScanGradThreads(SelectiveScanGradOp op,
                                                  mlir::func::FuncOp kernel,
                                                  const TileTarget &target);

} // namespace heddle

#endif // HEDDLE_LIB_CODEGEN_GPU_SCANTHREADS_H
