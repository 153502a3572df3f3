//===- LowerMemory.cpp - buffers to pointers ------------------------------===//
//
// Every buffer of a kernel has static sizes and strides, so an address is a
// root pointer plus a sum of scaled values plus a constant. Sums that accesses
// share are computed once, where their last value is defined; constants stay
// with the access, where the instruction's displacement takes them. Descriptors
// and per-access multiplications would be half of the code that LLVM sees.
//
//===----------------------------------------------------------------------===//

#include "heddle/Codegen/Passes.h"
#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/TypeSwitch.h"

namespace heddle {
#define GEN_PASS_DEF_LOWERMEMORYPASS
#include "heddle/Codegen/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

namespace {
/// A sum of scaled index values and a constant, in bytes.
struct ByteOffset {
  SmallVector<std::pair<Value, int64_t>> terms;
  int64_t constant = 0;

  void add(Value v, int64_t scale) {
    if (scale == 0)
      return;
    if (std::optional<int64_t> c = getConstantIntValue(v)) {
      constant += *c * scale;
      return;
    }
    if (auto sum = v.getDefiningOp<arith::AddIOp>()) {
      add(sum.getLhs(), scale);
      return add(sum.getRhs(), scale);
    }
    if (auto difference = v.getDefiningOp<arith::SubIOp>()) {
      add(difference.getLhs(), scale);
      return add(difference.getRhs(), -scale);
    }
    if (auto product = v.getDefiningOp<arith::MulIOp>())
      if (std::optional<int64_t> c = getConstantIntValue(product.getRhs()))
        return add(product.getLhs(), scale * *c);
    for (auto &[value, factor] : terms)
      if (value == v) {
        factor += scale;
        return;
      }
    terms.push_back({v, scale});
  }

  void add(OpFoldResult v, int64_t scale) {
    if (auto value = dyn_cast<Value>(v))
      return add(value, scale);
    constant += *getConstantIntValue(v) * scale;
  }
};

struct Place {
  Value root; // !llvm.ptr
  ByteOffset offset;
};

int64_t bytesOf(Type element) {
  if (element.isIndex())
    return 8;
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8u);
}

/// The type that LLVM loads and stores: index has none there.
Type storedType(Type type) {
  Type i64 = IntegerType::get(type.getContext(), 64);
  if (type.isIndex())
    return i64;
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getElementType().isIndex() ? vector.clone(i64) : type;
}

class KernelMemory {
public:
  KernelMemory(func::FuncOp kernel)
      : kernel(kernel), b(kernel), ptr(LLVM::LLVMPointerType::get(
                                       kernel.getContext())) {}

  LogicalResult run() {
    lowerArguments();
    SmallVector<Operation *> ops;
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<memref::MemRefDialect>(op->getDialect()) ||
          isa<vector::LoadOp, vector::StoreOp, vector::MaskedLoadOp,
              vector::MaskedStoreOp, vector::GatherOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      if (failed(lower(op)))
        return failure();
    for (Operation *op : llvm::reverse(ops))
      op->erase();
    Block &entry = kernel.getBody().front();
    entry.eraseArguments(3, entry.getNumArguments() - 3);
    return success();
  }

private:
  func::FuncOp kernel;
  OpBuilder b;
  Type ptr;
  DenseMap<Value, Place> places;
  /// base + value * scale
  DenseMap<std::tuple<Value, Value, int64_t>, Value> sums;

