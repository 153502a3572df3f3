//===- TileLayouts.cpp - a layout for every tile of a kernel --------------===//

#include "TileLayouts.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace heddle;
using namespace heddle_gpu;

bool heddle::isTileContraction(linalg::GenericOp op) {
  return op.getNumLoops() == 3 && op.getNumReductionLoops() == 1 &&
         op.getNumDpsInputs() == 2 && op.getNumDpsInits() == 1;
}

SmallVector<int64_t> heddle::operandDims(linalg::GenericOp op,
                                         OpOperand &operand) {
  SmallVector<int64_t> dims;
  for (AffineExpr e : op.getMatchingIndexingMap(&operand).getResults())
    dims.push_back(cast<AffineDimExpr>(e).getPosition());
  return dims;
}

static bool isTile(Value v) { return isa<RankedTensorType>(v.getType()); }

/// The largest power of two that divides n, at most `limit`.
static int64_t powerOfTwo(int64_t n, int64_t limit) {
  int64_t p = 1;
  while (p * 2 <= limit && n % (p * 2) == 0)
    p *= 2;
  return p;
}

TileLayouts::TileLayouts(scf::ForallOp grid, int64_t warps, bool tf32)
    : grid(grid), warps(warps), tf32(tf32) {}

ProductKind TileLayouts::kindOf(linalg::GenericOp op) {
  Type element = getElementTypeOrSelf(op.getDpsInputs()[0].getType());
  if (element.isBF16() || element.isF16())
    return ProductKind::Mma16;
  return element.isF32() && tf32 ? ProductKind::MmaTf32 : ProductKind::Fma;
}

Layout heddle::fmaAccumulator(int64_t rows, int64_t cols, int64_t warpsM,
                              int64_t warpsN) {
  int64_t laneCols = powerOfTwo(cols, 8);
  int64_t perCol = powerOfTwo(cols / laneCols, 4);
  return *blockedLayout({rows, cols}, {1, perCol}, {32 / laneCols, laneCols},
                        {warpsM, warpsN}, {1, 0});
}

/// Whether rows of a product are reduced, or multiplied again, in the kernel:
/// they are then kept inside a warp.
static bool usesRows(linalg::GenericOp product) {
  llvm::SetVector<Value> reached;
  reached.insert(product.getResult(0));
  for (size_t i = 0; i < reached.size(); ++i)
    for (OpOperand &use : reached[i].getUses()) {
      Operation *user = use.getOwner();
      if (auto loop = dyn_cast<scf::ForOp>(user)) {
        if (OpResult result = loop.getTiedLoopResult(&use)) {
          reached.insert(result);
          reached.insert(loop.getTiedLoopRegionIterArg(&use));
        }
      } else if (isa<scf::YieldOp>(user)) {
        reached.insert(user->getParentOp()->getResult(use.getOperandNumber()));
      } else if (auto generic = dyn_cast<linalg::GenericOp>(user)) {
        if (generic.getNumReductionLoops() > 0 && !generic.isDpsInit(&use))
          return true;
        reached.insert(generic->result_begin(), generic->result_end());
      }
    }
  return false;
}

Layout TileLayouts::rowsLayout(RankedTensorType type) {
  int64_t bytes = 4;
  if (type.getElementType().isIntOrFloat())
    bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8u);
  if (type.getRank() == 0)
    return *Layout::get({}, Layout::Bases(5, Layout::Basis()),
                        Layout::Bases(llvm::Log2_64(warps), Layout::Basis()), {});
  if (type.getRank() == 1) {
    int64_t n = type.getDimSize(0);
    int64_t vector = powerOfTwo(n, std::max<int64_t>(1, 16 / bytes));
    int64_t lanes = powerOfTwo(n / vector, 32);
    int64_t w = powerOfTwo(n / vector / lanes, warps);
    // Threads beyond a short tile hold copies.
    Layout::Bases reg, lane, warp;
    int64_t at = 1;
    auto bits = [&](Layout::Bases &to, int64_t count) {
      for (int64_t i = 1; i < count; i *= 2, at *= 2)
        to.push_back({at});
    };
    bits(reg, vector);
    bits(lane, lanes);
    while (lane.size() < 5)
      lane.push_back({0});
    bits(warp, w);
    while (warp.size() < llvm::Log2_64(warps))
      warp.push_back({0});
    return *Layout::get(reg, lane, warp, {n / at});
  }
  int64_t rows = type.getDimSize(0), cols = type.getDimSize(1);
  int64_t vector = powerOfTwo(cols, std::max<int64_t>(1, 16 / bytes));
  int64_t laneCols = powerOfTwo(cols / vector, 32);
  int64_t laneRows = powerOfTwo(rows, 32 / laneCols);
  int64_t warpRows = powerOfTwo(rows / laneRows, warps);
  // Warps beyond the rows share columns rather than hold copies.
  int64_t warpCols = powerOfTwo(cols / vector / laneCols, warps / warpRows);
  Layout::Bases reg, lane, warp;
  int64_t col = 1, row = 1;
  auto alongCols = [&](Layout::Bases &to, int64_t count) {
    for (int64_t i = 1; i < count; i *= 2, col *= 2)
      to.push_back({0, col});
  };
  auto alongRows = [&](Layout::Bases &to, int64_t count) {
    for (int64_t i = 1; i < count; i *= 2, row *= 2)
      to.push_back({row, 0});
  };
  alongCols(reg, vector);
  alongCols(lane, laneCols);
  alongRows(lane, laneRows);
  while (lane.size() < 5)
    lane.push_back({0, 0});
  alongRows(warp, warpRows);
  alongCols(warp, warpCols);
  while (warp.size() < llvm::Log2_64(warps))
    warp.push_back({0, 0});
  return *Layout::get(reg, lane, warp, {rows / row, cols / col});
}

