//===- LoopsIndexed.cpp - loops of elements by position and by index ------===//

#include "LoopsBuilder.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

//===----------------------------------------------------------------------===//
// Elements by position
//===----------------------------------------------------------------------===//

LogicalResult LoopsBuilder::generate(tensor::GenerateOp generate) {
  auto type = cast<RankedTensorType>(generate.getType());
  openGrid(type.getShape(), type.getNumElements());
  bool failedBody = false;
  overBox(Box::whole(type.getShape()), [&](Positions position) {
    FailureOr<SmallVector<Value>> value =
        emitScalarBody(b, generate.getBody().front(), position, {});
    failedBody |= failed(value);
    if (succeeded(value))
      storeScalar(b, loc, value->front(), destinationOf(generate), position);
  });
  return failure(failedBody);
}

/// Elements of the source, and around them what the body says.
LogicalResult LoopsBuilder::pad(tensor::PadOp pad) {
  RankedTensorType type = pad.getResultType(), sourceType = pad.getSourceType();
  SmallVector<int64_t> low;
  for (OpFoldResult l : pad.getMixedLowPad()) {
    std::optional<int64_t> constant = getConstantIntValue(l);
    if (!constant)
      return pad.emitOpError("expected constant padding widths");
    low.push_back(*constant);
  }
  Value source = bufferOf(pad.getSource());
  if (!source && !splatElement(b, loc, pad.getSource()))
    return pad.emitOpError("expected operands in memory or constant");
  openGrid(type.getShape(), type.getNumElements());
  bool failedBody = false;
  overBox(Box::whole(type.getShape()), [&](Positions position) {
    SmallVector<Value> inSource;
    Value inside = arith::ConstantIntOp::create(b, loc, 1, 1);
    for (auto [d, p] : llvm::enumerate(position)) {
      inSource.push_back(arith::SubIOp::create(b, loc, p, index(low[d])));
      // Below the source the difference is negative: large as unsigned.
      Value in = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                       inSource.back(),
                                       index(sourceType.getDimSize(d)));
      inside = arith::AndIOp::create(b, loc, inside, in);
    }
    auto choice = scf::IfOp::create(
        b, loc, inside,
        [&](OpBuilder &then, Location) {
          Value v = source ? loadScalar(then, loc, source, inSource)
                           : splatElement(then, loc, pad.getSource());
          scf::YieldOp::create(then, loc, v);
        },
        [&](OpBuilder &otherwise, Location) {
          FailureOr<SmallVector<Value>> value =
              emitScalarBody(otherwise, pad.getRegion().front(), position, {});
          failedBody |= failed(value);
          if (failed(value))
            value = SmallVector<Value>{computeConstant(
                otherwise, loc,
                otherwise.getZeroAttr(computeType(type.getElementType())))};
          scf::YieldOp::create(otherwise, loc, *value);
        });
    storeScalar(b, loc, choice.getResult(0), destinationOf(pad), position);
  });
  return failure(failedBody);
}

//===----------------------------------------------------------------------===//
// Rows by index
//===----------------------------------------------------------------------===//

/// Shape of the rows of a table.
static SmallVector<int64_t> rowShape(Value table) {
  return SmallVector<int64_t>(
      cast<RankedTensorType>(table.getType()).getShape().drop_front());
}

std::pair<Value, Value> LoopsBuilder::rowAt(Value indices, Positions position,
                                            int64_t numRows, IndexMode mode) {
  Value i = element(indices, position);
  if (i.getType().isIndex())
    i = arith::IndexCastOp::create(b, loc, b.getI64Type(), i);
  else if (i.getType().isInteger(1)) // 0 and 1
    i = arith::ExtUIOp::create(b, loc, b.getI64Type(), i);
  else if (!i.getType().isInteger(64))
    i = arith::ExtSIOp::create(b, loc, b.getI64Type(), i);
  auto constant = [&](int64_t v) -> Value {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(v));
  };
  Value there;
  if (mode == IndexMode::Drop)
    there = compare(arith::CmpIPredicate::ult, i, constant(numRows));
  i = arith::MaxSIOp::create(b, loc, i, constant(0));
  i = arith::MinSIOp::create(b, loc, i, constant(numRows - 1));
  return {arith::IndexCastOp::create(b, loc, b.getIndexType(), i), there};
}

LogicalResult LoopsBuilder::gather(GatherOp gather) {
  Value table = gather.getTable(), indices = gather.getIndices();
  Value dest = destinationOf(gather.getOutput());
  auto type = cast<RankedTensorType>(gather.getOutput().getType());
  int64_t numRows = cast<RankedTensorType>(table.getType()).getDimSize(0);
  unsigned leading = cast<RankedTensorType>(indices.getType()).getRank();
  if (!isReadable(table) || !isReadable(indices))
    return gather.emitOpError("expected operands in memory or constant");
  Type compute = computeType(type.getElementType());
  openGrid(type.getShape(), type.getNumElements());
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(compute));
  overBox(
      Box::whole(type.getShape()), leading,
      [&](Positions position) -> SmallVector<Value> {
        if (numRows == 0)
          return {};
        auto [row, there] = rowAt(indices, position, numRows, gather.getMode());
        return {row, there};
      },
      [&](Positions position, ValueRange row) {
        if (row.empty())
          return storeScalar(b, loc, zero, dest, position);
        SmallVector<Value> from{row[0]};
        llvm::append_range(from, position.drop_front(leading));
        Value v = element(table, from);
        if (row[1])
          v = arith::SelectOp::create(b, loc, row[1], v, zero);
        storeScalar(b, loc, v, dest, position);
      });
  return success();
}

