//===- Fragments.cpp - layouts that instructions ask for ------------------===//

#include "heddle/Dialect/HeddleGpu/IR/Fragments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace heddle_gpu;
using llvm::ArrayRef;
using llvm::SmallVector;
using Bases = Layout::Bases;

ProductShape heddle_gpu::productShape(ProductKind kind) {
  switch (kind) {
  case ProductKind::Mma16:
    return {16, 8, 16};
  case ProductKind::MmaTf32:
    return {16, 8, 8};
  case ProductKind::Fma:
    break;
  }
  return {1, 1, 1};
}

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

/// A fragment by its bits. PTX ISA: groupID = lane >> 2 selects the row of A
/// and C and the column of B, threadID_in_group = lane & 3 the other side.
static std::pair<Bases, Bases> fragmentBases(ProductKind kind,
                                             Operand operand) {
  bool wide = kind == ProductKind::Mma16;
  Bases groups = {{1, 0}, {2, 0}, {4, 0}};
  Bases groupColumns = {{0, 1}, {0, 2}, {0, 4}};
  auto join = [](Bases low, const Bases &high) {
    llvm::append_range(low, high);
    return low;
  };
  switch (operand) {
  case Operand::C: // pairs along n, then row + 8
    return {{{0, 1}, {8, 0}}, join({{0, 2}, {0, 4}}, groups)};
  case Operand::A:
    if (wide) // pairs along k, then row + 8, then k + 8
      return {{{0, 1}, {8, 0}, {0, 8}}, join({{0, 2}, {0, 4}}, groups)};
    return {{{8, 0}, {0, 4}}, join({{0, 1}, {0, 2}}, groups)};
  case Operand::B:
    if (wide) // pairs along k, then k + 8
      return {{{1, 0}, {8, 0}}, join({{2, 0}, {4, 0}}, groupColumns)};
    return {{{4, 0}}, join({{1, 0}, {2, 0}}, groupColumns)};
  }
  return {};
}

Layout heddle_gpu::mmaFragment(ProductKind kind, Operand operand) {
  auto [reg, lane] = fragmentBases(kind, operand);
  return *Layout::get(reg, lane, {}, {1, 1});
}

std::optional<Layout> heddle_gpu::mmaOperand(ProductKind kind, Operand operand,
                                             int64_t rows, int64_t cols,
                                             int64_t warpsM, int64_t warpsN) {
  if (kind == ProductKind::Fma || !llvm::isPowerOf2_64(warpsM) ||
      !llvm::isPowerOf2_64(warpsN))
    return std::nullopt;
  ProductShape p = productShape(kind);
  int64_t rowSide = operand == Operand::B ? p.k : p.m;
  int64_t colSide = operand == Operand::A ? p.k : p.n;
  Bases warp;
  for (int64_t w = 1; w < warpsM; w *= 2)
    warp.push_back({operand == Operand::B ? 0 : rowSide * w, 0});
  for (int64_t w = 1; w < warpsN; w *= 2)
    warp.push_back({0, operand == Operand::A ? 0 : colSide * w});
  int64_t blockRows = operand == Operand::B ? rowSide : rowSide * warpsM;
  int64_t blockCols = operand == Operand::A ? colSide : colSide * warpsN;
  if (rows <= 0 || cols <= 0 || rows % blockRows || cols % blockCols)
    return std::nullopt;
  auto [reg, lane] = fragmentBases(kind, operand);
  return Layout::get(reg, lane, warp, {rows / blockRows, cols / blockCols});
}

bool heddle_gpu::accumulatorIsOperandA(const Layout &accumulator) {
  if (accumulator.rank() != 2)
    return false;
  // With warps along n a thread of the next product would need columns that
  // another warp holds; the operand then has warp bases of 0 where C has none.
  Coordinates shape = accumulator.shape();
  std::optional<Layout> operand =
      mmaOperand(ProductKind::Mma16, Operand::A, shape[0], shape[1],
                 accumulator.numWarps(), 1);
  return operand && *operand == accumulator;
}

//===----------------------------------------------------------------------===//
// fma
//===----------------------------------------------------------------------===//

/// The accumulator's layout with dimension `dim` replaced by all of k in each
/// thread.
static Layout spreadK(const Layout &accumulator, unsigned dim, int64_t k,
                      bool depthFirst) {
  Layout side = accumulator.slice(dim).expandDims(dim);
  SmallVector<int64_t, 4> repeat(side.getRepeat());
  auto bases = [](ArrayRef<Layout::Basis> b) {
    return Bases(b.begin(), b.end());
  };
  Bases reg;
  if (depthFirst)
    for (int64_t bit = 1; k % 2 == 0; k /= 2, bit *= 2) {
      reg.push_back(Layout::Basis(2, 0));
      reg.back()[dim] = bit;
    }
  llvm::append_range(reg, bases(side.getRegister()));
  repeat[dim] = k;
  return *Layout::get(reg, bases(side.getLane()), bases(side.getWarp()),
                      repeat);
}

