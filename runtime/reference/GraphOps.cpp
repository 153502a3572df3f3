//===- GraphOps.cpp - gather, scatter_add, random_bits --------------------===//

#include "Ops.h"
#include "Parallel.h"
#include "heddle/Reference/Philox.h"

using namespace mlir;

namespace heddle::reference {

/// The row an index names, or -1 for none.
static int64_t rowOf(int64_t index, int64_t numRows, IndexMode mode) {
  if (index >= 0 && index < numRows)
    return index;
  if (mode == IndexMode::Drop || numRows == 0)
    return -1;
  return index < 0 ? 0 : numRows - 1;
}

LogicalResult evaluateGather(GatherOp op, Operands operands, Results &results) {
  TensorValue table = operands[0].dense();
  const TensorValue &indices = operands[1];
  int64_t numRows = table.shape[0];
  Shape shape(indices.shape);
  int64_t rowSize = 1;
  for (int64_t d : ArrayRef<int64_t>(table.shape).drop_front()) {
    shape.push_back(d);
    rowSize *= d;
  }
  TensorValue output = TensorValue::uninitialized(shape, table.isInteger);
  auto copy = [&](const auto *from, auto *to) {
    for (int64_t i = 0, n = indices.numElements(); i < n; ++i) {
      int64_t row = rowOf(indices.integerAt(i), numRows, op.getMode());
      if (row < 0)
        std::fill_n(to + i * rowSize, rowSize, 0);
      else
        std::copy_n(from + row * rowSize, rowSize, to + i * rowSize);
    }
  };
  if (table.isInteger)
    copy(table.integer.get(), output.integer.get());
  else
    copy(table.real.get(), output.real.get());
  results.push_back(std::move(output));
  return success();
}

LogicalResult evaluateScatterAdd(ScatterAddOp op, Operands operands,
                                 const ReferenceOptions &options,
                                 Results &results) {
  TensorValue output = TensorValue::unique(std::move(operands[0]));
  const TensorValue &indices = operands[1], &updates = operands[2];
  int64_t numRows = output.shape[0];
  int64_t rowSize = 1;
  for (int64_t d : ArrayRef<int64_t>(output.shape).drop_front())
    rowSize *= d;
  unsigned width = output.isInteger ? integerWidth(op.getBase().getType()) : 64;
  for (int64_t i = 0, n = indices.numElements(); i < n; ++i) {
    int64_t row = rowOf(indices.integerAt(i), numRows, op.getMode());
    if (row < 0)
      continue;
    for (int64_t c = 0; c < rowSize; ++c) {
      if (!output.isInteger) {
        output.real[row * rowSize + c] += updates.realAt(i * rowSize + c);
        continue;
      }
      uint64_t sum = static_cast<uint64_t>(output.integer[row * rowSize + c]) +
                     static_cast<uint64_t>(updates.integerAt(i * rowSize + c));
      // Truth values are 0 and 1, wider integers are signed.
      output.integer[row * rowSize + c] =
          width == 64 ? static_cast<int64_t>(sum)
          : width == 1
              ? static_cast<int64_t>(sum & 1)
              : static_cast<int64_t>(sum << (64 - width)) >> (64 - width);
    }
  }
  roundForStorage(output, op.getOutput().getType(), options);
  results.push_back(std::move(output));
  return success();
}

LogicalResult evaluateRandomBits(RandomBitsOp op, Operands operands,
                                 Results &results) {
  uint64_t seed = static_cast<uint64_t>(operands[0].integerAt(0));
  uint64_t offset = static_cast<uint64_t>(operands[1].integerAt(0));
  TensorValue bits =
      TensorValue::uninitialized(shapeOf(op.getBits().getType()), true);
  std::array<uint32_t, 4> words{};
  for (int64_t i = 0, n = bits.numElements(); i < n; ++i) {
    if (i % 4 == 0) {
      uint64_t low = offset + static_cast<uint64_t>(i / 4);
      words = philox4x32(seed, low, low < offset ? 1 : 0);
    }
    bits.integer[i] = static_cast<int32_t>(words[i % 4]);
  }
  results.push_back(std::move(bits));
  return success();
}

} // namespace heddle::reference
