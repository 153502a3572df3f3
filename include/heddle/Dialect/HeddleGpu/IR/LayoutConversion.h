//===- LayoutConversion.h - what it takes to change a layout ----*- C++ -*-===//
//
// Classifies the move of a tile from one distributed layout to another:
// nothing, a renaming of registers, shuffles inside a warp, or a round trip
// through shared memory, with a plan for the first three and a cost for all.
// Plain LLVM ADT.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_HEDDLEGPU_IR_LAYOUTCONVERSION_H
#define HEDDLE_DIALECT_HEDDLEGPU_IR_LAYOUTCONVERSION_H

#include "heddle/Dialect/HeddleGpu/IR/Layout.h"

namespace heddle_gpu {

enum class ConversionKind { Identity, Registers, Shuffle, Shared };

/// One warp shuffle (shfl.sync.idx): result register `result` of the lanes in
/// `lanes` is what `sourceLane[lane]` offers; every lane offers its register
/// `sourceRegister[lane]` (-1: any). With `pack` elements to a 32-bit register,
/// the registers are the first of `pack` consecutive ones that move together.
struct ShuffleRound {
  int64_t result;
  uint64_t lanes = 0;
  llvm::SmallVector<int64_t, 0> sourceLane;
  llvm::SmallVector<int64_t, 0> sourceRegister;
};

struct Conversion {
  ConversionKind kind = ConversionKind::Shared;
  /// Identity and Registers: the source register of each result register.
  llvm::SmallVector<int64_t> registers;
  /// Shuffle: the rounds, in order of the result register. A round in which
  /// each lane is its own source needs no shuffle.
  llvm::SmallVector<ShuffleRound, 0> rounds;
  /// Elements that one shuffle moves per lane (1, 2 or 4; they share a 32-bit
  /// register).
  int64_t pack = 1;
  /// 32-bit shuffles per warp (two for 64-bit elements).
  int64_t shuffles = 0;
  /// Shared: bytes of the tile in shared memory; replicas are written once.
  int64_t sharedBytes = 0;
  /// Estimated cycles of one warp: 0 for Identity and Registers, 2 for each
  /// shuffle and 1 for each select that picks the offered register; for Shared
  /// one cycle for each 32-bit register stored and loaded, and 40 for the two
  /// barriers. Comparable with one another, not with a clock.
  int64_t cost = 0;
};

/// The cheapest way from `from` to `to`, which hold tiles of one shape and have
/// equal numbers of lanes and warps (Shared is returned otherwise, to be
/// refused by the caller). elementBits below 8 count as 8.
Conversion classifyConversion(const Layout &from, const Layout &to,
                              unsigned elementBits);

} // namespace heddle_gpu

#endif // HEDDLE_DIALECT_HEDDLEGPU_IR_LAYOUTCONVERSION_H
