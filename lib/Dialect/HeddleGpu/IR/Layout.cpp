//===- Layout.cpp - which thread holds which element of a tile ------------===//

#include "heddle/Dialect/HeddleGpu/IR/Layout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <numeric>

using namespace heddle_gpu;
using llvm::ArrayRef;
using llvm::SmallVector;

static constexpr int64_t kMaxSide = int64_t(1) << 20;
static constexpr unsigned kMaxBits = 16;

/// Sides of the smallest power-of-two tile that holds every basis.
static Coordinates sidesOf(unsigned rank,
                           ArrayRef<ArrayRef<Layout::Basis>> all) {
  Coordinates sides(rank, 1);
  for (ArrayRef<Layout::Basis> bases : all)
    for (const Layout::Basis &basis : bases)
      for (unsigned d = 0; d < rank; ++d)
        sides[d] =
            std::max<int64_t>(sides[d], llvm::bit_ceil(uint64_t(basis[d]) + 1));
  return sides;
}

/// Row-major position in a tile whose sides are powers of two.
static uint64_t pack(ArrayRef<int64_t> coordinates, ArrayRef<int64_t> sides) {
  uint64_t packed = 0;
  for (unsigned d = 0; d < sides.size(); ++d)
    packed = packed * sides[d] + coordinates[d];
  return packed;
}

static Layout::Basis unpack(uint64_t packed, ArrayRef<int64_t> sides) {
  Layout::Basis result(sides.size());
  for (unsigned d = sides.size(); d-- > 0;) {
    result[d] = packed % sides[d];
    packed /= sides[d];
  }
  return result;
}

