//===- SharedPatterns.cpp - access to shared memory -----------------------===//

#include "LaneCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle_gpu;

/// The start of the tile of a stage.
static Value stageBase(ThreadCode &code, Value base, SmemType type,
                       Value stage) {
  if (!stage)
    return base;
  OpBuilder &b = code.b;
  Value i = arith::IndexCastOp::create(b, code.loc, b.getI32Type(), stage);
  i = arith::MulIOp::create(b, code.loc, i, code.i32(type.getStageStride()));
  return LLVM::GEPOp::create(b, code.loc, base.getType(), b.getI8Type(), base,
                             i);
}

namespace {
/// Where the axes of a tile lie in shared memory: row and column axis, -1 for
/// the row of a tile of rank 1, and what `at` adds.
struct SharedAxes {
  int row, col;
  int64_t rowAt = 0, colAt = 0;
  /// A multiple of the tile's side, which moves it along row or column.
  ThreadTerm rowShift = {}, colShift = {};
};
} // namespace

static SharedAxes axesOf(unsigned rank, bool trans,
                         std::optional<ArrayRef<int64_t>> at) {
  if (rank == 1)
    return {-1, 0, 0, at ? (*at)[0] : 0};
  return {trans ? 1 : 0, trans ? 0 : 1, at ? (*at)[0] : 0, at ? (*at)[1] : 0};
}

/// `at` adds to constants only where it is a multiple of the linear part's
/// side.
static bool fits(const Layout &layout, const SharedAxes &axes) {
  Coordinates side = layout.linearShape();
  return (axes.row < 0 || axes.rowAt % side[axes.row] == 0) &&
         axes.colAt % side[axes.col] == 0;
}

/// The sum of terms that share no bits.
static ThreadTerm plus(ThreadCode &code, const ThreadTerm &x,
                       const ThreadTerm &y) {
  if (!x.value || !y.value)
    return x.value ? x : y;
  return {arith::AddIOp::create(code.b, code.loc, x.value, y.value),
          x.bits | y.bits};
}

static Value addressOf(ThreadCode &code, TileCode &tile, SharedCode &shared,
                       const SharedAxes &axes, int64_t reg) {
  ThreadTerm col = plus(code, tile.thread(axes.col), axes.colShift);
  int64_t colConstant = tile.constant(reg, axes.col) + axes.colAt;
  if (axes.row < 0)
    return shared.address({}, 0, col, colConstant);
  return shared.address(plus(code, tile.thread(axes.row), axes.rowShift),
                        tile.constant(reg, axes.row) + axes.rowAt, col,
                        colConstant);
}

/// Elements that one ld.shared or st.shared may move.
static int64_t vectorWidth(const Layout &layout, SmemType type,
                           const SharedAxes &axes) {
  const SharedLayout &shared = type.getLayout().getValue();
  int64_t bytes = type.getElementBytes();
  int64_t width = std::min<int64_t>(16, shared.vectorBytes) / bytes;
  for (int64_t divisor :
       {layout.contiguity(axes.col), type.getShape().back(), axes.colAt})
    while (width > 1 && divisor % width != 0)
      width /= 2;
  return std::max<int64_t>(1, width);
}

namespace {
struct AllocPattern : OpConversionPattern<SmemAllocOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(SmemAllocOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getOffset())
      return op.emitOpError("expected an offset; run "
                            "heddle-gpu-allocate-shared first");
    Location loc = op.getLoc();
    Type ptr = getTypeConverter()->convertType(op.getType());
    Value base = LLVM::AddressOfOp::create(rewriter, loc, ptr, kDynamicShared);
    Value offset = LLVM::ConstantOp::create(
        rewriter, loc, rewriter.getI32IntegerAttr(*op.getOffset()));
    rewriter.replaceOpWithNewOp<LLVM::GEPOp>(op, ptr, rewriter.getI8Type(),
                                             base, offset);
    return success();
  }
};

/// The address that each lane gives to an ldmatrix is an xor of images of the
/// lane's and the warp's bits.
struct LdmatrixAddress {
  Coordinates constant;
  SmallVector<int64_t> laneRows, laneCols, warpRows, warpCols;
};
} // namespace

