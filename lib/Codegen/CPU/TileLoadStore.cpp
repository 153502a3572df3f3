//===- TileLoadStore.cpp - between buffers in memory and tiles ------------===//

#include "TileToCpuImpl.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::cpu;

//===----------------------------------------------------------------------===//
// Folding slice, pad and transpose into one load
//===----------------------------------------------------------------------===//

void TileToCpu::notePending(tensor::ExtractSliceOp op) {
  PendingLoad load;
  auto whole = op.getSource().getDefiningOp<bufferization::ToTensorOp>();
  load.memory = scalar(whole.getBuffer());
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (auto [axis, offset] : llvm::enumerate(op.getMixedOffsets())) {
    std::optional<int64_t> constant = getConstantIntValue(offset);
    load.offsets.push_back(constant ? idx(*constant)
                                    : scalar(cast<Value>(offset)));
    if (dropped.test(axis))
      continue;
    load.axes.push_back(axis);
    OpFoldResult size = op.getMixedSizes()[axis];
    load.valid.push_back(getConstantIntValue(size)
                             ? Value()
                             : scalar(cast<Value>(size)));
  }
  pending[op.getResult()] = load;
}

void TileToCpu::notePad(tensor::PadOp op) {
  PendingLoad load = pending.lookup(op.getSource());
  TypedAttr value;
  matchPattern(op.getConstantPaddingValue(), m_Constant(&value));
  load.pad = value;
  // Axes that the slice covers in full stay unclipped; a static slice that the
  // pad enlarges is clipped at its static size.
  auto from = op.getSourceType(), to = op.getResultType();
  for (int64_t i = 0; i < from.getRank(); ++i)
    if (!load.valid[i] && from.getDimSize(i) != to.getDimSize(i))
      load.valid[i] = idx(from.getDimSize(i));
  pending[op.getResult()] = load;
}

void TileToCpu::noteTranspose(linalg::TransposeOp op) {
  PendingLoad load = pending.lookup(op.getInput());
  std::swap(load.axes[0], load.axes[1]);
  std::swap(load.valid[0], load.valid[1]);
  pending[op->getResult(0)] = load;
}

/// A load ends where something other than padding or transposition uses it.
bool TileToCpu::isLoadEnd(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return !isa<tensor::PadOp, linalg::TransposeOp>(user);
  });
}

LogicalResult TileToCpu::emitLoad(Value value) {
  const PendingLoad load = pending.lookup(value);
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.hasStaticShape())
    return emitError(value.getLoc())
           << "expected a ragged load to be padded to a static tile, got "
           << type;
  Buffer to = allocate(type, layoutOf(value));
  buffers[value] = to;
  if (to.layout == Layout::Plain)
    emitPlainLoad(load, to);
  else
    emitPanelLoad(load, to);
  return success();
}

//===----------------------------------------------------------------------===//
// Element conversions
//===----------------------------------------------------------------------===//

/// From the element type in memory to the one in scratch.
Value TileToCpu::widen(Value v, Type storage) {
  Type element = getElementTypeOrSelf(v.getType());
  if (element == storage)
    return v;
  Type to = storage;
  if (auto vec = dyn_cast<VectorType>(v.getType()))
    to = vec.clone(storage);
  if (isa<FloatType>(storage))
    return arith::ExtFOp::create(b, loc, to, v);
  return arith::ExtUIOp::create(b, loc, to, v);
}

Value TileToCpu::narrow(Value v, Type element) {
  if (getElementTypeOrSelf(v.getType()) == element)
    return v;
  Type to = element;
  if (auto vec = dyn_cast<VectorType>(v.getType()))
    to = vec.clone(element);
  if (isa<FloatType>(element))
    return arith::TruncFOp::create(b, loc, to, v);
  return arith::TruncIOp::create(b, loc, to, v);
}

static Value padVector(OpBuilder &b, Location loc, TypedAttr pad, Type element,
                       int64_t lanes) {
  auto type = VectorType::get({lanes}, element);
  Attribute value = pad ? Attribute(pad) : Attribute(b.getZeroAttr(element));
  if (auto f = dyn_cast<FloatAttr>(value)) {
    APFloat v = f.getValue();
    bool lossy;
    v.convert(cast<FloatType>(element).getFloatSemantics(),
              APFloat::rmNearestTiesToEven, &lossy);
    value = b.getFloatAttr(element, v);
  } else {
    value = b.getIntegerAttr(
        element, cast<IntegerAttr>(value).getValue().getZExtValue());
  }
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, value));
}

//===----------------------------------------------------------------------===//
// Transposition in registers
//===----------------------------------------------------------------------===//

