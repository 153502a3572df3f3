//===- ScanSuite.cpp - single scans, forward and backward -----------------===//

#include "GraphSuite.h"

#include "heddle/Reference/Compare.h"

#include <numeric>
#include <random>

namespace heddle::bench {

namespace {

class ScanSuite final : public GraphSuite {
public:
  std::string name() const override { return "scan"; }
  std::string summary() const override {
    return "one selective or linear scan on (batch, seq, model_dim), from and "
           "to a state, without and with the gradients of all its operands";
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
  void addEmulatedFigures(Row &row) const override {
    double bytes = leastBytes(configOf(row));
    row["bytes_mb"] = bytes / 1024 / 1024;
    row["moved_over_floor"] = movedBytes(row) / bytes;
  }
  void addFigures(Row &row, Session &session) const override {
    ScanConfig config = configOf(row);
    double bytes = leastBytes(config);
    double seconds = number(row, "median_ms", 0) * 1e-3;
    row["bytes_mb"] = bytes / 1024 / 1024;
    row["floor_fraction"] = bytes / session.peak().copy / seconds;
    row["mtoken_channels_s"] =
        1e-6 * config.batch * config.seq * config.channels / seconds;
  }

private:
  /// Where a tensor has the channels and the steps (-1: nowhere), and whether
  /// its first axis is the batch.
  struct TensorAxes {
    int channel, time;
    bool hasBatch;
  };
  /// What a part of a scan has of the batch entries, channels and steps.
  struct Part {
    std::vector<int64_t> entries, channels, steps;
  };
  static std::vector<TensorAxes> operandAxes(const ScanConfig &config);
  static std::vector<TensorAxes> resultAxes(const ScanConfig &config);
  static ScanConfig configOf(const Row &row);
  static double leastBytes(const ScanConfig &config);
  static double movedBytes(const Row &row);
  static Status checkPart(const ScanConfig &whole, const Part &part,
                          const CheckedRun &run,
                          const std::vector<int> &results, Session &session,
                          Checker &checker);
  static Status checkSharedRows(const ScanConfig &config, Part part,
                                int64_t steps, const CheckedRun &run,
                                Session &session, Checker &checker);
};

/// States of a part of a scan that is checked.
constexpr int64_t kCheckedStates = int64_t(1) << 24;
/// Fewer channels are no sample.
constexpr int64_t kFewestChannels = 8;

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

std::vector<ScanSuite::TensorAxes>
ScanSuite::operandAxes(const ScanConfig &config) {
  const TensorAxes sequence{2, 1, true}, parameter{0, -1, false},
      shared{-1, 1, true}, state{1, -1, true};
  std::vector<TensorAxes> axes;
  switch (config.kind) {
  case ScanKind::Selective:
    // b and c are the same for all channels.
    axes = {sequence, sequence, parameter, shared, shared, parameter, state};
    break;
  case ScanKind::Linear:
    axes = {sequence, sequence, state};
    break;
  case ScanKind::LinearComplex:
    axes = {sequence, sequence, sequence, sequence, state, state};
    break;
  }
  return axes;
}

/// Of the scan; gradients, behind them, have the axes of the operands.
std::vector<ScanSuite::TensorAxes>
ScanSuite::resultAxes(const ScanConfig &config) {
  const TensorAxes sequence{2, 1, true}, state{1, -1, true};
  if (config.kind == ScanKind::LinearComplex)
    return {sequence, sequence, state, state};
  return {sequence, state};
}

/// Bytes of a walk forward and of a walk backward: neither can keep what it
/// reads for the other. Each reads what it needs once, and writes its results
/// once.
double ScanSuite::leastBytes(const ScanConfig &config) {
  double size = static_cast<double>(byteWidth(config.dtype)), wide = 4;
  double entries = static_cast<double>(config.batch) * config.channels;
  double sequence = size * entries * config.seq;
  bool grad = config.backward;
  if (config.kind == ScanKind::Selective) {
    // y of u, delta; their gradients of these and dy. Rows are b and c.
    double rows = 2 * size * config.batch * config.seq * config.state;
    double parameters = wide * config.channels * (config.state + 1);
    double state = wide * entries * config.state;
    return (grad ? 8 : 3) * sequence + (grad ? 3 : 1) * rows +
           (grad ? 3 : 1) * parameters + (grad ? 5 : 2) * state;
  }
  // h of a, b; da, db of a, h, dh. The gradient needs the state that came in
  // and that of the one that goes out.
  double parts = config.kind == ScanKind::LinearComplex ? 2 : 1;
  return parts * ((grad ? 8 : 3) * sequence + (grad ? 5 : 2) * wide * entries);
}

/// What all kernels loaded and stored.
double ScanSuite::movedBytes(const Row &row) {
  double bytes = 0;
  for (const char *op : {"ld", "st", "ldgsts"})
    bytes += number(
        row.at("counters"),
        "smsp__sass_data_bytes_mem_global_op_" + std::string(op) + ".sum", 0);
  return bytes;
}

/// All of an axis, or as many places: the first, the last and one of each part
/// of what is between.
static std::vector<int64_t> spread(int64_t length, int64_t count,
                                   uint64_t seed) {
  std::vector<int64_t> places(std::min(length, count));
  std::iota(places.begin(), places.end(), 0);
  if (count >= length)
    return places;
  std::mt19937_64 generator(seed);
  for (int64_t i = 1; i + 1 < count; ++i) {
    int64_t begin = 1 + (i - 1) * (length - 2) / (count - 2),
            end = 1 + i * (length - 2) / (count - 2);
    places[i] = begin + static_cast<int64_t>(generator() % (end - begin));
  }
  places.back() = length - 1;
  return places;
}

static std::vector<int64_t> range(int64_t begin, int64_t end) {
  std::vector<int64_t> places(end - begin);
  std::iota(places.begin(), places.end(), begin);
  return places;
}

Status ScanSuite::checkPart(const ScanConfig &whole, const Part &part,
                            const CheckedRun &run,
                            const std::vector<int> &results, Session &session,
                            Checker &checker) {
  ScanConfig config = whole;
  config.batch = static_cast<int64_t>(part.entries.size());
  config.channels = static_cast<int64_t>(part.channels.size());
  config.seq = static_cast<int64_t>(part.steps.size());
  Model model;
  if (Status s = buildScan(session.mlir, config, model); !s)
    return Status::error("check: " + s.message);
  auto slice = [&](const HostTensor &tensor, const TensorAxes &axes) {
    HostTensor rows;
    const HostTensor *from = &tensor;
    auto take = [&](int axis, int64_t length,
                    const std::vector<int64_t> &places) {
      if (static_cast<int64_t>(places.size()) == length)
        return;
      rows = heddle::selectRows(*from, axis, places);
      from = &rows;
    };
    if (axes.hasBatch)
      take(0, whole.batch, part.entries);
    if (axes.time >= 0)
      take(axes.time, whole.seq, part.steps);
    if (axes.channel >= 0)
      take(axes.channel, whole.channels, part.channels);
    return *from;
  };
  std::vector<TensorAxes> ofInputs = operandAxes(config),
                          ofOutputs = resultAxes(config);
  if (config.backward) {
    // Cotangents follow the operands, gradients the results.
    ofInputs.insert(ofInputs.end(), ofOutputs.begin(), ofOutputs.end());
    std::vector<TensorAxes> ofOperands = operandAxes(config);
    ofOutputs.insert(ofOutputs.end(), ofOperands.begin(), ofOperands.end());
  }
  std::vector<HostTensor> inputs, outputs;
  for (size_t i = 0; i < run.inputs.size(); ++i)
    inputs.push_back(slice(run.inputs[i], ofInputs[i]));
  for (size_t i = 0; i < run.outputs.size(); ++i)
    outputs.push_back(slice(run.outputs[i], ofOutputs[i]));
  return checker.chosen({model, inputs, outputs}, results);
}

/// The gradients of b and c of a selective scan, which are sums over all
/// channels, of the entries in `part`. Where the whole length is too much: the
/// gradient of c needs what came before a step, that of b what comes after it,
/// so that a scan of the first steps has the one and a scan of the last steps
/// the other.
Status ScanSuite::checkSharedRows(const ScanConfig &config, Part part,
                                  int64_t steps, const CheckedRun &run,
                                  Session &session, Checker &checker) {
  const int first = static_cast<int>(resultAxes(config).size());
  const int ofB = first + 3, ofC = first + 4;
  part.channels = range(0, config.channels);
  if (steps >= config.seq) {
    part.steps = range(0, config.seq);
    return checkPart(config, part, run, {ofB, ofC}, session, checker);
  }
  part.steps = range(0, steps);
  if (Status s = checkPart(config, part, run, {ofC}, session, checker); !s)
    return s;
  part.steps = range(config.seq - steps, config.seq);
  return checkPart(config, part, run, {ofB}, session, checker);
}

/// Channels do not meet in a scan, but in the gradients of what they share, and
/// batch entries only in gradients of parameters: a sample of the channels has
/// the results of these, of all entries.
Status ScanSuite::check(const Row &row, const CheckedRun &run, bool sampled,
                        Session &session, Checker &checker) const {
  ScanConfig config = configOf(row);
  if (config.backward)
    checker.judgeAsGradients();
  // What no step reads has the gradient zero.
  if (config.backward && config.seq == 0)
    checker.allowZeros();
  if (!sampled || config.seq == 0)
    return checker.whole(run);
  bool selective = config.kind == ScanKind::Selective;
  int64_t perChannel =
      config.batch * config.seq * (selective ? config.state : 1);
  Part part;
  part.entries = range(0, config.batch);
  part.channels = spread(config.channels,
                         std::max(kCheckedStates / perChannel, kFewestChannels),
                         session.options.seed);
  part.steps = range(0, config.seq);
  std::string what =
      std::to_string(part.channels.size()) + " channels of every batch entry";
  std::vector<int> ofChannels;
  int count = static_cast<int>(run.outputs.size());
  int first = static_cast<int>(resultAxes(config).size());
  for (int i = 0; i < count; ++i)
    if (i < first || operandAxes(config)[i - first].channel >= 0)
      ofChannels.push_back(i);
  bool shared = ofChannels.size() < run.outputs.size();
  Part rows{{0}, {}, {}};
  if (config.batch > 1)
    rows.entries.push_back(config.batch - 1);
  int64_t perStep = static_cast<int64_t>(rows.entries.size()) *
                    config.channels * config.state;
  int64_t steps = std::max<int64_t>(kCheckedStates / perStep, 1);
  if (shared)
    what += ", of b and c " +
            (steps < config.seq ? std::to_string(steps) + " steps at one end"
                                : "all steps") +
            " of all channels of batch 0," + std::to_string(config.batch - 1);
  checker.describe(what);
  if (Status s = checkPart(config, part, run, ofChannels, session, checker); !s)
    return s;
  return shared ? checkSharedRows(config, rows, steps, run, session, checker)
                : Status();
}

} // namespace

std::unique_ptr<Suite> makeScanSuite() { return std::make_unique<ScanSuite>(); }

} // namespace heddle::bench
