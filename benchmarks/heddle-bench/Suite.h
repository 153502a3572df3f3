//===- Suite.h - a family of benchmark rows ---------------------*- C++ -*-===//
//
// One file per suite implements this. A suite lists its rows, says which keys
// may be overridden, and measures one row at a time.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_BENCH_SUITE_H
#define HEDDLE_BENCH_SUITE_H

#include "Row.h"

#include "heddle/Runtime/Program.h"

#include <memory>

namespace heddle::bench {

class Session;

class Suite {
public:
  virtual ~Suite() = default;
  virtual std::string name() const = 0;
  /// One sentence for --list.
  virtual std::string summary() const = 0;
  /// All rows with their descriptive keys, `suite` among them, and defaults
  /// written out.
  virtual std::vector<Row> rows() const = 0;
  /// Integer keys that --set may override.
  virtual std::vector<std::string> settableKeys() const = 0;
  /// Those of them that may be 0.
  virtual std::vector<std::string> keysThatMayBeZero() const { return {}; }
  /// Whether its rows compile model graphs, which other devices than the CPU of
  /// this machine can run as well.
  virtual bool hasGraphs() const { return false; }
  /// Adds the measured keys. A failure is "kind: message" and becomes the
  /// row's `error`.
  virtual Status measure(Row &row, Session &session) const = 0;
};

/// Every suite, in the order of --list.
std::vector<std::unique_ptr<Suite>> makeSuites();

std::unique_ptr<Suite> makeAttentionSuite();
std::unique_ptr<Suite> makeTransformerSuite();
std::unique_ptr<Suite> makeDiffusionSuite();
std::unique_ptr<Suite> makeScanSuite();
std::unique_ptr<Suite> makeStateSpaceSuite();
std::unique_ptr<Suite> makeTrainLoopSuite();
std::unique_ptr<Suite> makeUnetSuite();
std::unique_ptr<Suite> makeMatmulSuite();
std::unique_ptr<Suite> makePeakSuite();

} // namespace heddle::bench

#endif // HEDDLE_BENCH_SUITE_H
