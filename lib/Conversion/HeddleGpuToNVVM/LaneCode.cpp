//===- LaneCode.cpp - tiles as the registers of one thread ----------------===//

#include "LaneCode.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace heddle_gpu;

LaneTypes::LaneTypes() {
  addConversion([](Type type) { return type; });
  addConversion([](RankedTensorType type) -> std::optional<Type> {
    LayoutAttr layout = getLayoutAttr(type);
    if (!layout)
      return std::nullopt;
    return VectorType::get({layout.getValue().numRegisters()},
                           type.getElementType());
  });
  addConversion([](SmemType type) -> Type {
    return LLVM::LLVMPointerType::get(type.getContext(), kSharedSpace);
  });
  addConversion([](MemRefType type) -> Type {
    bool shared = gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(type);
    return LLVM::LLVMPointerType::get(type.getContext(),
                                      shared ? kSharedSpace : kGlobalSpace);
  });
  auto cast = [](OpBuilder &b, Type type, ValueRange inputs,
                 Location loc) -> Value {
    return UnrealizedConversionCastOp::create(b, loc, type, inputs)
        .getResult(0);
  };
  addSourceMaterialization(cast);
  addTargetMaterialization(cast);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

Value ThreadCode::i32(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
}

Value ThreadCode::index(bool warp) {
  Value tid = NVVM::ThreadIdXOp::create(b, loc, b.getI32Type());
  return warp ? arith::ShRUIOp::create(b, loc, tid, i32(5)).getResult()
              : arith::AndIOp::create(b, loc, tid, i32(31)).getResult();
}

Value ThreadCode::lane() { return index(false); }
Value ThreadCode::warp() { return index(true); }

ThreadTerm ThreadCode::term(ArrayRef<int64_t> lanes, ArrayRef<int64_t> warps) {
  ThreadTerm sum;
  auto join = [&](Value v, int64_t bits) {
    if (!sum.value)
      sum.value = v;
    else if ((sum.bits & bits) == 0)
      sum.value = arith::OrIOp::create(b, loc, sum.value, v);
    else
      sum.value = arith::XOrIOp::create(b, loc, sum.value, v);
    sum.bits |= bits;
  };
  auto add = [&](ArrayRef<int64_t> images, bool isWarp) {
    for (size_t i = 0; i < images.size();) {
      if (images[i] == 0) {
        ++i;
        continue;
      }
      // A run of bits whose images are consecutive powers of two is a shift.
      size_t n = 1;
      if (llvm::isPowerOf2_64(images[i]))
        while (i + n < images.size() && images[i + n] == images[i] << n)
          ++n;
      Value v = index(isWarp);
      if (llvm::isPowerOf2_64(images[i])) {
        int shift = llvm::Log2_64(images[i]) - static_cast<int>(i);
        v = arith::AndIOp::create(b, loc, v, i32(((1 << n) - 1) << i));
        if (shift > 0)
          v = arith::ShLIOp::create(b, loc, v, i32(shift));
        else if (shift < 0)
          v = arith::ShRUIOp::create(b, loc, v, i32(-shift));
        join(v, ((int64_t(1) << n) - 1) * images[i]);
      } else {
        v = arith::AndIOp::create(b, loc, v, i32(1 << i));
        Value set = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, v,
                                          i32(0));
        join(arith::SelectOp::create(b, loc, set, i32(images[i]), i32(0)),
             images[i]);
      }
      i += n;
    }
  };
  add(lanes, false);
  add(warps, true);
  return sum;
}

Value ThreadCode::isZero(int64_t laneMask, int64_t warpMask) {
  Value all;
  auto also = [&](Value v, int64_t mask) {
    if (mask == 0)
      return;
    v = arith::AndIOp::create(b, loc, v, i32(mask));
    v = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, v, i32(0));
    all = all ? arith::AndIOp::create(b, loc, all, v).getResult() : v;
  };
  if (laneMask)
    also(lane(), laneMask);
  if (warpMask)
    also(warp(), warpMask);
  return all;
}