  /// (buffers..., block, scratch) -> (table of buffers, block, scratch).
  void lowerArguments() {
    Block &entry = kernel.getBody().front();
    Location loc = kernel.getLoc();
    Type i64 = b.getI64Type();
    b.setInsertionPointToStart(&entry);
    unsigned numBuffers = entry.getNumArguments() - 2;
    Value table = entry.insertArgument(0u, ptr, loc);
    Value block = entry.insertArgument(1u, i64, loc);
    Value scratch = entry.insertArgument(2u, ptr, loc);
    for (unsigned i = 0; i < numBuffers; ++i) {
      Value at =
          LLVM::GEPOp::create(b, loc, ptr, ptr, table,
                              ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
      places[entry.getArgument(3 + i)] = {LLVM::LoadOp::create(b, loc, ptr, at),
                                          {}};
    }
    entry.getArgument(3 + numBuffers)
        .replaceAllUsesWith(
            arith::IndexCastOp::create(b, loc, b.getIndexType(), block));
    places[entry.getArgument(4 + numBuffers)] = {scratch, {}};
    kernel.setFunctionType(b.getFunctionType({ptr, i64, ptr}, {}));
    kernel.removeArgAttrsAttr();
  }

  FailureOr<Place> placeOf(Operation *op, Value buffer) {
    auto it = places.find(buffer);
    if (it == places.end())
      return op->emitOpError("expected a buffer of this kernel");
    return it->second;
  }

  LogicalResult lower(Operation *op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](memref::ViewOp view) {
          return alias(op, view.getSource(), view.getResult(),
                       [&](ByteOffset &at) { at.add(view.getByteShift(), 1); });
        })
        .Case<memref::ExpandShapeOp, memref::CollapseShapeOp, memref::CastOp>(
            [&](auto cast) {
              return alias(op, cast->getOperand(0), cast->getResult(0),
                           [](ByteOffset &) {});
            })
        .Case([&](memref::SubViewOp view) -> LogicalResult {
          auto strides = stridesOf(op, view.getSourceType());
          if (failed(strides))
            return failure();
          return alias(op, view.getSource(), view.getResult(),
                       [&](ByteOffset &at) {
                         for (auto [offset, stride] :
                              llvm::zip(view.getMixedOffsets(), *strides))
                           at.add(offset, stride);
                       });
        })
        .Case([&](memref::GetGlobalOp global) { return lowerGlobal(global); })
        .Case<memref::LoadOp, vector::LoadOp>([&](auto load) {
          return lowerLoad(op, load.getMemRefType(), op->getOperand(0),
                           load.getIndices());
        })
        .Case([&](memref::StoreOp store) {
          return lowerStore(op, store.getMemRefType(), store.getMemref(),
                            store.getValue(), store.getIndices());
        })
        .Case([&](vector::StoreOp store) {
          return lowerStore(op, store.getMemRefType(), store.getBase(),
                            store.getValueToStore(), store.getIndices());
        })
        .Case([&](vector::MaskedLoadOp load) -> LogicalResult {
          auto at = addressOf(op, load.getMemRefType(), load.getBase(),
                              load.getIndices());
          if (failed(at))
            return failure();
          return replace(op, LLVM::MaskedLoadOp::create(
                                 b, op->getLoc(),
                                 storedType(load.getVectorType()), *at,
                                 load.getMask(), stored(load.getPassThru()),
                                 alignment(load.getMemRefType()), false));
        })
        .Case([&](vector::MaskedStoreOp store) -> LogicalResult {
          auto at = addressOf(op, store.getMemRefType(), store.getBase(),
                              store.getIndices());
          if (failed(at))
            return failure();
          LLVM::MaskedStoreOp::create(b, op->getLoc(),
                                      stored(store.getValueToStore()), *at,
                                      store.getMask(),
                                      alignment(store.getMemRefType()));
          return success();
        })
        .Case([&](vector::GatherOp gather) { return lowerGather(gather); })
        .Default([](Operation *other) {
          return other->emitOpError("has no lowering to pointers in a kernel");
        });
  }

  LogicalResult alias(Operation *op, Value from, Value to,
                      llvm::function_ref<void(ByteOffset &)> move) {
    FailureOr<Place> place = placeOf(op, from);
    if (failed(place))
      return failure();
    move(place->offset);
    places[to] = *place;
    return success();
  }

