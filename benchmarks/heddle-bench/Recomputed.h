//===- Recomputed.h - products that a program forms again -------*- C++ -*-===//

#ifndef HEDDLE_BENCH_RECOMPUTED_H
#define HEDDLE_BENCH_RECOMPUTED_H

#include "models/Models.h"

#include <optional>

namespace heddle::bench {

/// Operations in matrix products and forward attention that the launches of
/// `function` have beyond those of the model's graph with its gradients written
/// out: 0 where nothing is computed twice. The gradients of attention form the
/// probabilities again by design and do not count. Nothing for models that do
/// not differentiate.
std::optional<int64_t> recomputedFlops(const Model &model,
                                       const Function &function);

} // namespace heddle::bench

#endif // HEDDLE_BENCH_RECOMPUTED_H
