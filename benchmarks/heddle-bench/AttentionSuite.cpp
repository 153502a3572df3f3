//===- AttentionSuite.cpp - the attention microbenchmark ------------------===//

#include "GraphSuite.h"

#include "heddle/Reference/Compare.h"

namespace heddle::bench {

namespace {

class AttentionSuite final : public GraphSuite {
public:
  std::string name() const override { return "attention"; }
  std::string summary() const override {
    return "one attention op on (batch, seq, heads, head_dim)";
  }
  std::vector<Row> rows() const override;
  std::vector<std::string> settableKeys() const override {
    return {"batch", "heads", "seq", "head_dim"};
  }

protected:
  Status build(const Row &row, mlir::MLIRContext &context,
               Model &model) const override;
  Status check(const Row &row, const CheckedRun &run, bool sampled,
               Session &session, Checker &checker) const override;
  bool samplesByRule(const Row &row) const override {
    return rowInt(row, "seq") > 1024;
  }
  void addFigures(Row &row, Session &session) const override;
};

bool isTf32(const Row &row) { return row.value("precision", "") == "tf32"; }

std::vector<Row> AttentionSuite::rows() const {
  std::vector<Row> rows;
  const std::pair<const char *, const char *> types[] = {{"float32", "ieee"},
                                                         {"float32", "tf32"},
                                                         {"bfloat16", ""},
                                                         {"float16", ""}};
  for (auto [dtype, precision] : types)
    for (int headDim : {64, 128})
      for (int seq : {128, 512, 600, 1024, 1500, 2048, 3000, 4096, 8192})
        for (bool causal : {false, true}) {
          rows.push_back({{"suite", name()},
                          {"impl", "heddle"},
                          {"dtype", dtype},
                          {"head_dim", headDim},
                          {"seq", seq},
                          {"causal", causal},
                          {"mode", "fwd"},
                          {"batch", 4},
                          {"heads", 8}});
          if (*precision)
            rows.back()["precision"] = precision;
        }
  return rows;
}

Status AttentionSuite::build(const Row &row, mlir::MLIRContext &context,
                             Model &model) const {
  AttentionConfig config;
  config.batch = rowInt(row, "batch");
  config.heads = rowInt(row, "heads");
  config.seq = rowInt(row, "seq");
  config.headDim = rowInt(row, "head_dim");
  config.causal = row.at("causal").get<bool>();
  config.dtype = rowDType(row);
  config.tf32 = isTf32(row);
  return buildAttention(context, config, model);
}

Status AttentionSuite::check(const Row &row, const CheckedRun &run,
                             bool sampled, Session &session,
                             Checker &checker) const {
  if (isTf32(row))
    checker.judgeAsTf32();
  if (!sampled)
    return checker.whole(run);
  std::vector<int64_t> rows =
      sampleRows(rowInt(row, "seq"), session.options.seed);
  checker.describe(std::to_string(rows.size()) +
                   " rows of every batch and head");
  return checker.attentionRows(run, rows);
}

void AttentionSuite::addFigures(Row &row, Session &session) const {
  double seq = static_cast<double>(rowInt(row, "seq"));
  double flops = 4.0 * rowInt(row, "batch") * rowInt(row, "heads") * seq * seq *
                 rowInt(row, "head_dim");
  if (row.at("causal").get<bool>())
    flops *= 0.5;
  row["tflops"] = flops / (number(row, "median_ms", 0) * 1e-3) * 1e-12;
}

} // namespace

std::unique_ptr<Suite> makeAttentionSuite() {
  return std::make_unique<AttentionSuite>();
}

} // namespace heddle::bench
