//===- heddle-bench.cpp - times, plans and checks model graphs ------------===//

#include "CommandLine.h"
#include "GpuRows.h"
#include "PeerCompare.h"
#include "Plot.h"
#include "ResultFile.h"
#include "Table.h"

#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Runtime/CpuDevice.h"

#include <iostream>

using namespace heddle;
using namespace heddle::bench;

static int fail(const std::string &message) {
  std::cerr << "heddle-bench: error: " << message << "\n";
  return 1;
}

void Session::progress(const std::string &message) const {
  std::cerr << "    " << message << "\n" << std::flush;
}

static Row deviceRow(const CommandLine &options) {
  const RunOptions &run = options.run;
  Row device = Row::object();
  if (run.target == "cpu")
    device = {{"backend", "cpu"}};
  else
    device = {{"backend", run.emulator ? "emulator" : "none"},
              {"target", run.target}};
  device.update({{"device_kind", cpuName()},
                 {"isa", peakIsa(PeakOp::Fma)},
                 {"bf16_dot", peakOpAvailable(PeakOp::Dot)},
                 {"threads", run.threads},
                 {"cores", cpuThreads()}});
  return device;
}

/// Prints what can be chosen; with -o also writes the rows, unmeasured.
static int list(const std::vector<std::unique_ptr<Suite>> &suites,
                const CommandLine &options,
                const std::vector<SelectedRow> &rows) {
  ResultFile file;
  if (Status s = file.open(options.output, options.append, deviceRow(options),
                           options.config());
      !s)
    return fail(s.message);
  for (const SelectedRow &selected : rows)
    if (Status s = file.add(selected.row); !s)
      return fail(s.message);
  if (options.output == "-") {
    Status s = file.finish();
    return s ? 0 : fail(s.message);
  }
  for (const auto &suite : suites) {
    std::vector<Row> chosen;
    for (const SelectedRow &selected : rows)
      if (selected.suite == suite.get())
        chosen.push_back(selected.row);
    if (!chosen.empty())
      printList(std::cout, suite->name() + ": " + suite->summary(), chosen,
                suite->settableKeys());
  }
  std::cout << rows.size() << (rows.size() == 1 ? " row\n" : " rows\n");
  return 0;
}

/// Measures one row; a failure stays in it.
static Row measure(const SelectedRow &selected, Session &session,
                   const std::string &tag) {
  Row row = selected.row;
  if (!tag.empty())
    row["tag"] = tag;
  Status status = selected.suite->measure(row, session);
  if (!status)
    row["error"] = status.message;
  return row;
}

static bool isGood(const Row &row) {
  return !row.contains("error") && row.value("correct", Row(true)) == true;
}

/// The line after the table: what a user may want next.
static std::string nextStep(const CommandLine &options, size_t bad) {
  if (bad)
    return std::to_string(bad) + (bad == 1 ? " row" : " rows") +
           " failed or wrong; take one alone with --filter, and write its "
           "graph with --emit-mlir=DIR for heddle-compile and heddle-run";
  if (options.compare.empty())
    return "next: add --compare=benchmarks/reference/nn_rtx3090.json (or "
           "attention_h100.json) to see published figures beside these";
  if (options.run.planOnly)
    return "next: drop --plan-only to run and check the rows";
  return "next: --emit-mlir=DIR writes the graphs for heddle-compile and "
         "heddle-run; benchmarks/peers/run_interleaved.py measures JAX and "
         "PyTorch here";
}

int main(int argc, char **argv) {
  CommandLine options;
  if (int status = parseCommandLine(argc, argv, options); status >= 0)
    return status;
  auto suites = makeSuites();
  if (!options.list && options.selection.suites.empty())
    return fail("expected --suite=NAME, got none; --list shows the suites");
  std::vector<SelectedRow> rows;
  if (Status s = chooseRows(suites, options.selection, rows); !s)
    return fail(s.message);
  if (options.list)
    return list(suites, options, rows);

  if (options.run.target != "cpu")
    for (const SelectedRow &selected : rows)
      if (!selected.suite->hasGraphs())
        return fail("expected suites of model graphs with --target=" +
                    options.run.target + ", got '" + selected.suite->name() +
                    "', which measures this CPU");

  std::vector<std::pair<std::string, Row>> peers;
  for (const std::string &path : options.compare) {
    Row document;
    if (Status s = readResultFile(path, document); !s)
      return fail(s.message);
    peers.emplace_back(path, std::move(document["results"]));
  }
  ResultFile file;
  if (Status s = file.open(options.output, options.append, deviceRow(options),
                           options.config());
      !s)
    return fail(s.message);

  mlir::DialectRegistry registry;
  registerCompilerDialects(registry);
  mlir::MLIRContext context(registry);
  context.printOpOnDiagnostic(false); // the IR of a kernel is no part of an error
  Session session(context, options.run);
  std::vector<Row> results;
  size_t bad = 0;
  for (const SelectedRow &selected : rows) {
    std::cerr << "[" << results.size() + 1 << "/" << rows.size() << "] "
              << describe(selected.row) << "\n";
    results.push_back(measure(selected, session, options.tag));
    bad += !isGood(results.back());
    if (results.back().contains("error"))
      std::cerr << "    error: " << valueText(results.back()["error"]) << "\n";
    if (Status s = file.add(results.back()); !s)
      return fail(s.message);
  }
  if (Status s = file.finish(); !s)
    return fail(s.message);

  std::ostream &out = options.output == "-" ? std::cerr : std::cout;
  printResults(out, results);
  printKernels(out, results);
  for (auto &[path, document] : peers)
    printComparison(out, "beside " + path, results,
                    document.get<std::vector<Row>>());
  if (!options.plot.empty()) {
    std::vector<Row> all;
    for (auto &[path, document] : peers)
      for (const Row &row : document)
        all.push_back(row);
    if (Status s = drawPlots(plotData(results, all), options.plot); !s)
      return fail(s.message);
    out << "\npictures in " << options.plot << "\n";
  }
  out << "\n" << nextStep(options, bad) << "\n";
  return bad ? 1 : 0;
}
