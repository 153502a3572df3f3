//===- MatmulSuite.cpp - square products beside the measured peak ---------===//

#include "GraphSuite.h"

#include "heddle/Reference/Compare.h"

namespace heddle::bench {

namespace {

class MatmulSuite final : public GraphSuite {
public:
  std::string name() const override { return "matmul"; }
  std::string summary() const override {
    return "square matrix products, with the fraction of the measured peak";
  }
  std::vector<Row> rows() const override {
    std::vector<Row> rows;
    for (const char *dtype : {"float32", "bfloat16"})
      for (int size : {256, 512, 1024, 2048})
        rows.push_back({{"suite", name()},
                        {"impl", "heddle"},
                        {"dtype", dtype},
                        {"size", size}});
    return rows;
  }
  std::vector<std::string> settableKeys() const override { return {"size"}; }

protected:
  Status build(const Row &row, mlir::MLIRContext &context,
               Model &model) const override {
    MatmulConfig config;
    config.m = config.n = config.k = rowInt(row, "size");
    config.dtype = rowDType(row);
    return buildMatmul(context, config, model);
  }
  Status check(const Row &row, const CheckedRun &run, bool sampled,
               Session &session, Checker &checker) const override;
  bool samplesByRule(const Row &row) const override {
    return rowInt(row, "size") > 1024;
  }
  void addFigures(Row &row, Session &session) const override {
    double size = static_cast<double>(rowInt(row, "size"));
    double rate = 2.0 * size * size * size / number(row, "median_ms", 0) * 1e3;
    double peak =
        rowDType(row) == DType::BF16 ? session.peak().dot : session.peak().fma;
    row["tflops"] = rate * 1e-12;
    row["peak_tflops"] = peak * 1e-12;
    row["peak_fraction"] = rate / peak;
  }
};

/// Chosen rows of the product are a product of their own.
Status MatmulSuite::check(const Row &row, const CheckedRun &run, bool sampled,
                          Session &session, Checker &checker) const {
  if (!sampled)
    return checker.whole(run);
  int64_t size = rowInt(row, "size");
  std::vector<int64_t> rows = sampleRows(size, session.options.seed);
  checker.describe(std::to_string(rows.size()) + " rows");
  MatmulConfig config;
  config.m = static_cast<int64_t>(rows.size());
  config.n = config.k = size;
  config.dtype = rowDType(row);
  Model part;
  if (Status s = buildMatmul(session.mlir, config, part); !s)
    return Status::error("check: " + s.message);
  std::vector<HostTensor> inputs = {heddle::selectRows(run.inputs[0], 0, rows),
                                    run.inputs[1]};
  std::vector<HostTensor> outputs = {
      heddle::selectRows(run.outputs.front(), 0, rows)};
  return checker.whole({part, inputs, outputs});
}

} // namespace

std::unique_ptr<Suite> makeMatmulSuite() {
  return std::make_unique<MatmulSuite>();
}

} // namespace heddle::bench