Layout heddle_gpu::fmaOperandA(const Layout &accumulator, int64_t k,
                               bool depthFirst) {
  return spreadK(accumulator, 1, k, depthFirst);
}

Layout heddle_gpu::fmaOperandB(const Layout &accumulator, int64_t k,
                               bool depthFirst) {
  return spreadK(accumulator, 0, k, depthFirst);
}

//===----------------------------------------------------------------------===//
// Blocked
//===----------------------------------------------------------------------===//

std::optional<Layout> heddle_gpu::blockedLayout(ArrayRef<int64_t> shape,
                                                ArrayRef<int64_t> sizePerThread,
                                                ArrayRef<int64_t> lanes,
                                                ArrayRef<int64_t> warps,
                                                ArrayRef<int64_t> order) {
  unsigned rank = shape.size();
  if (sizePerThread.size() != rank || lanes.size() != rank ||
      warps.size() != rank || order.size() != rank)
    return std::nullopt;
  SmallVector<int64_t, 4> side(rank, 1);
  Bases parts[3];
  ArrayRef<int64_t> counts[3] = {sizePerThread, lanes, warps};
  for (unsigned p = 0; p < 3; ++p)
    for (int64_t d : order) {
      if (d < 0 || d >= rank || !llvm::isPowerOf2_64(counts[p][d]))
        return std::nullopt;
      for (int64_t i = 1; i < counts[p][d]; i *= 2) {
        Layout::Basis basis(rank, 0);
        // Bits beyond a short dimension replicate; registers just end.
        if (side[d] < shape[d]) {
          basis[d] = side[d];
          side[d] *= 2;
        } else if (p == 0) {
          continue;
        }
        parts[p].push_back(basis);
      }
    }
  SmallVector<int64_t, 4> repeat;
  for (unsigned d = 0; d < rank; ++d) {
    if (shape[d] <= 0 || shape[d] % side[d])
      return std::nullopt;
    repeat.push_back(shape[d] / side[d]);
  }
  return Layout::get(parts[0], parts[1], parts[2], repeat);
}

Layout heddle_gpu::coalescedLayout(ArrayRef<int64_t> shape,
                                   int64_t elementBytes, int64_t numWarps,
                                   int64_t vectorBytes) {
  unsigned rank = shape.size();
  SmallVector<int64_t, 4> left(shape.begin(), shape.end());
  SmallVector<int64_t, 4> counts[3];
  for (auto &c : counts)
    c.assign(rank, 1);
  // What divides the side is laid out along it, last dimension first; what no
  // dimension takes replicates.
  auto take = [&](unsigned part, unsigned d, int64_t most) {
    int64_t n = std::min<int64_t>(most, left[d] & -left[d]);
    counts[part][d] *= n;
    left[d] /= n;
    return most / n;
  };
  if (rank > 0)
    take(0, rank - 1, std::max<int64_t>(1, vectorBytes / elementBytes));
  int64_t rest[3] = {1, 32, numWarps};
  // Lanes take lines of 128 bytes before rows. What a row has beyond is the
  // threads' own, at offsets that fit an instruction, while there are rows.
  if (rank > 0) {
    int64_t line =
        std::max<int64_t>(1, 128 / (counts[0][rank - 1] * elementBytes));
    int64_t most = std::min(line, rest[1]);
    rest[1] = rest[1] / most * take(1, rank - 1, most);
    for (unsigned part : {1, 2}) {
      for (unsigned d = rank - 1; d-- > 0;)
        rest[part] = take(part, d, rest[part]);
      rest[part] = take(part, rank - 1, rest[part]);
    }
  }
  SmallVector<int64_t, 4> order;
  for (unsigned d = rank; d-- > 0;)
    order.push_back(d);
  Layout block = *blockedLayout(shape, counts[0], counts[1], counts[2], order);
  auto withCopies = [&](ArrayRef<Layout::Basis> bases, int64_t copies) {
    Bases result(bases.begin(), bases.end());
    for (; copies > 1; copies /= 2)
      result.push_back(Layout::Basis(rank, 0));
    return result;
  };
  return *Layout::get(withCopies(block.getRegister(), 1),
                      withCopies(block.getLane(), rest[1]),
                      withCopies(block.getWarp(), rest[2]), block.getRepeat());
}

Layout heddle_gpu::leadingPart(const Layout &operand, unsigned dim,
                               int64_t size) {
  Layout::Bases reg;
  for (const Layout::Basis &basis : operand.getRegister())
    if (basis[dim] < size)
      reg.push_back(basis);
  Layout::Bases lane(operand.getLane()), warp(operand.getWarp());
  SmallVector<int64_t, 4> repeat(operand.getRepeat());
  repeat[dim] = 1;
  int64_t side = Layout::get(reg, lane, warp, repeat)->shape()[dim];
  repeat[dim] = size / side;
  return *Layout::get(reg, lane, warp, repeat);
}
