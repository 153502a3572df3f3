//===- ProductPatterns.cpp - products of tiles ----------------------------===//

#include "ProductPatterns.h"

#include "heddle/Dialect/HeddleGpu/IR/Fragments.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

#include <limits>

using namespace mlir;
using namespace heddle_gpu;

static Value extract(OpBuilder &b, Location loc, Value v, int64_t reg) {
  return vector::ExtractOp::create(b, loc, v, reg);
}

/// Steps of the depth and columns in a round of a guarded product.
static constexpr int64_t kGuardedDepth = 16, kGuardedColumns = 16;

bool heddle_gpu::loadsInSteps(DotOp op) {
  auto load = op.getB().getDefiningOp<SmemLoadOp>();
  if (op.getKind() == DotKind::Fma || !op.getSkipZeros() || !load ||
      load.getAt() || load.getTrans() || load.getShift() || !load->hasOneUse())
    return false;
  // Every warp has all columns.
  const Layout &right = getLayout(op.getB().getType());
  if (llvm::any_of(right.getWarp(),
                   [](const Layout::Basis &basis) { return basis[1] != 0; }))
    return false;
  Coordinates shape = right.shape();
  return shape[0] % kGuardedDepth == 0 && shape[1] % kGuardedColumns == 0 &&
         (shape[0] > kGuardedDepth || shape[1] > kGuardedColumns);
}

/// Registers of thread 0 that make up the fragment at (row, col). `pairs` is
/// the side along which neighbours of the depth stand in for t and t + 4, or
/// -1.
static SmallVector<int64_t> registers(const Layout &layout, const Layout &one,
                                      int64_t row, int64_t col, int pairs) {
  SmallVector<int64_t> regs;
  for (Coordinates c : one.registerCoordinates()) {
    if (pairs >= 0)
      c[pairs] /= 4;
    regs.push_back(*layout.registerOf({row + c[0], col + c[1]}, 0, 0));
  }
  return regs;
}

/// A fragment of these registers, packed to 32 bits each.
static SmallVector<Value> fragment(OpBuilder &b, Location loc, Value v,
                                   ArrayRef<int64_t> regs) {
  Type element = cast<VectorType>(v.getType()).getElementType();
  int64_t pack = 32 / element.getIntOrFloatBitWidth();
  SmallVector<Value> packed;
  for (size_t i = 0; i < regs.size(); i += pack) {
    if (pack == 1) {
      // Unrounded, the instruction would cut off the low bits.
      packed.push_back(NVVM::ConvertFloatToTF32Op::create(
          b, loc, b.getI32Type(), extract(b, loc, v, regs[i]),
          NVVM::FPRoundingMode::RNA));
      continue;
    }
    Value part = vector::ShuffleOp::create(b, loc, v, v, regs.slice(i, pack));
    // f16 operands are pairs; bf16 travels as i32.
    if (!element.isF16())
      part = LLVM::BitcastOp::create(b, loc, b.getI32Type(), part);
    packed.push_back(part);
  }
  return packed;
}

/// As splitSpecial, of words of one TF32 number.
static std::array<SmallVector<Value>, 3>
splitSpecialWords(OpBuilder &b, Location loc, ArrayRef<Value> words) {
  ThreadCode code(b, loc);
  auto compare = [&](arith::CmpIPredicate p, Value x, uint32_t y) -> Value {
    return arith::CmpIOp::create(b, loc, p, x,
                                 code.i32(static_cast<int32_t>(y)));
  };
  auto select = [&](Value condition, Value x, Value y) -> Value {
    return arith::SelectOp::create(b, loc, condition, x, y);
  };
  Value zero = code.i32(0), one = code.i32(0x3f800000);
  std::array<SmallVector<Value>, 3> parts;
  for (Value w : words) {
    Value size = arith::AndIOp::create(b, loc, w, code.i32(0x7fffffff));
    Value special = compare(arith::CmpIPredicate::uge, size, 0x7f800000u);
    Value nan = compare(arith::CmpIPredicate::ugt, size, 0x7f800000u);
    // As signed numbers infinities are ordered by their sign.
    Value plus = compare(arith::CmpIPredicate::sge, w, 0x7f800000u);
    plus = arith::OrIOp::create(b, loc, plus, nan);
    Value negative = compare(arith::CmpIPredicate::slt, w, 0);
    Value minus = arith::AndIOp::create(b, loc, special, negative);
    minus = arith::OrIOp::create(b, loc, minus, nan);
    parts[0].push_back(select(special, zero, w));
    parts[1].push_back(select(plus, one, zero));
    parts[2].push_back(select(minus, one, zero));
  }
  return parts;
}