/// Transposes n vectors of n lanes by log2(n) rounds of perfect shuffles: each
/// round interleaves vector i with vector i + n/2.
SmallVector<Value> TileToCpu::transposeVectors(ValueRange rows) {
  int64_t n = rows.size();
  SmallVector<Value> current(rows.begin(), rows.end());
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < n / 2; ++i) {
    low.append({i, n + i});
    high.append({n / 2 + i, n + n / 2 + i});
  }
  for (int64_t round = 1; round < n; round *= 2) {
    SmallVector<Value> next(n);
    for (int64_t i = 0; i < n / 2; ++i) {
      next[2 * i] = vector::ShuffleOp::create(b, loc, current[i],
                                              current[i + n / 2], low);
      next[2 * i + 1] = vector::ShuffleOp::create(b, loc, current[i],
                                                  current[i + n / 2], high);
    }
    current = std::move(next);
  }
  return current;
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

namespace {
/// The element type to load with: i1 buffers hold one byte per element.
Type memoryElement(Value memory) {
  return cast<MemRefType>(memory.getType()).getElementType();
}
} // namespace

void TileToCpu::emitPanelLoad(const PendingLoad &load, const Buffer &to) {
  Type element = memoryElement(load.memory);
  int64_t lanes = target.panelLanes, n = target.vectorLanes;
  int64_t last = cast<MemRefType>(load.memory.getType()).getRank() - 1;
  int64_t rows = to.shape.empty() ? 1 : to.shape[0];
  bool isVector = to.shape.size() < 2;
  int64_t cols = isVector ? 1 : to.shape[1];

  auto position = [&](Value row, Value col) {
    SmallVector<Value> at(load.offsets);
    if (!load.axes.empty())
      at[load.axes[0]] = add(at[load.axes[0]], row);
    if (load.axes.size() > 1)
      at[load.axes[1]] = add(at[load.axes[1]], col);
    return at;
  };

  if (to.shape.empty()) {
    Value v = memref::LoadOp::create(b, loc, load.memory, load.offsets);
    memref::StoreOp::create(b, loc, widen(v, to.storage), to.memory,
                            ValueRange{idx(0)});
    return;
  }

  // Rows lie beside each other in memory: plain vector loads.
  if (load.axes[0] == last) {
    auto type = VectorType::get({lanes}, element);
    loop(0, llvm::alignTo(rows, lanes), lanes, [&](Value row) {
      loop(0, cols, 1, [&](Value col) {
        Value v;
        bool whole = rows % lanes == 0;
        bool colClipped = load.axes.size() > 1 && load.valid[1];
        if (whole && !load.valid[0] && !colClipped) {
          v = vector::LoadOp::create(b, loc, type, load.memory,
                                     position(row, col));
        } else {
          Value count = load.valid[0] ? load.valid[0] : idx(rows);
          count = arith::SubIOp::create(b, loc, count, row);
          if (colClipped) {
            Value inside = arith::CmpIOp::create(
                b, loc, arith::CmpIPredicate::slt, col, load.valid[1]);
            count = arith::SelectOp::create(b, loc, inside, count, idx(0));
          }
          Value mask = vector::CreateMaskOp::create(
              b, loc, VectorType::get({lanes}, b.getI1Type()), count);
          v = vector::MaskedLoadOp::create(
              b, loc, type, load.memory, position(row, col), mask,
              padVector(b, loc, load.pad, element, lanes));
        }
        storePanel(widen(v, to.storage), to,
                   arith::DivUIOp::create(b, loc, row, idx(lanes)), col);
      });
    });
    return;
  }

  // Columns lie beside each other: n x n blocks are transposed in registers.
  if (!isVector && load.axes[1] == last) {
    auto type = VectorType::get({n}, element);
    auto block = [&](Value row, Value col, int64_t width) {
      SmallVector<Value> in;
      Value mask;
      if (width < n || load.valid[1]) {
        Value count = load.valid[1] ? load.valid[1] : idx(cols);
        mask = vector::CreateMaskOp::create(
            b, loc, VectorType::get({n}, b.getI1Type()),
            arith::SubIOp::create(b, loc, count, col).getResult());
      }
      Value pad = padVector(b, loc, load.pad, element, n);
      for (int64_t i = 0; i < n; ++i) {
        Value r = add(row, i);
        if (load.valid[0]) // reads of absent rows repeat the last one
          r = arith::MinSIOp::create(b, loc, r, add(load.valid[0], -1));
        Value v = mask ? vector::MaskedLoadOp::create(b, loc, type, load.memory,
                                                      position(r, col), mask,
                                                      pad)
                             .getResult()
                       : vector::LoadOp::create(b, loc, type, load.memory,
                                                position(r, col))
                             .getResult();
        in.push_back(widen(v, to.storage));
      }
      Value present;
      if (load.valid[0])
        present = vector::CreateMaskOp::create(
            b, loc, VectorType::get({n}, b.getI1Type()),
            arith::SubIOp::create(b, loc, load.valid[0], row).getResult());
      Value panel = arith::DivUIOp::create(b, loc, row, idx(lanes));
      Value lane = arith::RemUIOp::create(b, loc, row, idx(lanes));
      SmallVector<Value> out = transposeVectors(in);
      for (int64_t c = 0; c < width; ++c) {
        Value v = out[c];
        if (present)
          v = arith::SelectOp::create(
              b, loc, present, v, padVector(b, loc, load.pad, to.storage, n));
        vector::StoreOp::create(b, loc, v, to.memory,
                                ValueRange{panel, add(col, c), lane});
      }
    };
    loop(0, rows, n, [&](Value row) {
      int64_t main = cols / n * n;
      loop(0, main, n, [&](Value col) { block(row, col, n); });
      if (main < cols)
        block(row, idx(main), cols - main);
    });
    return;
  }

  // Neither: one element at a time.
  loop(0, rows, 1, [&](Value row) {
    loop(0, cols, 1, [&](Value col) {
      Value inside;
      SmallVector<Value, 2> at{row, col};
      for (auto [axis, valid] : llvm::enumerate(load.valid)) {
        if (!valid)
          continue;
        Value ok = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                         at[axis], valid);
        inside = inside ? arith::AndIOp::create(b, loc, inside, ok).getResult()
                        : ok;
        at[axis] = arith::MinSIOp::create(b, loc, at[axis], add(valid, -1));
      }
      Value v = widen(memref::LoadOp::create(b, loc, load.memory,
                                             position(at[0], at[1])),
                      to.storage);
      auto vec = VectorType::get({1}, to.storage);
      if (inside) {
        Value pad = vector::ExtractOp::create(
            b, loc, padVector(b, loc, load.pad, to.storage, 1),
            ArrayRef<int64_t>{0});
        v = arith::SelectOp::create(b, loc, inside, v, pad);
      }
      (void)vec;
      Value panel = arith::DivUIOp::create(b, loc, row, idx(lanes));
      Value lane = arith::RemUIOp::create(b, loc, row, idx(lanes));
      if (isVector)
        memref::StoreOp::create(b, loc, v, to.memory, row);
      else
        memref::StoreOp::create(b, loc, v, to.memory,
                                ValueRange{panel, col, lane});
    });
  });
}

