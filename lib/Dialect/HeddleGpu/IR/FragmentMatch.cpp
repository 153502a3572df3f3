//===- FragmentMatch.cpp - products and ldmatrix against layouts ----------===//

#include "heddle/Dialect/HeddleGpu/IR/Fragments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace heddle_gpu;
using llvm::ArrayRef;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static const char *name(Operand operand) {
  return operand == Operand::A ? "A" : operand == Operand::B ? "B" : "C";
}

/// Whether a thread finds every fragment of the instruction in its registers:
/// lanes are those of the fragment, and each of its registers is there,
/// relative to any other.
static std::string fragmentProblem(const Layout &fragment, Operand operand,
                                   const Layout &layout) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (layout.getLane() != fragment.getLane()) {
    os << "expected the lanes of " << name(operand)
       << " to be those of the mma fragment";
    return text;
  }
  for (const Layout::Basis &basis : fragment.getRegister())
    if (!layout.registerOf(basis, 0, 0)) {
      os << "expected " << name(operand)
         << " to hold whole mma fragments in each thread, but element (";
      llvm::interleaveComma(basis, os);
      os << ") is not in the thread of element (0, 0)";
      return text;
    }
  Coordinates sides = fragment.linearShape();
  for (const Layout::Basis &basis : layout.getWarp())
    for (unsigned d = 0; d < 2; ++d)
      if (basis[d] % sides[d]) {
        os << "expected the warps of " << name(operand)
           << " to split it into whole mma fragments";
        return text;
      }
  return text;
}

/// The TF32 fragment of A or B with neighbours of the depth in one thread.
static Layout pairedFragment(Operand operand) {
  Layout::Bases rows = {{1, 0}, {2, 0}, {4, 0}},
                cols = {{0, 1}, {0, 2}, {0, 4}};
  if (operand == Operand::A)
    return *Layout::get({{0, 1}, {8, 0}},
                        {cols[1], cols[2], rows[0], rows[1], rows[2]}, {},
                        {1, 1});
  return *Layout::get({{1, 0}}, {rows[1], rows[2], cols[0], cols[1], cols[2]},
                      {}, {1, 1});
}

bool heddle_gpu::hasPairedDepth(const Layout &operandA) {
  return operandA.rank() == 2 && operandA.registerOf({0, 1}, 0, 0).has_value();
}

/// The coordinates along `dim` that the thread's registers hold.
static std::set<int64_t> held(const Layout &layout, unsigned dim, int64_t lane,
                              int64_t warp) {
  std::set<int64_t> result;
  Coordinates thread = layout.apply(0, lane, warp);
  for (const Coordinates &c : layout.registerCoordinates())
    result.insert(c[dim] ^ thread[dim]);
  return result;
}

/// Whether the thread has, for each of its elements of C, the row of A or
/// column of B, for all of k. `lane` is 0 for mma, whose lanes are fixed by
/// then.
static bool hasSide(const Layout &operand, unsigned side, const Layout &c,
                    int64_t lane, int64_t warp) {
  Coordinates thread = operand.apply(0, lane, warp);
  std::set<std::pair<int64_t, int64_t>> elements;
  for (const Coordinates &r : operand.registerCoordinates())
    elements.insert({r[side] ^ thread[side], r[1 - side] ^ thread[1 - side]});
  std::set<int64_t> needed = held(c, side, lane, warp);
  std::set<int64_t> inner = held(operand, 1 - side, lane, warp);
  for (int64_t x : needed)
    for (int64_t k : inner)
      if (!elements.count({x, k}))
        return false;
  return true;
}

/// Whether threads and warps differ in the rows (or columns) they hold by the
/// same amounts in both layouts, so that what holds for the first thread holds
/// for all.
static bool sameSide(ArrayRef<Layout::Basis> a, ArrayRef<Layout::Basis> b,
                     unsigned side) {
  return llvm::all_of(llvm::zip_equal(a, b), [&](const auto &pair) {
    return std::get<0>(pair)[side] == std::get<1>(pair)[side];
  });
}
static bool sameWarps(const Layout &operand, const Layout &c, unsigned side) {
  return sameSide(operand.getWarp(), c.getWarp(), side);
}
static bool sameThreads(const Layout &operand, const Layout &c, unsigned side) {
  return sameSide(operand.getLane(), c.getLane(), side) &&
         sameWarps(operand, c, side);
}

/// Whether all of k is in the registers of the thread (Fma) or of its warp
/// (mma, where lanes share it).
static bool hasAllOfK(const Layout &operand, unsigned kDim, bool acrossLanes) {
  std::set<int64_t> all;
  for (int64_t l = 0; l < (acrossLanes ? operand.numLanes() : 1); ++l) {
    std::set<int64_t> part = held(operand, kDim, l, 0);
    all.insert(part.begin(), part.end());
  }
  return static_cast<int64_t>(all.size()) == operand.shape()[kDim];
}

