//===- Layers.h - layers that the models share ------------------*- C++ -*-===//
//
// Values have any number of leading axes and the channels last: (rows, d) or
// (b, t, d). Parameters are f32 and are cast where they are used; statistics
// and sums are f32; results are in the compute dtype.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_BENCHMARKS_MODELS_LAYERS_H
#define HEDDLE_BENCHMARKS_MODELS_LAYERS_H

#include "models/GraphBuilder.h"

namespace heddle::bench {

class Layers {
public:
  Layers(GraphBuilder &graph, mlir::Type element)
      : graph(graph), element(element) {}

  /// Declares an f32 parameter under the prefix, and counts it.
  void parameter(llvm::StringRef name, llvm::ArrayRef<int64_t> shape);
  void declareLinear(llvm::StringRef name, int64_t in, int64_t out,
                     bool bias = true);
  void declareNorm(llvm::StringRef name, int64_t channels);

  /// The parameter of that name under the prefix.
  mlir::Value param(llvm::StringRef name);
  /// x W + b, the bias where one was declared; in `to` or the compute dtype.
  mlir::Value linear(llvm::StringRef name, mlir::Value x,
                     mlir::Type to = mlir::Type());
  /// LayerNorm over the channels, eps 1e-6.
  mlir::Value layerNorm(llvm::StringRef name, mlir::Value x);
  /// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), in f32.
  mlir::Value gelu(mlir::Value x);
  mlir::Value silu(mlir::Value x);
  mlir::Value add(mlir::Value a, mlir::Value b);
  /// Multi-head attention with projections under `name`; x (rows, d) or
  /// (batch, tokens, d). Without `attend`, the value projection goes on.
  mlir::Value attention(llvm::StringRef name, mlir::Value x, int64_t batch,
                        int64_t tokens, int64_t heads, bool attend);

  /// Elementwise in f32 on operands of one shape; the result is rounded to the
  /// compute dtype.
  mlir::Value apply(llvm::ArrayRef<mlir::Value> operands,
                    GraphBuilder::Body body);

  GraphBuilder &graph;
  const mlir::Type element; // compute dtype
  std::string prefix;       // of parameter names
  int64_t numParameters = 0;
  std::vector<std::string> leaves;                // names, in order
  std::vector<llvm::SmallVector<int64_t>> shapes; // of the leaves
};

} // namespace heddle::bench

#endif // HEDDLE_BENCHMARKS_MODELS_LAYERS_H
