//===- NvvmOps.cpp - nvvm and heddle_nvvm ops as calls --------------------===//

#include "Lowering.h"

#include "heddle/Dialect/HeddleNvvm/IR/HeddleNvvm.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::emulator;
namespace NVVM = mlir::NVVM;

bool Lowering::lowerRegister(Operation *op) {
  auto which =
      TypeSwitch<Operation *, std::optional<Register>>(op)
          .Case([](NVVM::ThreadIdXOp) { return Register::TidX; })
          .Case([](NVVM::ThreadIdYOp) { return Register::TidY; })
          .Case([](NVVM::ThreadIdZOp) { return Register::TidZ; })
          .Case([](NVVM::BlockDimXOp) { return Register::NtidX; })
          .Case([](NVVM::BlockDimYOp) { return Register::NtidY; })
          .Case([](NVVM::BlockDimZOp) { return Register::NtidZ; })
          .Case([](NVVM::BlockIdXOp) { return Register::CtaidX; })
          .Case([](NVVM::BlockIdYOp) { return Register::CtaidY; })
          .Case([](NVVM::BlockIdZOp) { return Register::CtaidZ; })
          .Case([](NVVM::GridDimXOp) { return Register::NctaidX; })
          .Case([](NVVM::GridDimYOp) { return Register::NctaidY; })
          .Case([](NVVM::GridDimZOp) { return Register::NctaidZ; })
          .Case([](NVVM::LaneIdOp) { return Register::LaneId; })
          .Case([](NVVM::WarpIdOp) { return Register::WarpId; })
          .Case([](NVVM::WarpDimOp) { return Register::WarpCount; })
          .Case([](NVVM::WarpSizeOp) { return Register::WarpSize; })
          .Case([](NVVM::LaneMaskEqOp) { return Register::LaneMaskEq; })
          .Case([](NVVM::LaneMaskLeOp) { return Register::LaneMaskLe; })
          .Case([](NVVM::LaneMaskLtOp) { return Register::LaneMaskLt; })
          .Case([](NVVM::LaneMaskGeOp) { return Register::LaneMaskGe; })
          .Case([](NVVM::LaneMaskGtOp) { return Register::LaneMaskGt; })
          .Case([](NVVM::SmIdOp) { return Register::SmId; })
          .Case([](NVVM::SmDimOp) { return Register::SmCount; })
          .Case([](NVVM::GridIdOp) { return Register::GridId; })
          .Case([](NVVM::ClockOp) { return Register::Clock; })
          .Default([](Operation *) { return std::nullopt; });
  if (!which)
    return false;
  OpBuilder b(op);
  Value number = i32(b, op->getLoc(), static_cast<int64_t>(*which));
  replace(op, call(b, op->getLoc(), "register", b.getI32Type(), number));
  return true;
}

bool Lowering::lowerBarrier(Operation *op) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  Value zero;
  auto orZero = [&](Value v) {
    return v ? v : zero ? zero : zero = i32(b, loc, 0);
  };
  if (isa<NVVM::Barrier0Op>(op)) {
    call(b, loc, "barrier", b.getI32Type(),
         {orZero({}), orZero({}), orZero({}), orZero({}),
          site(b, op, SiteKind::Other)});
    op->erase();
    return true;
  }
  if (auto barrier = dyn_cast<NVVM::BarrierOp>(op)) {
    Value reduction = orZero({});
    if (auto kind = barrier.getReductionOp())
      reduction = i32(b, loc, static_cast<int64_t>(*kind) + 1);
    Value result = call(b, loc, "barrier", b.getI32Type(),
                        {orZero(barrier.getBarrierId()),
                         orZero(barrier.getNumberOfThreads()), reduction,
                         orZero(barrier.getReductionPredicate()),
                         site(b, op, SiteKind::Other)});
    replace(op, op->getNumResults() ? result : Value());
    return true;
  }
  if (auto arrive = dyn_cast<NVVM::BarrierArriveOp>(op)) {
    call(b, loc, "barrier_arrive", {},
         {orZero(arrive.getBarrierId()), arrive.getNumberOfThreads(),
          site(b, op, SiteKind::Other)});
    op->erase();
    return true;
  }
  if (isa<NVVM::MembarOp, NVVM::FenceMbarrierInitOp, NVVM::FenceProxyOp,
          NVVM::FenceScClusterOp>(op)) {
    call(b, loc, "fence", {}, {});
    op->erase();
    return true;
  }
  if (isa<NVVM::SetMaxRegisterOp>(op)) { // no effect on values
    op->erase();
    return true;
  }
  return false;
}

