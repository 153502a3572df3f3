//===- FuseDecide.cpp - which values are kept in memory --------------------===//

#include "Fuser.h"
#include "heddle/Codegen/Tile/RowsAnalysis.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

/// Columns of a second contraction whose accumulator stays on chip.
static constexpr int64_t kMaxMlpColumns = 512;
/// What each of several readers of a value does again, at most: the reductions of
/// a norm of a norm and its gradient, the reads of a gated sum. A chain through
/// all layers is more.
static constexpr unsigned kMaxReductions = 6, kMaxReads = 3;

/// Whether a slice of constant offsets starts at a multiple of 16 bytes, as the
/// kernels of a GPU expect of buffers.
static bool isAligned(tensor::ExtractSliceOp slice) {
  auto type = slice.getSourceType();
  Type element = type.getElementType();
  int64_t stride = element.isIndex()
                       ? 8
                       : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  int64_t offset = 0;
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    offset += *getConstantIntValue(slice.getMixedOffsets()[d]) * stride;
    stride *= type.getDimSize(d);
  }
  return offset % 16 == 0;
}

OpClass Fuser::classify(Operation *op) {
  auto [it, isNew] = classOf.try_emplace(op, OpClass::Loops);
  if (!isNew)
    return it->second;
  OpClass c = computeClass(op);
  classOf[op] = c;
  return c;
}

OpClass Fuser::computeClass(Operation *op) {
  if (isa<tensor::EmptyOp>(op))
    return OpClass::Free;
  // A constant tensor that is not a splat has bytes of its own.
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    return !isa<TensorType>(constant.getType()) || (dense && dense.isSplat())
               ? OpClass::Free
               : OpClass::View;
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return matchPattern(fill.getInputs()[0], m_Constant()) ? OpClass::Free
                                                           : OpClass::Loops;
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(op))
    return OpClass::View;
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    // A slice of leading indices is a view at an offset.
    auto type = slice.getSourceType();
    bool whole = true; // axes so far, from the last one, are covered
    bool contiguous = llvm::all_of(slice.getMixedStrides(), [](OpFoldResult s) {
      return isConstantIntValue(s, 1);
    });
    for (int64_t d = type.getRank() - 1; d >= 0; --d) {
      std::optional<int64_t> size = getConstantIntValue(slice.getMixedSizes()[d]);
      if (!size || !getConstantIntValue(slice.getMixedOffsets()[d]))
        contiguous = false;
      else if (!whole && *size != 1)
        contiguous = false;
      else if (*size != type.getDimSize(d))
        whole = false;
    }
    if (contiguous && target.matrixUnits && !isAligned(slice))
      contiguous = false; // a copy of its own
    return contiguous ? OpClass::View : OpClass::Loops;
  }
  if (isa<AttentionOp, AttentionGradOp>(op))
    return OpClass::Attention;
  if (isa<LinearScanOp, LinearScanGradOp, LinearScanMapsOp, SelectiveScanOp,
          SelectiveScanGradOp, SelectiveScanMapsOp>(op))
    return OpClass::Scan;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (isRowsContraction(generic)) {
    // Tiles of a batch of vectors would be all padding; loops do as well.
    return OpClass::Contraction;
  }
  if (isRowsGeneric(generic)) {
    if (generic.getNumReductionLoops() > 0 &&
        generic.getStaticLoopRanges()[innerReduction(generic)] > kMaxRowLength)
      return OpClass::Loops;
    return OpClass::Rows;
  }
  return OpClass::Loops;
}

void Fuser::keep(Value v) {
  // Views are looked through: what they view is kept.
  while (Operation *op = v.getDefiningOp()) {
    if (classify(op) != OpClass::View || op->getNumOperands() == 0)
      break;
    v = op->getOperand(0);
  }
  if (v.getDefiningOp())
    kept.insert(v);
}

bool Fuser::isFused(Value v) {
  Operation *op = v.getDefiningOp();
  if (!op || kept.contains(v))
    return false;
  OpClass c = classify(op);
  return c == OpClass::Rows || c == OpClass::Contraction;
}

/// Contractions that a kernel asking for v would have to run.
unsigned Fuser::contractionsIn(Value v) {
  DenseMap<Value, unsigned> known;
  return contractionsIn(v, known);
}

/// Each value is met once, by however many paths it is reached.
unsigned Fuser::contractionsIn(Value v, DenseMap<Value, unsigned> &known) {
  if (!isFused(v))
    return 0;
  if (auto it = known.find(v); it != known.end())
    return it->second;
  auto op = cast<linalg::GenericOp>(v.getDefiningOp());
  unsigned own = isRowsContraction(op) ? 1 : 0, n = own;
  for (Value in : op.getDpsInputs())
    n = std::max(n, contractionsIn(in, known) + own);
  known[v] = n;
  return n;
}

bool Fuser::reductionIn(Value v) {
  DenseSet<Value> seen;
  return reductionIn(v, seen);
}

bool Fuser::reductionIn(Value v, DenseSet<Value> &seen) {
  if (!isFused(v) || !seen.insert(v).second)
    return false;
  auto op = cast<linalg::GenericOp>(v.getDefiningOp());
  return op.getNumReductionLoops() > 0 ||
         llvm::any_of(op.getDpsInputs(),
                      [&](Value in) { return reductionIn(in, seen); });
}

