//===- ScheduleKernels.cpp - an order of launches with a low peak ---------===//
//
// Two orders are looked at: the model's, and one that runs whatever frees as
// much as it allocates as soon as it can - a launch together with the launches
// that it makes possible and that use up its results, such as the gradient of a
// parameter and its update. The better one is refined: a launch moves to the
// first or to the last place that its operands allow where that lowers the peak
// of live bytes (or, at the same peak, the bytes summed over all steps).
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

/// An order of the launches with the live bytes at each place of it.
struct Order {
  SmallVector<int> nodes;    // by place
  SmallVector<int> places;   // by node
  SmallVector<int> lastReaders; // nodes, by value
  SmallVector<int64_t> live; // before each place, and at the end
  SmallVector<int64_t> peaks;
  SmallVector<int64_t> peakBefore, peakFrom; // of the places before, and from
  SmallVector<unsigned> changed; // by place: the move that changed it last
  unsigned moves = 0;
  Cost cost;
};

/// The last move of a node that made nothing better between its ends.
struct Attempt {
  size_t from = 0, to = 0;
  unsigned moves = 0; // that came before
};

class Scheduler {
public:
  Scheduler(func::FuncOp function, SymbolTable &symbols)
      : function(function), symbols(symbols) {}
  void run();

private:
  void collect();
  Order measure(SmallVector<int> nodes);
  void summarize(Order &order, size_t begin, size_t end);
  Cost measurePlaces(Order &order, size_t begin, size_t end);
  void findLastReader(Order &order, int value) const;
  int64_t sumChange(const Order &order, size_t from, size_t to) const;
  bool tryMove(Order &order, size_t from, size_t to, Attempt &attempt);
  size_t earliest(const Order &order, size_t at) const;
  size_t latest(const Order &order, size_t at) const;
  void apply(ArrayRef<int> order);

  SmallVector<int> freeEarly();
  int64_t growth(int node) const;
  bool isReady(int node) const;
  void take(int node, SmallVectorImpl<int> &taken);
  bool takeCluster(int node, SmallVectorImpl<int> &taken);

  func::FuncOp function;
  SymbolTable &symbols;
  SmallVector<Node> nodes;
  SmallVector<int64_t> sizes;            // by value; 0 for results
  SmallVector<int> makers;               // nodes, by value
  SmallVector<SmallVector<int>> readers; // nodes, by value
  // While an order is made: by value whether it is made and how many have yet to
  // read it; by node whether it was taken.
  SmallVector<bool> made, wasTaken;
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
      readers[n].push_back(nodes.size());
    auto kernel = symbols.lookup<func::FuncOp>(launch.getKernel());
    for (auto [result, v] : llvm::enumerate(launch.getOutputs())) {
      for (int64_t arg : inPlaceInputs(kernel, result))
        if (int n = number(launch.getInputs()[arg]); n >= 0)
          node.mayReuse.push_back({n, static_cast<int>(sizes.size())});
      numbers[v] = sizes.size();
      node.writes.push_back(sizes.size());
      sizes.push_back(returned.contains(v) ? 0 : tensorBytes(v.getType()));
      makers.push_back(nodes.size());
      readers.emplace_back();
    }
    nodes.push_back(std::move(node));
  }
}

//===----------------------------------------------------------------------===//
// Measuring and moving
//===----------------------------------------------------------------------===//

void Scheduler::findLastReader(Order &order, int value) const {
  int &last = order.lastReaders[value] = -1;
  for (int r : readers[value])
    if (last < 0 || order.places[r] > order.places[last])
      last = r;
}

/// Live bytes and peaks of the places begin to end - 1, from what is live before
/// them.
Cost Scheduler::measurePlaces(Order &order, size_t begin, size_t end) {
  Cost cost;
  int64_t live = order.live[begin];
  for (size_t place = begin; place < end; ++place) {
    int number = order.nodes[place];
    const Node &node = nodes[number];
    int64_t made = 0, freed = 0, reused = 0;
    for (int v : node.reads)
      if (order.lastReaders[v] == number)
        freed += sizes[v];
    for (int v : node.writes)
      made += sizes[v];
    int lastWrite = -1; // pairs of one write are neighbours
    for (auto [read, write] : node.mayReuse)
      if (write != lastWrite && sizes[read] == sizes[write] &&
          order.lastReaders[read] == number) {
        reused += sizes[read];
        lastWrite = write;
      }
    order.live[place] = live;
    order.peaks[place] = live + made - reused;
    cost.peak = std::max(cost.peak, order.peaks[place]);
    live += made - freed;
    // A value that nobody reads lives for its own step.
    for (int v : node.writes)
      if (readers[v].empty())
        live -= sizes[v];
    cost.sum += live;
  }
  order.live[end] = live;
  return cost;
}

