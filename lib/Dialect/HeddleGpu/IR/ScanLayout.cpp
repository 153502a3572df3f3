//===- ScanLayout.cpp - layouts in which a scan stays in warps ------------===//

#include "heddle/Dialect/HeddleGpu/IR/ScanLayout.h"

#include "llvm/Support/MathExtras.h"

using namespace heddle_gpu;

bool heddle_gpu::isOrderedAlong(const Layout &layout, unsigned axis) {
  for (const Layout::Basis &basis : layout.getWarp())
    if (basis[axis] != 0)
      return false;
  int64_t seen = 0;
  for (llvm::ArrayRef<Layout::Basis> bases :
       {layout.getRegister(), layout.getLane()})
    for (const Layout::Basis &basis : bases) {
      int64_t position = basis[axis];
      if (position == 0)
        continue;
      if (!llvm::isPowerOf2_64(position) || (seen & position))
        return false;
      for (unsigned d = 0; d < basis.size(); ++d)
        if (d != axis && basis[d] != 0)
          return false;
      seen |= position;
    }
  return true;
}

std::optional<Layout> heddle_gpu::orderedAlong(const Layout &layout,
                                               unsigned axis) {
  Coordinates sides = layout.linearShape();
  Layout::Bases others, along;
  for (unsigned d = 0; d < layout.rank(); ++d)
    for (int64_t c = 1; c < sides[d]; c *= 2) {
      Layout::Basis basis(layout.rank(), 0);
      basis[d] = c;
      (d == axis ? along : others).push_back(basis);
    }
  Layout::Basis copy(layout.rank(), 0);
  Layout::Bases lane, warp;
  auto take = [&](Layout::Bases &from, Layout::Bases &to) {
    to.push_back(from.empty() ? copy : from.back());
    if (!from.empty())
      from.pop_back();
  };
  while (warp.size() < layout.getWarp().size())
    take(others, warp);
  while (lane.size() < layout.getLane().size())
    take(others.empty() ? along : others, lane);
  Layout::Bases reg(along);
  reg.append(others.begin(), others.end());
  return Layout::get(reg, lane, warp, layout.getRepeat());
}