/// Words of 16-bit pairs of b apart: the finite elements, and 1 where b is
/// +inf or NaN, and where it is -inf or NaN. Integer arithmetic on both
/// halves.
static std::array<SmallVector<Value>, 3>
splitSpecial(OpBuilder &b, Location loc, ArrayRef<Value> words, Type element) {
  if (element.isF32())
    return splitSpecialWords(b, loc, words);
  bool isBf16 = element.isBF16();
  uint32_t exponent = isBf16 ? 0x7f807f80u : 0x7c007c00u;
  uint32_t mantissa = isBf16 ? 0x007f007fu : 0x03ff03ffu;
  uint32_t step = isBf16 ? 0x00800080u : 0x04000400u;
  uint32_t one = isBf16 ? 0x3f803f80u : 0x3c003c00u;
  int mantissaBits = isBf16 ? 7 : 10;
  ThreadCode code(b, loc);
  Type i32 = b.getI32Type();
  auto constant = [&](uint32_t x) { return code.i32(static_cast<int32_t>(x)); };
  auto land = [&](Value x, Value y) -> Value {
    return arith::AndIOp::create(b, loc, x, y);
  };
  auto lor = [&](Value x, Value y) -> Value {
    return arith::OrIOp::create(b, loc, x, y);
  };
  auto lnot = [&](Value x) -> Value {
    return arith::XOrIOp::create(b, loc, x, constant(0xffffffffu));
  };
  // Halves whose bit `bit` is set, as masks.
  auto spread = [&](Value x, int bit) -> Value {
    Value v = land(arith::ShRUIOp::create(b, loc, x, code.i32(bit)),
                   constant(0x00010001u));
    return arith::MulIOp::create(b, loc, v, constant(0xffffu));
  };
  std::array<SmallVector<Value>, 3> parts;
  for (Value word : words) {
    Type was = word.getType();
    Value w = was == i32
                  ? word
                  : LLVM::BitcastOp::create(b, loc, i32, word).getResult();
    Value special =
        spread(arith::AddIOp::create(b, loc, land(w, constant(exponent)),
                                     constant(step)),
               15);
    Value nan =
        spread(arith::AddIOp::create(b, loc, land(w, constant(mantissa)),
                                     constant(mantissa)),
               mantissaBits);
    Value negative = spread(w, 15);
    Value finite = land(w, lnot(special));
    Value plus = land(land(special, lor(lnot(negative), nan)), constant(one));
    Value minus = land(land(special, lor(negative, nan)), constant(one));
    std::array<Value, 3> values{finite, plus, minus};
    for (auto [part, v] : llvm::zip(parts, values))
      part.push_back(
          was == i32 ? v : LLVM::BitcastOp::create(b, loc, was, v).getResult());
  }
  return parts;
}