LogicalResult TileLayouts::assignAccumulator(linalg::GenericOp op) {
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  int64_t rows = type.getDimSize(0), cols = type.getDimSize(1);
  if (layouts.contains(op.getResult(0)))
    return success();
  ProductKind kind = kindOf(op);
  // As many warps along the rows as fit, where a row's elements stay in one
  // warp, so that reductions along it need no shared memory. Else the split in
  // which a warp reads the fewest rows of A and columns of B.
  std::optional<Layout> best;
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (int64_t m = warps; m >= 1 && !(byRows && best); m /= 2) {
    int64_t n = warps / m, reads = rows / m + cols / n;
    if (reads >= fewest || (kind == ProductKind::Fma && m != warps &&
                            (rows % (4 * m) || cols % (32 * n))))
      continue;
    std::optional<Layout> layout =
        kind == ProductKind::Fma
            ? fmaAccumulator(rows, cols, m, n)
            : mmaOperand(kind, Operand::C, rows, cols, m, n);
    if (!layout)
      continue;
    fewest = reads;
    best = layout;
  }
  if (!best)
    return op.emitError("expected a tile that m16n8 divides among ")
           << warps << " warps, got " << rows << "x" << cols;
  assign(op.getResult(0), *best);
  return success();
}

void TileLayouts::assign(Value v, const Layout &layout) {
  if (!isTile(v) || layouts.contains(v))
    return;
  if (v.getDefiningOp<tensor::EmptyOp>())
    return;
  layouts.insert({v, layout});
  work.push_back(v);
}

void TileLayouts::propagate() {
  while (!work.empty()) {
    Value v = work.front();
    work.pop_front();
    Layout layout = layouts.at(v);
    toUsers(v, layout);
    toDefinition(v, layout);
  }
}

void TileLayouts::toUsers(Value v, const Layout &layout) {
  for (OpOperand &use : v.getUses()) {
    Operation *user = use.getOwner();
    if (auto loop = dyn_cast<scf::ForOp>(user)) {
      if (OpResult result = loop.getTiedLoopResult(&use)) {
        assign(result, layout);
        assign(loop.getTiedLoopRegionIterArg(&use), layout);
      }
      continue;
    }
    if (isa<scf::YieldOp>(user)) {
      auto loop = cast<scf::ForOp>(user->getParentOp());
      assign(loop.getResult(use.getOperandNumber()), layout);
      assign(loop.getRegionIterArg(use.getOperandNumber()), layout);
      continue;
    }
    auto generic = dyn_cast<linalg::GenericOp>(user);
    if (!generic || isTileContraction(generic)) {
      if (generic && generic.isDpsInit(&use))
        assign(generic.getResult(0), layout);
      continue;
    }
    SmallVector<int64_t> dims = operandDims(generic, use);
    if (generic.getNumReductionLoops() == 0) {
      if (dims.size() == generic.getNumLoops())
        for (Value r : generic.getResults())
          assign(r, layout);
    } else if (dims.size() == 2) {
      for (Value r : generic.getResults())
        assign(r, layout.slice(1));
    } else if (generic.isDpsInit(&use)) {
      assign(generic.getResult(0), layout);
    }
  }
}

void TileLayouts::toDefinition(Value v, const Layout &layout) {
  if (auto arg = dyn_cast<BlockArgument>(v)) {
    auto loop = dyn_cast<scf::ForOp>(arg.getOwner()->getParentOp());
    if (!loop || arg == loop.getInductionVar())
      return;
    unsigned i = arg.getArgNumber() - 1;
    assign(loop.getInitArgs()[i], layout);
    assign(loop.getResult(i), layout);
    assign(loop.getYieldedValues()[i], layout);
    return;
  }
  Operation *op = v.getDefiningOp();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    unsigned i = cast<OpResult>(v).getResultNumber();
    assign(loop.getInitArgs()[i], layout);
    assign(loop.getRegionIterArg(i), layout);
    assign(loop.getYieldedValues()[i], layout);
    return;
  }
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic)
    return;
  if (isTileContraction(generic)) {
    assign(generic.getDpsInits()[0], layout);
    return;
  }
  for (OpOperand &operand : generic->getOpOperands()) {
    if (!isTile(operand.get()))
      continue;
    SmallVector<int64_t> dims = operandDims(generic, operand);
    if (generic.getNumReductionLoops() > 0) {
      if (generic.isDpsInit(&operand))
        assign(operand.get(), layout);
      continue;
    }
    if (dims.size() == generic.getNumLoops())
      assign(operand.get(), layout);
    else if (dims.size() == 1 && generic.getNumLoops() == 2)
      assign(operand.get(), layout.slice(1 - dims[0]));
  }
}

LogicalResult TileLayouts::run() {
  grid.walk([&](linalg::GenericOp op) {
    byRows |= isTileContraction(op) && usesRows(op);
  });
  WalkResult walked = grid.walk([&](linalg::GenericOp op) {
    if (isTileContraction(op) && failed(assignAccumulator(op)))
      return WalkResult::interrupt();
    propagate();
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  // What products leave open starts from the widest tiles.
  for (int64_t rank : {2, 1, 0})
    grid.walk([&](Operation *op) {
      for (Value v : op->getResults()) {
        auto type = dyn_cast<RankedTensorType>(v.getType());
        if (!type || type.getRank() != rank || layouts.contains(v) ||
            !type.hasStaticShape() || isa<tensor::EmptyOp>(op) ||
            isa<bufferization::ToTensorOp>(op))
          continue;
        assign(v, rowsLayout(type));
        propagate();
      }
    });
  return success();
}

const Layout &TileLayouts::of(Value v) { return layouts.at(v); }
