//===- AttentionSuite.cpp - the attention microbenchmark ------------------===//

#include "GraphSuite.h"

#include "heddle/Reference/Compare.h"

#include <cstring>
#include <string_view>

namespace heddle::bench {

namespace {

class AttentionSuite final : public GraphSuite {
public:
  std::string name() const override { return "attention"; }
  std::string summary() const override {
    return "one attention op on (batch, seq, heads, head_dim), and the "
           "gradients of its operands";
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

private:
  static AttentionConfig configOf(const Row &row);
  Status checkGradients(const Row &row, const CheckedRun &run,
                        const std::vector<int64_t> &rows, Session &session,
                        Checker &checker) const;
};

bool isTf32(const Row &row) { return row.value("precision", "") == "tf32"; }

std::vector<Row> AttentionSuite::rows() const {
  std::vector<Row> rows;
  const std::pair<const char *, const char *> types[] = {{"float32", "ieee"},
                                                         {"float32", "tf32"},
                                                         {"bfloat16", ""},
                                                         {"float16", ""}};
  for (const char *mode : {"fwd", "fwd_bwd"})
    for (auto [dtype, precision] : types)
      for (int headDim : {64, 128})
        for (int seq : {128, 512, 600, 1024, 1500, 2048, 3000, 4096, 8192})
          for (bool causal : {false, true}) {
            if (std::string_view(precision) == "tf32" &&
                std::string_view(mode) != "fwd")
              continue;
            rows.push_back({{"suite", name()},
                            {"impl", "heddle"},
                            {"dtype", dtype},
                            {"head_dim", headDim},
                            {"seq", seq},
                            {"causal", causal},
                            {"mode", mode},
                            {"batch", 4},
                            {"heads", 8}});
            if (*precision)
              rows.back()["precision"] = precision;
          }
  return rows;
}

AttentionConfig AttentionSuite::configOf(const Row &row) {
  AttentionConfig config;
  config.batch = rowInt(row, "batch");
  config.heads = rowInt(row, "heads");
  config.seq = rowInt(row, "seq");
  config.headDim = rowInt(row, "head_dim");
  config.causal = row.at("causal").get<bool>();
  config.backward = row.at("mode") == "fwd_bwd";
  config.dtype = rowDType(row);
  config.tf32 = isTf32(row);
  return config;
}

Status AttentionSuite::build(const Row &row, mlir::MLIRContext &context,
                             Model &model) const {
  return buildAttention(context, configOf(row), model);
}

Status AttentionSuite::check(const Row &row, const CheckedRun &run,
                             bool sampled, Session &session,
                             Checker &checker) const {
  if (isTf32(row))
    checker.judgeAsTf32();
  bool backward = row.at("mode") == "fwd_bwd";
  if (backward)
    checker.judgeAsGradients();
  if (!sampled)
    return checker.whole(run);
  std::vector<int64_t> rows =
      sampleRows(rowInt(row, "seq"), session.options.seed);
  if (backward)
    return checkGradients(row, run, rows, session, checker);
  checker.describe(std::to_string(rows.size()) +
                   " rows of every batch and head");
  return checker.attentionRows(run, rows);
}

/// The first and the last head of (batch, seq, heads, head_dim), as two batch
/// entries.
static HostTensor outerHeads(const HostTensor &tensor) {
  TensorType type = tensor.type;
  int64_t batch = type.shape[0], seq = type.shape[1], heads = type.shape[2];
  int64_t bytes = type.shape[3] * byteWidth(type.dtype);
  type.shape[0] = 2;
  type.shape[2] = 1;
  HostTensor chosen(type);
  uint8_t *to = chosen.bytes.data();
  for (auto [b, h] : {std::pair<int64_t, int64_t>{0, 0},
                      {batch - 1, heads - 1}})
    for (int64_t s = 0; s < seq; ++s, to += bytes)
      std::memcpy(to,
                  tensor.bytes.data() + ((b * seq + s) * heads + h) * bytes,
                  bytes);
  return chosen;
}

/// d_query in rows of every batch and head, as a forward result; d_key and
/// d_value, to which all queries contribute, of two heads whole.
Status AttentionSuite::checkGradients(const Row &row, const CheckedRun &run,
                                      const std::vector<int64_t> &rows,
                                      Session &session,
                                      Checker &checker) const {
  checker.describe(std::to_string(rows.size()) +
                   " rows of d_query of every batch and head, the first and "
                   "the last head whole");
  if (Status s = checker.attentionRows(run, rows); !s)
    return s;
  AttentionConfig config = configOf(row);
  config.batch = 2;
  config.heads = 1;
  Model part;
  if (Status s = buildAttention(session.mlir, config, part); !s)
    return Status::error("check: " + s.message);
  std::vector<HostTensor> inputs, outputs;
  for (const HostTensor &input : run.inputs)
    inputs.push_back(outerHeads(input));
  for (const HostTensor &output : run.outputs)
    outputs.push_back(outerHeads(output));
  return checker.whole({part, inputs, outputs});
}

void AttentionSuite::addFigures(Row &row, Session &session) const {
  double seq = static_cast<double>(rowInt(row, "seq"));
  double flops = 4.0 * rowInt(row, "batch") * rowInt(row, "heads") * seq * seq *
                 rowInt(row, "head_dim");
  if (row.at("causal").get<bool>())
    flops *= 0.5;
  if (row.at("mode") == "fwd_bwd")
    flops *= 3.5; // two products forward, five backward
  row["tflops"] = flops / (number(row, "median_ms", 0) * 1e-3) * 1e-12;
}

} // namespace

std::unique_ptr<Suite> makeAttentionSuite() {
  return std::make_unique<AttentionSuite>();
}

} // namespace heddle::bench
