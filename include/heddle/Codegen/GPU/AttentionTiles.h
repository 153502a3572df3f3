//===- AttentionTiles.h - tile configurations of attention ------*- C++ -*-===//
//
// Which tiles attention can have on a GPU, what each needs, and a model of its
// time by which one is chosen: the roofline of a multiprocessor (matrix units,
// instruction issue, exponentials, memory), stretched by the latency that few
// resident warps cannot hide, times the waves of blocks.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_GPU_ATTENTIONTILES_H
#define HEDDLE_CODEGEN_GPU_ATTENTIONTILES_H

#include "heddle/Target/GpuTarget.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace heddle {

/// A configuration: queries and keys of a tile, warps of a block, and rounds
/// whose keys and values are in shared memory. With 1 keys and values take
/// turns: one is copied while the other is used. With 0 nothing is copied
/// ahead, and both have the same bytes.
struct AttentionTiles {
  int64_t queries = 0, keys = 0, warps = 0, stages = 0;

  bool operator==(const AttentionTiles &o) const {
    return queries == o.queries && keys == o.keys && warps == o.warps &&
           stages == o.stages;
  }
  /// "q128_k64_w8_s1".
  std::string name() const;
  /// Reads a name. On failure `error` says what was expected: queries and keys
  /// multiples of 16, warps a power of two up to 16, up to 8 stages.
  static llvm::LogicalResult parse(llvm::StringRef name, AttentionTiles &tiles,
                                   std::string &error);
};

/// How the two products are formed: from operands of 16 bits or rounded to TF32
/// on matrix units, or by multiply-adds of f32.
enum class AttentionProducts { Half, Tf32, Fma };

/// What is computed.
struct AttentionProblem {
  int64_t batch = 1, heads = 1, keyHeads = 1, queryLength = 1, keyLength = 1;
  int64_t queryDim = 64, valueDim = 64;
  AttentionProducts kind = AttentionProducts::Half;
  double visible = 1; // part of all (query, key) pairs
  bool masksByBands = false;    // a mask beyond the causal ones
  bool masksByOperands = false; // bias, segments, lengths or a mask of booleans

  int64_t elementBytes() const {
    return kind == AttentionProducts::Half ? 2 : 4;
  }
};

/// What a configuration needs and how long it is thought to take.
struct AttentionCost {
  AttentionTiles tiles;
  int64_t sharedBytes = 0; // of a block
  int registers = 0;       // of a thread; an estimate
  int registerLimit = 0;   // to be told ptxas; 0: as many as there are
  Occupancy occupancy;     // blocksPerSM is 0 where the tiles do not fit
  int64_t blocks = 0;
  double waves = 0;   // blocks / blocks that run at once
  double seconds = 0; // on the target's first chip
};

/// Needs and time of any configuration.
AttentionCost costOf(const AttentionTiles &tiles,
                     const AttentionProblem &problem, const GpuTarget &target);

/// Says in `error` what does not fit, with need and limit; success if nothing.
llvm::LogicalResult checkFit(const AttentionCost &cost,
                             const AttentionProblem &problem,
                             const GpuTarget &target, std::string &error);

/// The configurations that are tried for a problem and fit the target, in the
/// order of their time; never empty for head dimensions up to 256.
llvm::SmallVector<AttentionCost>
listAttentionTiles(const AttentionProblem &problem, const GpuTarget &target);

} // namespace heddle

#endif // HEDDLE_CODEGEN_GPU_ATTENTIONTILES_H
