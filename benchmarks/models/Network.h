//===- Network.h - what a model says of itself ------------------*- C++ -*-===//
//
// A network declares its parameters and inputs and writes its forward pass;
// `buildNetwork` makes the functions of a benchmark row of it.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_BENCHMARKS_MODELS_NETWORK_H
#define HEDDLE_BENCHMARKS_MODELS_NETWORK_H

#include "models/Layers.h"
#include "models/Models.h"

namespace heddle::bench {

class Network {
public:
  virtual ~Network() = default;
  /// Declares all parameters, in order.
  virtual void parameters(Layers &layers) const = 0;
  /// Declares the inputs behind them.
  virtual void inputs(Layers &layers) const = 0;
  /// The output, inside a function with those arguments.
  virtual mlir::Value forward(Layers &layers) const = 0;
};

/// Builds the function of `op`: `forward`, or `train_step` with the loss beside
/// it.
Status buildNetwork(mlir::MLIRContext &context, const Network &network,
                    DType dtype, const ModelOp &op, Model &model);

} // namespace heddle::bench

#endif // HEDDLE_BENCHMARKS_MODELS_NETWORK_H