TileCode::TileCode(ThreadCode &code, const Layout &layout)
    : layout(layout), code(code), registers(layout.registerCoordinates()) {
  for (unsigned d = 0; d < layout.rank(); ++d) {
    SmallVector<int64_t> lanes, warps;
    for (const Layout::Basis &basis : layout.getLane())
      lanes.push_back(basis[d]);
    for (const Layout::Basis &basis : layout.getWarp())
      warps.push_back(basis[d]);
    terms.push_back(code.term(lanes, warps));
  }
}

Value TileCode::coordinate(int64_t reg, unsigned dim) {
  const ThreadTerm &t = terms[dim];
  int64_t c = registers[reg][dim];
  if (!t.value)
    return code.i32(c);
  if (c == 0)
    return t.value;
  if (isSum(reg, dim))
    return arith::AddIOp::create(code.b, code.loc, t.value, code.i32(c));
  return arith::XOrIOp::create(code.b, code.loc, t.value, code.i32(c));
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

int64_t heddle_gpu::knownDivisor(Value v) {
  if (std::optional<int64_t> c = getConstantIntValue(v))
    return std::abs(*c);
  Operation *op = v.getDefiningOp();
  if (!op)
    return 1;
  if (isa<arith::MulIOp>(op))
    return knownDivisor(op->getOperand(0)) * knownDivisor(op->getOperand(1));
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp,
          arith::MinUIOp, arith::MaxUIOp>(op))
    return std::gcd(knownDivisor(op->getOperand(0)),
                    knownDivisor(op->getOperand(1)));
  if (isa<arith::SelectOp>(op))
    return std::gcd(knownDivisor(op->getOperand(1)),
                    knownDivisor(op->getOperand(2)));
  if (isa<arith::IndexCastOp>(op))
    return knownDivisor(op->getOperand(0));
  return 1;
}

int64_t GlobalTile::elementBytes() const {
  Type element = type.getElementType();
  return element.isIndex()
             ? 8
             : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8u);
}

SmallVector<int64_t> GlobalTile::strides() const {
  int64_t offset;
  SmallVector<int64_t> strides;
  (void)type.getStridesAndOffset(strides, offset);
  return strides;
}

int64_t GlobalTile::vectorWidth(const Layout &layout, int64_t maxBytes,
                                bool partial) const {
  if (dims.empty()) // a scalar
    return 1;
  SmallVector<int64_t> s = strides();
  unsigned last = dims.size() - 1;
  int64_t axis = dims[last];
  if (s[axis] != 1)
    return 1;
  // Everything that moves an address has to be a multiple of the width.
  int64_t width = maxBytes / elementBytes();
  auto require = [&](int64_t divisor) {
    while (width > 1 && divisor % width != 0)
      width /= 2;
  };
  require(layout.contiguity(last));
  require(knownDivisor(offsets[axis]));
  for (auto [i, stride] : llvm::enumerate(s))
    if (static_cast<int64_t>(i) != axis &&
        (llvm::is_contained(dims, i) || knownDivisor(offsets[i]) != 0))
      require(stride);
  if (!partial && !inBounds)
    require(bounds.empty() ? type.getDimSize(axis) : knownDivisor(bounds[last]));
  return std::max<int64_t>(1, width);
}

static Value asI64(ThreadCode &code, Value v) {
  Type i64 = code.b.getI64Type();
  if (v.getType().isIndex())
    return arith::IndexCastOp::create(code.b, code.loc, i64, v);
  return arith::ExtUIOp::create(code.b, code.loc, i64, v);
}

/// The LLVM type of an element in memory.
static Type memoryType(OpBuilder &b, Type element) {
  if (element.isIndex())
    return b.getI64Type();
  if (element.isInteger(1))
    return b.getI8Type();
  return element;
}

static Value advance(ThreadCode &code, Value pointer, Type element, Value by) {
  return LLVM::GEPOp::create(code.b, code.loc, pointer.getType(), element,
                             pointer, by);
}