/// After the peaks of the places begin to end - 1 have changed.
void Scheduler::summarize(Order &order, size_t begin, size_t end) {
  size_t n = nodes.size();
  for (size_t i = begin; i < n; ++i) {
    int64_t peak = std::max(order.peakBefore[i], order.peaks[i]);
    if (i >= end && peak == order.peakBefore[i + 1])
      break;
    order.peakBefore[i + 1] = peak;
  }
  for (size_t i = end; i-- > 0;) {
    int64_t peak = std::max(order.peakFrom[i + 1], order.peaks[i]);
    if (i < begin && peak == order.peakFrom[i])
      break;
    order.peakFrom[i] = peak;
  }
}

Order Scheduler::measure(SmallVector<int> of) {
  Order order;
  order.nodes = std::move(of);
  order.places.resize(nodes.size());
  for (auto [place, n] : llvm::enumerate(order.nodes))
    order.places[n] = place;
  order.lastReaders.resize(sizes.size());
  for (size_t v = 0; v < sizes.size(); ++v)
    findLastReader(order, v);
  order.live.assign(nodes.size() + 1, 0);
  order.peaks.assign(nodes.size(), 0);
  order.peakBefore.assign(nodes.size() + 1, 0);
  order.peakFrom.assign(nodes.size() + 1, 0);
  order.changed.assign(nodes.size(), 0);
  order.cost = measurePlaces(order, 0, nodes.size());
  summarize(order, 0, nodes.size());
  return order;
}

size_t Scheduler::earliest(const Order &order, size_t at) const {
  int to = 0;
  for (int v : nodes[order.nodes[at]].reads)
    to = std::max(to, order.places[makers[v]] + 1);
  return to;
}

size_t Scheduler::latest(const Order &order, size_t at) const {
  int to = order.nodes.size() - 1;
  for (int v : nodes[order.nodes[at]].writes)
    for (int reader : readers[v])
      to = std::min(to, order.places[reader] - 1);
  return to;
}

/// By how much a move changes the sum of live bytes: a value counts once for
/// each place from its maker to before its last reader.
int64_t Scheduler::sumChange(const Order &order, size_t from, size_t to) const {
  int number = order.nodes[from];
  const Node &node = nodes[number];
  int64_t distance = static_cast<int64_t>(to) - static_cast<int64_t>(from);
  // The nodes in between move by one place the other way.
  int64_t change = to < from ? order.live[to] - order.live[from]
                             : order.live[to + 1] - order.live[from + 1];
  for (int v : node.writes)
    if (!readers[v].empty())
      change -= sizes[v] * distance;
  for (int v : node.reads) {
    bool isLast = order.lastReaders[v] == number;
    if (isLast)
      change += sizes[v] * distance;
    // Another reader is the last one from now on, or this one is.
    int64_t others = 0;
    for (int reader : readers[v]) {
      int64_t place = order.places[reader];
      if (reader == number)
        continue;
      if (to < from)
        place += place >= static_cast<int64_t>(to) &&
                 place < static_cast<int64_t>(from);
      else
        place -= place > static_cast<int64_t>(from) &&
                 place <= static_cast<int64_t>(to);
      others = std::max(others, place);
    }
    int64_t at = to;
    if (isLast && others > at)
      change += sizes[v] * (others - at);
    else if (!isLast && at > others)
      change += sizes[v] * (at - others);
  }
  return change;
}

/// Keeps the move where it helps. Only the places in between change. A move that
/// made nothing better there is not tried again before one of them changes.
bool Scheduler::tryMove(Order &order, size_t from, size_t to,
                        Attempt &attempt) {
  if (from == to)
    return false;
  size_t begin = std::min(from, to), end = std::max(from, to) + 1;
  int64_t sum = sumChange(order, from, to);
  // The peak stays where it is reached outside.
  if (sum >= 0 && std::max(order.peakBefore[begin], order.peakFrom[end]) >=
                      order.cost.peak)
    return false;
  auto changed = ArrayRef(order.changed).slice(begin, end - begin);
  if (attempt.from == from && attempt.to == to &&
      llvm::all_of(changed, [&](unsigned at) { return at <= attempt.moves; }))
    return false;
  auto move = [&](size_t a, size_t b) {
    auto first = order.nodes.begin();
    if (a < b)
      std::rotate(first + a, first + a + 1, first + b + 1);
    else
      std::rotate(first + b, first + a, first + a + 1);
    for (size_t place = begin; place < end; ++place)
      order.places[order.nodes[place]] = place;
    for (int v : nodes[order.nodes[b]].reads)
      findLastReader(order, v);
  };
  int64_t peak = 0;
  for (size_t place = begin; place < end; ++place)
    peak = std::max(peak, order.peaks[place]);
  move(from, to);
  Cost part = measurePlaces(order, begin, end), moved;
  moved.peak = std::max({order.peakBefore[begin], part.peak, order.peakFrom[end]});
  moved.sum = order.cost.sum + sum;
  if (moved < order.cost) {
    order.cost = moved;
    summarize(order, begin, end);
    ++order.moves;
    for (size_t place = begin; place < end; ++place)
      order.changed[place] = order.moves;
    return true;
  }
  move(to, from);
  measurePlaces(order, begin, end);
  if (part.peak >= peak && sum >= 0)
    attempt = {from, to, order.moves};
  return false;
}