void TileToCpu::emitPlainLoad(const PendingLoad &load, const Buffer &to) {
  Type element = memoryElement(load.memory);
  int64_t n = target.vectorLanes;
  int64_t last = cast<MemRefType>(load.memory.getType()).getRank() - 1;
  int64_t rows = to.shape[0], cols = to.shape[1];
  auto position = [&](Value row, Value col) {
    SmallVector<Value> at(load.offsets);
    at[load.axes[0]] = add(at[load.axes[0]], row);
    at[load.axes[1]] = add(at[load.axes[1]], col);
    return at;
  };
  Value rowEnd = load.valid[0] ? load.valid[0] : idx(rows);
  auto forRows = [&](Value begin, Value end, function_ref<void(Value)> body) {
    auto op = scf::ForOp::create(b, loc, begin, end, idx(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.getBody());
    body(op.getInductionVar());
  };

  if (load.axes[1] == last) {
    auto type = VectorType::get({n}, element);
    forRows(idx(0), rowEnd, [&](Value row) {
      auto piece = [&](Value col, bool masked) {
        Value v;
        if (masked) {
          Value count = load.valid[1] ? load.valid[1] : idx(cols);
          Value mask = vector::CreateMaskOp::create(
              b, loc, VectorType::get({n}, b.getI1Type()),
              arith::SubIOp::create(b, loc, count, col).getResult());
          v = vector::MaskedLoadOp::create(
              b, loc, type, load.memory, position(row, col), mask,
              padVector(b, loc, load.pad, element, n));
        } else {
          v = vector::LoadOp::create(b, loc, type, load.memory,
                                     position(row, col));
        }
        vector::StoreOp::create(b, loc, widen(v, to.storage), to.memory,
                                ValueRange{row, col});
      };
      bool masked = static_cast<bool>(load.valid[1]);
      int64_t main = masked ? llvm::alignTo(cols, n) : cols / n * n;
      loop(0, main, n, [&](Value col) { piece(col, masked); });
      if (main < cols)
        piece(idx(main), true);
    });
  } else {
    forRows(idx(0), rowEnd, [&](Value row) {
      loop(0, cols, 1, [&](Value col) {
        Value at = col, inside;
        if (load.valid[1]) {
          inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, col,
                                         load.valid[1]);
          at = arith::MinSIOp::create(b, loc, col, add(load.valid[1], -1));
        }
        Value v = widen(
            memref::LoadOp::create(b, loc, load.memory, position(row, at)),
            to.storage);
        if (inside)
          v = arith::SelectOp::create(
              b, loc, inside, v,
              vector::ExtractOp::create(
                  b, loc, padVector(b, loc, load.pad, to.storage, 1),
                  ArrayRef<int64_t>{0})
                  .getResult());
        memref::StoreOp::create(b, loc, v, to.memory, ValueRange{row, col});
      });
    });
  }
  if (!load.valid[0])
    return;
  forRows(rowEnd, idx(rows), [&](Value row) {
    loop(0, llvm::alignTo(cols, n), n, [&](Value col) {
      vector::StoreOp::create(b, loc,
                              padVector(b, loc, load.pad, to.storage, n),
                              to.memory, ValueRange{row, col});
    });
  });
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

LogicalResult TileToCpu::emitStore(TileStoreOp op) {
  Buffer from = bufferFor(op.getTile());
  Value dest = scalar(op.getDest());
  auto type = cast<MemRefType>(dest.getType());
  Type element = type.getElementType();
  int64_t lanes = target.panelLanes, n = target.vectorLanes;
  int64_t last = type.getRank() - 1;
  if (from.layout == Layout::Plain)
    return op.emitOpError("expected a row tile, got a plain one");
  if (from.isSplat()) {
    Buffer filled =
        allocate(cast<RankedTensorType>(op.getTile().getType()), from.layout);
    copyBuffer(from, filled);
    from = filled;
  }
  ArrayRef<int64_t> dims = op.getDims();
  SmallVector<Value> base;
  for (Value v : op.getOffsets())
    base.push_back(scalar(v));
  auto position = [&](Value row, Value col) {
    SmallVector<Value> at(base);
    if (!dims.empty())
      at[dims[0]] = add(at[dims[0]], row);
    if (dims.size() > 1)
      at[dims[1]] = add(at[dims[1]], col);
    return at;
  };
  /// Elements of axis `dim` that exist from position `at` on.
  auto remaining = [&](int64_t dim, Value at) -> Value {
    return arith::SubIOp::create(b, loc, idx(type.getDimSize(dim)), at);
  };
  auto write = [&](Value v, ArrayRef<Value> at, Value mask) {
    auto vec = cast<VectorType>(v.getType());
    v = narrow(v, element);
    auto memVec = vec.clone(element);
    if (op.getAccumulate()) {
      Value old =
          mask ? vector::MaskedLoadOp::create(
                     b, loc, memVec, dest, at, mask,
                     padVector(b, loc, {}, element, vec.getDimSize(0)))
                     .getResult()
               : vector::LoadOp::create(b, loc, memVec, dest, at).getResult();
      v = isa<FloatType>(element)
              ? arith::AddFOp::create(b, loc, old, v).getResult()
              : arith::AddIOp::create(b, loc, old, v).getResult();
    }
    if (mask)
      vector::MaskedStoreOp::create(b, loc, dest, at, mask, v);
    else
      vector::StoreOp::create(b, loc, v, dest, at);
  };
  int64_t rows = from.shape.empty() ? 1 : from.shape[0];
  int64_t cols = from.shape.size() > 1 ? from.shape[1] : 1;
  /// Tiles start at multiples of their size (contract T), so an axis that the
  /// size divides has no ragged tile.
  auto inBounds = [&](int64_t axis) {
    return type.getDimSize(dims[axis]) % from.shape[axis] == 0;
  };

  if (from.shape.empty()) {
    Value v = loadScalar(from, {});
    memref::StoreOp::create(b, loc, narrow(v, element), dest, base);
    return success();
  }

  if (dims[0] == last) {
    loop(0, llvm::alignTo(rows, lanes), lanes, [&](Value row) {
      loop(0, cols, 1, [&](Value col) {
        SmallVector<Value> at = position(row, col);
        if (rows % lanes == 0 && inBounds(0) &&
            (dims.size() < 2 || inBounds(1)))
          return write(loadPanel(from,
                                 arith::DivUIOp::create(b, loc, row, idx(lanes)),
                                 col),
                       at, {});
        Value count = arith::MinSIOp::create(
            b, loc, remaining(last, at[last]),
            arith::SubIOp::create(b, loc, idx(rows), row));
        if (dims.size() > 1) {
          Value inside = arith::CmpIOp::create(
              b, loc, arith::CmpIPredicate::slt, at[dims[1]],
              idx(type.getDimSize(dims[1])));
          count = arith::SelectOp::create(b, loc, inside, count, idx(0));
        }
        Value mask = vector::CreateMaskOp::create(
            b, loc, VectorType::get({lanes}, b.getI1Type()), count);
        write(loadPanel(from,
                        arith::DivUIOp::create(b, loc, row, idx(lanes)), col),
              at, mask);
      });
    });
    return success();
  }

  if (dims.size() > 1 && dims[1] == last) {
    auto vec = VectorType::get({n}, from.storage);
    auto block = [&](Value row, Value col, int64_t width) {
      Value panel = arith::DivUIOp::create(b, loc, row, idx(lanes));
      Value lane = arith::RemUIOp::create(b, loc, row, idx(lanes));
      SmallVector<Value> in;
      for (int64_t c = 0; c < n; ++c)
        in.push_back(c < width
                         ? vector::LoadOp::create(
                               b, loc, vec, from.memory,
                               ValueRange{panel, add(col, c), lane})
                               .getResult()
                         : padVector(b, loc, {}, from.storage, n));
      SmallVector<Value> out = transposeVectors(in);
      SmallVector<Value> first = position(row, col);
      Value rowsLeft = remaining(dims[0], first[dims[0]]);
      if (rows % n != 0) // the tile itself ends within a vector
        rowsLeft = arith::MinSIOp::create(
            b, loc, rowsLeft, arith::SubIOp::create(b, loc, idx(rows), row));
      Value colsLeft = arith::MinSIOp::create(
          b, loc, remaining(last, first[last]), idx(width));
      auto plain = [&]() {
        for (int64_t i = 0; i < n; ++i)
          write(out[i], position(add(row, i), col), {});
      };
      bool inside =
          width == n && rows % n == 0 && inBounds(0) && inBounds(1);
      if (inside)
        return plain();
      auto maskedRows = [&]() {
        Value none = idx(0);
        for (int64_t i = 0; i < n; ++i) {
          Value exists = arith::CmpIOp::create(
              b, loc, arith::CmpIPredicate::slt, idx(i), rowsLeft);
          Value count =
              arith::SelectOp::create(b, loc, exists, colsLeft, none);
          Value mask = vector::CreateMaskOp::create(
              b, loc, VectorType::get({n}, b.getI1Type()), count);
          write(out[i], position(add(row, i), col), mask);
        }
      };
      if (width < n)
        return maskedRows();
      auto allRows = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge,
                                           rowsLeft, idx(n));
      auto allCols = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge,
                                           colsLeft, idx(n));
      Value fast = arith::AndIOp::create(b, loc, allRows, allCols);
      auto ifOp = scf::IfOp::create(b, loc, TypeRange{}, fast, true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(ifOp.thenBlock());
      plain();
      b.setInsertionPointToStart(ifOp.elseBlock());
      maskedRows();
    };
    loop(0, rows, n, [&](Value row) {
      int64_t main = cols / n * n;
      loop(0, main, n, [&](Value col) { block(row, col, n); });
      if (main < cols)
        block(row, idx(main), cols - main);
    });
    return success();
  }

  loop(0, rows, 1, [&](Value row) {
    loop(0, cols, 1, [&](Value col) {
      SmallVector<Value> at = position(row, col);
      Value inside;
      for (int64_t d : dims) {
        Value ok = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                         at[d], idx(type.getDimSize(d)));
        inside =
            inside ? arith::AndIOp::create(b, loc, inside, ok).getResult() : ok;
      }
      auto ifOp = scf::IfOp::create(b, loc, TypeRange{}, inside, false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(ifOp.thenBlock());
      Value v = from.shape.size() > 1 ? loadScalar(from, {row, col})
                                      : loadScalar(from, {row});
      v = narrow(v, element);
      if (op.getAccumulate()) {
        Value old = memref::LoadOp::create(b, loc, dest, at);
        v = isa<FloatType>(element)
                ? arith::AddFOp::create(b, loc, old, v).getResult()
                : arith::AddIOp::create(b, loc, old, v).getResult();
      }
      memref::StoreOp::create(b, loc, v, dest, at);
    });
  });
  return success();
}