bool Lowering::lowerMbarrier(Operation *op) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  Type i32Type = b.getI32Type(), i64 = b.getI64Type();
  auto generic = LLVM::LLVMPointerType::get(b.getContext());
  auto address = [&](Value p) -> Value {
    if (p.getType() == generic)
      return p;
    return LLVM::AddrSpaceCastOp::create(b, loc, generic, p);
  };
  auto number = [&] { return site(b, op, SiteKind::Other); };
  auto arrive = [&](StringRef name, Value p, Value count) {
    if (!count)
      count = i32(b, loc, 1);
    Value state = call(b, loc, name, i64, {address(p), count, number()});
    replace(op, op->getNumResults() ? state : Value());
    return true;
  };
  auto test = [&](StringRef name, Value p, Value stateOrPhase) {
    bool isState = stateOrPhase.getType().isInteger(64);
    Value done = call(b, loc, (name + (isState ? "_state" : "_parity")).str(),
                      i32Type, {address(p), stateOrPhase, number()});
    replace(op, LLVM::TruncOp::create(b, loc, b.getI1Type(), done));
    return true;
  };
  if (auto init = dyn_cast<NVVM::MBarrierInitOp>(op)) {
    if (init.getPredicate())
      return false;
    call(b, loc, "mbarrier_init", {},
         {address(init.getAddr()), init.getCount(), number()});
    op->erase();
    return true;
  }
  if (auto inval = dyn_cast<NVVM::MBarrierInvalOp>(op)) {
    call(b, loc, "mbarrier_inval", {}, {address(inval.getAddr()), number()});
    op->erase();
    return true;
  }
  if (auto o = dyn_cast<NVVM::MBarrierArriveOp>(op))
    return arrive("mbarrier_arrive", o.getAddr(), o.getCount());
  if (auto o = dyn_cast<NVVM::MBarrierArriveNocompleteOp>(op))
    return arrive("mbarrier_arrive", o.getAddr(), o.getCount());
  if (auto o = dyn_cast<NVVM::MBarrierArriveDropOp>(op))
    return arrive("mbarrier_arrive_drop", o.getAddr(), o.getCount());
  if (auto o = dyn_cast<NVVM::MBarrierArriveExpectTxOp>(op))
    return !o.getPredicate() &&
           arrive("mbarrier_arrive_expect_tx", o.getAddr(), o.getTxcount());
  if (auto o = dyn_cast<NVVM::MBarrierExpectTxOp>(op)) {
    call(b, loc, "mbarrier_expect_tx", {},
         {address(o.getAddr()), o.getTxcount(), number()});
    op->erase();
    return true;
  }
  if (auto o = dyn_cast<NVVM::MBarrierCompleteTxOp>(op)) {
    call(b, loc, "mbarrier_complete_tx", {},
         {address(o.getAddr()), o.getTxcount(), number()});
    op->erase();
    return true;
  }
  if (auto o = dyn_cast<NVVM::MBarrierTryWaitParityOp>(op)) {
    call(b, loc, "mbarrier_wait_parity", {},
         {address(o.getAddr()), o.getPhase(), number()});
    op->erase();
    return true;
  }
  if (auto o = dyn_cast<NVVM::MBarrierTestWaitOp>(op))
    return test("mbarrier_test", o.getAddr(), o.getStateOrPhase());
  if (auto o = dyn_cast<NVVM::MBarrierTryWaitOp>(op))
    return test("mbarrier_try", o.getAddr(), o.getStateOrPhase());
  return false;
}

