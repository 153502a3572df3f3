//===- ConvertLayoutPatterns.cpp - changes of layout ----------------------===//

#include "LaneCode.h"

#include "heddle/Dialect/HeddleGpu/IR/LayoutConversion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle_gpu;

namespace {
/// Emits the shuffles of one conversion. Registers move as words of 32 bits:
/// several narrow elements, one, or half of a wide one.
class ShuffleCode {
public:
  ShuffleCode(ThreadCode &code, const Conversion &plan, Value input)
      : b(code.b), loc(code.loc), code(code), plan(plan), input(input),
        element(cast<VectorType>(input.getType()).getElementType()),
        bits(element.isIndex() ? 64 : element.getIntOrFloatBitWidth()) {}

  Value run(VectorType type) {
    SmallVector<Value> results(type.getNumElements());
    for (size_t i = 0; i < plan.rounds.size();) {
      int64_t first = plan.rounds[i].result;
      SmallVector<Value> words;
      for (; i < plan.rounds.size() && plan.rounds[i].result == first; ++i)
        merge(words, plan.rounds[i]);
      unpack(words, first, results);
    }
    return vector::FromElementsOp::create(b, loc, type, results);
  }

private:
  /// The lanes for which `holds`, as i1; null where it holds for all.
  Value lanesWhere(function_ref<bool(int64_t)> holds, int64_t lanes) {
    uint32_t set = 0;
    for (int64_t l = 0; l < lanes; ++l)
      set |= holds(l) ? 1u << l : 0;
    if (set == 0xffffffffu)
      return {};
    Value mask = code.i32(static_cast<int32_t>(set));
    Value mine = arith::ShRUIOp::create(b, loc, mask, lane());
    return arith::TruncIOp::create(b, loc, b.getI1Type(), mine);
  }

  /// A number per lane. What is an xor of images of the lane's bits, as layouts
  /// give it mostly, takes a few operations; else selects by table.
  Value perLane(ArrayRef<int64_t> values) {
    SmallVector<int64_t> images;
    for (size_t bit = 1; bit < values.size(); bit *= 2)
      images.push_back(values[bit] ^ values[0]);
    bool linear = true;
    for (size_t l = 0; l < values.size(); ++l) {
      int64_t v = values[0];
      for (size_t i = 0; i < images.size(); ++i)
        v ^= l >> i & 1 ? images[i] : 0;
      linear &= v == values[l];
    }
    if (linear) {
      Value sum = code.term(images, {}).value;
      Value start = code.i32(values[0]);
      if (!sum)
        return start;
      return values[0] == 0
                 ? sum
                 : arith::XOrIOp::create(b, loc, sum, start).getResult();
    }
    // Five bits of each of 32 lanes: a word per bit.
    Value v;
    for (int bit = 0; bit < 5; ++bit) {
      uint32_t word = 0;
      for (size_t l = 0; l < values.size(); ++l)
        word |= static_cast<uint32_t>(values[l] >> bit & 1) << l;
      if (word == 0)
        continue;
      Value mine = arith::ShRUIOp::create(
          b, loc, code.i32(static_cast<int32_t>(word)), lane());
      mine = arith::AndIOp::create(b, loc, mine, code.i32(1));
      mine = arith::ShLIOp::create(b, loc, mine, code.i32(bit));
      v = v ? arith::OrIOp::create(b, loc, v, mine).getResult() : mine;
    }
    return v ? v : code.i32(0);
  }

  /// The words that each lane offers in a round.
  SmallVector<Value> offer(const ShuffleRound &round) {
    SmallVector<int64_t> registers;
    for (int64_t r : round.sourceRegister)
      if (r != -1 && !llvm::is_contained(registers, r))
        registers.push_back(r);
    SmallVector<Value> words = pack(registers.front());
    for (int64_t r : ArrayRef(registers).drop_front()) {
      Value here =
          lanesWhere([&](int64_t l) { return round.sourceRegister[l] == r; },
                     round.sourceRegister.size());
      SmallVector<Value> other = pack(r);
      for (auto [word, alternative] : llvm::zip(words, other))
        word = arith::SelectOp::create(b, loc, here, alternative, word);
    }
    return words;
  }

  /// Adds what a round brings to the words of a result register.
  void merge(SmallVectorImpl<Value> &words, const ShuffleRound &round) {
    SmallVector<Value> brought = offer(round);
    bool moves = false;
    for (auto [l, source] : llvm::enumerate(round.sourceLane))
      moves |= source != static_cast<int64_t>(l);
    if (moves) {
      Value from = perLane(round.sourceLane);
      for (Value &word : brought)
        word = NVVM::ShflOp::create(b, loc, b.getI32Type(), code.i32(-1), word,
                                    from, code.i32(31), NVVM::ShflKind::idx,
                                    UnitAttr());
    }
    if (words.empty()) {
      words = brought;
      return;
    }
    Value here = lanesWhere([&](int64_t l) { return round.lanes >> l & 1; },
                            round.sourceLane.size());
    for (auto [word, other] : llvm::zip(words, brought))
      word =
          here ? arith::SelectOp::create(b, loc, here, other, word).getResult()
               : other;
  }