/// Clones the load that a value comes from; values of other ops stay.
static Value loadAgain(OpBuilder &b, Value v,
                       DenseMap<Operation *, Operation *> &again) {
  Operation *op = v.getDefiningOp();
  if (!isa_and_nonnull<LLVM::LoadOp, NVVM::LdMatrixOp, LLVM::BitcastOp,
                       LLVM::ExtractValueOp>(op))
    return v;
  Operation *&clone = again[op];
  if (!clone && isa<LLVM::LoadOp, NVVM::LdMatrixOp>(op)) {
    clone = b.clone(*op);
  } else if (!clone) {
    IRMapping mapping;
    mapping.map(op->getOperand(0), loadAgain(b, op->getOperand(0), again));
    Operation *made = b.clone(*op, mapping);
    again[op] = made; // the map may have grown
    return made->getResult(0);
  }
  return clone->getResult(cast<OpResult>(v).getResultNumber());
}

/// Registers of a tile that was put together from loads, loaded once more.
static Value loadAgain(OpBuilder &b, Location loc, Value tile,
                       ArrayRef<int64_t> regs,
                       DenseMap<Operation *, Operation *> &again) {
  SmallVector<Value> elements;
  for (int64_t reg : regs) {
    Value from = tile;
    int64_t at = reg;
    while (auto insert = from.getDefiningOp<vector::InsertStridedSliceOp>()) {
      int64_t first = cast<IntegerAttr>(insert.getOffsets()[0]).getInt();
      int64_t size = insert.getSourceVectorType().getNumElements();
      if (reg >= first && reg < first + size) {
        from = loadAgain(b, insert.getValueToStore(), again);
        at = reg - first;
        break;
      }
      from = insert.getDest();
    }
    elements.push_back(extract(b, loc, from, at));
  }
  auto type = cast<VectorType>(tile.getType());
  return vector::FromElementsOp::create(
      b, loc,
      VectorType::get({static_cast<int64_t>(regs.size())},
                      type.getElementType()),
      elements);
}

static void multiply(OpBuilder &b, Location loc, const ProductShape &shape,
                     Type element, ArrayRef<Value> as, ArrayRef<Value> bs,
                     MutableArrayRef<Value> cs) {
  NVVM::MMATypes type = element.isBF16()  ? NVVM::MMATypes::bf16
                        : element.isF16() ? NVVM::MMATypes::f16
                                          : NVVM::MMATypes::tf32;
  Type f32 = b.getF32Type();
  auto quad =
      LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  Value d = NVVM::MmaOp::create(
      b, loc, quad, as, bs, ValueRange(cs),
      ArrayRef<int64_t>{shape.m, shape.n, shape.k}, std::nullopt, std::nullopt,
      std::array<NVVM::MMATypes, 2>{type, type},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                     NVVM::MMALayout::col});
  for (int64_t j = 0; j < 4; ++j)
    cs[j] = LLVM::ExtractValueOp::create(b, loc, d, j);
}

namespace {
/// Emits the products of mma.sync that make up one of tiles.
class MmaCode {
public:
  /// `right` and `sum` are the layouts of the right operand and of the
  /// accumulator, or of leading parts of them.
  MmaCode(DotOp op, OpBuilder &b, const Layout &right, const Layout &sum)
      : b(b), loc(op.getLoc()), kind(toProductKind(op.getKind())),
        shape(productShape(kind)), la(getLayout(op.getA().getType())),
        lb(right), lc(sum), fa(mmaFragment(kind, Operand::A)),
        fb(mmaFragment(kind, Operand::B)), fc(mmaFragment(kind, Operand::C)),
        element(cast<RankedTensorType>(op.getA().getType()).getElementType()),
        depth(right.shape()[0]),
        pairs(kind == ProductKind::MmaTf32 && hasPairedDepth(la)) {
    for (const Coordinates &c : lc.registerCoordinates()) {
      if (c[0] % shape.m == 0 && !llvm::is_contained(rows, c[0]))
        rows.push_back(c[0]);
      if (c[1] % shape.n == 0 && !llvm::is_contained(cols, c[1]))
        cols.push_back(c[1]);
    }
  }