  /// Bytes between neighbours in each dimension.
  FailureOr<SmallVector<int64_t>> stridesOf(Operation *op, MemRefType type) {
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(type.getStridesAndOffset(strides, offset)) ||
        llvm::is_contained(strides, ShapedType::kDynamic))
      return op->emitOpError("expected a buffer of static strides, got ")
             << type;
    for (int64_t &stride : strides)
      stride *= bytesOf(type.getElementType());
    return strides;
  }

  FailureOr<Value> addressOf(Operation *op, MemRefType type, Value buffer,
                             ValueRange indices) {
    FailureOr<Place> place = placeOf(op, buffer);
    auto strides = stridesOf(op, type);
    if (failed(place) || failed(strides))
      return failure();
    for (auto [index, stride] : llvm::zip(indices, *strides))
      place->offset.add(index, stride);
    // Outer loops first, so that accesses of one loop share what is invariant.
    SmallVector<std::pair<Value, int64_t>> terms;
    for (auto term : place->offset.terms)
      if (term.second != 0)
        terms.insert(llvm::upper_bound(terms, depth(term.first),
                                       [](unsigned d, auto &other) {
                                         return d < depth(other.first);
                                       }),
                     term);
    Value base = place->root;
    for (auto [value, scale] : terms)
      base = sum(base, value, scale);
    b.setInsertionPoint(op);
    if (place->offset.constant == 0)
      return base;
    Value bytes = LLVM::ConstantOp::create(
        b, op->getLoc(), b.getI64IntegerAttr(place->offset.constant));
    return LLVM::GEPOp::create(b, op->getLoc(), ptr, b.getI8Type(), base, bytes)
        .getResult();
  }

  static unsigned depth(Value v) {
    unsigned n = 0;
    for (Region *r = v.getParentRegion(); r; r = r->getParentRegion())
      ++n;
    return n;
  }

  Value sum(Value base, Value value, int64_t scale) {
    Value &known = sums[{base, value, scale}];
    if (known)
      return known;
    setInsertionPointAfterLater(base, value);
    Location loc = value.getLoc();
    Value i = arith::IndexCastOp::create(b, loc, b.getI64Type(), value);
    // The element type does the multiplication.
    Type step = scale > 0 ? LLVM::LLVMArrayType::get(b.getI8Type(), scale)
                          : Type(b.getI8Type());
    if (scale < 0)
      i = arith::MulIOp::create(
          b, loc, i,
          arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(scale)));
    known = LLVM::GEPOp::create(b, loc, ptr, step, base, i);
    return known;
  }

  void setInsertionPointAfterLater(Value x, Value y) {
    Value later = y;
    if (depth(x) > depth(y)) {
      later = x;
    } else if (x.getParentBlock() == y.getParentBlock()) {
      Operation *ox = x.getDefiningOp(), *oy = y.getDefiningOp();
      if (ox && (!oy || oy->isBeforeInBlock(ox)))
        later = x;
    }
    b.setInsertionPointAfterValue(later);
  }

  Value stored(Value v) {
    Type type = storedType(v.getType());
    return type == v.getType()
               ? v
               : arith::IndexCastOp::create(b, v.getLoc(), type, v).getResult();
  }

  unsigned alignment(MemRefType type) { return bytesOf(type.getElementType()); }

  LogicalResult replace(Operation *op, Value value) {
    Type type = op->getResult(0).getType();
    if (value.getType() != type)
      value = arith::IndexCastOp::create(b, op->getLoc(), type, value);
    op->getResult(0).replaceAllUsesWith(value);
    return success();
  }

  LogicalResult lowerLoad(Operation *op, MemRefType type, Value buffer,
                          ValueRange indices) {
    FailureOr<Value> at = addressOf(op, type, buffer, indices);
    if (failed(at))
      return failure();
    return replace(op, LLVM::LoadOp::create(
                           b, op->getLoc(), storedType(op->getResult(0).getType()),
                           *at, alignment(type)));
  }

  LogicalResult lowerStore(Operation *op, MemRefType type, Value buffer,
                           Value value, ValueRange indices) {
    FailureOr<Value> at = addressOf(op, type, buffer, indices);
    if (failed(at))
      return failure();
    LLVM::StoreOp::create(b, op->getLoc(), stored(value), *at, alignment(type));
    return success();
  }

  LogicalResult lowerGather(vector::GatherOp op) {
    auto type = dyn_cast<MemRefType>(op.getBase().getType());
    if (!type)
      return op.emitOpError("expected a gather from a buffer");
    FailureOr<Value> base = addressOf(op, type, op.getBase(), op.getOffsets());
    if (failed(base))
      return failure();
    VectorType loaded = op.getVectorType();
    Type i64s = VectorType::get(loaded.getShape(), b.getI64Type());
    Value indices = op.getIndices();
    if (getElementTypeOrSelf(indices.getType()).isIndex())
      indices = arith::IndexCastOp::create(b, op.getLoc(), i64s, indices);
    else if (indices.getType() != i64s)
      indices = arith::ExtSIOp::create(b, op.getLoc(), i64s, indices);
    Type element = storedType(type.getElementType());
    Value pointers =
        LLVM::GEPOp::create(b, op.getLoc(), VectorType::get(loaded.getShape(), ptr),
                            element, *base, indices);
    return replace(op, LLVM::masked_gather::create(
                           b, op.getLoc(), storedType(loaded), pointers,
                           op.getMask(), stored(op.getPassThru()),
                           alignment(type)));
  }

  LogicalResult lowerGlobal(memref::GetGlobalOp op) {
    auto name = op.getNameAttr();
    auto module = kernel->getParentOfType<ModuleOp>();
    if (!module.lookupSymbol<LLVM::GlobalOp>(name.getAttr())) {
      auto table = module.lookupSymbol<memref::GlobalOp>(name.getAttr());
      auto values = table ? dyn_cast_or_null<DenseElementsAttr>(
                                table.getInitialValueAttr())
                          : DenseElementsAttr();
      if (!values)
        return op.emitOpError("expected a constant table named ") << name;
      Type element = storedType(values.getElementType());
      int64_t count = values.getNumElements();
      auto flat = RankedTensorType::get({count}, element);
      if (values.getElementType().isIndex())
        values = values.bitcast(element);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(table);
      LLVM::GlobalOp::create(b, table.getLoc(),
                             LLVM::LLVMArrayType::get(element, count),
                             /*isConstant=*/true, LLVM::Linkage::Private,
                             name.getValue(), values.reshape(flat));
      table.erase();
    }
    b.setInsertionPoint(op);
    places[op.getResult()] = {
        LLVM::AddressOfOp::create(b, op.getLoc(), ptr, name.getValue()), {}};
    return success();
  }
};

struct LowerMemory : heddle::impl::LowerMemoryPassBase<LowerMemory> {
  void runOnOperation() override {
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (kernel->hasAttr(kKernelFamily) && failed(KernelMemory(kernel).run()))
        return signalPassFailure();
  }
};
} // namespace
