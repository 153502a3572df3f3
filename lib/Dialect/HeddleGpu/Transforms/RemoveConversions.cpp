//===- RemoveConversions.cpp - moves and removes changes of layout --------===//

#include "heddle/Dialect/HeddleGpu/IR/LayoutConversion.h"
#include "heddle/Dialect/HeddleGpu/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SetVector.h"

namespace heddle_gpu {
#define GEN_PASS_DEF_REMOVECONVERSIONSPASS
#include "heddle/Dialect/HeddleGpu/Transforms/Passes.h.inc"
} // namespace heddle_gpu

using namespace mlir;
using namespace heddle_gpu;

static int64_t conversionCost(RankedTensorType type, const Layout &to) {
  if (getLayout(type) == to)
    return 0;
  unsigned bits = type.getElementType().isIndex()
                      ? 64
                      : type.getElementType().getIntOrFloatBitWidth();
  return classifyConversion(getLayout(type), to, bits).cost;
}

static int64_t conversionCost(ConvertLayoutOp op) {
  return conversionCost(cast<RankedTensorType>(op.getInput().getType()),
                        getLayout(op.getType()));
}

/// Elementwise on tiles of one layout, so that it runs in any layout.
static bool isElementwise(Operation *op) {
  if (op->getNumResults() == 0 || op->getNumRegions() != 0 ||
      !OpTrait::hasElementwiseMappableTraits(op) || !isMemoryEffectFree(op))
    return false;
  LayoutAttr layout = getLayoutAttr(op->getResult(0).getType());
  if (!layout)
    return false;
  auto fits = [&](Type type) {
    return !isa<TensorType>(type) || getLayoutAttr(type) == layout;
  };
  return llvm::all_of(op->getOperandTypes(), fits) &&
         llvm::all_of(op->getResultTypes(), fits);
}

//===----------------------------------------------------------------------===//
// Up
//===----------------------------------------------------------------------===//

namespace {
/// Computes values in another layout than they have. cost() and build() make
/// the same choices.
class OtherLayout {
public:
  /// The cost of having `value` in layout `to`. `last`: nobody will use the
  /// value as it is now, so that its op may be replaced.
  int64_t cost(Value value, const Layout &to, bool last) const {
    auto type = cast<RankedTensorType>(value.getType());
    if (getLayout(type) == to)
      return 0;
    return std::min(conversionCost(type, to), costAbove(value, to, last));
  }

  /// The cost of having it without a conversion of the value itself.
  int64_t costAbove(Value value, const Layout &to, bool last) const {
    Operation *op = value.getDefiningOp();
    if (!op)
      return kImpossible;
    if (isFree(value))
      return 0;
    if (auto convert = dyn_cast<ConvertLayoutOp>(op)) {
      int64_t inner = cost(convert.getInput(), to, last && isLast(op));
      // A conversion that goes is a gain.
      return last ? inner - conversionCost(convert) : inner;
    }
    if (!last || op->getNumResults() != 1)
      return kImpossible;
    if (isa<SmemLoadOp>(op))
      return 0;
    if (auto broadcast = dyn_cast<BroadcastOp>(op))
      return cost(broadcast.getInput(), inputLayout(broadcast, to), isLast(op));
    if (!isElementwise(op))
      return kImpossible;
    int64_t sum = 0;
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      if (isa<TensorType>(operand.getType()) &&
          !llvm::is_contained(op->getOperands().take_front(i), operand)) {
        int64_t part = cost(operand, to, isLast(op, operand));
        if (part >= kImpossible)
          return kImpossible;
        sum += part;
      }
    return sum;
  }

  Value build(RewriterBase &rewriter, Value value, const Layout &to,
              bool last) const {
    auto type = cast<RankedTensorType>(value.getType());
    if (getLayout(type) == to)
      return value;
    if (conversionCost(type, to) <= costAbove(value, to, last))
      return ConvertLayoutOp::create(rewriter, value.getLoc(),
                                     withLayout(type, to), value);
    return buildAbove(rewriter, value, to, last);
  }