  /// accumulator + left * right.
  Value product(Value left, Value right, Value result);
  /// The same where zeros of left skip what right holds, by products of
  /// indicators that tell which sums see an infinity or a NaN. `leftFragment`
  /// takes row and depth.
  Value
  guarded(llvm::function_ref<SmallVector<Value>(int64_t, int64_t)> leftFragment,
          Value right, Value result);

  SmallVector<Value> leftAt(Value left, int64_t m, int64_t k) {
    return fragment(b, loc, left, registers(la, fa, m, k, pairs ? 1 : -1));
  }

  OpBuilder &b;
  Location loc;
  ProductKind kind;
  ProductShape shape;
  const Layout &la, &lb, &lc;
  Layout fa, fb, fc;
  Type element;
  int64_t depth;
  bool pairs;
  SmallVector<int64_t> rows, cols; // origins of the fragments of warp 0

private:
  struct Accumulator {
    SmallVector<int64_t> regs;
    SmallVector<Value> values;
  };
  Accumulator accumulatorAt(Value result, int64_t m, int64_t n) {
    Accumulator acc;
    for (const Coordinates &c : fc.registerCoordinates()) {
      acc.regs.push_back(*lc.registerOf({m + c[0], n + c[1]}, 0, 0));
      acc.values.push_back(extract(b, loc, result, acc.regs.back()));
    }
    return acc;
  }
  void keep(const Accumulator &acc, Value &result) {
    for (auto [value, reg] : llvm::zip(acc.values, acc.regs))
      result = vector::InsertOp::create(b, loc, value, result, reg);
  }
  SmallVector<int64_t> rightRegisters(int64_t k, int64_t n) {
    return registers(lb, fb, k, n, pairs ? 0 : -1);
  }
  /// Loads do not pass the fence, so that few columns take registers at a time.
  void fence() {
    NVVM::SyncWarpOp::create(b, loc, ThreadCode(b, loc).i32(-1));
    again.clear();
  }
  /// Fragments that are loaded once more.
  SmallVector<Value> loadedFragment(Value tile, ArrayRef<int64_t> regs) {
    Value part = loadAgain(b, loc, tile, regs, again);
    int64_t count = cast<VectorType>(part.getType()).getNumElements();
    return fragment(b, loc, part,
                    llvm::to_vector(llvm::seq<int64_t>(0, count)));
  }
  SmallVector<Value> leftAgain(Value left, int64_t m, int64_t k) {
    return loadedFragment(left, registers(la, fa, m, k, pairs ? 1 : -1));
  }
  SmallVector<Value> rightAgain(Value right, int64_t k, int64_t n) {
    return loadedFragment(right, rightRegisters(k, n));
  }