static LinearMap packAll(ArrayRef<ArrayRef<Layout::Basis>> all,
                         ArrayRef<int64_t> sides) {
  SmallVector<uint64_t> columns;
  for (ArrayRef<Layout::Basis> bases : all)
    for (const Layout::Basis &basis : bases)
      columns.push_back(pack(basis, sides));
  unsigned bits = 0;
  for (int64_t side : sides)
    bits += llvm::Log2_64(side);
  return LinearMap(bits, columns);
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

std::optional<Layout> Layout::get(Bases reg, Bases lane, Bases warp,
                                  ArrayRef<int64_t> repeat,
                                  std::string *problem) {
  unsigned rank = repeat.size();
  std::string text;
  llvm::raw_string_ostream os(text);
  unsigned bits = 0;
  int64_t registerBits = reg.size();
  auto check = [&](const char *what, ArrayRef<Basis> bases) {
    if (bases.size() > kMaxBits)
      os << "expected at most " << kMaxBits << " " << what << " bases, got "
         << bases.size();
    for (const Basis &basis : bases) {
      if (basis.size() != rank)
        os << "expected " << rank << " coordinates per basis, one for each "
           << "repeat, got " << basis.size() << " in a " << what << " basis";
      else if (llvm::any_of(basis,
                            [](int64_t c) { return c < 0 || c > kMaxSide; }))
        os << "expected coordinates from 0 to " << kMaxSide << " in a " << what
           << " basis";
      if (!text.empty())
        return;
    }
  };
  check("register", reg);
  if (text.empty())
    check("lane", lane);
  if (text.empty())
    check("warp", warp);
  for (int64_t r : repeat) {
    if (text.empty() && (r < 1 || r > kMaxSide))
      os << "expected repeats from 1 to " << kMaxSide << ", got " << r;
    registerBits += llvm::Log2_64_Ceil(std::max<int64_t>(r, 1));
  }
  if (text.empty() && registerBits > kMaxBits)
    os << "expected at most " << (1 << kMaxBits) << " registers per lane";
  if (text.empty()) {
    Coordinates sides = sidesOf(rank, {reg, lane, warp});
    for (int64_t side : sides)
      bits += llvm::Log2_64(side);
    bool covers = bits <= 3 * kMaxBits &&
                  packAll({reg, lane, warp}, sides).isSurjective();
    if (!covers) {
      os << "expected the bases to reach every element of the ";
      llvm::interleave(sides, os, "x");
      os << " tile that they span, but some are held by no thread";
    }
  }
  if (!text.empty()) {
    if (problem)
      *problem = text;
    return std::nullopt;
  }
  return Layout(std::move(reg), std::move(lane), std::move(warp), repeat);
}

void Layout::normalize() {
  Coordinates sides = linearShape();
  for (unsigned d = rank(); d-- > 0;) {
    while (repeat[d] % 2 == 0) {
      Basis basis(rank(), 0);
      basis[d] = sides[d];
      reg.push_back(basis);
      sides[d] *= 2;
      repeat[d] /= 2;
    }
    if (repeat[d] != 1)
      return;
  }
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Coordinates Layout::linearShape() const {
  return sidesOf(rank(), {reg, lane, warp});
}

Coordinates Layout::shape() const {
  Coordinates sides = linearShape();
  for (unsigned d = 0; d < rank(); ++d)
    sides[d] *= repeat[d];
  return sides;
}

int64_t Layout::numRegisters() const {
  int64_t copies = 1;
  for (int64_t r : repeat)
    copies *= r;
  return copies << reg.size();
}

static void xorBases(ArrayRef<Layout::Basis> bases, int64_t index,
                     Coordinates &result) {
  for (unsigned i = 0; i < bases.size(); ++i)
    if (index >> i & 1)
      for (unsigned d = 0; d < result.size(); ++d)
        result[d] ^= bases[i][d];
}

Coordinates Layout::apply(int64_t r, int64_t l, int64_t w) const {
  Coordinates result(rank(), 0);
  xorBases(reg, r, result);
  xorBases(lane, l, result);
  xorBases(warp, w, result);
  int64_t copy = r >> reg.size();
  if (copy == 0)
    return result;
  Coordinates sides = linearShape();
  for (unsigned d = rank(); d-- > 0;) {
    result[d] += copy % repeat[d] * sides[d];
    copy /= repeat[d];
  }
  return result;
}

SmallVector<Coordinates> Layout::registerCoordinates() const {
  SmallVector<Coordinates> result;
  for (int64_t r = 0, e = numRegisters(); r < e; ++r)
    result.push_back(apply(r, 0, 0));
  return result;
}

void Layout::enumerate(
    llvm::function_ref<void(Position, ArrayRef<int64_t>)> fn) const {
  for (int64_t w = 0; w < numWarps(); ++w)
    for (int64_t l = 0; l < numLanes(); ++l)
      for (int64_t r = 0, e = numRegisters(); r < e; ++r)
        fn({r, l, w}, apply(r, l, w));
}

LinearMap Layout::toLinearMap() const {
  return packAll({reg, lane, warp}, linearShape());
}

std::optional<Layout> Layout::fromLinearMap(const LinearMap &map,
                                            unsigned registerBits,
                                            unsigned laneBits,
                                            ArrayRef<int64_t> sides,
                                            ArrayRef<int64_t> repeat) {
  Bases parts[3];
  for (unsigned i = 0; i < map.numInputs(); ++i)
    parts[i < registerBits              ? 0
          : i < registerBits + laneBits ? 1
                                        : 2]
        .push_back(unpack(map.getColumns()[i], sides));
  return get(parts[0], parts[1], parts[2], repeat);
}

bool Layout::isInjective() const { return toLinearMap().isInjective(); }

Position Layout::redundantBits() const {
  uint64_t mask = toLinearMap().redundantInputs();
  auto field = [&](unsigned from, unsigned count) {
    return static_cast<int64_t>(mask >> from & ((uint64_t(1) << count) - 1));
  };
  return {field(0, reg.size()), field(reg.size(), lane.size()),
          field(reg.size() + lane.size(), warp.size())};
}

/// Splits coordinates into the linear tile's and the index of the copy; false
/// if they lie outside the tile.
static bool splitCopy(const Layout &layout, ArrayRef<int64_t> coordinates,
                      Coordinates &inTile, int64_t &copy) {
  if (coordinates.size() != layout.rank())
    return false;
  Coordinates sides = layout.linearShape();
  inTile.resize(sides.size());
  copy = 0;
  for (unsigned d = 0; d < sides.size(); ++d) {
    int64_t repeat = layout.getRepeat()[d];
    if (coordinates[d] < 0 || coordinates[d] >= sides[d] * repeat)
      return false;
    inTile[d] = coordinates[d] % sides[d];
    copy = copy * repeat + coordinates[d] / sides[d];
  }
  return true;
}

std::optional<Position> Layout::ownerOf(ArrayRef<int64_t> coordinates) const {
  Coordinates inTile;
  int64_t copy;
  if (!splitCopy(*this, coordinates, inTile, copy))
    return std::nullopt;
  std::optional<uint64_t> bits =
      toLinearMap().solve(pack(inTile, linearShape()));
  if (!bits)
    return std::nullopt;
  int64_t r = *bits & ((uint64_t(1) << reg.size()) - 1);
  int64_t l = *bits >> reg.size() & (numLanes() - 1);
  int64_t w = *bits >> (reg.size() + lane.size());
  return Position{(copy << reg.size()) | r, l, w};
}

std::optional<int64_t> Layout::registerOf(ArrayRef<int64_t> coordinates,
                                          int64_t l, int64_t w) const {
  Coordinates inTile;
  int64_t copy;
  if (!splitCopy(*this, coordinates, inTile, copy))
    return std::nullopt;
  xorBases(lane, l, inTile);
  xorBases(warp, w, inTile);
  Coordinates sides = linearShape();
  std::optional<uint64_t> bits =
      packAll({reg}, sides).solve(pack(inTile, sides));
  if (!bits)
    return std::nullopt;
  return (copy << reg.size()) | static_cast<int64_t>(*bits);
}

int64_t Layout::contiguity(unsigned dim) const {
  int64_t run = 1;
  unsigned used = 0;
  for (; used < reg.size(); ++used) {
    Basis unit(rank(), 0);
    unit[dim] = run;
    if (reg[used] != unit)
      break;
    run *= 2;
  }
  // Another bit that changes the low coordinates would start runs off their
  // natural alignment.
  auto overlap = [&](ArrayRef<Basis> bases) {
    int64_t all = 0;
    for (const Basis &basis : bases)
      all |= basis[dim];
    return all;
  };
  int64_t others =
      overlap(getRegister().drop_front(used)) | overlap(lane) | overlap(warp);
  if (others & (run - 1))
    run = others & -others;
  // Whole copies follow each other if no other register or dimension comes
  // between them.
  bool whole = run == linearShape()[dim] && used == reg.size();
  for (unsigned d = dim + 1; d < rank(); ++d)
    whole &= repeat[d] == 1;
  return whole ? run * repeat[dim] : run;
}

namespace heddle_gpu {
llvm::hash_code hash_value(const Layout &layout) {
  llvm::hash_code hash = llvm::hash_combine_range(layout.repeat);
  for (const Layout::Bases *bases : {&layout.reg, &layout.lane, &layout.warp}) {
    hash = llvm::hash_combine(hash, bases->size());
    for (const Layout::Basis &basis : *bases)
      hash = llvm::hash_combine(hash, llvm::hash_combine_range(basis));
  }
  return hash;
}
} // namespace heddle_gpu