  Value buildAbove(RewriterBase &rewriter, Value value, const Layout &to,
                   bool last) const {
    Operation *op = value.getDefiningOp();
    RankedTensorType type =
        withLayout(cast<RankedTensorType>(value.getType()), to);
    // Beside the op: reads see the memory that it sees, and nothing moves into
    // a loop.
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    if (auto convert = dyn_cast<ConvertLayoutOp>(op))
      return build(rewriter, convert.getInput(), to, last && isLast(op));
    DenseElementsAttr constant;
    if (matchPattern(value, m_Constant(&constant)))
      return arith::ConstantOp::create(
          rewriter, op->getLoc(),
          SplatElementsAttr::get(type, constant.getSplatValue<Attribute>()));
    IRMapping mapping;
    if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      Value input = broadcast.getInput();
      mapping.map(input, build(rewriter, input, inputLayout(broadcast, to),
                               isLast(op)));
    } else if (isElementwise(op)) {
      for (Value operand : op->getOperands())
        if (isa<TensorType>(operand.getType()) && !mapping.contains(operand))
          mapping.map(operand,
                      build(rewriter, operand, to, isLast(op, operand)));
    }
    Operation *copy = rewriter.clone(*op, mapping);
    copy->getResult(0).setType(type);
    return copy->getResult(0);
  }

private:
  static constexpr int64_t kImpossible = int64_t(1) << 40;

  /// Made from no tile.
  static bool isFree(Value value) {
    DenseElementsAttr constant;
    return value.getDefiningOp<IotaOp>() ||
           value.getDefiningOp<tensor::SplatOp>() ||
           (matchPattern(value, m_Constant(&constant)) && constant.isSplat());
  }

  /// Whether the op's operand has no user but the op, once.
  static bool isLast(Operation *op, Value operand) {
    return llvm::all_of(operand.getUsers(),
                        [&](Operation *user) { return user == op; });
  }
  static bool isLast(Operation *op) { return isLast(op, op->getOperand(0)); }

  static Layout inputLayout(BroadcastOp op, const Layout &to) {
    Layout result = to;
    for (int64_t d : llvm::reverse(op.getDims()))
      result = result.slice(d);
    return result;
  }
};

struct MoveUp : OpRewritePattern<ConvertLayoutOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvertLayoutOp op,
                                PatternRewriter &rewriter) const override {
    const Layout &to = getLayout(op.getType());
    OtherLayout other;
    bool last = op.getInput().hasOneUse();
    if (other.costAbove(op.getInput(), to, last) >= conversionCost(op))
      return rewriter.notifyMatchFailure(op, "converting the inputs costs no "
                                             "less");
    rewriter.replaceOp(op, other.buildAbove(rewriter, op.getInput(), to, last));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Down
//===----------------------------------------------------------------------===//

/// The conversion that makes `operand` in the block of `op`. One outside of a
/// loop is not worth one inside.
static ConvertLayoutOp conversionBeside(Operation *op, Value operand) {
  auto convert = operand.getDefiningOp<ConvertLayoutOp>();
  return convert && convert->getBlock() == op->getBlock() ? convert
                                                          : ConvertLayoutOp();
}

/// Elementwise ops on converted operands run before the conversion.
struct MoveDown : RewritePattern {
  MoveDown(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1 || !isElementwise(op))
      return rewriter.notifyMatchFailure(op, "not elementwise on tiles");
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    OtherLayout other;
    for (Value operand : op->getOperands()) {
      ConvertLayoutOp convert = conversionBeside(op, operand);
      if (!convert)
        continue;
      const Layout &from = getLayout(convert.getInput().getType());
      int64_t before = 0,
              after = conversionCost(withLayout(type, from), getLayout(type));
      // Conversions with other uses stay, so they save nothing.
      llvm::SmallSetVector<Value, 4> seen;
      for (Value v : op->getOperands()) {
        if (!isa<TensorType>(v.getType()) || !seen.insert(v))
          continue;
        ConvertLayoutOp c = conversionBeside(op, v);
        bool goes = c && llvm::all_of(v.getUsers(), [&](Operation *user) {
                      return user == op;
                    });
        if (goes)
          before += conversionCost(c);
        after += other.cost(c ? c.getInput() : v, from, false);
      }
      if (after >= before)
        continue;
      IRMapping mapping;
      for (Value v : seen) {
        ConvertLayoutOp c = conversionBeside(op, v);
        mapping.map(v,
                    other.build(rewriter, c ? c.getInput() : v, from, false));
      }
      Operation *copy = rewriter.clone(*op, mapping);
      copy->getResult(0).setType(withLayout(type, from));
      rewriter.replaceOpWithNewOp<ConvertLayoutOp>(op, type,
                                                   copy->getResult(0));
      return success();
    }
    return rewriter.notifyMatchFailure(op, "converting the result costs no "
                                           "less");
  }
};

