//===- ScanSuite.cpp - single scans, forward and backward -----------------===//

#include "GraphSuite.h"

#include "heddle/Reference/Compare.h"

#include "llvm/Support/ErrorHandling.h"

#include <numeric>

namespace heddle::bench {

namespace {

class ScanSuite final : public GraphSuite {
public:
  std::string name() const override { return "scan"; }
  std::string summary() const override {
    return "one selective or linear scan on (batch, seq, model_dim), from and "
           "to "
           "a state, and the gradients of all its operands";
  }
  std::vector<Row> rows() const override;
  std::vector<std::string> settableKeys() const override {
    return {"batch", "seq", "model_dim", "state"};
  }
  std::vector<std::string> keysThatMayBeZero() const override {
    return {"seq"};
  }

protected:
  Status build(const Row &row, mlir::MLIRContext &context,
               Model &model) const override {
    return buildScan(context, configOf(row), model);
  }
  Status check(const Row &row, const CheckedRun &run, bool sampled,
               Session &session, Checker &checker) const override;
  /// The reference device steps through some 1e8 states in a minute.
  bool samplesByRule(const Row &row) const override {
    ScanConfig config = configOf(row);
    int64_t states =
        config.kind == ScanKind::Selective ? config.state : int64_t(1);
    return config.batch * config.seq * config.channels * states >
           (int64_t(1) << 25);
  }
  /// Gradients of what channels or batch entries share are sums over these.
  Row checkedRow(const Row &row) const override {
    Row smaller = row;
    if (configOf(row).backward) {
      smaller["batch"] = 1;
      smaller["model_dim"] = std::min<int64_t>(rowInt(row, "model_dim"), 64);
    }
    return smaller;
  }
  void addFigures(Row &row, Session &session) const override {
    double seconds = number(row, "median_ms", 0) * 1e-3;
    double bytes =
        (number(row, "arg_mb", 0) + number(row, "out_mb", 0)) * 1024 * 1024;
    ScanConfig config = configOf(row);
    row["bytes_mb"] = bytes / 1024 / 1024;
    row["floor_fraction"] = bytes / session.peak().copy / seconds;
    row["mtoken_channels_s"] =
        1e-6 * config.batch * config.seq * config.channels / seconds;
  }

private:
  /// Where a tensor has the channels (-1: nowhere), and whether its first axis
  /// is the batch.
  struct TensorAxes {
    int channel;
    bool hasBatch;
  };
  static std::vector<TensorAxes> operandAxes(ScanKind kind);
  static std::vector<TensorAxes> resultAxes(ScanKind kind);
  static ScanConfig configOf(const Row &row);
};

std::vector<Row> ScanSuite::rows() const {
  std::vector<Row> rows;
  auto add = [&](const char *op, const char *dtype, int channels, int state,
                 int seq, const char *mode) {
    Row row{{"suite", name()},      {"impl", "heddle"}, {"op", op},
            {"dtype", dtype},       {"seq", seq},       {"batch", 4},
            {"model_dim", channels}};
    if (state)
      row["state"] = state;
    row["mode"] = mode;
    rows.push_back(row);
  };
  for (const char *mode : {"fwd", "fwd_bwd"})
    for (const char *dtype : {"float32", "bfloat16"})
      for (int channels : {1024, 2048})
        for (int seq : {1024, 2048, 4096, 8192, 16384}) {
          for (int state : {16, 64, 128})
            add("selective", dtype, channels, state, seq, mode);
          for (const char *op : {"linear", "linear_complex"})
            add(op, dtype, channels, 0, seq, mode);
        }
  return rows;
}

ScanConfig ScanSuite::configOf(const Row &row) {
  ScanConfig config;
  const Row &op = row.at("op");
  config.kind = op == "selective" ? ScanKind::Selective
                : op == "linear"  ? ScanKind::Linear
                                  : ScanKind::LinearComplex;
  config.batch = rowInt(row, "batch");
  config.seq = rowInt(row, "seq");
  config.channels = rowInt(row, "model_dim");
  if (row.contains("state"))
    config.state = rowInt(row, "state");
  config.backward = row.at("mode") == "fwd_bwd";
  config.dtype = rowDType(row);
  return config;
}

std::vector<ScanSuite::TensorAxes> ScanSuite::operandAxes(ScanKind kind) {
  const TensorAxes sequence{2, true}, parameter{0, false}, shared{-1, true},
      state{1, true};
  switch (kind) {
  case ScanKind::Selective:
    // b and c are the same for all channels.
    return {sequence, sequence, parameter, shared, shared, parameter, state};
  case ScanKind::Linear:
    return {sequence, sequence, state};
  case ScanKind::LinearComplex:
    return {sequence, sequence, sequence, sequence, state, state};
  }
  llvm_unreachable("every kind is handled above");
}

std::vector<ScanSuite::TensorAxes> ScanSuite::resultAxes(ScanKind kind) {
  const TensorAxes sequence{2, true}, state{1, true};
  if (kind == ScanKind::LinearComplex)
    return {sequence, sequence, state, state};
  return {sequence, state};
}

/// Batch entries and channels do not meet in a forward scan: the first and the
/// last 16 channels of the first and the last entry.
Status ScanSuite::check(const Row &row, const CheckedRun &run, bool sampled,
                        Session &session, Checker &checker) const {
  ScanConfig config = configOf(row);
  if (config.backward)
    checker.judgeAsGradients();
  // What no step reads has the gradient zero.
  if (config.backward && config.seq == 0)
    checker.allowZeros();
  if (!sampled || config.backward)
    return checker.whole(run);
  int64_t channels = config.channels, last = config.batch - 1;
  std::vector<int64_t> chosen(std::min<int64_t>(channels, 32));
  std::iota(chosen.begin(), chosen.end(), 0);
  for (size_t i = 16; i < chosen.size(); ++i)
    chosen[i] = channels - static_cast<int64_t>(chosen.size() - i);
  checker.describe(std::to_string(chosen.size()) + " channels of batch 0," +
                   std::to_string(last));
  config.batch = 1;
  config.channels = static_cast<int64_t>(chosen.size());
  Model part;
  if (Status s = buildScan(session.mlir, config, part); !s)
    return Status::error("check: " + s.message);
  std::vector<TensorAxes> operands = operandAxes(config.kind),
                          results = resultAxes(config.kind);
  auto slice = [&](const HostTensor &tensor, const TensorAxes &axes,
                   int64_t entry) {
    HostTensor one = axes.hasBatch ? sliceLeading(tensor, entry) : tensor;
    return axes.channel < 0 ? one
                            : heddle::selectRows(one, axes.channel, chosen);
  };
  for (int64_t entry : {int64_t(0), last}) {
    std::vector<HostTensor> inputs, outputs;
    for (size_t i = 0; i < run.inputs.size(); ++i)
      inputs.push_back(slice(run.inputs[i], operands[i], entry));
    for (size_t i = 0; i < run.outputs.size(); ++i)
      outputs.push_back(slice(run.outputs[i], results[i], entry));
    if (Status s = checker.whole({part, inputs, outputs}); !s)
      return s;
  }
  return Status();
}

} // namespace

std::unique_ptr<Suite> makeScanSuite() { return std::make_unique<ScanSuite>(); }

} // namespace heddle::bench