static std::optional<LdmatrixAddress>
ldmatrixAddress(const LdmatrixMatch &match, const Layout &layout, bool trans,
                int64_t instruction) {
  auto at = [&](int64_t lane, int64_t warp) {
    return ldmatrixRow(match, layout, trans, instruction, lane, warp);
  };
  LdmatrixAddress a;
  a.constant = at(0, 0);
  int64_t lanes = 8 * match.matrices;
  for (int64_t bit = 1; bit < lanes; bit *= 2) {
    a.laneRows.push_back(at(bit, 0)[0] ^ a.constant[0]);
    a.laneCols.push_back(at(bit, 0)[1] ^ a.constant[1]);
  }
  for (int64_t bit = 1; bit < layout.numWarps(); bit *= 2) {
    a.warpRows.push_back(at(0, bit)[0] ^ a.constant[0]);
    a.warpCols.push_back(at(0, bit)[1] ^ a.constant[1]);
  }
  for (int64_t lane = 0; lane < lanes; ++lane) {
    int64_t row = a.constant[0], col = a.constant[1];
    for (size_t i = 0; i < a.laneRows.size(); ++i)
      if (lane >> i & 1) {
        row ^= a.laneRows[i];
        col ^= a.laneCols[i];
      }
    if (at(lane, 0)[0] != row || at(lane, 0)[1] != col)
      return std::nullopt;
  }
  return a;
}

static Value byVectors(SmemLoadOp op, ThreadCode &code, SharedCode &shared,
                       const Layout &layout, const SharedAxes &axes) {
  OpBuilder &b = code.b;
  Location loc = op.getLoc();
  auto smem = cast<SmemType>(op.getSource().getType());
  TileCode tile(code, layout);
  int64_t width = vectorWidth(layout, smem, axes);
  auto type = VectorType::get({layout.numRegisters()}, smem.getElementType());
  Value result = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  auto part = VectorType::get({width}, type.getElementType());
  for (int64_t r = 0; r < type.getNumElements(); r += width) {
    Value v = LLVM::LoadOp::create(b, loc, part,
                                   addressOf(code, tile, shared, axes, r),
                                   width * smem.getElementBytes());
    result = vector::InsertStridedSliceOp::create(
        b, loc, v, result, ArrayRef<int64_t>{r}, ArrayRef<int64_t>{1});
  }
  return result;
}

static Value byLdmatrix(SmemLoadOp op, ThreadCode &code, SharedCode &shared,
                        const Layout &layout, const SharedAxes &axes) {
  OpBuilder &b = code.b;
  Location loc = op.getLoc();
  auto smem = cast<SmemType>(op.getSource().getType());
  int64_t bytes = smem.getElementBytes();
  Type element = smem.getElementType();
  if (layout.rank() != 2 || smem.getLayout().getValue().vectorBytes < 16 ||
      axes.colAt * bytes % 16 != 0 || smem.getShape()[1] * bytes % 16 != 0)
    return {};
  std::optional<LdmatrixMatch> match =
      matchLdmatrix(layout, bytes, op.getTrans());
  if (!match)
    return {};
  SmallVector<LdmatrixAddress, 0> addresses;
  for (int64_t i = 0; i < match->instructions; ++i) {
    auto a = ldmatrixAddress(*match, layout, op.getTrans(), i);
    if (!a)
      return {};
    addresses.push_back(*a);
  }
  auto type = VectorType::get({layout.numRegisters()}, element);
  Value result = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  auto i32 = b.getI32Type();
  Type one = i32;
  if (match->matrices > 1)
    one = LLVM::LLVMStructType::getLiteral(
        b.getContext(), SmallVector<Type>(match->matrices, i32));
  auto part = VectorType::get({match->registers}, element);
  for (auto [i, a] : llvm::enumerate(addresses)) {
    ThreadTerm row =
        plus(code, code.term(a.laneRows, a.warpRows), axes.rowShift);
    ThreadTerm col =
        plus(code, code.term(a.laneCols, a.warpCols), axes.colShift);
    Value at = shared.address(row, a.constant[0] + axes.rowAt, col,
                              a.constant[1] + axes.colAt);
    auto shape = NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8);
    Value loaded = NVVM::LdMatrixOp::create(
        b, loc, one, at, static_cast<uint32_t>(match->matrices),
        match->transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row, shape,
        NVVM::LdStMatrixEltType::B16);
    for (int64_t m = 0; m < match->matrices; ++m) {
      Value v =
          match->matrices == 1
              ? loaded
              : LLVM::ExtractValueOp::create(b, loc, loaded, m).getResult();
      v = LLVM::BitcastOp::create(b, loc, part, v);
      int64_t reg = (i * match->matrices + m) * match->registers;
      result = vector::InsertStridedSliceOp::create(
          b, loc, v, result, ArrayRef<int64_t>{reg}, ArrayRef<int64_t>{1});
    }
  }
  return result;
}