/// x + y in the type they are computed with.
static Value add(OpBuilder &b, Location loc, Value x, Value y) {
  if (isa<FloatType>(x.getType()))
    return arith::AddFOp::create(b, loc, x, y);
  return arith::AddIOp::create(b, loc, x, y);
}

LogicalResult LoopsBuilder::scatterAdd(ScatterAddOp scatter) {
  if (!isReadable(scatter.getBase()) || !isReadable(scatter.getIndices()) ||
      !isReadable(scatter.getUpdates()))
    return scatter.emitOpError("expected operands in memory or constant");
  if (isGpu())
    scatterByElement(scatter);
  else
    scatterByBlock(scatter);
  return success();
}

/// A thread has a few neighbouring elements of one row and looks for its row
/// among all the indices, in order: nothing depends on which thread comes
/// first.
void LoopsBuilder::scatterByElement(ScatterAddOp scatter) {
  auto type = cast<RankedTensorType>(scatter.getOutput().getType());
  auto indexType = cast<RankedTensorType>(scatter.getIndices().getType());
  SmallVector<int64_t> shape(type.getShape());
  int64_t width = 8; // elements; the search costs as much as several additions
  if (shape.size() == 1)
    width = 1;
  while (shape.back() % width != 0)
    width /= 2;
  if (shape.size() > 1)
    shape.back() /= width;
  openGrid(shape, llvm::product_of(shape));
  overBox(Box::whole(shape), [&](Positions chunk) {
    SmallVector<SmallVector<Value>> positions;
    SmallVector<Value> start;
    for (int64_t k = 0; k < width; ++k) {
      SmallVector<Value> &position = positions.emplace_back(chunk);
      if (width > 1)
        position.back() = arith::AddIOp::create(
            b, loc, arith::MulIOp::create(b, loc, chunk.back(), index(width)),
            index(k));
      start.push_back(element(scatter.getBase(), position));
    }
    SmallVector<Value> sums =
        nest(indexType.getShape(), start, [&](Positions i, ValueRange carried) {
          auto [row, there] = rowAt(scatter.getIndices(), i, type.getDimSize(0),
                                    scatter.getMode());
          Value mine = both(
              compare(arith::CmpIPredicate::eq, row, chunk.front()), there);
          auto branch =
              scf::IfOp::create(b, loc, carried.getTypes(), mine, true);
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(branch.thenBlock());
          SmallVector<Value> next;
          for (auto [sum, position] : llvm::zip(carried, positions)) {
            SmallVector<Value> from(i);
            llvm::append_range(from, ArrayRef(position).drop_front());
            next.push_back(
                add(b, loc, sum, element(scatter.getUpdates(), from)));
          }
          scf::YieldOp::create(b, loc, next);
          b.setInsertionPointToStart(branch.elseBlock());
          scf::YieldOp::create(b, loc, carried);
          return SmallVector<Value>(branch.getResults());
        });
    for (auto [sum, position] : llvm::zip(sums, positions))
      storeScalar(b, loc, sum, destinationOf(scatter.getOutput()), position);
  });
}

/// Bytes of sums that a block keeps beside its results.
static constexpr int64_t kMaxSumBytes = 4 << 20;

