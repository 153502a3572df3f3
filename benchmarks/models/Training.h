//===- Training.h - losses, steps and runs of them --------------*- C++ -*-===//

#ifndef HEDDLE_BENCHMARKS_MODELS_TRAINING_H
#define HEDDLE_BENCHMARKS_MODELS_TRAINING_H

#include "models/Network.h"

namespace heddle::bench {

/// Builds the loss mean(model(x)^2) and one of two functions round it:
///
///   train_step(state..., inputs...) -> (state..., loss)
///   fit(state..., data..., seed) -> (state..., losses)
///
/// The state are the parameters and what the optimizer keeps of each, all under
/// names of their own: Adam (Kingma and Ba, 2015) has "mu.", "nu." and the
/// number of steps so far, "count"; momentum has "velocity.". `fit` runs
/// `op.steps` steps, each on a batch whose entries are drawn from data of
/// kDataBatches times their number, by random bits of `seed` and the step.
void buildTraining(Layers &layers, const Network &network, const ModelOp &op,
                   Model &model);

/// What `fit` draws from, in batches.
constexpr int64_t kDataBatches = 16;

} // namespace heddle::bench

#endif // HEDDLE_BENCHMARKS_MODELS_TRAINING_H
