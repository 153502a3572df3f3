//===- PeakSuite.cpp - rates of this CPU ----------------------------------===//

#include "GraphSuite.h"
#include "Session.h"
#include "Suite.h"

namespace heddle::bench {

namespace {

struct PeakKind {
  const char *name;
  const char *dtype;
  PeakOp op;
};
constexpr PeakKind kKinds[] = {{"fma", "float32", PeakOp::Fma},
                               {"dot", "bfloat16", PeakOp::Dot},
                               {"copy", "uint8", PeakOp::Copy}};

/// Rows are op (fma, dot where the CPU has it, copy) on one thread and on all.
class PeakSuite final : public Suite {
public:
  std::string name() const override { return "peak"; }
  std::string summary() const override {
    return "multiply-add, bf16 dot and copy rate of this CPU";
  }
  std::vector<Row> rows() const override {
    std::vector<Row> rows;
    for (const PeakKind &kind : kKinds)
      for (const char *workers : {"one", "all"})
        if (peakOpAvailable(kind.op))
          rows.push_back({{"suite", name()},
                          {"impl", "heddle"},
                          {"dtype", kind.dtype},
                          {"op", kind.name},
                          {"workers", workers}});
    return rows;
  }
  std::vector<std::string> settableKeys() const override { return {}; }
  Status measure(Row &row, Session &session) const override;
};

Status PeakSuite::measure(Row &row, Session &session) const {
  if (session.options.planOnly)
    return Status();
  for (const PeakKind &kind : kKinds) {
    if (row.at("op") != kind.name)
      continue;
    int threads = row.at("workers") == "one" ? 1 : session.options.threads;
    PeakMeasurement measured =
        measurePeakOp(kind.op, threads, session.options.repeats);
    // There is no program here: its keys are in the row, without a value.
    for (const std::string &key : resultKeys())
      row[key] = nullptr;
    measured.timing.store(row);
    row["isa"] = peakIsa(kind.op);
    row["threads"] = threads;
    if (kind.op == PeakOp::Copy)
      row["gb_s"] = measured.rate * 1e-9;
    else
      row["tflops"] = measured.rate * 1e-12;
  }
  return Status();
}

} // namespace

std::unique_ptr<Suite> makePeakSuite() { return std::make_unique<PeakSuite>(); }

std::vector<std::unique_ptr<Suite>> makeSuites() {
  std::vector<std::unique_ptr<Suite>> suites;
  suites.push_back(makeAttentionSuite());
  suites.push_back(makeTransformerSuite());
  suites.push_back(makeDiffusionSuite());
  suites.push_back(makeStateSpaceSuite());
  suites.push_back(makeUnetSuite());
  suites.push_back(makeScanSuite());
  suites.push_back(makeTrainLoopSuite());
  suites.push_back(makeMatmulSuite());
  suites.push_back(makePeakSuite());
  return suites;
}

} // namespace heddle::bench