bool Lowering::lowerAsyncCopy(Operation *op) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  if (auto copy = dyn_cast<NVVM::CpAsyncOp>(op)) {
    Value bytes = i32(b, loc, copy.getSize());
    PointerBase base = findPointerBase(copy.getSrc());
    call(b, loc, "cp_async", {},
         {copy.getDst(), copy.getSrc(), bytes,
          copy.getCpSize() ? copy.getCpSize() : bytes,
          site(b, op, SiteKind::AsyncCopy, base, copy.getSize())});
  } else if (isa<NVVM::CpAsyncCommitGroupOp>(op)) {
    call(b, loc, "cp_async_commit", {}, {site(b, op, SiteKind::Other)});
  } else if (auto wait = dyn_cast<NVVM::CpAsyncWaitGroupOp>(op)) {
    call(b, loc, "cp_async_wait", {},
         {i32(b, loc, wait.getN()), site(b, op, SiteKind::Other)});
  } else if (auto arrive = dyn_cast<NVVM::CpAsyncMBarrierArriveOp>(op)) {
    Value address = arrive.getAddr();
    auto generic = LLVM::LLVMPointerType::get(b.getContext());
    if (address.getType() != generic)
      address = LLVM::AddrSpaceCastOp::create(b, loc, generic, address);
    call(b, loc, "cp_async_mbarrier_arrive", {},
         {address, i32(b, loc, arrive.getNoinc()),
          site(b, op, SiteKind::Other)});
  } else if (auto bulk =
                 dyn_cast<NVVM::CpAsyncBulkGlobalToSharedClusterOp>(op)) {
    if (bulk.getMulticastMask())
      return false;
    auto shared = LLVM::LLVMPointerType::get(b.getContext(), 3);
    Value to = bulk.getDstMem();
    if (to.getType() != shared)
      to = LLVM::AddrSpaceCastOp::create(b, loc, shared, to);
    call(b, loc, "cp_async_bulk", {},
         {to, bulk.getSrcMem(), bulk.getSize(), bulk.getMbar(),
          site(b, op, SiteKind::AsyncCopy, findPointerBase(bulk.getSrcMem()))});
  } else {
    return false;
  }
  op->erase();
  return true;
}

bool Lowering::lowerCollective(Operation *op) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  Type i32Type = b.getI32Type();
  auto number = [&] { return site(b, op, SiteKind::Other); };
  if (auto shfl = dyn_cast<NVVM::ShflOp>(op)) {
    Value both =
        call(b, loc, "shfl", b.getI64Type(),
             {shfl.getThreadMask(), asI32(b, shfl.getVal()), shfl.getOffset(),
              shfl.getMaskAndClamp(),
              i32(b, loc, static_cast<int64_t>(shfl.getKind())), number()});
    Value value = fromI32(b, LLVM::TruncOp::create(b, loc, i32Type, both),
                          shfl.getVal().getType());
    if (auto pair = dyn_cast<LLVM::LLVMStructType>(shfl.getType())) {
      Value shift = LLVM::ConstantOp::create(b, loc, b.getI64Type(), 32);
      Value valid = LLVM::TruncOp::create(
          b, loc, b.getI1Type(), LLVM::LShrOp::create(b, loc, both, shift));
      Value result = LLVM::PoisonOp::create(b, loc, pair);
      result = LLVM::InsertValueOp::create(b, loc, result, value,
                                           ArrayRef<int64_t>{0});
      value = LLVM::InsertValueOp::create(b, loc, result, valid, 1);
    }
    replace(op, value);
    return true;
  }
  if (auto vote = dyn_cast<NVVM::VoteSyncOp>(op)) {
    Value predicate = LLVM::ZExtOp::create(b, loc, i32Type, vote.getPred());
    Value result =
        call(b, loc, "vote", i32Type,
             {vote.getMask(), predicate,
              i32(b, loc, static_cast<int64_t>(vote.getKind())), number()});
    if (vote.getType().isInteger(1))
      result = LLVM::TruncOp::create(b, loc, b.getI1Type(), result);
    replace(op, result);
    return true;
  }
  if (auto redux = dyn_cast<NVVM::ReduxOp>(op)) {
    if (redux.getAbs() || redux.getNan())
      return false;
    Value result =
        call(b, loc, "redux", i32Type,
             {redux.getMaskAndClamp(), asI32(b, redux.getVal()),
              i32(b, loc, static_cast<int64_t>(redux.getKind())), number()});
    replace(op, fromI32(b, result, redux.getType()));
    return true;
  }
  if (auto elect = dyn_cast<NVVM::ElectSyncOp>(op)) {
    Value mask = elect.getMembermask();
    Value result = call(b, loc, "elect", i32Type,
                        {mask ? mask : i32(b, loc, -1), number()});
    replace(op, LLVM::TruncOp::create(b, loc, b.getI1Type(), result));
    return true;
  }
  if (auto sync = dyn_cast<NVVM::SyncWarpOp>(op)) {
    call(b, loc, "syncwarp", {}, {sync.getMask(), number()});
    op->erase();
    return true;
  }
  return false;
}

