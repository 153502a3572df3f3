//===- SelectiveScan.h - steps of a selective scan --------------*- C++ -*-===//
//
// Private to lib/Codegen/Tile: what the tile programs of selective_scan and of
// its gradient have in common, the walk forward.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CODEGEN_TILE_SELECTIVESCAN_H
#define HEDDLE_LIB_CODEGEN_TILE_SELECTIVESCAN_H

#include "ScanBuilder.h"
#include "heddle/Codegen/Tile/SelectiveOperands.h"

namespace heddle {

/// Channels to a tile on a target whose panels have `lanes` rows. A tile shares
/// its rows of b and c, so it does not cross a group: the largest size that
/// divides a group, or the whole group where that would leave most lanes empty.
int64_t selectiveRows(mlir::RankedTensorType u, mlir::RankedTensorType b,
                      mlir::RankedTensorType c, int64_t lanes);

class SelectiveScan : public ScanBuilder {
public:
  SelectiveScan(mlir::OpBuilder &builder, mlir::Location loc,
                const SelectiveOperands &operands)
      : ScanBuilder(builder, loc, operands.length, operands.reverse,
                    operands.resetIds),
        in(operands) {
    numStates = in.states;
  }

  /// Loads what stays over the whole walk: rate, bias, skip.
  void loadConstants();
  /// The states before the first step.
  mlir::Value initialStates();

  /// What a chunk of steps reads: tiles over (channels, positions).
  struct Inputs {
    Chunk chunk;
    mlir::Value u, delta, dt;
    mlir::Value x; // dt * u
  };
  Inputs load(const Chunk &chunk);
  /// One step of it.
  struct Step {
    mlir::Value at;     // position in memory
    mlir::Value resets; // i1 or null
    mlir::Value dt, x;
    mlir::Value growth; // dt, or 0 where no state comes before the step
    mlir::Value b; // row of b
  };
  Step stepAt(const Inputs &inputs, mlir::Value column);
  /// The states after a step.
  mlir::Value advance(const Step &step, mlir::Value states);
  /// delta + delta_bias, of which the body of a generic over time has the
  /// operands `rawInputs` in `v`, from v[0] on.
  mlir::Value raw(Scalars &e, mlir::ValueRange v) {
    return bias ? e.add(v[0], v[1]) : v[0];
  }
  void rawInputs(mlir::Value delta, llvm::SmallVector<mlir::Value> &inputs,
                 llvm::SmallVector<Dims> &dims);

  SelectiveOperands in;
  mlir::Value rate;       // a * log2 e: exp(dt * a) = 2^(dt * rate)
  mlir::Value bias, skip; // null where absent
};

} // namespace heddle

#endif // HEDDLE_LIB_CODEGEN_TILE_SELECTIVESCAN_H