GlobalCode::GlobalCode(ThreadCode &code, TileCode &tile, const GlobalTile &place)
    : code(code), tile(tile), place(place), strides(place.strides()),
      limits(place.dims.size()) {
  OpBuilder &b = code.b;
  Type element = memoryType(b, place.type.getElementType());
  auto scaled = [&](Value v, int64_t stride) -> Value {
    v = asI64(code, v);
    if (stride == 1)
      return v;
    return arith::MulIOp::create(
        b, code.loc, v,
        arith::ConstantOp::create(b, code.loc, b.getI64IntegerAttr(stride)));
  };
  base = place.pointer;
  for (auto [offset, stride] : llvm::zip(place.offsets, strides))
    if (!isConstantIntValue(offset, 0))
      base = advance(code, base, element, scaled(offset, stride));
  for (auto [d, axis] : llvm::enumerate(place.dims))
    if (Value part = tile.thread(d).value)
      base = advance(code, base, element, scaled(part, strides[axis]));
}

Value GlobalCode::address(int64_t reg) {
  OpBuilder &b = code.b;
  Type element = memoryType(b, place.type.getElementType());
  int64_t constant = 0;
  Value p = base;
  for (auto [d, axis] : llvm::enumerate(place.dims)) {
    int64_t c = tile.constant(reg, d);
    if (tile.isSum(reg, d)) {
      constant += c * strides[axis];
      continue;
    }
    // thread xor c = thread + (thread xor c - thread)
    Value moved = arith::SubIOp::create(b, code.loc, tile.coordinate(reg, d),
                                        tile.thread(d).value);
    moved = arith::ExtSIOp::create(b, code.loc, b.getI64Type(), moved);
    Value stride = arith::ConstantOp::create(
        b, code.loc, b.getI64IntegerAttr(strides[axis]));
    p = advance(code, p, element,
                arith::MulIOp::create(b, code.loc, moved, stride));
  }
  if (constant == 0)
    return p;
  return LLVM::GEPOp::create(
      b, code.loc, p.getType(), element, p,
      LLVM::ConstantOp::create(b, code.loc, b.getI64IntegerAttr(constant))
          .getResult());
}

Value GlobalCode::limit(unsigned dim) {
  if (limits[dim])
    return limits[dim];
  OpBuilder &b = code.b;
  int64_t axis = place.dims[dim];
  Value bound = place.bounds.empty()
                    ? arith::ConstantIndexOp::create(
                          b, code.loc, place.type.getDimSize(axis))
                          .getResult()
                    : place.bounds[dim];
  Value left = arith::SubIOp::create(b, code.loc, bound, place.offsets[axis]);
  return limits[dim] =
             arith::IndexCastOp::create(b, code.loc, b.getI32Type(), left);
}

Value GlobalCode::inBounds(int64_t reg, bool partial) {
  if (place.inBounds)
    return {};
  OpBuilder &b = code.b;
  Value all;
  for (unsigned d = 0; d < place.dims.size(); ++d) {
    if (partial && d + 1 == place.dims.size())
      continue;
    // A dimension that the tile covers from its start needs no check.
    if (place.bounds.empty() &&
        isConstantIntValue(place.offsets[place.dims[d]], 0) &&
        tile.layout.shape()[d] <= place.type.getDimSize(place.dims[d]))
      continue;
    Value ok = arith::CmpIOp::create(b, code.loc, arith::CmpIPredicate::slt,
                                     tile.coordinate(reg, d), limit(d));
    all = all ? arith::AndIOp::create(b, code.loc, all, ok).getResult() : ok;
  }
  return all;
}

