//===- UnetSuite.cpp - the convolutional model ----------------------------===//

#include "ModelSuite.h"

#include "models/Unet.h"

namespace heddle::bench {

namespace {

class UnetSuite final : public ModelSuite {
public:
  std::string name() const override { return "unet"; }
  std::string summary() const override {
    return "convolutions along one axis, x (batch, resolution, resolution, 3)";
  }
  std::vector<Row> rows() const override;
  std::vector<std::string> settableKeys() const override {
    return {"batch", "resolution"};
  }

protected:
  Status build(const Row &row, mlir::MLIRContext &context,
               Model &model) const override {
    UnetConfig config;
    config.batch = rowInt(row, "batch");
    config.resolution = rowInt(row, "resolution");
    config.dtype = rowDType(row);
    config.op = modelOp(row);
    return buildUnet(context, config, model);
  }
  bool samplesByRule(const Row &row) const override {
    return rowInt(row, "batch") > 2;
  }
};

std::vector<Row> UnetSuite::rows() const {
  std::vector<Row> rows;
  for (const char *dtype : {"float32", "bfloat16"})
    for (int resolution : {32, 64})
      for (const char *op : {"forward", "train_step"})
        rows.push_back({{"suite", name()},
                        {"impl", "heddle"},
                        {"dtype", dtype},
                        {"resolution", resolution},
                        {"batch", 8},
                        {"op", op}});
  rows.push_back(rows.back());
  rows.back()["variant"] = "donate";
  return rows;
}

} // namespace

std::unique_ptr<Suite> makeUnetSuite() { return std::make_unique<UnetSuite>(); }

} // namespace heddle::bench
