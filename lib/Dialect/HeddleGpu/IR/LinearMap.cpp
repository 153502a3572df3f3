//===- LinearMap.cpp - linear maps over GF(2) -----------------------------===//

#include "heddle/Dialect/HeddleGpu/IR/LinearMap.h"

#include "llvm/ADT/bit.h"

using namespace heddle_gpu;
using llvm::SmallVector;

namespace {
/// Gaussian elimination, one column after the other. A row is a reduced image
/// together with the input that has it; dependent columns leave a kernel
/// vector.
struct Elimination {
  struct Row {
    uint64_t image;
    uint64_t input;
  };
  SmallVector<Row> rows;
  SmallVector<uint64_t> kernel;
  uint64_t redundant = 0;

  explicit Elimination(const LinearMap &map) {
    for (unsigned i = 0; i < map.numInputs(); ++i) {
      Row row = reduce({map.getColumns()[i], uint64_t(1) << i});
      if (row.image) {
        rows.push_back(row);
        continue;
      }
      kernel.push_back(row.input);
      redundant |= uint64_t(1) << i;
    }
  }

  /// Clears the leading bits of the rows found so far, in the order in which
  /// they were found: a row is free of the leading bits of those before it.
  Row reduce(Row row) const {
    for (const Row &r : rows) {
      uint64_t lead = uint64_t(1) << llvm::countr_zero(r.image);
      if (row.image & lead) {
        row.image ^= r.image;
        row.input ^= r.input;
      }
    }
    return row;
  }
};
} // namespace

LinearMap LinearMap::identity(unsigned bits) {
  SmallVector<uint64_t> columns;
  for (unsigned i = 0; i < bits; ++i)
    columns.push_back(uint64_t(1) << i);
  return LinearMap(bits, columns);
}

uint64_t LinearMap::apply(uint64_t input) const {
  uint64_t output = 0;
  for (unsigned i = 0; i < columns.size(); ++i)
    if (input >> i & 1)
      output ^= columns[i];
  return output;
}

unsigned LinearMap::rank() const { return Elimination(*this).rows.size(); }

LinearMap LinearMap::compose(const LinearMap &inner) const {
  SmallVector<uint64_t> result;
  for (uint64_t column : inner.columns)
    result.push_back(apply(column));
  return LinearMap(outputs, result);
}

std::optional<uint64_t> LinearMap::solve(uint64_t output) const {
  Elimination::Row row = Elimination(*this).reduce({output, 0});
  if (row.image)
    return std::nullopt;
  return row.input;
}

std::optional<LinearMap> LinearMap::rightInverse() const {
  Elimination elimination(*this);
  SmallVector<uint64_t> result;
  for (unsigned i = 0; i < outputs; ++i) {
    Elimination::Row row = elimination.reduce({uint64_t(1) << i, 0});
    if (row.image)
      return std::nullopt;
    result.push_back(row.input);
  }
  return LinearMap(numInputs(), result);
}

uint64_t LinearMap::redundantInputs() const {
  return Elimination(*this).redundant;
}

SmallVector<uint64_t> LinearMap::kernel() const {
  return Elimination(*this).kernel;
}

LinearMap LinearMap::directSum(const LinearMap &low, const LinearMap &high) {
  SmallVector<uint64_t> columns(low.columns);
  for (uint64_t column : high.columns)
    columns.push_back(column << low.outputs);
  return LinearMap(low.outputs + high.outputs, columns);
}

std::optional<LinearMap> LinearMap::divide(const LinearMap &low) const {
  if (low.numInputs() > numInputs() || low.outputs > outputs)
    return std::nullopt;
  uint64_t lowMask =
      low.outputs >= 64 ? ~uint64_t(0) : (uint64_t(1) << low.outputs) - 1;
  SmallVector<uint64_t> rest;
  for (unsigned i = 0; i < numInputs(); ++i) {
    if (i < low.numInputs()) {
      if (columns[i] != low.columns[i])
        return std::nullopt;
      continue;
    }
    if (columns[i] & lowMask)
      return std::nullopt;
    rest.push_back(low.outputs >= 64 ? 0 : columns[i] >> low.outputs);
  }
  return LinearMap(outputs - low.outputs, rest);
}
