//===- TransformerSuite.cpp - the transformer model -----------------------===//

#include "GraphSuite.h"

namespace heddle::bench {

namespace {

class TransformerSuite final : public GraphSuite {
public:
  std::string name() const override { return "transformer"; }
  std::string summary() const override {
    return "pre-norm transformer blocks, x (batch, tokens, model_dim)";
  }
  std::vector<Row> rows() const override;
  std::vector<std::string> settableKeys() const override {
    return {"batch", "heads", "tokens", "layers", "model_dim"};
  }

protected:
  Status build(const Row &row, mlir::MLIRContext &context,
               Model &model) const override;
  Status check(const Row &row, const CheckedRun &run, bool sampled,
               Session &session, Checker &checker) const override;
  /// The entries of a batch do not meet in a transformer, so that the first
  /// and the last one stand for the others where the whole would take minutes.
  bool samplesByRule(const Row &row) const override {
    return rowInt(row, "tokens") > 1024 && rowInt(row, "batch") > 2;
  }
};

std::vector<Row> TransformerSuite::rows() const {
  std::vector<Row> rows;
  for (const char *dtype : {"float32", "bfloat16"})
    for (int tokens : {256, 1024, 4096})
      for (const char *attention : {"heddle", "no_attention"})
        rows.push_back({{"suite", name()},
                        {"impl", "heddle"},
                        {"attention", attention},
                        {"dtype", dtype},
                        {"tokens", tokens},
                        {"batch", 8},
                        {"model_dim", 256},
                        {"layers", 4},
                        {"heads", 8},
                        {"op", "forward"}});
  return rows;
}

TransformerConfig configOf(const Row &row) {
  TransformerConfig config;
  config.batch = rowInt(row, "batch");
  config.tokens = rowInt(row, "tokens");
  config.modelDim = rowInt(row, "model_dim");
  config.layers = rowInt(row, "layers");
  config.heads = rowInt(row, "heads");
  config.attention = row.at("attention") != "no_attention";
  config.dtype = rowDType(row);
  return config;
}

Status TransformerSuite::build(const Row &row, mlir::MLIRContext &context,
                               Model &model) const {
  return buildTransformer(context, configOf(row), model);
}

Status TransformerSuite::check(const Row &row, const CheckedRun &run,
                               bool sampled, Session &session,
                               Checker &checker) const {
  TransformerConfig config = configOf(row);
  checker.judgeAsModel();
  if (!sampled || config.batch <= 2)
    return checker.whole(run);
  int64_t last = config.batch - 1;
  checker.describe("batch 0," + std::to_string(last));
  config.batch = 1;
  Model part;
  if (Status s = buildTransformer(session.mlir, config, part); !s)
    return Status::error("check: " + s.message);
  std::vector<HostTensor> inputs = run.inputs;
  for (int64_t entry : {int64_t(0), last}) {
    inputs.back() = sliceLeading(run.inputs.back(), entry);
    HostTensor output = sliceLeading(run.output, entry);
    if (Status s = checker.whole({part, inputs, output}); !s)
      return s;
  }
  return Status();
}

} // namespace

std::unique_ptr<Suite> makeTransformerSuite() {
  return std::make_unique<TransformerSuite>();
}

} // namespace heddle::bench
