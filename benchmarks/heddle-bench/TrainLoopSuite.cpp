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
    for (auto [width, batch] : {std::pair{64, 256}, {512, 4096}})
      for (const char *op : {"bare_jit", "fit_stream"})
        rows.push_back({{"suite", name()},
                        {"impl", "heddle"},
                        {"model", "MLP"},
                        {"dtype", "float32"},
                        {"width", width},
                        {"batch", batch},
                        {"op", op}});
    return rows;
  }
  std::vector<std::string> settableKeys() const override {
    return {"batch", "width"};
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
    config.op.donate = streamsLastArgument(row);
    return buildMlp(context, config, model);
  }
  bool streamsLastArgument(const Row &row) const override {
    return row.at("op") == "fit_stream";
  }
  void addFigures(Row &row, Session &session) const override {
    row["per_step_ms"] = row["median_ms"];
  }
};

} // namespace

std::unique_ptr<Suite> makeTrainLoopSuite() {
  return std::make_unique<TrainLoopSuite>();
}

} // namespace heddle::bench
