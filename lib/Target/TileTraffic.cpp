//===- TileTraffic.cpp - what a tile program asks of global memory --------===//
//
// Blocks are evaluated one by one: index arithmetic as numbers, loops by their
// bounds, loads and stores by the size of their slices. Loops whose iterations
// are alike are evaluated once, and so are blocks that differ in nothing that
// counts.
//
//===----------------------------------------------------------------------===//

#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Target/KernelCost.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

static int64_t elementBytes(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIndex()
             ? 8
             : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

/// Whether the value is a whole buffer of the kernel.
static bool isBuffer(Value v) {
  return isa_and_nonnull<bufferization::ToTensorOp>(v.getDefiningOp()) ||
         isa<MemRefType>(v.getType());
}

namespace {
class Traffic {
public:
  std::optional<int64_t> run(func::FuncOp kernel);

private:
  void findRelevant(func::FuncOp kernel);
  bool grid(scf::ForallOp forall);
  bool blocks(scf::ForallOp forall, unsigned axis, double weight);
  bool block(Block &b);
  bool operation(Operation *op);
  bool loop(scf::ForOp op);
  bool branch(scf::IfOp op);
  void evaluate(Operation *op);

  std::optional<int64_t> number(OpFoldResult of) const {
    if (auto attr = dyn_cast<Attribute>(of))
      return cast<IntegerAttr>(attr).getInt();
    auto it = numbers.find(cast<Value>(of));
    return it == numbers.end() ? std::nullopt : std::optional(it->second);
  }
  bool slice(tensor::ExtractSliceOp op);
  bool store(TileStoreOp op);
  bool inside(linalg::LinalgOp op);
  void add(double elements, Type type) {
    bytes += times * elements * static_cast<double>(elementBytes(type));
  }

  DenseSet<Value> relevant; // what counts depends on
  DenseMap<Value, int64_t> numbers;
  double times = 1; // of the loops and blocks around, bytes of all
  double bytes = 0;
  int64_t steps = 0;
};
} // namespace

/// More is not worth the time.
static constexpr int64_t kMaxSteps = 20'000'000;

/// Everything that sizes, bounds and conditions are computed from.
void Traffic::findRelevant(func::FuncOp kernel) {
  SmallVector<Value> work;
  kernel.walk([&](Operation *op) {
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      llvm::append_range(work, slice.getSizes());
    else if (auto store = dyn_cast<TileStoreOp>(op))
      llvm::append_range(work, store.getOffsets());
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      work.append({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      work.push_back(branch.getCondition());
  });
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (!relevant.insert(v).second)
      continue;
    if (Operation *op = v.getDefiningOp())
      llvm::append_range(work, op->getOperands());
  }
}

std::optional<int64_t> Traffic::run(func::FuncOp kernel) {
  if (!kernel.getBody().hasOneBlock())
    return std::nullopt;
  findRelevant(kernel);
  if (!block(kernel.getBody().front()) || steps > kMaxSteps)
    return std::nullopt;
  return static_cast<int64_t>(bytes + 0.5);
}

bool Traffic::grid(scf::ForallOp forall) {
  return llvm::all_of(forall.getMixedUpperBound(),
                      [&](OpFoldResult n) { return number(n).has_value(); }) &&
         forall.isNormalized() && blocks(forall, 0, times);
}

bool Traffic::blocks(scf::ForallOp forall, unsigned axis, double weight) {
  if (axis == forall.getRank()) {
    times = weight;
    return block(*forall.getBody());
  }
  constexpr int64_t kMost = 4096, kSamples = 63;
  int64_t n = *number(forall.getMixedUpperBound()[axis]);
  Value id = forall.getInductionVar(axis);
  auto one = [&](int64_t at, double share) {
    numbers[id] = at;
    bool ok = blocks(forall, axis + 1, weight * share);
    times = weight;
    return ok;
  };
  if (!relevant.contains(id))
    return n == 0 || one(0, static_cast<double>(n));
  if (n <= kMost) {
    for (int64_t at = 0; at < n; ++at)
      if (!one(at, 1))
        return false;
    return true;
  }
  // The middle of every stratum stands for it; the last block, the ragged one,
  // for itself.
  for (int64_t s = 0; s < kSamples; ++s) {
    int64_t begin = (n - 1) * s / kSamples, end = (n - 1) * (s + 1) / kSamples;
    if (!one(begin + (end - begin) / 2, static_cast<double>(end - begin)))
      return false;
  }
  return one(n - 1, 1);
}

bool Traffic::block(Block &b) {
  for (Operation &op : b)
    if (++steps > kMaxSteps || !operation(&op))
      return false;
  return true;
}

bool Traffic::operation(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](scf::ForallOp o) { return grid(o); })
      .Case([&](scf::ForOp o) { return loop(o); })
      .Case([&](scf::IfOp o) { return branch(o); })
      .Case([&](tensor::ExtractSliceOp o) { return slice(o); })
      .Case([&](TileStoreOp o) { return store(o); })
      .Case([&](linalg::LinalgOp o) { return inside(o); })
      .Case([&](tensor::ExtractOp o) {
        evaluate(o);
        if (isBuffer(o.getTensor()))
          add(1, o.getType());
        return true;
      })
      .Case<memref::LoadOp, memref::StoreOp>([&](auto o) {
        add(1, o.getMemRefType());
        return true;
      })
      .Case<tensor::PadOp, bufferization::ToTensorOp, scf::InParallelOp>(
          [](auto) { return true; })
      .Default([&](Operation *o) {
        evaluate(o);
        // What else touches a buffer is not known here.
        return o->getNumRegions() == 0 &&
               (o->hasTrait<OpTrait::IsTerminator>() || isMemoryEffectFree(o));
      });
}

