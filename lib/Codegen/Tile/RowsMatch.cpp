//===- RowsMatch.cpp - ops that tiles of rows can be made of --------------===//

#include "heddle/Codegen/Tile/RowsAnalysis.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace heddle;

static bool isProjection(AffineMap map) {
  return map.isProjectedPermutation(/*allowZeroInResults=*/false);
}

static bool usesDim(AffineMap map, unsigned dim) {
  return map.isFunctionOfDim(dim);
}

/// Strips extensions that keep the value.
static Value stripExtension(Value v) {
  while (auto ext = v.getDefiningOp<arith::ExtFOp>())
    v = ext.getIn();
  return v;
}

std::optional<RowsContraction>
heddle::matchRowsContraction(linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0 || op.getNumDpsInputs() != 2 ||
      op.getNumDpsInits() != 1 || op.hasDynamicShape())
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (!llvm::all_of(maps, isProjection))
    return std::nullopt;
  Block &body = op.getRegion().front();
  auto sum = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  // 16-bit sums are formed in f32 and rounded once.
  if (!sum || !(sum.getType().isF32() || sum.getType().isBF16() ||
                sum.getType().isF16()))
    return std::nullopt;
  Value acc = body.getArgument(2);
  Value other = sum.getLhs() == acc   ? sum.getRhs()
                : sum.getRhs() == acc ? sum.getLhs()
                                      : Value();
  auto product =
      other ? other.getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  if (!product)
    return std::nullopt;
  Value l = stripExtension(product.getLhs()), r = stripExtension(product.getRhs());
  bool straight = l == body.getArgument(0) && r == body.getArgument(1);
  bool swapped = r == body.getArgument(0) && l == body.getArgument(1);
  if (!straight && !swapped)
    return std::nullopt;
  RowsContraction c{};
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  c.k = innerReduction(op);
  for (unsigned d : reduced)
    if (d != c.k)
      c.outer.push_back(d);
  if (!usesDim(maps[0], c.k) || !usesDim(maps[1], c.k))
    return std::nullopt;
  int n = -1, m = -1;
  for (AffineExpr e : maps[2].getResults()) {
    unsigned d = cast<AffineDimExpr>(e).getPosition();
    bool inLeft = usesDim(maps[0], d), inRight = usesDim(maps[1], d);
    if (inLeft && !inRight)
      m = d; // the last one is the row axis
    else if (inRight && !inLeft && n < 0)
      n = d;
    else if (!(inLeft && inRight))
      return std::nullopt;
  }
  if (m < 0 || n < 0)
    return std::nullopt;
  c.m = m;
  c.n = n;
  return c;
}

bool heddle::isRowsContraction(linalg::GenericOp op) {
  return op && matchRowsContraction(op).has_value();
}

std::optional<OperandAxis> heddle::matchOperandAxis(AffineExpr e,
                                                    unsigned numDims) {
  SmallVector<int64_t> factors;
  OperandAxis axis;
  if (auto dim = dyn_cast<AffineDimExpr>(e)) {
    axis.dim = dim.getPosition();
    return axis;
  }
  if (failed(getFlattenedAffineExpr(e, numDims, 0, &factors)) ||
      factors.size() != numDims + 1)
    return std::nullopt;
  axis.offset = factors.pop_back_val();
  int dim = -1;
  for (auto [d, factor] : llvm::enumerate(factors)) {
    if (factor == 1 && dim < 0) {
      dim = d;
    } else if (factor > 1 && axis.part < 0) {
      axis.part = d;
      axis.partSize = factor;
    } else if (factor != 0) {
      return std::nullopt;
    }
  }
  if (dim < 0 || axis.offset < 0)
    return std::nullopt;
  axis.dim = dim;
  return axis;
}

unsigned heddle::innerReduction(linalg::GenericOp op) {
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  return reduced.back();
}

Operation *heddle::matchCombiner(linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1)
    return nullptr;
  Block &body = op.getRegion().front();
  BlockArgument before = body.getArguments().back();
  Operation *combiner = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!combiner || combiner->getBlock() != &body || !before.hasOneUse() ||
      *before.user_begin() != combiner || combiner->getNumOperands() != 2)
    return nullptr;
  bool known =
      isa<arith::AddFOp, arith::MulFOp, arith::MaximumFOp, arith::MinimumFOp,
          arith::MaxNumFOp, arith::MinNumFOp, arith::AddIOp, arith::MulIOp,
          arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp,
          arith::AndIOp, arith::OrIOp, arith::XOrIOp>(combiner);
  return known && arith::getNeutralElement(combiner) ? combiner : nullptr;
}

/// Whether a reduction reads an axis of an operand as a whole or in parts.
static bool isRowsOperand(linalg::GenericOp op, OpOperand &operand) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  if (isProjection(map))
    return true;
  llvm::SmallDenseSet<unsigned> dims;
  return llvm::all_of(map.getResults(), [&](AffineExpr e) {
    std::optional<OperandAxis> axis = matchOperandAxis(e, map.getNumDims());
    return axis && dims.insert(axis->dim).second &&
           (axis->isPlain() ||
            op.getIteratorTypesArray()[axis->dim] ==
                utils::IteratorType::reduction);
  });
}

bool heddle::isRowsGeneric(linalg::GenericOp op) {
  if (!op || op->getNumResults() != 1 || op.hasDynamicShape() ||
      op.getNumLoops() == 0)
    return false;
  AffineMap out = op.getIndexingMapsArray().back();
  if (!isProjection(out) ||
      !llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
        return isRowsOperand(op, *operand);
      }))
    return false;
  if (out.getNumResults() + op.getNumReductionLoops() != op.getNumLoops() ||
      out.getNumResults() == 0)
    return false;
  Type element =
      cast<RankedTensorType>(op.getResult(0).getType()).getElementType();
  if (element.isF64() || element.isInteger(64) || element.isIndex())
    return false;
  for (Type t : op->getOperandTypes()) {
    if (!isa<RankedTensorType>(t))
      return false; // a scalar operand
    Type e = cast<RankedTensorType>(t).getElementType();
    if (e.isF64() || e.isInteger(64) || e.isIndex())
      return false;
  }
  for (Operation &inner : op.getRegion().front().without_terminator()) {
    if (inner.hasTrait<OpTrait::ConstantLike>())
      continue;
    if (!OpTrait::hasElementwiseMappableTraits(&inner))
      return false;
    for (Value v : inner.getOperands())
      if (v.getParentRegion() != &op.getRegion() &&
          !matchPattern(v, m_Constant()))
        return false;
  }
  return true;
}
