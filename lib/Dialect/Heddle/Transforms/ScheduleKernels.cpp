//===- ScheduleKernels.cpp - an order of launches with a low peak ---------===//
//
// A launch that frees at least what it allocates runs as soon as it can, one
// that allocates more runs as late as it can, wherever that lowers the peak of
// live bytes (or, at the same peak, the bytes summed over all steps). Each move
// is tried on the whole program and kept if it helps, so the result is never
// worse than the order of the model.
//
//===----------------------------------------------------------------------===//

#include "MemoryPlacement.h"
#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace heddle {
#define GEN_PASS_DEF_SCHEDULEKERNELSPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

namespace {
/// A launch with the kept values that it reads and writes.
struct Node {
  LaunchOp launch;
  SmallVector<int> reads, writes;
  SmallVector<std::pair<int, int>> mayReuse; // (read, write over it)
};

struct Cost {
  int64_t peak = 0, sum = 0;
  bool operator<(const Cost &other) const {
    return peak != other.peak ? peak < other.peak : sum < other.sum;
  }
};

class Scheduler {
public:
  Scheduler(func::FuncOp function, SymbolTable &symbols)
      : function(function), symbols(symbols) {}
  void run();

private:
  void collect();
  Cost costOf(ArrayRef<int> order);
  bool tryMove(SmallVectorImpl<int> &order, size_t from, size_t to,
               Cost &cost);
  size_t earliest(ArrayRef<int> order, size_t at) const;
  size_t latest(ArrayRef<int> order, size_t at) const;
  bool dependsOn(const Node &later, const Node &earlier) const;
  void apply(ArrayRef<int> order);

  func::FuncOp function;
  SymbolTable &symbols;
  SmallVector<Node> nodes;
  SmallVector<int64_t> sizes;  // by value; 0 for results
  SmallVector<int> numReaders; // by value
  SmallVector<int> readersLeft;
};
} // namespace

/// The launch result or argument that a value is a view of.
static Value rootOf(Value v) {
  while (Operation *op = v.getDefiningOp()) {
    if (isa<LaunchOp>(op) || op->getNumOperands() == 0)
      break;
    v = op->getOperand(0);
  }
  return v;
}

void Scheduler::collect() {
  llvm::DenseMap<Value, int> numbers;
  llvm::DenseSet<Value> returned;
  Block &body = function.getBody().front();
  for (Value v : body.getTerminator()->getOperands())
    returned.insert(rootOf(v));
  for (LaunchOp launch : body.getOps<LaunchOp>()) {
    Node node;
    node.launch = launch;
    auto number = [&](Value v) {
      auto it = numbers.find(rootOf(v));
      return it == numbers.end() ? -1 : it->second;
    };
    for (Value v : launch.getInputs())
      if (int n = number(v); n >= 0 && !llvm::is_contained(node.reads, n))
        node.reads.push_back(n);
    for (int n : node.reads)
      ++numReaders[n];
    auto kernel = symbols.lookup<func::FuncOp>(launch.getKernel());
    for (auto [result, v] : llvm::enumerate(launch.getOutputs())) {
      for (int64_t arg : inPlaceInputs(kernel, result))
        if (int n = number(launch.getInputs()[arg]); n >= 0)
          node.mayReuse.push_back({n, static_cast<int>(sizes.size())});
      numbers[v] = sizes.size();
      node.writes.push_back(sizes.size());
      sizes.push_back(returned.contains(v) ? 0 : tensorBytes(v.getType()));
      numReaders.push_back(0);
    }
    nodes.push_back(std::move(node));
  }
}

Cost Scheduler::costOf(ArrayRef<int> order) {
  Cost cost;
  int64_t live = 0;
  readersLeft = numReaders;
  for (int n : order) {
    const Node &node = nodes[n];
    int64_t freed = 0;
    for (int v : node.reads)
      if (--readersLeft[v] == 0)
        freed += sizes[v];
    int64_t made = 0;
    for (int v : node.writes)
      made += sizes[v];
    int64_t reused = 0;
    int lastWrite = -1; // pairs of one write are neighbours
    for (auto [read, write] : node.mayReuse)
      if (write != lastWrite && readersLeft[read] == 0 &&
          sizes[read] == sizes[write]) {
        reused += sizes[read];
        lastWrite = write;
      }
    cost.peak = std::max(cost.peak, live + made - reused);
    live += made - freed;
    // A value that nobody reads lives for its own step.
    for (int v : node.writes)
      if (numReaders[v] == 0)
        live -= sizes[v];
    cost.sum += live;
  }
  return cost;
}

bool Scheduler::dependsOn(const Node &later, const Node &earlier) const {
  return llvm::any_of(earlier.writes, [&](int v) {
    return llvm::is_contained(later.reads, v);
  });
}

size_t Scheduler::earliest(ArrayRef<int> order, size_t at) const {
  size_t to = at;
  while (to > 0 && !dependsOn(nodes[order[at]], nodes[order[to - 1]]))
    --to;
  return to;
}

size_t Scheduler::latest(ArrayRef<int> order, size_t at) const {
  size_t to = at;
  while (to + 1 < order.size() &&
         !dependsOn(nodes[order[to + 1]], nodes[order[at]]))
    ++to;
  return to;
}

bool Scheduler::tryMove(SmallVectorImpl<int> &order, size_t from, size_t to,
                        Cost &cost) {
  if (from == to)
    return false;
  auto move = [&](size_t a, size_t b) {
    auto begin = order.begin();
    if (a < b)
      std::rotate(begin + a, begin + a + 1, begin + b + 1);
    else
      std::rotate(begin + b, begin + a, begin + a + 1);
  };
  move(from, to);
  Cost moved = costOf(order);
  if (moved < cost) {
    cost = moved;
    return true;
  }
  move(to, from);
  return false;
}

/// Reorders the block: each launch with the views that only it needs so far.
void Scheduler::apply(ArrayRef<int> order) {
  Block &body = function.getBody().front();
  Operation *end = body.getTerminator();
  llvm::DenseSet<Operation *> done;
  auto place = [&](auto &&self, Operation *op) -> void {
    if (!op || op->getBlock() != &body || !done.insert(op).second)
      return;
    for (Value v : op->getOperands())
      self(self, v.getDefiningOp());
    op->moveBefore(end);
  };
  for (int n : order)
    place(place, nodes[n].launch);
  SmallVector<Operation *> rest;
  for (Operation &op : body.without_terminator())
    if (!done.contains(&op))
      rest.push_back(&op);
  for (Operation *op : rest)
    place(place, op);
}

void Scheduler::run() {
  collect();
  SmallVector<int> order(nodes.size());
  std::iota(order.begin(), order.end(), 0);
  Cost cost = costOf(order);
  bool moved = false, improved = true;
  for (int round = 0; improved && round < 4; ++round) {
    improved = false;
    for (size_t i = 0; i < order.size(); ++i)
      improved |= tryMove(order, i, earliest(order, i), cost);
    for (size_t i = order.size(); i-- > 0;)
      improved |= tryMove(order, i, latest(order, i), cost);
    moved |= improved;
  }
  if (moved)
    apply(order);
}

namespace {
struct ScheduleKernels
    : heddle::impl::ScheduleKernelsPassBase<ScheduleKernels> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto f : getOperation().getOps<func::FuncOp>())
      if (!f.isExternal() && !f->hasAttr(kKernelFamily))
        Scheduler(f, symbols).run();
  }
};
} // namespace
