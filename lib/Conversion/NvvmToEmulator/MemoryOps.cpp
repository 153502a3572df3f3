//===- MemoryOps.cpp - checked loads, stores and atomics ------------------===//

#include "Lowering.h"

#include "mlir/Interfaces/DataLayoutInterfaces.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::emulator;

static unsigned addressSpaceOf(Value pointer) {
  return cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace();
}

static StringRef spaceName(unsigned space) {
  return space == 1 ? "global" : space == 3 ? "shared" : "generic";
}

void Lowering::access(Operation *op, OpOperand &pointer, Type type,
                      bool isStore) {
  if (nvvm::isLocalOrConstant(pointer.get()))
    return;
  unsigned space = addressSpaceOf(pointer.get());
  PointerBase base = findPointerBase(pointer.get());
  if (space == 3)
    base = PointerBase{PointerBase::Shared, 0};
  uint64_t bytes = DataLayout::closest(op).getTypeSize(type);
  OpBuilder b(op);
  Location loc = op->getLoc();
  // Atomic loads and stores do not race with each other.
  bool isAtomic = false;
  if (auto load = dyn_cast<LLVM::LoadOp>(op))
    isAtomic = load.getOrdering() != LLVM::AtomicOrdering::not_atomic;
  if (auto store = dyn_cast<LLVM::StoreOp>(op))
    isAtomic = store.getOrdering() != LLVM::AtomicOrdering::not_atomic;
  SiteKind kind = isAtomic  ? SiteKind::Atomic
                  : isStore ? SiteKind::Store
                            : SiteKind::Load;
  Value number = site(b, op, kind, base, bytes);
  std::string name = (isStore ? "store_" : "load_") + spaceName(space).str();
  pointer.set(call(b, loc, name, pointer.get().getType(),
                   {pointer.get(), number, i32(b, loc, bytes)}));
}

void Lowering::atomic(Operation *op, Value pointer, Value value,
                      Value compared, Atomic kind) {
  PointerBase base = findPointerBase(pointer);
  unsigned space = addressSpaceOf(pointer);
  if (space == 3)
    base = PointerBase{PointerBase::Shared, 0};
  Type type = value.getType();
  ElementType element = ElementType::F64;
  if (type.isInteger(32))
    element = ElementType::I32;
  else if (type.isInteger(64))
    element = ElementType::I64;
  else if (type.isF32())
    element = ElementType::F32;
  OpBuilder b(op);
  Location loc = op->getLoc();
  Type i64 = b.getI64Type();
  auto widen = [&](Value v) -> Value {
    if (v.getType().isF32())
      v = LLVM::BitcastOp::create(b, loc, b.getI32Type(), v);
    if (v.getType().isF64())
      return LLVM::BitcastOp::create(b, loc, i64, v);
    if (v.getType().isInteger(64))
      return v;
    return LLVM::ZExtOp::create(b, loc, i64, v);
  };
  auto generic = LLVM::LLVMPointerType::get(b.getContext());
  if (space != 0)
    pointer = LLVM::AddrSpaceCastOp::create(b, loc, generic, pointer);
  Value zero = LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
  Value old = call(b, loc, "atomic", i64,
                   {pointer, widen(value), compared ? widen(compared) : zero,
                    i32(b, loc, static_cast<int64_t>(kind)),
                    i32(b, loc, static_cast<int64_t>(element)),
                    site(b, op, SiteKind::Atomic, base, 4)});
  if (!type.isInteger(64) && !type.isF64())
    old = LLVM::TruncOp::create(b, loc, b.getI32Type(), old);
  if (isa<FloatType>(type))
    old = LLVM::BitcastOp::create(b, loc, type, old);
  if (!compared) {
    replace(op, old);
    return;
  }
  // cmpxchg returns the old value and whether it was the expected one.
  Value equal =
      LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, old, compared);
  Value pair = LLVM::PoisonOp::create(b, loc, op->getResult(0).getType());
  pair = LLVM::InsertValueOp::create(b, loc, pair, old, ArrayRef<int64_t>{0});
  pair = LLVM::InsertValueOp::create(b, loc, pair, equal, 1);
  replace(op, pair);
}

void Lowering::lowerMemory(Operation *op) {
  if (auto load = dyn_cast<LLVM::LoadOp>(op))
    return access(op, load.getAddrMutable(), load.getType(), /*isStore=*/false);
  if (auto store = dyn_cast<LLVM::StoreOp>(op))
    return access(op, store.getAddrMutable(), store.getValue().getType(),
                  /*isStore=*/true);
  if (auto rmw = dyn_cast<LLVM::AtomicRMWOp>(op))
    return atomic(op, rmw.getPtr(), rmw.getVal(), {},
                  static_cast<Atomic>(rmw.getBinOp()));
  if (auto exchange = dyn_cast<LLVM::AtomicCmpXchgOp>(op))
    return atomic(op, exchange.getPtr(), exchange.getVal(), exchange.getCmp(),
                  Atomic::CmpXchg);
  // A shared address of 32 bits is a place in this block's window.
  if (auto cast = dyn_cast<LLVM::IntToPtrOp>(op)) {
    if (addressSpaceOf(cast.getRes()) != 3 ||
        !cast.getArg().getType().isInteger(32))
      return;
    OpBuilder b(op);
    Location loc = op->getLoc();
    Value base = LLVM::PtrToIntOp::create(b, loc, b.getI32Type(), window(b));
    Value distance = LLVM::SubOp::create(b, loc, cast.getArg(), base);
    replace(op, LLVM::GEPOp::create(b, loc, cast.getType(), b.getI8Type(),
                                    window(b), ValueRange{distance}));
    return;
  }
  if (isa<LLVM::FenceOp>(op)) {
    OpBuilder b(op);
    call(b, op->getLoc(), "fence", {}, {});
    op->erase();
  }
}

void Lowering::lowerSharedAddress(LLVM::AddressOfOp op, int64_t offset) {
  OpBuilder b(op);
  Value address = window(b);
  if (offset)
    address = LLVM::GEPOp::create(b, op.getLoc(), op.getType(), b.getI8Type(),
                                  address, ArrayRef<LLVM::GEPArg>{offset});
  replace(op, address);
}