bool Traffic::loop(scf::ForOp op) {
  auto lower = number(op.getLowerBound()), upper = number(op.getUpperBound()),
       step = number(op.getStep());
  if (!lower || !upper || !step || *step < 1)
    return false;
  if (*upper <= *lower)
    return true;
  Value iv = op.getInductionVar();
  if (!relevant.contains(iv)) {
    double before = times;
    times *= static_cast<double>(llvm::divideCeil(*upper - *lower, *step));
    numbers[iv] = *lower;
    bool ok = block(*op.getBody());
    times = before;
    return ok;
  }
  for (int64_t at = *lower; at < *upper; at += *step) {
    numbers[iv] = at;
    if (!block(*op.getBody()))
      return false;
  }
  return true;
}

bool Traffic::branch(scf::IfOp op) {
  auto condition = number(op.getCondition());
  if (!condition)
    return false;
  Block *taken = *condition ? op.thenBlock() : op.elseBlock();
  return !taken || block(*taken);
}

bool Traffic::slice(tensor::ExtractSliceOp op) {
  if (!isBuffer(op.getSource()))
    return true;
  double elements = 1;
  for (OpFoldResult size : op.getMixedSizes()) {
    auto n = number(size);
    if (!n)
      return false;
    elements *= static_cast<double>(std::max<int64_t>(*n, 0));
  }
  add(elements, op.getType());
  return true;
}

/// A store clips its tile at the edge of the buffer.
bool Traffic::store(TileStoreOp op) {
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  auto dest = cast<MemRefType>(op.getDest().getType());
  double elements = op.getAccumulate() ? 2 : 1;
  for (auto [size, axis] : llvm::zip(tile.getShape(), op.getDims())) {
    auto offset = number(op.getOffsets()[axis]);
    if (!offset)
      return false;
    elements *= static_cast<double>(
        std::clamp<int64_t>(dest.getDimSize(axis) - *offset, 0, size));
  }
  add(elements, tile);
  return true;
}

/// Buffers that an op on tiles takes whole, and elements that its body picks.
bool Traffic::inside(linalg::LinalgOp op) {
  for (OpOperand *input : op.getDpsInputOperands())
    if (isBuffer(input->get()))
      add(static_cast<double>(
              cast<ShapedType>(input->get().getType()).getNumElements()),
          input->get().getType());
  double points = 1;
  for (int64_t extent : op.getStaticLoopRanges())
    points *= static_cast<double>(extent);
  for (auto pick : op.getBlock()->getOps<tensor::ExtractOp>())
    if (isBuffer(pick.getTensor()))
      add(points, pick.getType());
  return true;
}

