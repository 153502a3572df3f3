//===- ScanSuite.cpp - single scans, forward and backward -----------------===//

#include "GraphSuite.h"

#include "heddle/Reference/Compare.h"

#include <numeric>

namespace heddle::bench {

namespace {

class ScanSuite final : public GraphSuite {
public:
  std::string name() const override { return "scan"; }
  std::string summary() const override {
    return "one selective or linear scan on (batch, seq, model_dim), and the "
           "gradients of all its operands";
  }
  std::vector<Row> rows() const override;
  std::vector<std::string> settableKeys() const override {
    return {"batch", "seq", "model_dim", "state"};
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

/// Batch entries and channels do not meet in a forward scan: the first and the
/// last 16 channels of the first and the last entry.
Status ScanSuite::check(const Row &row, const CheckedRun &run, bool sampled,
                        Session &session, Checker &checker) const {
  ScanConfig config = configOf(row);
  if (config.backward)
    checker.judgeAsGradients();
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
  auto slice = [&](const HostTensor &tensor, int64_t entry) {
    bool isSequence = tensor.type.shape.size() == 3;
    // a and d have the channels first.
    return isSequence
               ? heddle::selectRows(sliceLeading(tensor, entry), 2, chosen)
               : heddle::selectRows(tensor, 0, chosen);
  };
  for (int64_t entry : {int64_t(0), last}) {
    std::vector<HostTensor> inputs, outputs;
    for (size_t i = 0; i < run.inputs.size(); ++i) {
      // b and c of a selective scan are the same for all channels.
      bool shared = config.kind == ScanKind::Selective && (i == 3 || i == 4);
      inputs.push_back(shared ? sliceLeading(run.inputs[i], entry)
                              : slice(run.inputs[i], entry));
    }
    for (const HostTensor &output : run.outputs)
      outputs.push_back(slice(output, entry));
    if (Status s = checker.whole({part, inputs, outputs}); !s)
      return s;
  }
  return Status();
}

} // namespace

std::unique_ptr<Suite> makeScanSuite() { return std::make_unique<ScanSuite>(); }

} // namespace heddle::bench