/// A block has some rows and takes the updates of these, in order; sums of
/// narrow types are in a wider buffer of its own.
void LoopsBuilder::scatterByBlock(ScatterAddOp scatter) {
  auto type = cast<RankedTensorType>(scatter.getOutput().getType());
  Value dest = destinationOf(scatter.getOutput());
  auto indexType = cast<RankedTensorType>(scatter.getIndices().getType());
  Type element = type.getElementType(), wide = computeType(element);
  int64_t numRows = type.getDimSize(0);
  SmallVector<int64_t> row = rowShape(scatter.getBase());
  int64_t rowSize = llvm::product_of(row), minBlocks = 1;
  if (wide != element)
    minBlocks = llvm::divideCeil(numRows * rowSize * 4, kMaxSumBytes);
  openGrid({numRows}, type.getNumElements(), minBlocks);
  Value sums = dest, firstRow;
  if (wide != element) {
    SmallVector<int64_t> shape{chunk};
    llvm::append_range(shape, row);
    sums = memref::AllocOp::create(b, loc, MemRefType::get(shape, wide));
    firstRow = sharedAxis >= 0 ? begin : Value();
  }
  /// The place in `sums` of a position of the result.
  auto placeOf = [&](Value v, Positions inner) {
    SmallVector<Value> place{
        firstRow ? arith::SubIOp::create(b, loc, v, firstRow).getResult() : v};
    llvm::append_range(place, inner);
    return place;
  };
  Box rows = Box::whole({numRows});
  auto overRows = [&](function_ref<void(Positions)> body) {
    overBox(rows, [&](Positions v) {
      nest(row, [&](Positions inner) {
        SmallVector<Value> position(v);
        llvm::append_range(position, inner);
        body(position);
      });
    });
  };
  overRows([&](Positions position) {
    storeScalar(b, loc, this->element(scatter.getBase(), position), sums,
                placeOf(position[0], position.drop_front()));
  });
  nest(indexType.getShape(), [&](Positions i) {
    auto [v, mine] = rowAt(scatter.getIndices(), i, numRows, scatter.getMode());
    if (sharedAxis >= 0) {
      mine = both(mine, compare(arith::CmpIPredicate::sge, v, begin));
      mine = both(mine, compare(arith::CmpIPredicate::slt, v, end));
    }
    OpBuilder::InsertionGuard guard(b);
    if (mine) {
      auto branch = scf::IfOp::create(b, loc, mine, false);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    Value to = v;
    nest(row, [&](Positions inner) {
      SmallVector<Value> from(i), place = placeOf(to, inner);
      llvm::append_range(from, inner);
      Value sum = add(b, loc, loadScalar(b, loc, sums, place),
                      this->element(scatter.getUpdates(), from));
      storeScalar(b, loc, sum, sums, place);
    });
  });
  if (sums == dest)
    return;
  overRows([&](Positions position) {
    storeScalar(
        b, loc,
        loadScalar(b, loc, sums, placeOf(position[0], position.drop_front())),
        dest, position);
  });
}

//===----------------------------------------------------------------------===//
// Random bits
//===----------------------------------------------------------------------===//

/// Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2,
/// 3" (SC11): four words from a key and a counter, low halves first.
static SmallVector<Value> philox(OpBuilder &b, Location loc, Value key,
                                 Value low, Value high) {
  Type i32 = b.getI32Type();
  auto word = [&](Value v, int64_t shift) -> Value {
    if (shift)
      v = arith::ShRUIOp::create(
          b, loc, v,
          arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(shift)));
    return arith::TruncIOp::create(b, loc, i32, v);
  };
  auto constant = [&](uint32_t v) -> Value {
    return arith::ConstantOp::create(
        b, loc, b.getI32IntegerAttr(static_cast<int32_t>(v)));
  };
  auto exclusiveOr = [&](Value x, Value y) -> Value {
    return arith::XOrIOp::create(b, loc, x, y);
  };
  SmallVector<Value> c{word(low, 0), word(low, 32), word(high, 0),
                       word(high, 32)};
  Value k0 = word(key, 0), k1 = word(key, 32);
  for (int round = 0; round < 10; ++round) {
    auto p0 =
        arith::MulUIExtendedOp::create(b, loc, constant(0xD2511F53), c[0]);
    auto p1 =
        arith::MulUIExtendedOp::create(b, loc, constant(0xCD9E8D57), c[2]);
    c = {exclusiveOr(exclusiveOr(p1.getHigh(), c[1]), k0), p1.getLow(),
         exclusiveOr(exclusiveOr(p0.getHigh(), c[3]), k1), p0.getLow()};
    k0 = arith::AddIOp::create(b, loc, k0, constant(0x9E3779B9));
    k1 = arith::AddIOp::create(b, loc, k1, constant(0xBB67AE85));
  }
  return c;
}

LogicalResult LoopsBuilder::randomBits(RandomBitsOp random) {
  if (!isReadable(random.getSeed()) || !isReadable(random.getOffset()))
    return random.emitOpError("expected operands in memory or constant");
  auto type = cast<RankedTensorType>(random.getBits().getType());
  Value dest = destinationOf(random.getBits());
  int64_t count = type.getNumElements(), groups = llvm::divideCeil(count, 4);
  openGrid({groups}, 8 * count);
  Value seed = element(random.getSeed(), {}),
        offset = element(random.getOffset(), {});
  overBox(Box::whole({groups}), [&](Positions group) {
    Value number = arith::IndexCastOp::create(b, loc, b.getI64Type(), group[0]);
    Value low = arith::AddIOp::create(b, loc, offset, number);
    Value carry =
        arith::ExtUIOp::create(b, loc, b.getI64Type(),
                               compare(arith::CmpIPredicate::ult, low, offset));
    SmallVector<Value> words = philox(b, loc, seed, low, carry);
    Value start = arith::MulIOp::create(b, loc, group[0], index(4));
    for (int64_t k = 0; k < 4; ++k) {
      Value e = arith::AddIOp::create(b, loc, start, index(k));
      OpBuilder::InsertionGuard guard(b);
      if (count % 4 > 0 && k >= count % 4) {
        auto branch = scf::IfOp::create(
            b, loc, compare(arith::CmpIPredicate::slt, e, index(count)), false);
        b.setInsertionPointToStart(branch.thenBlock());
      }
      storeScalar(b, loc, words[k], dest, positionsOf(e, type.getShape()));
    }
  });
  return success();
}
