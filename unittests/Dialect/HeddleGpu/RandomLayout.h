//===- RandomLayout.h - random layouts for property tests -------*- C++ -*-===//

#ifndef HEDDLE_UNITTESTS_DIALECT_HEDDLEGPU_RANDOMLAYOUT_H
#define HEDDLE_UNITTESTS_DIALECT_HEDDLEGPU_RANDOMLAYOUT_H

#include "heddle/Dialect/HeddleGpu/IR/Layout.h"

#include <random>

namespace heddle_gpu {

/// A tile and how its threads are counted.
struct LayoutSizes {
  llvm::SmallVector<int64_t> sideBits; // log2 of the linear sides
  llvm::SmallVector<int64_t> repeat;
  unsigned laneBits = 2, warpBits = 1;
};

inline LayoutSizes randomSizes(std::mt19937 &rng, unsigned rank) {
  LayoutSizes sizes;
  static const int64_t repeats[] = {1, 1, 2, 3, 5, 6};
  for (unsigned d = 0; d < rank; ++d) {
    sizes.sideBits.push_back(rng() % 4);
    sizes.repeat.push_back(repeats[rng() % 6]);
  }
  sizes.laneBits = rng() % 4;
  sizes.warpBits = rng() % 3;
  return sizes;
}

/// Column operations on an identity, dealt out to registers, lanes and warps;
/// zero and dependent bases are among them. With `units` every basis is a power
/// of two along one dimension.
inline Layout randomLayout(std::mt19937 &rng, const LayoutSizes &sizes,
                           bool units = false) {
  unsigned rank = sizes.sideBits.size();
  Layout::Bases bases;
  for (unsigned d = 0; d < rank; ++d)
    for (int64_t b = 0; b < sizes.sideBits[d]; ++b) {
      Layout::Basis basis(rank, 0);
      basis[d] = int64_t(1) << b;
      bases.push_back(basis);
    }
  if (!units)
    for (size_t i = 0; i < bases.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (rng() % 4 == 0)
          for (unsigned d = 0; d < rank; ++d)
            bases[i][d] ^= bases[j][d];
  // Enough bits for lanes and warps, replicas beyond.
  size_t wanted = bases.size() + rng() % 2;
  wanted = std::max<size_t>(wanted, sizes.laneBits + sizes.warpBits);
  while (bases.size() < wanted) {
    Layout::Basis copy(rank, 0);
    if (!bases.empty() && !units && rng() % 2)
      copy = bases[rng() % bases.size()];
    bases.push_back(copy);
  }
  std::shuffle(bases.begin(), bases.end(), rng);
  auto cut = [&](size_t from, size_t to) {
    return Layout::Bases(bases.begin() + from, bases.begin() + to);
  };
  size_t l = sizes.laneBits, w = l + sizes.warpBits;
  return *Layout::get(cut(w, bases.size()), cut(0, l), cut(l, w), sizes.repeat);
}

} // namespace heddle_gpu

#endif // HEDDLE_UNITTESTS_DIALECT_HEDDLEGPU_RANDOMLAYOUT_H
