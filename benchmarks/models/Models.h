//===- Models.h - the model graphs of the benchmarks ------------*- C++ -*-===//
//
// Each builder emits one module with one function, in contract M: static
// shapes, f32 parameters cast where they are used, all row-wise work on
// (rows, cols) tensors. docs/benchmarks.md says what the models are.
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
  std::string function; // name of its one function
  int64_t params = 0;   // elements of all parameters, used or not
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
struct TransformerConfig {
  int64_t batch = 8, tokens = 1024, modelDim = 256, layers = 4, heads = 8;
  bool attention = true; // false: attention returns v
  DType dtype = DType::F32;
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
Status buildMatmul(mlir::MLIRContext &context, const MatmulConfig &config,
                   Model &model);

/// The MLIR type of a float dtype.
mlir::Type floatType(mlir::MLIRContext &context, DType dtype);

} // namespace heddle::bench

#endif // HEDDLE_BENCHMARKS_MODELS_MODELS_H