Value GlobalCode::elementsLeft(int64_t reg, int64_t width) {
  unsigned d = place.dims.size() - 1;
  int64_t axis = place.dims[d];
  if (place.inBounds ||
      (place.bounds.empty() && isConstantIntValue(place.offsets[axis], 0) &&
       tile.layout.shape()[d] <= place.type.getDimSize(axis)))
    return {};
  OpBuilder &b = code.b;
  Value left = arith::SubIOp::create(b, code.loc, limit(d),
                                     tile.coordinate(reg, d));
  left = arith::MaxSIOp::create(b, code.loc, left, code.i32(0));
  return arith::MinSIOp::create(b, code.loc, left, code.i32(width));
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

Value SharedCode::address(const ThreadTerm &row, int64_t rowConstant,
                          const ThreadTerm &col, int64_t colConstant) {
  OpBuilder &b = code.b;
  Location loc = code.loc;
  auto andShift = [&](const ThreadTerm &t, int64_t mask, int shift) {
    // (t & mask) >> shift; shift may be negative.
    ThreadTerm r;
    if (!t.value || (t.bits & mask) == 0)
      return r;
    r.value = t.value;
    if (t.bits & ~mask)
      r.value = arith::AndIOp::create(b, loc, r.value, code.i32(mask));
    if (shift > 0)
      r.value = arith::ShRUIOp::create(b, loc, r.value, code.i32(shift));
    else if (shift < 0)
      r.value = arith::ShLIOp::create(b, loc, r.value, code.i32(-shift));
    r.bits = shift >= 0 ? (t.bits & mask) >> shift : (t.bits & mask) << -shift;
    return r;
  };
  int64_t rowBytes = shape.back() * elementBytes;
  int64_t constant = 0;
  Value offset; // i32 bytes
  auto add = [&](Value v) {
    offset = offset ? arith::AddIOp::create(b, loc, offset, v).getResult() : v;
  };
  // Rows. Sums of disjoint bits; else the coordinate is made as a whole.
  ThreadTerm r = row;
  if (r.value && (r.bits & rowConstant)) {
    r.value = arith::XOrIOp::create(b, loc, r.value, code.i32(rowConstant));
    r.bits |= rowConstant;
    rowConstant = 0;
  }
  constant += rowConstant * rowBytes;
  if (r.value)
    add(arith::MulIOp::create(b, loc, r.value, code.i32(rowBytes)));
  // Columns: (chunk xor phase) * vectorBytes + rest, in bytes. Everything in the
  // chunk is an xor of a thread part and a constant.
  int log2Bytes = llvm::Log2_64(elementBytes);
  int64_t chunkElements = layout.vectorBytes / elementBytes;
  int64_t inside = chunkElements - 1;
  ThreadTerm within = andShift(col, inside, -log2Bytes);
  int64_t withinConstant = (colConstant & inside) * elementBytes;
  ThreadTerm chunk = andShift(col, ~inside, -log2Bytes);
  int64_t chunkConstant = (colConstant & ~inside) * elementBytes;
  if (layout.phases > 1) {
    int rpp = llvm::Log2_64(layout.rowsPerPhase);
    int vb = llvm::Log2_64(layout.vectorBytes);
    int64_t mask = (layout.phases - 1) << rpp;
    ThreadTerm phase = andShift(r, mask, rpp - vb);
    chunkConstant ^= ((rowConstant & mask) >> rpp) << vb;
    if (phase.value) {
      chunk.value = chunk.value ? arith::XOrIOp::create(b, loc, chunk.value,
                                                        phase.value)
                                      .getResult()
                                : phase.value;
      chunk.bits |= phase.bits;
    }
  }
  auto join = [&](const ThreadTerm &t, int64_t c) {
    if (!t.value) {
      constant += c;
      return;
    }
    if ((t.bits & c) == 0) {
      constant += c;
      add(t.value);
      return;
    }
    // Other bits are added, so that addresses differ in a constant offset.
    constant += c & ~t.bits;
    add(arith::XOrIOp::create(b, loc, t.value, code.i32(c & t.bits)));
  };
  join(chunk, chunkConstant);
  join(within, withinConstant);
  Value p = base;
  Type i8 = b.getI8Type();
  if (offset)
    p = LLVM::GEPOp::create(b, loc, p.getType(), i8, p, offset);
  if (constant)
    p = LLVM::GEPOp::create(
        b, loc, p.getType(), i8, p,
        LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(constant))
            .getResult());
  return p;
}
