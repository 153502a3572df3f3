//===- LayoutAlgebra.cpp - layouts made from layouts ----------------------===//

#include "heddle/Dialect/HeddleGpu/IR/Layout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace heddle_gpu;
using llvm::ArrayRef;
using llvm::SmallVector;

/// Applies fn to every basis.
static Layout::Bases
mapBases(ArrayRef<Layout::Basis> bases,
         llvm::function_ref<Layout::Basis(const Layout::Basis &)> fn) {
  Layout::Bases result;
  for (const Layout::Basis &basis : bases)
    result.push_back(fn(basis));
  return result;
}

Layout Layout::transpose(ArrayRef<int64_t> permutation) const {
  auto permute = [&](const Basis &basis) {
    Basis result;
    for (int64_t d : permutation)
      result.push_back(basis[d]);
    return result;
  };
  SmallVector<int64_t, 4> repeats;
  for (int64_t d : permutation)
    repeats.push_back(repeat[d]);
  return Layout(mapBases(reg, permute), mapBases(lane, permute),
                mapBases(warp, permute), repeats);
}

Layout Layout::slice(unsigned dim) const {
  auto drop = [&](const Basis &basis) {
    Basis result(basis);
    result.erase(result.begin() + dim);
    return result;
  };
  SmallVector<int64_t, 4> repeats(repeat);
  repeats.erase(repeats.begin() + dim);
  Bases registers = mapBases(reg, drop);
  Coordinates sides = linearShape();
  sides.erase(sides.begin() + dim);
  // Registers whose basis depends on earlier ones hold copies.
  SmallVector<uint64_t> columns;
  for (const Basis &basis : registers) {
    uint64_t packed = 0;
    for (unsigned d = 0; d < sides.size(); ++d)
      packed = packed * sides[d] + basis[d];
    columns.push_back(packed);
  }
  uint64_t redundant = LinearMap(64, columns).redundantInputs();
  Bases kept;
  for (auto [i, basis] : llvm::enumerate(registers))
    if (!(redundant >> i & 1))
      kept.push_back(basis);
  return Layout(std::move(kept), mapBases(lane, drop), mapBases(warp, drop),
                repeats);
}

Layout Layout::expandDims(unsigned dim) const {
  auto insert = [&](const Basis &basis) {
    Basis result(basis);
    result.insert(result.begin() + dim, 0);
    return result;
  };
  SmallVector<int64_t, 4> repeats(repeat);
  repeats.insert(repeats.begin() + dim, 1);
  return Layout(mapBases(reg, insert), mapBases(lane, insert),
                mapBases(warp, insert), repeats);
}

static bool hasRepeats(const Layout &layout) {
  return llvm::any_of(layout.getRepeat(), [](int64_t r) { return r != 1; });
}

std::optional<Layout> Layout::product(const Layout &inner,
                                      const Layout &outer) {
  if (inner.rank() != outer.rank() || hasRepeats(inner))
    return std::nullopt;
  Coordinates sides = inner.linearShape();
  auto scale = [&](const Basis &basis) {
    Basis result(basis);
    for (unsigned d = 0; d < result.size(); ++d)
      result[d] *= sides[d];
    return result;
  };
  auto join = [&](ArrayRef<Basis> low, ArrayRef<Basis> high) {
    Bases result(low.begin(), low.end());
    llvm::append_range(result, mapBases(high, scale));
    return result;
  };
  return get(join(inner.reg, outer.reg), join(inner.lane, outer.lane),
             join(inner.warp, outer.warp), outer.repeat);
}

std::optional<Layout> Layout::divide(const Layout &inner) const {
  if (inner.rank() != rank() || hasRepeats(inner))
    return std::nullopt;
  Coordinates sides = inner.linearShape();
  auto rest = [&](ArrayRef<Basis> all,
                  ArrayRef<Basis> low) -> std::optional<Bases> {
    if (low.size() > all.size() || all.take_front(low.size()) != low)
      return std::nullopt;
    Bases result;
    for (const Basis &basis : all.drop_front(low.size())) {
      Basis scaled(basis);
      for (unsigned d = 0; d < scaled.size(); ++d) {
        if (scaled[d] % sides[d])
          return std::nullopt;
        scaled[d] /= sides[d];
      }
      result.push_back(scaled);
    }
    return result;
  };
  std::optional<Bases> r = rest(reg, inner.reg), l = rest(lane, inner.lane),
                       w = rest(warp, inner.warp);
  if (!r || !l || !w)
    return std::nullopt;
  std::optional<Layout> quotient = get(*r, *l, *w, repeat);
  // The factors may reach less than their product does.
  if (!quotient || product(inner, *quotient) != *this)
    return std::nullopt;
  return quotient;
}

std::optional<SmallVector<int64_t>>
Layout::registerMap(const Layout &to) const {
  if (shape() != to.shape() || lane != to.lane || warp != to.warp)
    return std::nullopt;
  SmallVector<int64_t> result;
  for (const Coordinates &coordinates : to.registerCoordinates()) {
    std::optional<int64_t> source = registerOf(coordinates, 0, 0);
    if (!source)
      return std::nullopt;
    result.push_back(*source);
  }
  return result;
}

bool Layout::equalUpToRegisters(const Layout &other) const {
  if (shape() != other.shape() || lane != other.lane || warp != other.warp ||
      numRegisters() != other.numRegisters())
    return false;
  SmallVector<Coordinates> mine = registerCoordinates(),
                           theirs = other.registerCoordinates();
  llvm::sort(mine);
  llvm::sort(theirs);
  return mine == theirs;
}