/// Whether each reader of v would compute too much of it again: many reductions,
/// or from many tensors of its size.
bool Fuser::isCostly(Value v) {
  auto sizeOf = [](Value x) {
    auto type = dyn_cast<RankedTensorType>(x.getType());
    return type ? type.getNumElements() : 0;
  };
  DenseSet<Value> seen;
  SmallVector<Value> todo{v};
  unsigned reductions = 0, reads = 0;
  while (!todo.empty()) {
    Value next = todo.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (!isFused(next)) {
      Operation *def = next.getDefiningOp();
      bool free = def && classify(def) == OpClass::Free;
      reads += !free && sizeOf(next) >= sizeOf(v);
      continue;
    }
    auto op = cast<linalg::GenericOp>(next.getDefiningOp());
    reductions += op.getNumReductionLoops() > 0;
    llvm::append_range(todo, op.getDpsInputs());
  }
  return reductions > kMaxReductions || reads > kMaxReads;
}

/// Uses of v by ops that are not dead, views counted through.
static bool hasOneUser(Value v) {
  Operation *user = nullptr;
  for (Operation *u : v.getUsers()) {
    if (user && user != u)
      return false;
    user = u;
  }
  return user != nullptr;
}

/// Whether v is a reduction's result, or follows from one element by element.
bool Fuser::isReduced(Value v) {
  if (!isFused(v))
    return false;
  auto op = cast<linalg::GenericOp>(v.getDefiningOp());
  if (isRowsContraction(op))
    return false;
  if (op.getNumReductionLoops() > 0)
    return true;
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
    return op.getMatchingIndexingMap(operand).isIdentity() &&
           isReduced(operand->get());
  });
}

/// Whether v is reduced, several ops read it and none spreads it over what was
/// reduced: recomputing it would cost each of them the whole reduction.
bool Fuser::isSharedSum(Value v) {
  if (v.use_empty() || hasOneUser(v) || !isReduced(v))
    return false;
  return llvm::all_of(v.getUsers(), [&](Operation *user) {
    auto generic = dyn_cast<linalg::GenericOp>(user);
    return !generic || llvm::all_of(user->getOpOperands(), [&](OpOperand &o) {
      return o.get() != v || generic.getMatchingIndexingMap(&o).isIdentity();
    });
  });
}

/// One pass in program order: each op says which of its operands it cannot
/// take as a recomputed tile.
void Fuser::decide() {
  for (Operation &op : function.getBody().front()) {
    OpClass c = classify(&op);
    if (c == OpClass::Free)
      continue;
    if (c == OpClass::View)
      continue; // kept where the view is used
    auto keepFused = [&](Value v) {
      Operation *def = v.getDefiningOp();
      if (!def)
        return;
      if (classify(def) == OpClass::View)
        keep(v);
      else if (isFused(v))
        kept.insert(v);
    };
    if (c == OpClass::Attention || c == OpClass::Scan || c == OpClass::Loops) {
      for (Value v : op.getOperands())
        keepFused(v);
      op.walk([&](Operation *inner) {
        for (Value v : inner->getOperands())
          if (isa<TensorType>(v.getType()) && v.getParentBlock() == op.getBlock())
            keepFused(v);
      });
      for (Value v : op.getResults())
        kept.insert(v);
      continue;
    }
    auto generic = cast<linalg::GenericOp>(op);
    AffineMap outMap = generic.getIndexingMapsArray().back();
    bool contraction = c == OpClass::Contraction;
    bool reduction = generic.getNumReductionLoops() > 0;
    SmallVector<Value> derived; // operands that carry a contraction
    for (OpOperand &operand : op.getOpOperands()) {
      Value v = operand.get();
      Operation *def = v.getDefiningOp();
      if (!def)
        continue;
      if (classify(def) == OpClass::View) {
        keep(v);
        continue;
      }
      if (!isFused(v))
        continue;
      // Parts of a sum are made side by side, then added up.
      if (reduction && !contraction && isReduced(v) &&
          operand.getOperandNumber() < generic.getNumDpsInputs()) {
        kept.insert(v);
        continue;
      }
      unsigned inner = contractionsIn(v);
      if (contraction && operand.getOperandNumber() == 1) {
        if (inner || reductionIn(v))
          kept.insert(v);
        continue;
      }
      if (!inner)
        continue;
      bool identity = generic.getMatchingIndexingMap(&operand) == outMap;
      bool mlp = false;
      // On matrix units the hidden tile and both accumulators of a perceptron
      // are more than the registers hold.
      if (!target.matrixUnits && contraction &&
          operand.getOperandNumber() == 0 && inner == 1 && hasOneUser(v)) {
        RowsContraction rc = *matchRowsContraction(generic);
        mlp = generic.getStaticLoopRanges()[rc.n] <= kMaxMlpColumns;
      }
      if (mlp)
        continue;
      if (contraction || reduction || !identity || !hasOneUser(v))
        kept.insert(v);
      else
        derived.push_back(v);
    }
    // One contraction per kernel: of several, the last stays fused.
    for (Value v : ArrayRef<Value>(derived).drop_back(derived.empty() ? 0 : 1))
      if (v != derived.back())
        kept.insert(v);
    // Results that something outside of Rows and Contraction reads are kept by
    // those ops; a result nobody reads is dead.
    if (llvm::any_of(op.getUsers(), [](Operation *u) {
          return u->hasTrait<OpTrait::IsTerminator>();
        }))
      kept.insert(op.getResult(0));
    else if (isSharedSum(op.getResult(0)) ||
             (!op.use_empty() && !hasOneUser(op.getResult(0)) &&
              isCostly(op.getResult(0))))
      kept.insert(op.getResult(0));
  }
  for (Value v : function.getBody().front().getTerminator()->getOperands())
    keep(v);
}