Value heddle_gpu::loadShared(SmemLoadOp op, OpBuilder &b, const Layout &layout,
                             const SharedSource &from) {
  Location loc = op.getLoc();
  auto smem = cast<SmemType>(op.getSource().getType());
  SharedAxes axes = axesOf(layout.rank(), op.getTrans(), op.getAt());
  ThreadCode code(b, loc);
  // Everything else in the coordinate is below the side.
  auto moved = [&](Value by, int64_t axis) {
    bool last = axis == layout.rank() - 1;
    int64_t side = layout.shape()[last ? axes.col : axes.row];
    int64_t all = llvm::PowerOf2Ceil(smem.getShape()[axis]);
    ThreadTerm term{arith::IndexCastOp::create(b, loc, b.getI32Type(), by),
                    (all - 1) & ~(side - 1)};
    (last ? axes.colShift : axes.rowShift) = term;
  };
  if (from.shift)
    moved(from.shift, *op.getShiftAxis());
  if (from.row)
    moved(from.row, 0);
  if (from.column)
    moved(from.column, 1);
  Value base = stageBase(code, from.base, smem, from.stage);
  SharedCode shared(code, base, smem.getLayout().getValue(), smem.getShape(),
                    smem.getElementBytes());
  Value result = byLdmatrix(op, code, shared, layout, axes);
  return result ? result : byVectors(op, code, shared, layout, axes);
}

namespace {
struct SmemLoadPattern : OpConversionPattern<SmemLoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(SmemLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<VectorType>(getTypeConverter()->convertType(op.getType()));
    const Layout &layout = getLayout(op.getType());
    SharedAxes axes = axesOf(layout.rank(), op.getTrans(), op.getAt());
    if (!fits(layout, axes))
      return op.emitOpError("expected `at` to be a multiple of the layout's "
                            "linear sides");
    if (op->hasOneUse())
      if (auto dot = dyn_cast<DotOp>(*op->user_begin());
          dot && loadsInSteps(dot)) {
        rewriter.replaceOpWithNewOp<arith::ConstantOp>(
            op, rewriter.getZeroAttr(type));
        return success();
      }
    rewriter.replaceOp(op, loadShared(op, rewriter, layout,
                                      {adaptor.getSource(), adaptor.getStage(),
                                       adaptor.getShift()}));
    return success();
  }
};

struct SmemStorePattern : OpConversionPattern<SmemStoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(SmemStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto smem = cast<SmemType>(op.getDest().getType());
    const Layout &layout = getLayout(op.getTile().getType());
    SharedAxes axes = axesOf(layout.rank(), op.getTrans(), op.getAt());
    if (!fits(layout, axes))
      return op.emitOpError("expected `at` to be a multiple of the layout's "
                            "linear sides");
    ThreadCode code(rewriter, loc);
    Value base = stageBase(code, adaptor.getDest(), smem, adaptor.getStage());
    SharedCode shared(code, base, smem.getLayout().getValue(), smem.getShape(),
                      smem.getElementBytes());
    TileCode tile(code, layout);
    int64_t width = vectorWidth(layout, smem, axes);
    Position redundant = layout.redundantBits();
    Value owner = code.isZero(redundant.lane, redundant.warp);
    OpBuilder::InsertionGuard guard(rewriter);
    if (owner) {
      auto branch = scf::IfOp::create(rewriter, loc, owner, false);
      rewriter.setInsertionPointToStart(branch.thenBlock());
    }
    for (int64_t r = 0; r < layout.numRegisters(); r += width) {
      if (r & redundant.reg)
        continue;
      Value part = vector::ExtractStridedSliceOp::create(
          rewriter, loc, adaptor.getTile(), ArrayRef<int64_t>{r},
          ArrayRef<int64_t>{width}, ArrayRef<int64_t>{1});
      LLVM::StoreOp::create(rewriter, loc, part,
                            addressOf(code, tile, shared, axes, r),
                            width * smem.getElementBytes());
    }
    rewriter.eraseOp(op);
    return success();
  }
};

