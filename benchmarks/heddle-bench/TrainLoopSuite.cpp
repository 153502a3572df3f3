//===- TrainLoopSuite.cpp - steps of a small perceptron -------------------===//

#include "ModelSuite.h"

namespace heddle::bench {

namespace {

class TrainLoopSuite final : public ModelSuite {
public:
  std::string name() const override { return "train_loop"; }
  std::string summary() const override {
    return "training steps of an MLP [16, width, width, 16] on x (batch, 16), "
           "gradients clipped to global norm 10";
  }
  std::vector<Row> rows() const override {
    std::vector<Row> rows;
    auto add = [&](const char *op, int width, int batch) -> Row & {
      rows.push_back({{"suite", name()},
                      {"impl", "heddle"},
                      {"model", "MLP"},
                      {"dtype", "float32"},
                      {"width", width},
                      {"batch", batch},
                      {"op", op},
                      {"optimizer", "adam"}});
      return rows.back();
    };
    for (auto [width, batch] : {std::pair{64, 256}, {512, 4096}}) {
      add("bare_jit", width, batch);
      add("fit_array", width, batch)["steps"] = 64;
      add("fit_stream", width, batch);
    }
    add("bare_jit", 64, 256)["optimizer"] = "momentum";
    return rows;
  }
  std::vector<std::string> settableKeys() const override {
    return {"batch", "width", "steps"};
  }

protected:
  Status build(const Row &row, mlir::MLIRContext &context,
               Model &model) const override {
    MlpConfig config;
    config.batch = rowInt(row, "batch");
    config.width = rowInt(row, "width");
    config.dtype = rowDType(row);
    config.op = modelOp(row);
    config.op.clipNorm = 10;
    config.op.donate = row.at("op") != "bare_jit";
    config.op.steps = stepsOf(row);
    if (row.at("optimizer") == "momentum")
      config.op.optimizer = Optimizer::Momentum;
    return buildMlp(context, config, model);
  }
  /// A run of many steps costs the reference device as many.
  bool samplesByRule(const Row &row) const override {
    return stepsOf(row) * rowInt(row, "batch") > kMostEntries;
  }
  Row checkedRow(const Row &row) const override {
    Row smaller = row;
    if (int64_t steps = stepsOf(row))
      smaller["batch"] = std::max<int64_t>(1, kMostEntries / steps);
    return smaller;
  }
  bool streamsLastArgument(const Row &row) const override {
    return row.at("op") == "fit_stream";
  }
  void addFigures(Row &row, Session &session) const override {
    row["per_step_ms"] =
        row["median_ms"].get<double>() /
        static_cast<double>(std::max<int64_t>(1, stepsOf(row)));
  }

private:
  /// Of a call that is a run of steps; 0 for one that is a step.
  static int64_t stepsOf(const Row &row) {
    return row.at("op") == "fit_array" ? rowInt(row, "steps") : 0;
  }
  static constexpr int64_t kMostEntries = 1 << 14;
};

} // namespace

std::unique_ptr<Suite> makeTrainLoopSuite() {
  return std::make_unique<TrainLoopSuite>();
}

} // namespace heddle::bench