/// Rounding | relu << 8 | satfinite << 9, or nothing for modes that need random
/// bits.
static std::optional<int64_t> conversionFlags(NVVM::FPRoundingMode mode,
                                              NVVM::SaturationMode saturation,
                                              bool relu) {
  Rounding rounding = Rounding::Nearest;
  if (mode == NVVM::FPRoundingMode::RZ)
    rounding = Rounding::Zero;
  else if (mode == NVVM::FPRoundingMode::RNA)
    rounding = Rounding::NearestAway;
  else if (mode != NVVM::FPRoundingMode::RN)
    return std::nullopt;
  return static_cast<int64_t>(rounding) | relu << 8 |
         (saturation == NVVM::SaturationMode::SATFINITE) << 9;
}

bool Lowering::lowerArithmetic(Operation *op) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  Type i32Type = b.getI32Type();
  if (auto rcp = dyn_cast<NVVM::RcpApproxFtzF32Op>(op)) {
    replace(op,
            call(b, loc, "rcp_approx_ftz_f32", rcp.getType(), rcp.getArg()));
    return true;
  }
  auto pack = [&](StringRef name, auto convert) {
    std::optional<int64_t> flags =
        conversionFlags(convert.getRnd(), convert.getSat(), convert.getRelu());
    if (!flags || convert.getRandomBits())
      return false;
    Value bits =
        call(b, loc, name, i32Type,
             {convert.getSrcHi(), convert.getSrcLo(), i32(b, loc, *flags)});
    replace(op, fromI32(b, bits, convert.getType()));
    return true;
  };
  if (auto convert = dyn_cast<NVVM::ConvertF32x2ToBF16x2Op>(op))
    return pack("cvt_bf16x2_f32", convert);
  if (auto convert = dyn_cast<NVVM::ConvertF32x2ToF16x2Op>(op))
    return pack("cvt_f16x2_f32", convert);
  if (auto convert = dyn_cast<NVVM::ConvertFloatToTF32Op>(op)) {
    std::optional<int64_t> flags =
        conversionFlags(convert.getRnd(), convert.getSat(), convert.getRelu());
    if (!flags)
      return false;
    replace(op, call(b, loc, "cvt_tf32_f32", i32Type,
                     {convert.getSrc(), i32(b, loc, *flags)}));
    return true;
  }
  if (auto permute = dyn_cast<NVVM::PermuteOp>(op)) {
    Value high = permute.getHi();
    replace(op, call(b, loc, "prmt", i32Type,
                     {i32(b, loc, static_cast<int64_t>(permute.getMode())),
                      permute.getSelector(), permute.getLo(),
                      high ? high : i32(b, loc, 0)}));
    return true;
  }
  // Everything of heddle_nvvm: its table entry names the function.
  if (auto own = dyn_cast<heddle::nvvm::InstructionOpInterface>(op)) {
    StringRef name = own.getEmulatorFunction();
    name.consume_front("heddle_emu_");
    Type result = op->getNumResults() ? op->getResult(0).getType() : Type();
    replace(op, call(b, loc, name, result, op->getOperands()));
    return true;
  }
  return false;
}

