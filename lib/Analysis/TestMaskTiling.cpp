//===- TestMaskTiling.cpp - prints the tiling of masks --------------------===//

#include "heddle/Analysis/MaskTiling.h"
#include "heddle/Analysis/Passes.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace heddle;

static StringRef kindName(TileKind kind) {
  switch (kind) {
  case TileKind::Empty:
    return "empty";
  case TileKind::Partial:
    return "partial";
  case TileKind::Full:
    return "full";
  }
  return "";
}

static StringRef methodName(TilingMethod method) {
  switch (method) {
  case TilingMethod::Rows:
    return "rows";
  case TilingMethod::Elimination:
    return "elimination";
  case TilingMethod::Blocks:
    return "blocks";
  }
  return "";
}

/// The number of tiles of each kind.
static void printSummary(raw_ostream &os, const MaskTiling &tiling) {
  int64_t counts[3] = {0, 0, 0};
  for (const TileIntervals &intervals : tiling.perQueryTile)
    for (const TileInterval &interval : intervals)
      counts[static_cast<int>(interval.kind)] += interval.end - interval.begin;
  int64_t all = tiling.perQueryTile.size() * tiling.perKeyTile.size();
  int64_t partial = counts[static_cast<int>(TileKind::Partial)];
  int64_t full = counts[static_cast<int>(TileKind::Full)];
  os << "  " << all - partial - full << " empty, " << partial << " partial, "
     << full << " full\n";
}

static void printTiles(raw_ostream &os, StringRef axis,
                       ArrayRef<TileIntervals> tiles) {
  for (auto [index, intervals] : llvm::enumerate(tiles)) {
    os << "  " << axis << " tile " << index << ":";
    for (const TileInterval &interval : intervals)
      os << " [" << interval.begin << ", " << interval.end << ") "
         << kindName(interval.kind);
    os << (intervals.empty() ? " nothing\n" : "\n");
  }
}

static void printBound(raw_ostream &os, StringRef name,
                       const AffineTileBound &bound) {
  os << "    " << name << " = clamp((" << bound.coefficient << " * t + "
     << bound.offset << ") floordiv " << bound.divisor << ", " << bound.lower
     << ", " << bound.upper << ")\n";
}

static void printClosedForm(raw_ostream &os, StringRef axis,
                            ArrayRef<TileIntervals> tiles, int64_t tile,
                            int64_t otherTile) {
  std::optional<AffineTileBounds> bounds =
      findAffineBounds(tiles, tile, otherTile);
  os << "  " << axis
     << " tiles: " << (bounds ? "closed form\n" : "no closed form\n");
  if (!bounds)
    return;
  printBound(os, "begin", bounds->begin);
  printBound(os, "end", bounds->end);
  printBound(os, "full begin", bounds->fullBegin);
  printBound(os, "full end", bounds->fullEnd);
}

namespace {
struct TestMaskTilingPass : PassWrapper<TestMaskTilingPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestMaskTilingPass)

  TestMaskTilingPass() = default;
  TestMaskTilingPass(const TestMaskTilingPass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "heddle-test-mask-tiling"; }
  StringRef getDescription() const override {
    return "print which tiles of attention masks are empty, partial or full";
  }

  void runOnOperation() override {
    getOperation()->walk([&](Operation *op) {
      if (auto attention = dyn_cast<AttentionOp>(op)) {
        print(op, attention.getMaskAttr(), attention.getQueryLength(),
              attention.getKeyLength());
      } else if (auto dict =
                     op->getAttrOfType<DictionaryAttr>("test.mask_tiling")) {
        auto query = dict.getAs<IntegerAttr>("query_length");
        auto key = dict.getAs<IntegerAttr>("key_length");
        if (!query || !key) {
          op->emitError("expected integers query_length and key_length in "
                        "test.mask_tiling, got ")
              << dict;
          return signalPassFailure();
        }
        print(op, dict.getAs<MaskAttr>("mask"), query.getInt(), key.getInt());
      }
    });
  }

  void print(Operation *op, MaskAttr mask, int64_t queryLength,
             int64_t keyLength) {
    MaskTilingOptions options;
    options.forceEnumeration = forceEnumeration;
    options.forceSets = forceSets;
    options.forceBlocks = forceBlocks;
    options.timeCapSeconds = timeCap;
    MaskTiling tiling = analyzeMask(mask, queryLength, keyLength, queryTile,
                                    keyTile, op->getLoc(), options);
    if (queryTile < 1 || keyTile < 1 || queryLength < 0 || keyLength < 0)
      return signalPassFailure(); // the analysis has said why
    raw_ostream &os = llvm::outs();
    os << "mask ";
    if (mask)
      os << mask;
    else
      os << "none";
    os << ", positions " << queryLength << "x" << keyLength << ", tiles "
       << queryTile << "x" << keyTile << ", by " << methodName(tiling.method)
       << (tiling.enumerated ? ", enumerated\n" : "\n");
    if (summary)
      return printSummary(os, tiling);
    printTiles(os, "query", tiling.perQueryTile);
    printTiles(os, "key", tiling.perKeyTile);
    if (!closedForm)
      return;
    printClosedForm(os, "query", tiling.perQueryTile, queryTile, keyTile);
    printClosedForm(os, "key", tiling.perKeyTile, keyTile, queryTile);
  }

  Option<int64_t> queryTile{*this, "query-tile", llvm::cl::init(128),
                            llvm::cl::desc("queries in a tile")};
  Option<int64_t> keyTile{*this, "key-tile", llvm::cl::init(128),
                          llvm::cl::desc("keys in a tile")};
  Option<bool> forceEnumeration{
      *this, "force-enumeration", llvm::cl::init(false),
      llvm::cl::desc("read every row of the mask, never its integer set")};
  Option<bool> forceSets{
      *this, "force-sets", llvm::cl::init(false),
      llvm::cl::desc("analyse the integer set of every mask")};
  Option<bool> forceBlocks{
      *this, "force-blocks", llvm::cl::init(false),
      llvm::cl::desc("analyse the integer set of every mask by blocks")};
  Option<bool> summary{
      *this, "summary", llvm::cl::init(false),
      llvm::cl::desc("print the number of tiles of each kind only")};
  Option<double> timeCap{
      *this, "time-cap", llvm::cl::init(1.0),
      llvm::cl::desc("seconds after which the set analysis gives up")};
  Option<bool> closedForm{
      *this, "closed-form", llvm::cl::init(false),
      llvm::cl::desc("also print the intervals as affine loop bounds")};
};
} // namespace

void heddle::registerTestMaskTilingPass() {
  PassRegistration<TestMaskTilingPass>();
}