  DenseMap<Operation *, Operation *> again;
};

/// Whether the bytes that a tile was loaded from still hold it: no barrier in
/// between, and in the same round of a loop. What was loaded ahead is held, since
/// its bytes have other tiles by now.
static bool canLoadAgain(Value tile, OpBuilder &b) {
  Block *block = b.getInsertionBlock();
  Operation *end = b.getInsertionPoint() == block->end()
                       ? nullptr
                       : &*b.getInsertionPoint();
  while (block != tile.getParentBlock() &&
         isa_and_nonnull<scf::IfOp>(block->getParentOp())) {
    end = block->getParentOp();
    block = end->getBlock();
  }
  if (block != tile.getParentBlock())
    return false;
  for (Operation *op = tile.getDefiningOp(); op && op != end;
       op = op->getNextNode())
    if (isa<BarrierOp, NVVM::BarrierOp, NVVM::Barrier0Op>(op))
      return false;
  return true;
}

Value MmaCode::product(Value left, Value right, Value result) {
  // What accumulators and a whole right operand may take together; next to wide
  // accumulators little is left.
  constexpr int64_t kRegisters = 200, kWide = 96, kBesideWide = 32;
  int64_t bits = element.getIntOrFloatBitWidth();
  int64_t sums = lc.numRegisters(), words = lb.numRegisters() * bits / 32;
  bool crowded = sums + words > kRegisters ||
                 (sums >= kWide && words > kBesideWide);
  SmallVector<SmallVector<Accumulator>> acc(rows.size());
  for (auto [i, m] : llvm::enumerate(rows))
    for (int64_t n : cols)
      acc[i].push_back(accumulatorAt(result, m, n));
  // Depth outermost: consecutive products have different accumulators. Where it
  // is crowded a part of the depth at a time, which both operands are loaded of:
  // 32 words of four columns.
  int64_t part = crowded ? std::min<int64_t>(depth, 32 * 32 / bits) : depth;
  size_t group = crowded ? 4 : cols.size();
  bool loaded = crowded && left.getDefiningOp<vector::InsertStridedSliceOp>() &&
                canLoadAgain(left, b);
  for (int64_t begin = 0; begin < depth; begin += part) {
    int64_t end = std::min(begin + part, depth);
    if (loaded)
      again.clear();
    SmallVector<SmallVector<Value>> as;
    for (int64_t k = begin; k < end; k += shape.k)
      for (int64_t m : rows)
        as.push_back(loaded ? leftAgain(left, m, k) : leftAt(left, m, k));
    for (size_t first = 0; first < cols.size(); first += group) {
      if (crowded)
        again.clear();
      for (int64_t k = begin; k < end; k += shape.k)
        for (size_t j = first; j < std::min(first + group, cols.size()); ++j) {
          SmallVector<Value> bs =
              crowded ? rightAgain(right, k, cols[j])
                      : fragment(b, loc, right, rightRegisters(k, cols[j]));
          for (size_t i = 0; i < rows.size(); ++i)
            multiply(b, loc, shape, element,
                     as[(k - begin) / shape.k * rows.size() + i], bs,
                     acc[i][j].values);
        }
    }
  }
  for (auto &row : acc)
    for (const Accumulator &a : row)
      keep(a, result);
  return result;
}

/// This rarely runs and must not cost registers.
Value MmaCode::guarded(
    llvm::function_ref<SmallVector<Value>(int64_t, int64_t)> leftFragment,
    Value right, Value result) {
  const double inf = std::numeric_limits<double>::infinity();
  auto number = [&](double x) -> Value {
    return arith::ConstantOp::create(b, loc,
                                     b.getF32FloatAttr(static_cast<float>(x)));
  };
  for (auto [i, n] : llvm::enumerate(cols)) {
    if (i % 2 == 0)
      fence();
    for (int64_t m : rows) {
      Accumulator acc = accumulatorAt(result, m, n);
      SmallVector<Value> plus(4, number(0)), minus(4, number(0));
      for (int64_t k = 0; k < depth; k += shape.k) {
        SmallVector<Value> as = leftFragment(m, k);
        auto parts = splitSpecial(b, loc, rightAgain(right, k, n), element);
        multiply(b, loc, shape, element, as, parts[0], acc.values);
        multiply(b, loc, shape, element, as, parts[1], plus);
        multiply(b, loc, shape, element, as, parts[2], minus);
      }
      for (auto [value, p, q] : llvm::zip(acc.values, plus, minus))
        for (bool positive : {true, false}) {
          Value count = positive ? p : q;
          double add = positive ? inf : -inf;
          // Weights are not negative; a NaN among them counts.
          Value seen = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE,
                                             count, number(0));
          Value term =
              arith::SelectOp::create(b, loc, seen, number(add), number(0));
          value = arith::AddFOp::create(b, loc, value, term);
        }
      keep(acc, result);
    }
  }
  return result;
}

struct DotPattern : OpConversionPattern<DotOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(DotOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getKind() == DotKind::Fma)
      return fma(op, adaptor, rewriter);
    return mma(op, adaptor, rewriter);
  }