bool Lowering::lowerMatrix(Operation *op) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  if (auto load = dyn_cast<NVVM::LdMatrixOp>(op)) {
    if (load.getEltType() != NVVM::LdStMatrixEltType::B16 ||
        load.getShape().getM() != 8 || load.getShape().getN() != 8)
      return false;
    int64_t num = load.getNum();
    int64_t kind = num | (load.getLayout() == NVVM::MMALayout::col) << 8;
    Value out = frame(true);
    call(b, loc, "ldmatrix", {},
         {load.getPtr(), i32(b, loc, kind), out,
          site(b, op, SiteKind::MatrixLoad, {}, 16)});
    auto word = [&](int64_t i) -> Value {
      return LLVM::LoadOp::create(b, loc, b.getI32Type(), slot(b, loc, out, i));
    };
    Value result = num == 1 ? word(0) : Value();
    if (!result) {
      result = LLVM::PoisonOp::create(b, loc, load.getType());
      for (int64_t i = 0; i < num; ++i)
        result = LLVM::InsertValueOp::create(b, loc, result, word(i), i);
    }
    replace(op, result);
    return true;
  }
  if (auto store = dyn_cast<NVVM::StMatrixOp>(op)) {
    if (store.getEltType() != NVVM::LdStMatrixEltType::B16)
      return false;
    int64_t num = store.getSources().size();
    int64_t kind = num | (store.getLayout() == NVVM::MMALayout::col) << 8;
    Value in = frame(false);
    for (auto [i, source] : llvm::enumerate(store.getSources()))
      LLVM::StoreOp::create(b, loc, source, slot(b, loc, in, i));
    call(b, loc, "stmatrix", {},
         {store.getPtr(), i32(b, loc, kind), in,
          site(b, op, SiteKind::MatrixStore, {}, 16)});
    op->erase();
    return true;
  }
  auto mma = dyn_cast<NVVM::MmaOp>(op);
  if (!mma)
    return false;
  NVVM::MMAShapeAttr s = mma.getShape();
  auto operandType = mma.getMultiplicandAPtxType();
  if (!operandType)
    return false;
  MmaShape shape = {static_cast<uint32_t>(s.getM()),
                    static_cast<uint32_t>(s.getN()),
                    static_cast<uint32_t>(s.getK()),
                    MmaType::F16,
                    MmaType::F32,
                    MmaType::F32};
  bool isKnown = shape.m == 16 && shape.n == 8;
  if (*operandType == NVVM::MMATypes::tf32) {
    shape.operand = MmaType::TF32;
    isKnown &= shape.k == 8 || shape.k == 4;
  } else {
    isKnown &= shape.k == 16 || shape.k == 8;
    if (*operandType == NVVM::MMATypes::bf16)
      shape.operand = MmaType::BF16;
    else
      isKnown &= *operandType == NVVM::MMATypes::f16;
  }
  auto accumulator = [&](NVVM::MMATypes type) {
    isKnown &= type == NVVM::MMATypes::f32 || type == NVVM::MMATypes::f16;
    return type == NVVM::MMATypes::f16 ? MmaType::F16 : MmaType::F32;
  };
  shape.accumulator = accumulator(mma.accumPtxType());
  shape.result = accumulator(mma.resultPtxType());
  if (!isKnown || mma.getLayoutA() != NVVM::MMALayout::row ||
      mma.getLayoutB() != NVVM::MMALayout::col)
    return false;
  Value in = frame(false), out = frame(true);
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    LLVM::StoreOp::create(b, loc, operand, slot(b, loc, in, i));
  call(b, loc, "mma", {},
       {i32(b, loc, static_cast<int32_t>(shape.code())), in, out,
        site(b, op, SiteKind::Other)});
  auto type = cast<LLVM::LLVMStructType>(mma.getType());
  Value result = LLVM::PoisonOp::create(b, loc, type);
  for (auto [i, member] : llvm::enumerate(type.getBody()))
    result = LLVM::InsertValueOp::create(
        b, loc, result,
        LLVM::LoadOp::create(b, loc, member, slot(b, loc, out, i)), i);
  replace(op, result);
  return true;
}

LogicalResult Lowering::lowerNvvm(Operation *op) {
  if (lowerRegister(op) || lowerCollective(op) || lowerArithmetic(op) ||
      lowerMatrix(op) || lowerAsyncCopy(op) || lowerBarrier(op) ||
      lowerMbarrier(op))
    return success();
  return op->emitOpError("is not emulated, or not with these types and "
                         "attributes; docs/emulator.md lists what is");
}
