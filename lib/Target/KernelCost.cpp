//===- KernelCost.cpp - the work of a kernel and its roofline -------------===//

#include "heddle/Target/KernelCost.h"
#include "heddle/Analysis/MaskTiling.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <algorithm>

using namespace mlir;
using namespace heddle;

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// What a GPU does on its special function units, alone or first of all.
static bool isSpecial(Operation &op) {
  return isa<arith::DivFOp, math::CosOp, math::ErfOp, math::ExpOp, math::Exp2Op,
             math::ExpM1Op, math::LogOp, math::Log1pOp, math::Log2Op,
             math::Log10Op, math::PowFOp, math::RsqrtOp, math::SinOp,
             math::SqrtOp, math::TanhOp>(op);
}

/// Arithmetic of a region on one element.
static void countBody(Block &body, int64_t points, KernelInfo &info) {
  for (Operation &op : body.without_terminator()) {
    if (isa<arith::ExtFOp, arith::TruncFOp, linalg::IndexOp>(op) ||
        op.hasTrait<OpTrait::ConstantLike>())
      continue;
    info.flops += points * (isa<math::FmaOp>(op) ? 2 : 1);
    if (isSpecial(op))
      info.specialOps += points;
  }
}

/// "bf16", "f16", "f32", ...; tf32 where it was asked for.
static std::string matrixTypeOf(Type element, bool tf32) {
  if (element.isF32() && tf32)
    return "tf32";
  std::string text;
  llvm::raw_string_ostream(text) << element;
  return text;
}

static void addProduct(int64_t flops, Type element, bool tf32,
                       KernelInfo &info) {
  info.matrixFlops += flops;
  if (info.matrixType.empty())
    info.matrixType = matrixTypeOf(element, tf32);
}

/// Pairs that the mask's set shows. Tiles of a thousandth of an axis keep this
/// quick; those that the set cuts count half.
template <typename Op>
static int64_t visiblePairs(Op op) {
  int64_t queries = op.getQueryLength(), keys = op.getKeyLength();
  if (!op.getMaskAttr())
    return queries * keys;
  constexpr int64_t kTiles = 1024;
  MaskTilingOptions options;
  options.forceEnumeration = true; // its time is bounded for every set
  MaskTiling tiling =
      analyzeMask(op.getMaskAttr(), queries, keys,
                  std::max<int64_t>(1, llvm::divideCeil(queries, kTiles)),
                  std::max<int64_t>(1, llvm::divideCeil(keys, kTiles)),
                  op.getLoc(), options);
  int64_t twice = 0;
  for (auto [t, intervals] : llvm::enumerate(tiling.perQueryTile)) {
    int64_t rows = std::min(
        tiling.queryTile, queries - static_cast<int64_t>(t) * tiling.queryTile);
    for (const TileInterval &interval : intervals) {
      int64_t columns = std::min(interval.end * tiling.keyTile, keys) -
                        interval.begin * tiling.keyTile;
      twice += rows * columns * (interval.kind == TileKind::Full ? 2 : 1);
    }
  }
  return twice / 2;
}

static void countAttention(AttentionOp op, KernelInfo &info) {
  int64_t pairs = op.getBatch() * op.getQueryHeads() * visiblePairs(op);
  int64_t flops = 2 * pairs * (op.getQueryHeadDim() + op.getValueHeadDim());
  info.flops += flops;
  addProduct(flops, getElementTypeOrSelf(op.getQuery().getType()),
             op.getPrecision() == Precision::TF32, info);
  info.specialOps += pairs; // the exponentials
  for (Region &region : op->getRegions())
    if (!region.empty())
      countBody(region.front(), pairs, info);
}

static void countAttentionGrad(AttentionGradOp op, KernelInfo &info) {
  int64_t pairs = op.getBatch() * op.getQueryHeads() * visiblePairs(op);
  int64_t dqk = op.getQueryHeadDim(), dv = op.getValueHeadDim();
  bool throughScores = op.getDQuery() || op.getDKey() || op.getDBias();
  // The scores, their gradients, and a product for each gradient.
  int64_t columns = (throughScores || op.getDValue() ? dqk : 0) +
                    (throughScores ? dv : 0) + (op.getDQuery() ? dqk : 0) +
                    (op.getDKey() ? dqk : 0) + (op.getDValue() ? dv : 0);
  int64_t flops = 2 * pairs * columns;
  info.flops += flops;
  addProduct(flops, getElementTypeOrSelf(op.getQuery().getType()),
             op.getPrecision() == Precision::TF32, info);
  info.specialOps += pairs; // the exponentials
}

/// Whether an op is a product of matrices. Sums of elementwise products, as of
/// a scale's gradient, have no rows or no columns of their own.
static bool isMatrixProduct(linalg::LinalgOp op) {
  if (!linalg::isaContractionOpInterface(op))
    return false;
  FailureOr<linalg::ContractionDimensions> dims =
      linalg::inferContractionDims(op);
  return succeeded(dims) && !dims->m.empty() && !dims->n.empty();
}

static void countLinalg(linalg::LinalgOp op, KernelInfo &info) {
  int64_t points = 1;
  for (int64_t extent : op.getStaticLoopRanges())
    points *= extent;
  int64_t before = info.flops;
  countBody(*op.getBlock(), points, info);
  if (isMatrixProduct(op))
    addProduct(info.flops - before,
               getElementTypeOrSelf(op->getOperand(0).getType()),
               /*tf32=*/false, info);
}

/// Bytes of a buffer; an index takes 64 bits.
static int64_t bufferBytes(MemRefType type) {
  Type element = type.getElementType();
  int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  return type.getNumElements() * llvm::divideCeil(bits, 8);
}

void heddle::countOp(Operation *op, KernelInfo &info) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    countAttention(attention, info);
  else if (auto grad = dyn_cast<AttentionGradOp>(op))
    countAttentionGrad(grad, info);
  else if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    countLinalg(linalgOp, info);
}

void heddle::countWork(func::FuncOp kernel, KernelInfo &info) {
  for (Type t : kernel.getArgumentTypes())
    info.minBytes += bufferBytes(cast<MemRefType>(t));
  kernel.walk([&](Operation *op) { countOp(op, info); });
}

//===----------------------------------------------------------------------===//
// Roofline
//===----------------------------------------------------------------------===//

static double matrixRate(const GpuChip &chip, llvm::StringRef type) {
  if (type == "bf16" || type == "f16")
    return chip.bf16Flops;
  return type == "tf32" ? chip.tf32Flops : 0;
}

Roofline heddle::computeRoofline(const GpuChip &chip,
                                 const KernelInfo &kernel) {
  constexpr double kSpecialPerClock = 16;
  double matrix = matrixRate(chip, kernel.matrixType);
  auto products = static_cast<double>(kernel.matrixFlops);
  double vector = static_cast<double>(kernel.flops - kernel.matrixFlops) /
                  (chip.f32Flops / 2);
  if (matrix == 0)
    vector += products / chip.f32Flops;
  double special = static_cast<double>(kernel.specialOps) /
                   (kSpecialPerClock * chip.multiprocessors * chip.clock);
  Roofline result{static_cast<double>(kernel.minBytes) / chip.bytesPerSecond,
                  "memory"};
  auto raise = [&](double seconds, llvm::StringRef limit) {
    if (seconds > result.seconds)
      result = {seconds, limit};
  };
  raise(matrix == 0 ? 0 : products / matrix, "matrix units");
  raise(vector, "vector units");
  raise(special, "special functions");
  return result;
}
