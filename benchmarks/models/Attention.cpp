//===- Attention.cpp - one attention op, one matrix product ---------------===//

#include "models/GraphBuilder.h"
#include "models/Models.h"

#include "heddle/Dialect/Heddle/IR/Heddle.h"

using namespace mlir;

namespace heddle::bench {

Type floatType(MLIRContext &context, DType dtype) {
  switch (dtype) {
  case DType::BF16:
    return BFloat16Type::get(&context);
  case DType::F16:
    return Float16Type::get(&context);
  case DType::F64:
    return Float64Type::get(&context);
  default:
    return Float32Type::get(&context);
  }
}

static Status verifierRefused() {
  return Status::error("expected a graph that verifies, the verifier refused "
                       "it; see its diagnostic");
}

Status buildAttention(MLIRContext &context, const AttentionConfig &config,
                      Model &model) {
  GraphBuilder graph(context);
  Type element = floatType(context, config.dtype);
  int64_t shape[] = {config.batch, config.seq, config.heads, config.headDim};
  for (StringRef name : {"query", "key", "value"})
    graph.argument(name, shape, element);
  if (config.backward)
    graph.argument("cotangent", shape, graph.f32());
  model.function = config.backward ? "attention_grad" : "attention";
  graph.begin(model.function);
  MaskAttr mask;
  if (config.causal)
    mask = MaskAttr::get(&context, MaskKind::Causal, ArrayRef<int64_t>{},
                         ArrayRef<MaskAttr>{}, IntegerSet());
  Value query = graph.get("query"), key = graph.get("key"),
        value = graph.get("value"), none;
  auto op = AttentionOp::create(graph.ops(), graph.loc(), query, key, value,
                                mask, /*withLse=*/config.backward);
  if (config.tf32)
    op.setPrecision(Precision::TF32);
  if (!config.backward) {
    graph.end(op.getOut());
  } else {
    // The cotangent of a value has its type.
    Value cotangent = graph.cast(graph.get("cotangent"), element);
    auto grad = AttentionGradOp::create(
        graph.ops(), graph.loc(), query.getType(), key.getType(),
        value.getType(), /*d_bias=*/Type(), /*d_sinks=*/Type(),
        /*row_dots=*/Type(), query, key, value, op.getLse(), cotangent,
        op.getOut(), none, none, none, none, none, none, none, none,
        AttentionLayout::BSHD, FloatAttr(), mask, Precision::IEEE);
    graph.end(grad->getResults());
    model.results = {"d_query", "d_key", "d_value"};
  }
  model.module = graph.finish();
  model.params = 0;
  return model.module ? Status() : verifierRefused();
}

Status buildMatmul(MLIRContext &context, const MatmulConfig &config,
                   Model &model) {
  GraphBuilder graph(context);
  Type element = floatType(context, config.dtype);
  graph.argument("a", {config.m, config.k}, element);
  graph.argument("b", {config.k, config.n}, element);
  graph.begin("matmul");
  Value product = graph.matmul(graph.get("a"), graph.get("b"));
  graph.end(graph.cast(product, element));
  model.module = graph.finish();
  model.function = "matmul";
  model.params = 0;
  return model.module ? Status() : verifierRefused();
}

} // namespace heddle::bench