/// A reduction runs before the conversion: its result is smaller.
struct MoveDownReduce : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getInputs().size() != 1 || !op.getKind() || op.getPartial())
      return rewriter.notifyMatchFailure(op, "reduces several tiles");
    ConvertLayoutOp convert = conversionBeside(op, op.getInputs()[0]);
    if (!convert || !convert->hasOneUse())
      return rewriter.notifyMatchFailure(op,
                                         "the input is not converted for it "
                                         "alone");
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    RankedTensorType before = reducedType(
        cast<RankedTensorType>(convert.getInput().getType()), op.getAxis());
    if (conversionCost(before, getLayout(type)) >= conversionCost(convert))
      return rewriter.notifyMatchFailure(op, "converting the result costs no "
                                             "less");
    auto reduce = ReduceOp::create(rewriter, op.getLoc(), TypeRange{before},
                                   ValueRange{convert.getInput()},
                                   op.getAxisAttr(), op.getKindAttr(),
                                   UnitAttr());
    rewriter.replaceOpWithNewOp<ConvertLayoutOp>(op, type, reduce.getResult(0));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Out of loops
//===----------------------------------------------------------------------===//

/// A carried tile that the body converts on entry and back at the end is
/// carried in the body's layout.
struct MoveOutOfLoop : OpRewritePattern<scf::ForOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(scf::ForOp loop,
                                PatternRewriter &rewriter) const override {
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
      auto back = yield.getOperand(i).getDefiningOp<ConvertLayoutOp>();
      if (!back || back->getParentOp() != loop ||
          getLayoutAttr(argument.getType()) == nullptr)
        continue;
      Type inside = back.getInput().getType();
      bool converted = llvm::all_of(argument.getUsers(), [&](Operation *user) {
        auto convert = dyn_cast<ConvertLayoutOp>(user);
        return convert && convert.getType() == inside;
      });
      // The initial value is converted instead, once.
      if (!converted)
        continue;
      carry(rewriter, loop, yield, i, back, inside);
      return success();
    }
    return rewriter.notifyMatchFailure(loop, "carries no converted tile");
  }

private:
  static void carry(PatternRewriter &rewriter, scf::ForOp loop,
                    scf::YieldOp yield, unsigned index, ConvertLayoutOp back,
                    Type inside) {
    Type outside = loop.getResult(index).getType();
    rewriter.setInsertionPoint(loop);
    OpOperand &init = loop.getInitArgsMutable()[index];
    Value converted =
        ConvertLayoutOp::create(rewriter, loop.getLoc(), inside, init.get());
    BlockArgument argument = loop.getRegionIterArg(index);
    rewriter.modifyOpInPlace(loop, [&] {
      init.set(converted);
      argument.setType(inside);
      loop.getResult(index).setType(inside);
    });
    rewriter.modifyOpInPlace(
        yield, [&] { yield->setOperand(index, back.getInput()); });
    for (Operation *user : llvm::make_early_inc_range(argument.getUsers()))
      rewriter.replaceOp(user, argument);
    rewriter.setInsertionPointAfter(loop);
    auto result = ConvertLayoutOp::create(rewriter, loop.getLoc(), outside,
                                          loop.getResult(index));
    rewriter.replaceAllUsesExcept(loop.getResult(index), result.getResult(),
                                  result);
  }
};

struct RemoveConversions
    : heddle_gpu::impl::RemoveConversionsPassBase<RemoveConversions> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateRemoveConversionsPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

void heddle_gpu::populateRemoveConversionsPatterns(
    RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<MoveUp, MoveDown, MoveDownReduce, MoveOutOfLoop>(context);
  ConvertLayoutOp::getCanonicalizationPatterns(patterns, context);
}