  /// plan.pack registers from `reg` on as words.
  SmallVector<Value> pack(int64_t reg) {
    Type i32 = b.getI32Type();
    if (plan.pack > 1) {
      Value part = vector::ExtractStridedSliceOp::create(
          b, loc, input, ArrayRef<int64_t>{reg}, ArrayRef<int64_t>{plan.pack},
          ArrayRef<int64_t>{1});
      auto own = IntegerType::get(b.getContext(), plan.pack * bits);
      Value word = LLVM::BitcastOp::create(b, loc, own, part);
      if (own.getWidth() < 32)
        word = arith::ExtUIOp::create(b, loc, i32, word);
      return {word};
    }
    Value v = vector::ExtractOp::create(b, loc, input, reg);
    if (element.isIndex())
      v = arith::IndexCastOp::create(b, loc, b.getI64Type(), v);
    else if (isa<FloatType>(element))
      v = arith::BitcastOp::create(b, loc,
                                   IntegerType::get(b.getContext(), bits), v);
    if (bits < 32)
      return {arith::ExtUIOp::create(b, loc, i32, v)};
    if (bits == 32)
      return {v};
    Value shift = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(32));
    Value high = arith::ShRUIOp::create(b, loc, v, shift);
    return {arith::TruncIOp::create(b, loc, i32, v),
            arith::TruncIOp::create(b, loc, i32, high)};
  }

  void unpack(ArrayRef<Value> words, int64_t reg, SmallVectorImpl<Value> &to) {
    auto own = IntegerType::get(b.getContext(), plan.pack * bits);
    Value v = words[0];
    if (own.getWidth() < 32) {
      v = arith::TruncIOp::create(b, loc, own, v);
    } else if (words.size() == 2) {
      Value shift = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(32));
      Value high = arith::ExtUIOp::create(b, loc, b.getI64Type(), words[1]);
      high = arith::ShLIOp::create(b, loc, high, shift);
      v = arith::OrIOp::create(
          b, loc, arith::ExtUIOp::create(b, loc, b.getI64Type(), v), high);
    }
    if (plan.pack > 1) {
      v = LLVM::BitcastOp::create(b, loc, VectorType::get({plan.pack}, element),
                                  v);
      for (int64_t i = 0; i < plan.pack; ++i)
        to[reg + i] = vector::ExtractOp::create(b, loc, v, i);
      return;
    }
    if (element.isIndex())
      v = arith::IndexCastOp::create(b, loc, element, v);
    else if (isa<FloatType>(element))
      v = arith::BitcastOp::create(b, loc, element, v);
    to[reg] = v;
  }

  Value lane() { return code.lane(); }

  OpBuilder &b;
  Location loc;
  ThreadCode &code;
  const Conversion &plan;
  Value input;
  Type element;
  unsigned bits;
};

struct ConvertLayoutPattern : OpConversionPattern<ConvertLayoutOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(ConvertLayoutOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<VectorType>(getTypeConverter()->convertType(op.getType()));
    Type element = type.getElementType();
    Conversion c = classifyConversion(
        getLayout(op.getInput().getType()), getLayout(op.getType()),
        element.isIndex() ? 64 : element.getIntOrFloatBitWidth());
    switch (c.kind) {
    case ConversionKind::Identity:
    case ConversionKind::Registers:
      rewriter.replaceOpWithNewOp<vector::ShuffleOp>(
          op, adaptor.getInput(), adaptor.getInput(), c.registers);
      return success();
    case ConversionKind::Shuffle: {
      ThreadCode code(rewriter, loc);
      Value input = adaptor.getInput();
      // Truth values pass as bytes.
      Type i8 = rewriter.getI8Type();
      bool isTruth = element.isInteger(1);
      if (isTruth) {
        auto from = cast<VectorType>(input.getType());
        input = arith::ExtUIOp::create(rewriter, loc, from.clone(i8), input);
      }
      VectorType moved = isTruth ? cast<VectorType>(type.clone(i8)) : type;
      Value result = ShuffleCode(code, c, input).run(moved);
      if (isTruth)
        result = arith::TruncIOp::create(rewriter, loc, type, result);
      rewriter.replaceOp(op, result);
      return success();
    }
    case ConversionKind::Shared:
      break;
    }
    return op.emitOpError("expected a conversion inside warps; run "
                          "heddle-gpu-expand-shared first");
  }
};
} // namespace

void heddle_gpu::populateConvertLayoutPatterns(const LaneTypes &types,
                                               RewritePatternSet &patterns) {
  patterns.add<ConvertLayoutPattern>(types, patterns.getContext());
}
