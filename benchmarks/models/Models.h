//===- Models.h - the model graphs of the benchmarks ------------*- C++ -*-===//
//
// Each builder emits one module in contract M: static shapes, f32 parameters
// cast where they are used. docs/benchmarks.md says what the models are.
//
// A forward function takes the parameters in order, then the inputs. A training
// step takes the parameters, "mu.<name>" and "nu.<name>" of each, the step
// number `count` (i32), then the inputs, and returns the new parameters, mu and
// nu, the new count and the loss.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_BENCHMARKS_MODELS_MODELS_H
#define HEDDLE_BENCHMARKS_MODELS_MODELS_H

#include "heddle/Runtime/DType.h"
#include "heddle/Runtime/Program.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace heddle::bench {

/// A built graph.
struct Model {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string function; // name of its one public function
  int64_t params = 0;   // elements of all parameters, used or not
  int64_t leaves = 0;   // parameters
  std::vector<std::string>
      results; // names of its results, where there are several
};

/// Adam: learning rate 1e-3, 0.9, 0.999, eps 1e-8, bias-corrected. Momentum:
/// v = 0.9 v + g, p -= 1e-3 v.
enum class Optimizer { Adam, Momentum };

/// Which function of a model is built.
struct ModelOp {
  /// A training step instead of the forward pass: loss mean(model(x)^2), its
  /// gradients, the optimizer.
  bool train = false;
  Optimizer optimizer = Optimizer::Adam;
  /// With `train`, so many steps in one call instead of one, on batches drawn
  /// from data that the function is given (Training.h). 0: one step.
  int64_t steps = 0;
  /// Parameters and optimizer state are updated in place.
  bool donate = false;
  /// Gradients are scaled down to this global norm; 0: they are not.
  double clipNorm = 0;
};

/// heddle.attention on q, k, v of shape (batch, seq, heads, head_dim), or the
/// gradients of sum(out g) for these, with the f32 cotangent g behind them.
struct AttentionConfig {
  int64_t batch = 4, heads = 8, seq = 1024, headDim = 64;
  bool causal = false;
  bool backward = false;
  DType dtype = DType::F32;
  bool tf32 = false; // f32 operands may be rounded to TF32
};

/// x (batch, tokens, model_dim) -> the same shape through `layers` pre-norm
/// blocks. Arguments: the parameters of layer 0, 1, ... and x last; per layer,
/// in this order, with kernels (in, out):
///   ln1.scale, ln1.bias, attn.{query,key,value,out}.{kernel,bias},
///   ln2.scale, ln2.bias, mlp.{up,down}.{kernel,bias}
/// each under the prefix "layers.<n>.".
/// The diffusion model has the same settings: x (batch, tokens, 8), t (batch) ->
/// (batch, tokens, 8) through blocks whose norms are followed by x (1 + s) + b
/// with s and b from the time t.
struct TransformerConfig {
  int64_t batch = 8, tokens = 1024, modelDim = 256, layers = 4, heads = 8;
  bool attention = true; // false: attention returns v
  DType dtype = DType::F32;
  ModelOp op;
};

/// The recurrence of a state-space block.
enum class ScanCell { Mamba, Ssd, Lru };

/// x (batch, tokens, 16) -> the same shape through blocks of a scan, a gated
/// mixer and a perceptron; odd layers run back in time.
struct StateSpaceConfig {
  ScanCell cell = ScanCell::Mamba;
  int64_t batch = 8, tokens = 1024, modelDim = 128, layers = 4;
  int64_t state = 128; // of mamba, per channel
  DType dtype = DType::F32;
  ModelOp op;
};

/// One scan of u, delta (batch, seq, channels), a (channels, state), b, c
/// (batch, seq, state), d (channels) - the linear ones of decay and b (batch,
/// seq, channels), as pairs of real tensors where complex - and initial_state
/// behind them: y and the final state. With `backward` also the gradients of
/// sum(y g) over these two for all operands, with the cotangents g behind the
/// operands, each in the type of its result.
enum class ScanKind { Selective, Linear, LinearComplex };
struct ScanConfig {
  ScanKind kind = ScanKind::Selective;
  int64_t batch = 4, seq = 1024, channels = 1024;
  int64_t state = 16; // of the selective scan, per channel
  bool backward = false;
  DType dtype = DType::F32;
};

/// x (batch, 16) -> the same shape through two hidden layers.
struct MlpConfig {
  int64_t batch = 256, width = 64;
  DType dtype = DType::F32;
  ModelOp op;
};

/// a (m, k) x b (k, n) -> (m, n), accumulated in f32, stored in `dtype`.
struct MatmulConfig {
  int64_t m = 1024, n = 1024, k = 1024;
  DType dtype = DType::F32;
};

/// The error says which figure of the configuration cannot be.
Status buildAttention(mlir::MLIRContext &context, const AttentionConfig &config,
                      Model &model);
Status buildTransformer(mlir::MLIRContext &context,
                        const TransformerConfig &config, Model &model);
Status buildDiffusion(mlir::MLIRContext &context, const TransformerConfig &config,
                      Model &model);
Status buildStateSpace(mlir::MLIRContext &context,
                       const StateSpaceConfig &config, Model &model);
Status buildScan(mlir::MLIRContext &context, const ScanConfig &config,
                 Model &model);
Status buildMlp(mlir::MLIRContext &context, const MlpConfig &config,
                Model &model);
Status buildMatmul(mlir::MLIRContext &context, const MatmulConfig &config,
                   Model &model);

/// An error where attention heads cannot share the channels.
Status headsDivide(int64_t modelDim, int64_t heads);

/// The MLIR type of a float dtype.
mlir::Type floatType(mlir::MLIRContext &context, DType dtype);

} // namespace heddle::bench

#endif // HEDDLE_BENCHMARKS_MODELS_MODELS_H
