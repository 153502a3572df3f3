//===- SelectiveOperands.h - what a selective scan reads --------*- C++ -*-===//
//
// Shared by the tile programs of CPUs and the thread programs of GPUs, of
// selective_scan and of its gradient.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_TILE_SELECTIVEOPERANDS_H
#define HEDDLE_CODEGEN_TILE_SELECTIVEOPERANDS_H

#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/IR/BuiltinTypes.h"

#include <algorithm>
#include <numeric>

namespace heddle {

/// Channels that share their rows of both b and c, which have the groups in
/// axis 2 of four; all `channels` where there is one group.
inline int64_t selectiveGroup(int64_t channels, mlir::RankedTensorType b,
                              mlir::RankedTensorType c) {
  int64_t group = 0;
  for (mlir::RankedTensorType type : {b, c})
    group = std::gcd(group, type.getRank() == 4 ? channels / type.getDimSize(2)
                                                : channels);
  return group;
}

/// Buffers of the operands, null where absent, and sizes. Before memory is
/// planned all buffers are null.
struct SelectiveOperands {
  mlir::Value u, delta, a, b, c, d, z, deltaBias, initialState, resetIds;
  bool softplus, reverse;
  int64_t batch, length, channels, states;
  int64_t groupSize; // selectiveGroup; 1 where there are no channels

  /// Of a selective_scan or selective_scan_grad.
  template <typename OpTy>
  static SelectiveOperands of(OpTy op) {
    auto type = [](mlir::Value v) {
      return mlir::cast<mlir::RankedTensorType>(v.getType());
    };
    mlir::RankedTensorType u = type(op.getU());
    return {
        bufferOf(op.getU()),
        bufferOf(op.getDelta()),
        bufferOf(op.getA()),
        bufferOf(op.getB()),
        bufferOf(op.getC()),
        bufferOf(op.getD()),
        bufferOf(op.getZ()),
        bufferOf(op.getDeltaBias()),
        bufferOf(op.getInitialState()),
        bufferOf(op.getResetIds()),
        op.getDeltaSoftplus(),
        op.getReverse(),
        u.getDimSize(0),
        u.getDimSize(1),
        u.getDimSize(2),
        type(op.getA()).getDimSize(1),
        std::max<int64_t>(1, selectiveGroup(u.getDimSize(2), type(op.getB()),
                                            type(op.getC())))};
  }
};

} // namespace heddle

#endif // HEDDLE_CODEGEN_TILE_SELECTIVEOPERANDS_H
