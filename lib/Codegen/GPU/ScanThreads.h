//===- ScanThreads.h - what the programs of scans share ---------*- C++ -*-===//
//
// Private to lib/Codegen/GPU. A block walks over all of time, or over one of the
// chunks that `heddle-chunk-scans` cuts it into: its stretch. Steps are numbered
// in walking order, from the first one of the stretch.
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
  /// Of `stretches` stretches the first `walked` have blocks, all by default.
  ScanThreads(mlir::func::FuncOp kernel, mlir::Location loc, int64_t length,
              bool reverse, Value resetIds, int64_t stretches = 1,
              int64_t walked = 0)
      : ThreadBuilder(kernel, loc), length(length),
        span(scanChunkSteps(length, stretches)), stretches(stretches),
        walked(walked ? walked : stretches), reverse(reverse),
        resetIds(resetIds) {}

  /// Takes the batch entry and the stretch of the block from their number.
  void openStretch(Value number) {
    batch = div(number, walked);
    if (stretches == 1)
      return;
    stretch = rem(number, walked);
    origin = mul(stretch, span);
    int64_t tail = length % span;
    if (tail == 0)
      return;
    if (shortFirst) {
      using namespace mlir::arith;
      Value begin = add(origin, tail - span);
      origin = MaxSIOp::create(b, loc, begin, index(0)).getResult();
      count = select(equal(stretch, 0), index(tail), index(span));
    } else if (walked == stretches) {
      count = select(equal(stretch, stretches - 1), index(tail), index(span));
    }
  }
  /// The number of a step in all of time.
  Value inTime(Value step) { return origin ? add(origin, step) : step; }
  /// Where a step lies in memory.
  Value position(Value step) { return inMemory(inTime(step)); }
  /// Where the step `by` steps further lies, or the last one on the way there.
  Value neighbor(Value step, int64_t by) {
    using namespace mlir::arith;
    Value at = add(inTime(step), by);
    return inMemory(
        by > 0 ? MinSIOp::create(b, loc, at, index(length - 1)).getResult()
               : MaxSIOp::create(b, loc, at, index(0)).getResult());
  }
  /// Where states of a stretch lie in a buffer of all of them, in the order of
  /// time.
  Value slot(Value number) {
    return reverse ? sub(index(stretches - 1), number) : number;
  }
  /// Where sums over the stretch lie among those of all.
  Value partOfTime() {
    return stretch ? add(mul(batch, stretches), slot(stretch)) : batch;
  }
  /// Whether the stretch has a step.
  Value isStep(Value step) {
    return count ? below(step, count) : below(step, span);
  }
  /// Whether runs of so many steps may go beyond the stretch.
  bool isRagged(int64_t steps) const { return count || span % steps != 0; }
  /// Whether a step starts a segment, false where it does not exist; null:
  /// nothing resets. `backward`: steps are those of a walk backward, so that
  /// the step before is the next one.
  Value startsSegment(Value step, Value exists, bool backward = false) {
    if (!resetIds)
      return {};
    return when(
        exists,
        [&]() -> Values {
          Value before =
              loadInt(resetIds, {batch, neighbor(step, backward ? 1 : -1)});
          Value here = loadInt(resetIds, {batch, position(step)});
          return {mlir::arith::CmpIOp::create(
              b, loc, mlir::arith::CmpIPredicate::ne, here, before)};
        },
        [&]() -> Values {
          return {
              mlir::arith::ConstantOp::create(b, loc, b.getBoolAttr(false))};
        })[0];
  }

  int64_t length, span;      // steps; of a stretch, the last may have fewer
  int64_t stretches, walked; // to a batch entry
  bool reverse;
  bool shortFirst = false; // stretches are those of the walk the other way
  Value resetIds, batch;
  Value stretch, origin; // number; its first step in time; null: all of time
  Value count;           // steps that there are, null: span

private:
  Value inMemory(Value at) {
    return reverse ? sub(index(length - 1), at) : at;
  }
};

inline int64_t extent(mlir::Value tensor, int64_t axis) {
  return llvm::cast<mlir::RankedTensorType>(tensor.getType()).getDimSize(axis);
}

/// Tiles of channels, a block each, of a linear scan.
inline int64_t linearScanTiles(int64_t channels) {
  return llvm::divideCeil(channels, 32);
}
llvm::LogicalResult buildLinearScanThreads(LinearScanOp op,
                                           mlir::func::FuncOp kernel,
                                           const TileTarget &target);
llvm::LogicalResult buildLinearScanGradThreads(LinearScanGradOp op,
                                               mlir::func::FuncOp kernel,
                                               const TileTarget &target);
llvm::LogicalResult buildLinearScanMapsThreads(LinearScanMapsOp op,
                                               mlir::func::FuncOp kernel,
                                               const TileTarget &target);
llvm::LogicalResult buildSelectiveScanMapsThreads(SelectiveScanMapsOp op,
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