std::string heddle_gpu::productProblem(ProductKind kind, const Layout &a,
                                       const Layout &b, const Layout &c) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Coordinates sa = a.shape(), sb = b.shape(), sc = c.shape();
  if (sa.size() != 2 || sb.size() != 2 || sc.size() != 2 || sa[0] != sc[0] ||
      sa[1] != sb[0] || sb[1] != sc[1]) {
    os << "expected tiles m x k, k x n and m x n";
    return text;
  }
  if (a.numWarps() != c.numWarps() || b.numWarps() != c.numWarps() ||
      a.numLanes() != c.numLanes() || b.numLanes() != c.numLanes()) {
    os << "expected A, B and C over the same threads, got " << a.numWarps()
       << ", " << b.numWarps() << " and " << c.numWarps() << " warps";
    return text;
  }
  bool mma = kind != ProductKind::Fma;
  bool pairs = kind == ProductKind::MmaTf32 && hasPairedDepth(a);
  if (mma)
    for (auto [operand, layout] :
         {std::pair(Operand::A, &a), {Operand::B, &b}, {Operand::C, &c}}) {
      Layout fragment = operand != Operand::C && pairs
                            ? pairedFragment(operand)
                            : mmaFragment(kind, operand);
      if (std::string p = fragmentProblem(fragment, operand, *layout);
          !p.empty())
        return p;
    }
  if (!hasAllOfK(a, 1, mma) || !hasAllOfK(b, 0, mma)) {
    os << "expected all of k in each " << (mma ? "warp" : "thread")
       << " for A and B";
    return text;
  }
  // The lanes of an mma fragment are fixed by now.
  bool uniform = sameThreads(a, c, 0) && (mma || sameThreads(b, c, 1));
  bool uniformWarps = uniform && sameWarps(b, c, 1);
  for (int64_t w = 0; w < (uniformWarps ? 1 : c.numWarps()); ++w)
    for (int64_t l = 0; l < (mma || uniform ? 1 : c.numLanes()); ++l) {
      if (!hasSide(a, 0, c, l, w)) {
        os << "expected A to hold the rows of C in each thread, but warp " << w
           << " lacks some";
        return text;
      }
      // Lane 0 of B stands for one column of the fragment; with the lanes fixed
      // every other column follows, so compare columns of whole fragments.
      if (!mma && !hasSide(b, 1, c, l, w)) {
        os << "expected B to hold the columns of C in each thread, but warp "
           << w << " lacks some";
        return text;
      }
      if (mma) {
        std::set<int64_t> have = held(b, 1, 0, w);
        for (int64_t n : held(c, 1, 0, w))
          if (n % 8 == 0 && !have.count(n)) {
            os << "expected B to hold the columns of C in each warp, but warp "
               << w << " lacks column " << n;
            return text;
          }
      }
    }
  return text;
}

//===----------------------------------------------------------------------===//
// ldmatrix
//===----------------------------------------------------------------------===//

std::optional<LdmatrixMatch> heddle_gpu::matchLdmatrix(const Layout &wanted,
                                                       int64_t elementBytes,
                                                       bool transposed) {
  if (wanted.rank() != 2 || wanted.numLanes() != 32 || elementBytes > 4 ||
      !llvm::isPowerOf2_64(elementBytes))
    return std::nullopt;
  int64_t perRegister = 4 / elementBytes;
  unsigned pairBits = llvm::Log2_64(perRegister);
  Layout stored = transposed ? wanted.transpose({1, 0}) : wanted;
  // The bits of one 8 x 16-byte matrix as each form hands them out: first the
  // elements of a register, then lanes. Along the row for the plain form.
  auto matches = [&](bool trans) {
    Layout::Basis inner = trans ? Layout::Basis{1, 0} : Layout::Basis{0, 1};
    Layout::Basis outer = trans ? Layout::Basis{0, 1} : Layout::Basis{1, 0};
    auto scaled = [](Layout::Basis basis, int64_t factor) {
      for (int64_t &c : basis)
        c *= factor;
      return basis;
    };
    if (stored.getRegister().size() < pairBits)
      return false;
    for (unsigned i = 0; i < pairBits; ++i)
      if (stored.getRegister()[i] != scaled(inner, int64_t(1) << i))
        return false;
    for (unsigned i = 0; i < 2; ++i)
      if (stored.getLane()[i] != scaled(inner, perRegister << i))
        return false;
    for (unsigned i = 0; i < 3; ++i)
      if (stored.getLane()[2 + i] != scaled(outer, int64_t(1) << i))
        return false;
    // Other bits select whole matrices: they move whole rows of 16 bytes and,
    // for .trans, whole groups of 8 rows.
    int64_t rowSide = 8, colSide = 16 / elementBytes;
    auto whole = [&](ArrayRef<Layout::Basis> bases) {
      return llvm::all_of(bases, [&](const Layout::Basis &basis) {
        return basis[0] % rowSide == 0 && basis[1] % colSide == 0;
      });
    };
    return whole(stored.getRegister().drop_front(pairBits)) &&
           whole(stored.getWarp());
  };
  bool plain = matches(false);
  if (!plain && !(elementBytes == 2 && matches(true)))
    return std::nullopt;
  int64_t tiles = wanted.numRegisters() / perRegister;
  int64_t matrices = tiles % 4 == 0 ? 4 : tiles % 2 == 0 ? 2 : 1;
  return LdmatrixMatch{!plain, matrices, tiles / matrices, perRegister};
}

Coordinates heddle_gpu::ldmatrixRow(const LdmatrixMatch &match,
                                    const Layout &wanted, bool transposed,
                                    int64_t instruction, int64_t lane,
                                    int64_t warp) {
  int64_t matrix = lane / 8 % match.matrices, row = lane % 8;
  int64_t reg = (instruction * match.matrices + matrix) * match.registers;
  // The place that holds the first element of this row: in the plain form lane
  // 4 * row, in .trans the row is spread over registers and the first lanes.
  Coordinates c = match.transposed ? wanted.apply(reg + row % match.registers,
                                                  row / match.registers, warp)
                                   : wanted.apply(reg, row * 4, warp);
  if (transposed)
    std::swap(c[0], c[1]);
  return c;
}