private:
  static LogicalResult mma(DotOp op, OpAdaptor adaptor,
                           ConversionPatternRewriter &rewriter) {
    if (loadsInSteps(op)) {
      rewriter.replaceOp(op, guardedSteps(op, adaptor, rewriter));
      return success();
    }
    MmaCode code(op, rewriter, getLayout(op.getB().getType()),
                 getLayout(op.getAccumulator().getType()));
    rewriter.replaceOp(op, op.getSkipZeros()
                               ? code.guarded(
                                     [&](int64_t m, int64_t k) {
                                       return code.leftAt(adaptor.getA(), m, k);
                                     },
                                     adaptor.getB(), adaptor.getAccumulator())
                               : code.product(adaptor.getA(), adaptor.getB(),
                                              adaptor.getAccumulator()));
    return success();
  }

  static scf::ForOp makeLoop(OpBuilder &b, Location loc, int64_t size,
                             int64_t step, ValueRange carried) {
    auto index = [&](int64_t v) -> Value {
      return arith::ConstantIndexOp::create(b, loc, v);
    };
    return scf::ForOp::create(b, loc, index(0), index(size), index(step),
                              carried);
  }

  /// A guarded product as loops over 16 steps of the depth and 16 columns a
  /// round: the left fragments of a round are the first ones, which move to the
  /// end after it. The loops are rare; written out they would be most of a
  /// kernel's code, and ptxas, which mixes what is independent, would keep much
  /// of it in registers at once.
  static Value guardedSteps(DotOp op, OpAdaptor adaptor,
                            ConversionPatternRewriter &b) {
    Location loc = op.getLoc();
    auto load = op.getB().getDefiningOp<SmemLoadOp>();
    Layout right = leadingPart(getLayout(load.getType()), 0, kGuardedDepth);
    right = leadingPart(right, 1, kGuardedColumns);
    const Layout &all = getLayout(op.getAccumulator().getType());
    Layout sums = leadingPart(all, 1, kGuardedColumns);
    MmaCode code(op, b, right, sums);
    int64_t depth = code.la.shape()[1], columns = all.shape()[1];
    SmallVector<Value> carried{adaptor.getAccumulator()};
    for (int64_t k = 0; k < depth; k += code.shape.k)
      for (int64_t m : code.rows)
        llvm::append_range(carried, code.leftAt(adaptor.getA(), m, k));
    SharedSource from{b.getRemappedValue(load.getSource()), Value(), Value()};
    if (load.getStage())
      from.stage = b.getRemappedValue(load.getStage());
    auto loop = makeLoop(b, loc, depth, kGuardedDepth, carried);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next(loop.getRegionIterArgs());
    size_t rows = code.rows.size();
    size_t words = (next.size() - 1) / (depth / code.shape.k * rows);
    auto leftFragment = [&](int64_t m, int64_t k) {
      size_t row = llvm::find(code.rows, m) - code.rows.begin();
      size_t first = 1 + (k / code.shape.k * rows + row) * words;
      return SmallVector<Value>(loop.getRegionIterArgs().slice(first, words));
    };
    auto inner = makeLoop(b, loc, columns, kGuardedColumns, next[0]);
    {
      OpBuilder::InsertionGuard innerGuard(b);
      b.setInsertionPointToStart(inner.getBody());
      from.row = loop.getInductionVar();
      from.column = inner.getInductionVar();
      Value part = loadShared(load, b, right, from);
      // Registers are known by number: what the columns of a round have is
      // selected, in place.
      Value before = inner.getRegionIterArg(0);
      SmallVector<Value> parts, elements(all.numRegisters());
      SmallVector<Value> selected;
      for (int64_t n = 0; n < columns; n += kGuardedColumns) {
        selected.push_back(
            arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, from.column,
                                  arith::ConstantIndexOp::create(b, loc, n)));
        for (auto [r, c] : llvm::enumerate(sums.registerCoordinates())) {
          int64_t reg = *all.registerOf({c[0], c[1] + n}, 0, 0);
          elements[reg] = extract(b, loc, before, reg);
          if (n == 0)
            parts.push_back(elements[reg]);
          else
            parts[r] = arith::SelectOp::create(b, loc, selected.back(),
                                               elements[reg], parts[r]);
        }
      }
      auto type = VectorType::get({sums.numRegisters()}, b.getF32Type());
      Value sum =
          code.guarded(leftFragment, part,
                       vector::FromElementsOp::create(b, loc, type, parts));
      for (int64_t n = 0; n < columns; n += kGuardedColumns)
        for (auto [r, c] : llvm::enumerate(sums.registerCoordinates())) {
          int64_t reg = *all.registerOf({c[0], c[1] + n}, 0, 0);
          elements[reg] =
              arith::SelectOp::create(b, loc, selected[n / kGuardedColumns],
                                      extract(b, loc, sum, r), elements[reg]);
        }
      scf::YieldOp::create(
          b, loc,
          vector::FromElementsOp::create(b, loc, before.getType(), elements)
              .getResult());
    }
    next[0] = inner.getResult(0);
    std::rotate(next.begin() + 1,
                next.begin() + 1 + kGuardedDepth / code.shape.k * rows * words,
                next.end());
    scf::YieldOp::create(b, loc, next);
    return loop.getResult(0);
  }

  static Value multiplyAdd(DotOp op, OpBuilder &b, Value x, Value y,
                           Value acc) {
    Location loc = op.getLoc();
    Value sum = math::FmaOp::create(b, loc, x, y, acc);
    if (!op.getSkipZeros())
      return sum;
    Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0.0f));
    Value present =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, x, zero);
    return arith::SelectOp::create(b, loc, present, sum, acc);
  }

  /// acc[m, n] += a[m, k] * b[k, n], k ascending.
  static LogicalResult fma(DotOp op, OpAdaptor adaptor,
                           ConversionPatternRewriter &rewriter) {
    Location loc = op.getLoc();
    const Layout &la = getLayout(op.getA().getType());
    const Layout &lb = getLayout(op.getB().getType());
    const Layout &lc = getLayout(op.getAccumulator().getType());
    Type f32 = rewriter.getF32Type();
    auto widened = [&](Value v) -> Value {
      auto type = cast<VectorType>(v.getType());
      if (type.getElementType().isF32())
        return v;
      return arith::ExtFOp::create(rewriter, loc, type.clone(f32), v);
    };
    Value a = widened(adaptor.getA()), b = widened(adaptor.getB());
    DenseMap<int64_t, Value> as, bs;
    auto scalar = [&](DenseMap<int64_t, Value> &made, Value v, int64_t reg) {
      Value &s = made[reg];
      if (!s)
        s = extract(rewriter, loc, v, reg);
      return s;
    };
    auto coordinates = lc.registerCoordinates();
    SmallVector<Value> acc;
    for (size_t r = 0; r < coordinates.size(); ++r)
      acc.push_back(extract(rewriter, loc, adaptor.getAccumulator(), r));
    for (int64_t k = 0; k < la.shape()[1]; ++k)
      for (auto [r, c] : llvm::enumerate(coordinates))
        acc[r] = multiplyAdd(
            op, rewriter, scalar(as, a, *la.registerOf({c[0], k}, 0, 0)),
            scalar(bs, b, *lb.registerOf({k, c[1]}, 0, 0)), acc[r]);
    rewriter.replaceOp(
        op, vector::FromElementsOp::create(
                rewriter, loc, adaptor.getAccumulator().getType(), acc));
    return success();
  }
};
} // namespace

void heddle_gpu::populateProductPatterns(const LaneTypes &types,
                                         RewritePatternSet &patterns) {
  patterns.add<DotPattern>(types, patterns.getContext());
}