/// The thread's share of the tile is what coalescedLayout gives it, as for
/// async_copy.
struct AnyNotFinitePattern : OpConversionPattern<AnyNotFiniteOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(AnyNotFiniteOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    SmemType smem = op.getSource().getType();
    auto warps =
        op->getParentOfType<FunctionOpInterface>()->getAttrOfType<IntegerAttr>(
            HeddleGpuDialect::kWarpsAttrName);
    if (!warps)
      return op.emitOpError("expected a kernel with heddle_gpu.warps");
    Type element = smem.getElementType();
    int64_t bytes = smem.getElementBytes();
    // The exponent has all bits set: one more carries into the sign's place.
    uint32_t exponent = element.isBF16()  ? 0x7f807f80u
                        : element.isF16() ? 0x7c007c00u
                                          : 0x7f800000u;
    uint32_t step = exponent & ~(exponent << 1);
    uint32_t carry = bytes == 4 ? 0x80000000u : 0x80008000u;
    Layout layout = coalescedLayout(smem.getShape(), bytes, warps.getInt());
    SharedAxes axes = axesOf(layout.rank(), false, std::nullopt);
    ThreadCode code(b, loc);
    Value base = stageBase(code, adaptor.getSource(), smem, adaptor.getStage());
    SharedCode shared(code, base, smem.getLayout().getValue(), smem.getShape(),
                      bytes);
    TileCode tile(code, layout);
    int64_t width = vectorWidth(layout, smem, axes);
    // Threads that hold copies have copied nothing, and nothing orders their
    // reads behind the copies of others.
    Position redundant = layout.redundantBits();
    Value owner = code.isZero(redundant.lane, redundant.warp);
    scf::IfOp branch;
    OpBuilder::InsertionGuard guard(b);
    if (owner) {
      branch = scf::IfOp::create(b, loc, b.getI32Type(), owner, true);
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, loc, code.i32(0));
      b.setInsertionPointToStart(branch.thenBlock());
    }
    Value all = code.i32(0);
    auto constant = [&](uint32_t x) {
      return code.i32(static_cast<int32_t>(x));
    };
    for (int64_t r = 0; r < layout.numRegisters(); r += width) {
      if (r & redundant.reg)
        continue;
      auto type = VectorType::get({width}, element);
      Value v = LLVM::LoadOp::create(
          b, loc, type, addressOf(code, tile, shared, axes, r), width * bytes);
      int64_t words = std::max<int64_t>(1, width * bytes / 4);
      if (width * bytes < 4) {
        // One element of 16 bits.
        Value bits = LLVM::BitcastOp::create(
            b, loc, b.getI16Type(), vector::ExtractOp::create(b, loc, v, 0));
        v = vector::BroadcastOp::create(
            b, loc, VectorType::get({1}, b.getI32Type()),
            arith::ExtUIOp::create(b, loc, b.getI32Type(), bits));
      } else {
        v = LLVM::BitcastOp::create(
            b, loc, VectorType::get({words}, b.getI32Type()), v);
      }
      for (int64_t w = 0; w < words; ++w) {
        Value x = vector::ExtractOp::create(b, loc, v, w);
        x = arith::AndIOp::create(b, loc, x, constant(exponent));
        x = arith::AddIOp::create(b, loc, x, constant(step));
        all = arith::OrIOp::create(b, loc, all, x);
      }
    }
    if (owner) {
      scf::YieldOp::create(b, loc, all);
      b.setInsertionPointAfter(branch);
      all = branch.getResult(0);
    }
    all = arith::AndIOp::create(b, loc, all, constant(carry));
    Value here = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, all,
                                       code.i32(0));
    here = arith::ExtUIOp::create(b, loc, b.getI32Type(), here);
    Value any =
        NVVM::BarrierOp::create(b, loc, b.getI32Type(), Value(), Value(),
                                NVVM::BarrierReductionAttr::get(
                                    b.getContext(), NVVM::BarrierReduction::OR),
                                here)
            .getResult(0);
    any = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, any,
                                code.i32(0));
    // One for the block already. ptxas knows it of a vote alone, and guards
    // what follows a branch on anything else against warps that fell apart, by
    // calls that cost registers.
    b.replaceOpWithNewOp<NVVM::VoteSyncOp>(op, b.getI1Type(), code.i32(-1), any,
                                           NVVM::VoteSyncKind::any);
    return success();
  }
};

struct CommitPattern : OpConversionPattern<AsyncCommitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(AsyncCommitOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncCommitGroupOp>(op);
    return success();
  }
};

struct WaitPattern : OpConversionPattern<AsyncWaitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(AsyncWaitOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncWaitGroupOp>(op, op.getPending());
    return success();
  }
};

struct BarrierPattern : OpConversionPattern<BarrierOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(BarrierOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getId()) {
      rewriter.replaceOpWithNewOp<NVVM::Barrier0Op>(op);
      return success();
    }
    ThreadCode code(rewriter, op.getLoc());
    Value id = code.i32(*op.getId()), threads = code.i32(*op.getWarps() * 32);
    if (op.getArrive())
      rewriter.replaceOpWithNewOp<NVVM::BarrierArriveOp>(op, id, threads);
    else
      rewriter.replaceOpWithNewOp<NVVM::BarrierOp>(
          op, Type(), id, threads, NVVM::BarrierReductionAttr(), Value());
    return success();
  }
};
} // namespace

void heddle_gpu::populateSharedPatterns(const LaneTypes &types,
                                        RewritePatternSet &patterns) {
  patterns.add<AllocPattern, AnyNotFinitePattern, SmemLoadPattern,
               SmemStorePattern, CommitPattern, WaitPattern, BarrierPattern>(
      types, patterns.getContext());
}
