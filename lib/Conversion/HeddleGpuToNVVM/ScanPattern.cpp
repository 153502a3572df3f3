//===- ScanPattern.cpp - running combinations -----------------------------===//
//
// The bits of a position along the axis are bits of the register, of the lane,
// or the number of a copy. From the lowest bit up, blocks of twice as many
// positions are made of two: what the later one holds is combined with the
// total of the earlier one. Blocks in one thread combine registers; blocks in
// two lanes exchange totals (a butterfly), collect what comes before a thread's
// own block, and combine it with the registers once, after the last bit of a
// run of lanes.
//
//===----------------------------------------------------------------------===//

#include "Combination.h"

#include "heddle/Dialect/HeddleGpu/IR/ScanLayout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle_gpu;

namespace {
/// A scalar per input of the op.
using Group = SmallVector<Value>;

class ScanCode {
public:
  ScanCode(ScanOp op, ValueRange inputs, OpBuilder &b)
      : op(op), layout(getLayout(op.getInputs()[0].getType())), b(b),
        loc(op.getLoc()), axis(op.getAxis()) {
    prefix.resize(layout.numRegisters());
    for (auto [reg, group] : llvm::enumerate(prefix))
      for (Value input : inputs)
        group.push_back(vector::ExtractOp::create(b, loc, input,
                                                  static_cast<int64_t>(reg)));
    total = prefix;
  }

  /// The registers' results.
  ArrayRef<Group> run() {
    int64_t side = layout.linearShape()[axis];
    for (int64_t position = 1; position < side; position *= 2) {
      int64_t bit = find(layout.getRegister(), position);
      if (bit != 0) {
        addCarries();
        joinRegisters(bit);
      } else {
        joinLanes(find(layout.getLane(), position));
      }
    }
    addCarries();
    joinCopies(side);
    return prefix;
  }

private:
  /// The bit with the image `position` along the axis, or 0.
  int64_t find(ArrayRef<Layout::Basis> bases, int64_t position) const {
    for (auto [i, basis] : llvm::enumerate(bases))
      if (basis[axis] == position)
        return int64_t(1) << i;
    return 0;
  }

  Group join(const Group &earlier, const Group &later) {
    return combine(b, loc, op.getKind(), op.getCombine(), earlier, later);
  }

  Group select(Value condition, const Group &x, const Group &y) {
    Group result;
    for (auto [p, q] : llvm::zip(x, y))
      result.push_back(arith::SelectOp::create(b, loc, condition, p, q));
    return result;
  }

  /// Calls fn for each block of registers, named by its lowest one.
  void forBlocks(llvm::function_ref<void(int64_t)> fn) {
    for (int64_t r = 0, e = prefix.size(); r < e; ++r)
      if ((r & joined) == 0)
        fn(r);
  }

  /// Combines what comes before a block with its registers.
  void prepend(const Group &before, int64_t block, Value where = {}) {
    for (int64_t r = 0, e = prefix.size(); r < e; ++r) {
      if ((r & ~joined) != block)
        continue;
      Group with = join(before, prefix[r]);
      prefix[r] = where ? select(where, with, prefix[r]) : with;
    }
  }

  void joinRegisters(int64_t bit) {
    forBlocks([&](int64_t block) {
      if (block & bit)
        return;
      int64_t earlier = block, later = block | bit;
      if (op.getReverse())
        std::swap(earlier, later);
      prepend(total[earlier], later);
      total[block] = join(total[earlier], total[later]);
    });
    joined |= bit;
  }

  void joinLanes(int64_t bit) {
    ThreadCode code(b, loc);
    Value isLater = code.isZero(bit, 0); // in reverse
    if (!op.getReverse())
      isLater = arith::XOrIOp::create(
          b, loc, isLater,
          arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
    carry.resize(prefix.size());
    forBlocks([&](int64_t block) {
      Group other;
      for (Value v : total[block])
        other.push_back(exchange(b, loc, v, bit));
      if (!hasCarry) {
        carry[block] = other;
      } else {
        Group all = select(hasCarry, join(other, carry[block]), other);
        carry[block] = select(isLater, all, carry[block]);
      }
      // The kinds commute, to the last bit.
      total[block] = op.getKind() ? join(total[block], other)
                                  : join(select(isLater, other, total[block]),
                                         select(isLater, total[block], other));
    });
    hasCarry = hasCarry
                   ? arith::OrIOp::create(b, loc, hasCarry, isLater).getResult()
                   : isLater;
  }

  void addCarries() {
    if (!hasCarry)
      return;
    forBlocks([&](int64_t block) { prepend(carry[block], block, hasCarry); });
    hasCarry = {};
  }

  /// Copies of the linear tile along the axis follow each other.
  void joinCopies(int64_t side) {
    int64_t copies = layout.getRepeat()[axis];
    int64_t stride = int64_t(1) << layout.getRegister().size();
    for (int64_t repeat : layout.getRepeat().drop_front(axis + 1))
      stride *= repeat;
    forBlocks([&](int64_t block) {
      if (layout.apply(block, 0, 0)[axis] >= side)
        return; // not the first copy
      Group before;
      for (int64_t i = 0; i < copies; ++i) {
        int64_t at = block + (op.getReverse() ? copies - 1 - i : i) * stride;
        if (i == 0) {
          before = total[at];
          continue;
        }
        prepend(before, at);
        if (i + 1 < copies)
          before = join(before, total[at]);
      }
    });
  }

  ScanOp op;
  const Layout &layout;
  OpBuilder &b;
  Location loc;
  unsigned axis;
  int64_t joined = 0;        // register bits inside a block
  SmallVector<Group> prefix; // per register: in its block, up to there
  SmallVector<Group> total;  // per block
  SmallVector<Group> carry;  // per block: what lanes before it hold
  Value hasCarry;            // i1; null: nowhere
};

struct ScanPattern : OpConversionPattern<ScanOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(ScanOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isOrderedAlong(getLayout(op.getInputs()[0].getType()), op.getAxis()))
      return op.emitOpError("expected an axis inside one warp, each bit of a "
                            "position in one register or lane bit; run "
                            "heddle-gpu-expand-shared first");
    ScanCode code(op, adaptor.getInputs(), rewriter);
    ArrayRef<Group> groups = code.run();
    SmallVector<Value> results;
    for (auto [i, type] : llvm::enumerate(op.getResultTypes())) {
      SmallVector<Value> elements;
      for (const Group &group : groups)
        elements.push_back(group[i]);
      results.push_back(vector::FromElementsOp::create(
          rewriter, op.getLoc(),
          cast<VectorType>(getTypeConverter()->convertType(type)), elements));
    }
    rewriter.replaceOp(op, results);
    return success();
  }
};
} // namespace

void heddle_gpu::populateScanPatterns(const LaneTypes &types,
                                      RewritePatternSet &patterns) {
  patterns.add<ScanPattern>(types, patterns.getContext());
}
