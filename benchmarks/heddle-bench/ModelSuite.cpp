//===- ModelSuite.cpp - forward passes and training steps -----------------===//

#include "ModelSuite.h"

namespace heddle::bench {

bool isTrainStep(const Row &row) {
  return row.contains("op") && row.at("op") != "forward";
}

ModelOp modelOp(const Row &row) {
  ModelOp op;
  op.train = isTrainStep(row);
  op.donate = row.contains("variant") && row.at("variant") == "donate";
  return op;
}

std::vector<Row> attentionModelRows(const std::string &suite,
                                    const std::string &donatedDType,
                                    int donatedTokens) {
  std::vector<Row> rows;
  auto add = [&](const char *dtype, int tokens, const char *attention,
                 const char *op) -> Row & {
    rows.push_back({{"suite", suite},
                    {"impl", "heddle"},
                    {"attention", attention},
                    {"dtype", dtype},
                    {"tokens", tokens},
                    {"batch", 8},
                    {"model_dim", 256},
                    {"layers", 4},
                    {"heads", 8},
                    {"op", op}});
    return rows.back();
  };
  for (const char *op : {"forward", "train_step"})
    for (const char *dtype : {"float32", "bfloat16"})
      for (int tokens : {256, 1024, 4096})
        for (const char *attention : {"heddle", "no_attention"})
          add(dtype, tokens, attention, op);
  add(donatedDType.c_str(), donatedTokens, "heddle", "train_step")["variant"] =
      "donate";
  return rows;
}

bool ModelSuite::samplesByRule(const Row &row) const {
  return row.contains("tokens") && rowInt(row, "batch") > 2 &&
         rowInt(row, "tokens") > (isTrainStep(row) ? 256 : 1024);
}

Row ModelSuite::checkedRow(const Row &row) const {
  Row smaller = row;
  if (isTrainStep(row))
    smaller["batch"] = 1;
  return smaller;
}

Status ModelSuite::check(const Row &row, const CheckedRun &run, bool sampled,
                         Session &session, Checker &checker) const {
  checker.judgeAsModel();
  if (isTrainStep(row)) {
    checker.judgeAsGradients();
    return checker.whole(run);
  }
  int64_t batch = rowInt(row, "batch");
  if (!sampled || batch <= 2)
    return checker.whole(run);
  checker.describe("batch 0," + std::to_string(batch - 1));
  Row single = row;
  single["batch"] = 1;
  Model part;
  if (Status s = build(single, session.mlir, part); !s)
    return Status::error("check: " + s.message);
  std::vector<HostTensor> inputs = run.inputs;
  for (int64_t entry : {int64_t(0), batch - 1}) {
    for (size_t i = part.leaves; i < inputs.size(); ++i)
      inputs[i] = sliceLeading(run.inputs[i], entry);
    std::vector<HostTensor> outputs = {
        sliceLeading(run.outputs.front(), entry)};
    if (Status s = checker.whole({part, inputs, outputs}); !s)
      return s;
  }
  return Status();
}

} // namespace heddle::bench
