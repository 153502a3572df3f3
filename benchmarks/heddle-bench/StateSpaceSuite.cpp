//===- StateSpaceSuite.cpp - the state-space model ------------------------===//

#include "ModelSuite.h"

namespace heddle::bench {

namespace {

class StateSpaceSuite final : public ModelSuite {
public:
  std::string name() const override { return "ssm"; }
  std::string summary() const override {
    return "blocks round a scan (mamba, ssd, lru), every other one back in "
           "time, x (batch, tokens, 16)";
  }
  std::vector<Row> rows() const override;
  std::vector<std::string> settableKeys() const override {
    return {"batch", "tokens", "layers", "model_dim", "state"};
  }

protected:
  Status build(const Row &row, mlir::MLIRContext &context,
               Model &model) const override {
    StateSpaceConfig config;
    const Row &cell = row.at("cell");
    config.cell = cell == "mamba" ? ScanCell::Mamba
                  : cell == "ssd" ? ScanCell::Ssd
                                  : ScanCell::Lru;
    config.batch = rowInt(row, "batch");
    config.tokens = rowInt(row, "tokens");
    config.modelDim = rowInt(row, "model_dim");
    config.layers = rowInt(row, "layers");
    if (row.contains("state"))
      config.state = rowInt(row, "state");
    config.dtype = rowDType(row);
    config.op = modelOp(row);
    return buildStateSpace(context, config, model);
  }
};

std::vector<Row> StateSpaceSuite::rows() const {
  std::vector<Row> rows;
  for (const char *dtype : {"float32", "bfloat16"})
    for (int tokens : {1024, 4096})
      for (const char *cell : {"mamba", "ssd", "lru"})
        for (const char *op : {"forward", "train_step"})
          rows.push_back({{"suite", name()},
                          {"impl", "heddle"},
                          {"cell", cell},
                          {"dtype", dtype},
                          {"tokens", tokens},
                          {"batch", 8},
                          {"model_dim", 128},
                          {"layers", 4},
                          {"op", op}});
  Row donated;
  for (const Row &row : rows)
    if (row["cell"] == "lru" && row["dtype"] == "float32" &&
        row["tokens"] == 4096 && row["op"] == "train_step")
      donated = row;
  donated["variant"] = "donate";
  rows.push_back(donated);
  return rows;
}

} // namespace

std::unique_ptr<Suite> makeStateSpaceSuite() {
  return std::make_unique<StateSpaceSuite>();
}

} // namespace heddle::bench