static std::optional<int64_t> compare(arith::CmpIPredicate predicate, int64_t a,
                                      int64_t b) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return a < b;
  case arith::CmpIPredicate::sle:
    return a <= b;
  case arith::CmpIPredicate::sgt:
    return a > b;
  case arith::CmpIPredicate::sge:
    return a >= b;
  default: // indices are not negative where they compare unsigned
    return std::nullopt;
  }
}

/// The smallest (largest) result of a map, or its only one.
static std::optional<int64_t> evaluateMap(AffineMap map, ArrayRef<int64_t> at,
                                          bool smallest) {
  Builder b(map.getContext());
  SmallVector<Attribute> operands;
  for (int64_t v : at)
    operands.push_back(b.getIndexAttr(v));
  SmallVector<Attribute> results;
  if (failed(map.constantFold(operands, results)))
    return std::nullopt;
  std::optional<int64_t> best;
  for (Attribute result : results) {
    int64_t v = cast<IntegerAttr>(result).getInt();
    best = !best ? v : smallest ? std::min(*best, v) : std::max(*best, v);
  }
  return best;
}

/// Numbers of index arithmetic; what it does not know stays unknown.
void Traffic::evaluate(Operation *op) {
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isIntOrIndex())
    return;
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    numbers[op->getResult(0)] = cast<IntegerAttr>(constant.getValue()).getInt();
    return;
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    DenseElementsAttr table;
    if (!matchPattern(extract.getTensor(), m_Constant(&table)) ||
        extract.getIndices().size() != 1)
      return;
    auto at = number(extract.getIndices().front());
    if (at && *at >= 0 && *at < table.getNumElements())
      numbers[op->getResult(0)] = table.getValues<APInt>()[*at].getSExtValue();
    return;
  }
  SmallVector<int64_t> v;
  for (Value operand : op->getOperands()) {
    auto n = number(operand);
    if (!n)
      return;
    v.push_back(*n);
  }
  bool divides = v.size() == 2 && v[1] > 0;
  using Number = std::optional<int64_t>;
  Number result =
      llvm::TypeSwitch<Operation *, Number>(op)
          .Case<arith::AddIOp>([&](auto) { return v[0] + v[1]; })
          .Case<arith::SubIOp>([&](auto) { return v[0] - v[1]; })
          .Case<arith::MulIOp>([&](auto) { return v[0] * v[1]; })
          .Case<arith::MinSIOp>([&](auto) { return std::min(v[0], v[1]); })
          .Case<arith::MaxSIOp>([&](auto) { return std::max(v[0], v[1]); })
          .Case<arith::IndexCastOp, arith::ExtSIOp>([&](auto) { return v[0]; })
          .Case<arith::FloorDivSIOp>([&](auto) -> Number {
            if (!divides)
              return std::nullopt;
            return llvm::divideFloorSigned(v[0], v[1]);
          })
          .Case<arith::CeilDivSIOp>([&](auto) -> Number {
            if (!divides)
              return std::nullopt;
            return llvm::divideCeilSigned(v[0], v[1]);
          })
          .Case<arith::DivSIOp>([&](auto) -> Number {
            if (!divides)
              return std::nullopt;
            return v[0] / v[1];
          })
          .Case<arith::RemSIOp>([&](auto) -> Number {
            if (!divides)
              return std::nullopt;
            return v[0] % v[1];
          })
          .Case([&](arith::CmpIOp o) {
            return compare(o.getPredicate(), v[0], v[1]);
          })
          .Case<arith::SelectOp>([&](auto) { return v[0] ? v[1] : v[2]; })
          .Case<arith::AndIOp>([&](auto) { return v[0] & v[1]; })
          .Case<arith::OrIOp>([&](auto) { return v[0] | v[1]; })
          .Case([&](affine::AffineMinOp o) {
            return evaluateMap(o.getMap(), v, true);
          })
          .Case([&](affine::AffineMaxOp o) {
            return evaluateMap(o.getMap(), v, false);
          })
          .Case([&](affine::AffineApplyOp o) {
            return evaluateMap(o.getMap(), v, true);
          })
          .Default([](auto) { return std::nullopt; });
  if (result)
    numbers[op->getResult(0)] = *result;
}

std::optional<int64_t> heddle::tileTraffic(func::FuncOp kernel) {
  return Traffic().run(kernel);
}