//===----------------------------------------------------------------------===//
// An order that frees early
//===----------------------------------------------------------------------===//

/// Bytes that a node would add to what is live.
int64_t Scheduler::growth(int node) const {
  int64_t bytes = 0;
  for (int v : nodes[node].writes)
    bytes += readers[v].empty() ? 0 : sizes[v];
  for (int v : nodes[node].reads)
    bytes -= readersLeft[v] == 1 ? sizes[v] : 0;
  return bytes;
}

bool Scheduler::isReady(int node) const {
  return !wasTaken[node] &&
         llvm::all_of(nodes[node].reads, [&](int v) { return made[v]; });
}

void Scheduler::take(int node, SmallVectorImpl<int> &taken) {
  wasTaken[node] = true;
  taken.push_back(node);
  for (int v : nodes[node].reads)
    --readersLeft[v];
  for (int v : nodes[node].writes)
    made[v] = true;
}

/// Takes a node that grows by nothing, or whose growth the nodes that use up its
/// results take back.
bool Scheduler::takeCluster(int node, SmallVectorImpl<int> &taken) {
  size_t begin = taken.size();
  int64_t total = growth(node);
  take(node, taken);
  for (size_t i = begin; i < taken.size(); ++i)
    for (int v : nodes[taken[i]].writes)
      for (int reader : readers[v])
        if (isReady(reader) && growth(reader) <= 0) {
          total += growth(reader);
          take(reader, taken);
        }
  if (total <= 0)
    return true;
  while (taken.size() > begin) {
    int n = taken.pop_back_val();
    wasTaken[n] = false;
    for (int v : nodes[n].reads)
      ++readersLeft[v];
    for (int v : nodes[n].writes)
      made[v] = false;
  }
  return false;
}

SmallVector<int> Scheduler::freeEarly() {
  made.assign(sizes.size(), false);
  wasTaken.assign(nodes.size(), false);
  readersLeft.clear();
  for (ArrayRef<int> r : readers)
    readersLeft.push_back(r.size());
  SmallVector<int> taken;
  size_t seen = 0;
  for (int next = 0; next < static_cast<int>(nodes.size()); ++next) {
    if (!wasTaken[next])
      take(next, taken);
    // What was taken may have made others ready, or last readers.
    for (; seen < taken.size(); ++seen) {
      const Node &node = nodes[taken[seen]];
      for (ArrayRef<int> values : {ArrayRef(node.writes), ArrayRef(node.reads)})
        for (int v : values)
          for (int reader : readers[v])
            if (isReady(reader))
              takeCluster(reader, taken);
    }
  }
  return taken;
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
  SmallVector<int> own(nodes.size());
  std::iota(own.begin(), own.end(), 0);
  Order order = measure(own), early = measure(freeEarly());
  if (early.cost < order.cost)
    order = std::move(early);
  // A node that neither makes nor reads a temporary may be anywhere.
  auto moves = [&](size_t place) {
    const Node &node = nodes[order.nodes[place]];
    auto counts = [&](int v) { return sizes[v] != 0; };
    return llvm::any_of(node.reads, counts) || llvm::any_of(node.writes, counts);
  };
  SmallVector<Attempt> earlier(nodes.size()), later(nodes.size());
  bool improved = true;
  for (int round = 0; improved && round < 4; ++round) {
    improved = false;
    for (size_t i = 0; i < nodes.size(); ++i)
      improved |= moves(i) && tryMove(order, i, earliest(order, i),
                                      earlier[order.nodes[i]]);
    for (size_t i = nodes.size(); i-- > 0;)
      improved |= moves(i) &&
                  tryMove(order, i, latest(order, i), later[order.nodes[i]]);
  }
  if (order.nodes != own)
    apply(order.nodes);
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
