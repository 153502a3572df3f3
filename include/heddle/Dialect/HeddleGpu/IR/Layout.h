//===- Layout.h - which thread holds which element of a tile ----*- C++ -*-===//
//
// A distributed layout maps (register, lane, warp) to the coordinates of a
// tile:
//
//   coordinate_d = linear_d(register bits, lane, warp) + side_d * repeat_d
//
// The linear part is a map over GF(2), one basis vector (a coordinate per
// dimension) for each bit of register, lane and warp; images are xor-ed. It
// covers a tile whose sides are powers of two. Repeats lay r_d copies of that
// tile side by side along dimension d, in further registers of the same thread,
// so that tiles 80, 96, 176 or 192 wide exist.
//
// Order of registers: the bits of the linear part vary fastest, then the
// repeats, the last dimension fastest.
//
// Normal form: factors of two of the fastest repeat are register bits instead.
// Two layouts are the same function exactly if their normal forms are equal;
// every Layout is in normal form. Bases of 0 replicate: all threads or
// registers that differ in such a bit hold the same element.
//
// docs/layouts.md has the algebra in prose. Plain LLVM ADT; no MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_HEDDLEGPU_IR_LAYOUT_H
#define HEDDLE_DIALECT_HEDDLEGPU_IR_LAYOUT_H

#include "heddle/Dialect/HeddleGpu/IR/LinearMap.h"

#include "llvm/ADT/Hashing.h"

#include <string>

namespace heddle_gpu {

/// A coordinate per dimension of a tile.
using Coordinates = llvm::SmallVector<int64_t, 4>;

/// A place in the machine: register of a lane of a warp.
struct Position {
  int64_t reg = 0;
  int64_t lane = 0;
  int64_t warp = 0;
  bool operator==(const Position &o) const {
    return reg == o.reg && lane == o.lane && warp == o.warp;
  }
};

class Layout {
public:
  using Basis = llvm::SmallVector<int64_t, 4>;
  using Bases = llvm::SmallVector<Basis, 5>;

  /// A layout of a tile with repeat.size() dimensions, or none; then `problem`
  /// says which rule is broken: each basis has a coordinate in [0, 2^20] per
  /// dimension, repeats are in [1, 2^20], at most 16 register, lane and warp
  /// bits each, and the linear part reaches every coordinate of its tile.
  static std::optional<Layout> get(Bases reg, Bases lane, Bases warp,
                                   llvm::ArrayRef<int64_t> repeat,
                                   std::string *problem = nullptr);

  unsigned rank() const { return repeat.size(); }
  llvm::ArrayRef<Basis> getRegister() const { return reg; }
  llvm::ArrayRef<Basis> getLane() const { return lane; }
  llvm::ArrayRef<Basis> getWarp() const { return warp; }
  llvm::ArrayRef<int64_t> getRepeat() const { return repeat; }

  /// Sides of the linear part; powers of two.
  Coordinates linearShape() const;
  /// Sides of the tile: linear side times repeat.
  Coordinates shape() const;
  int64_t numRegisters() const;
  int64_t numLanes() const { return int64_t(1) << lane.size(); }
  int64_t numWarps() const { return int64_t(1) << warp.size(); }

  /// The coordinates that a place holds. Each index is below its count.
  Coordinates apply(int64_t reg, int64_t lane, int64_t warp) const;
  /// The coordinates of every register of lane 0 of warp 0. Those of another
  /// thread are these xor apply(0, lane, warp): lanes and warps act inside the
  /// linear tile, so that no carry occurs.
  llvm::SmallVector<Coordinates> registerCoordinates() const;
  /// Calls fn for every place, registers fastest, then lanes.
  void enumerate(
      llvm::function_ref<void(Position, llvm::ArrayRef<int64_t>)> fn) const;

  /// Whether no element is held twice. (Every layout is surjective.)
  bool isInjective() const;
  /// The one place that holds these coordinates and has 0 in every redundant
  /// bit, or none if they lie outside the tile.
  std::optional<Position> ownerOf(llvm::ArrayRef<int64_t> coordinates) const;
  /// The register in which this thread holds the coordinates, if it does.
  std::optional<int64_t> registerOf(llvm::ArrayRef<int64_t> coordinates,
                                    int64_t lane, int64_t warp) const;
  /// Masks of the bits of register, lane and warp that replicate. Exactly one
  /// place per element has 0 in all of them: the one that stores it.
  Position redundantBits() const;

  /// The linear part as a map from (register, lane, warp) bits, register
  /// lowest, to row-major positions of the linear tile.
  LinearMap toLinearMap() const;
  /// A layout with the linear part `map`, whose inputs are split as given.
  static std::optional<Layout>
  fromLinearMap(const LinearMap &map, unsigned registerBits, unsigned laneBits,
                llvm::ArrayRef<int64_t> sides, llvm::ArrayRef<int64_t> repeat);

  /// Dimension i of the result is dimension permutation[i] of this.
  Layout transpose(llvm::ArrayRef<int64_t> permutation) const;
  /// The layout without dimension `dim`: lanes and warps that it was spread
  /// over hold copies; registers that would hold copies are dropped. The layout
  /// of a reduction's result.
  Layout slice(unsigned dim) const;
  /// The layout with a dimension of size 1 inserted before `dim`.
  Layout expandDims(unsigned dim) const;

  /// The tile `outer` of tiles `inner`: bits of inner come first. inner has no
  /// repeats; none otherwise, or if ranks differ.
  static std::optional<Layout> product(const Layout &inner,
                                       const Layout &outer);
  /// The layout q with product(inner, q) equal to this, or none.
  std::optional<Layout> divide(const Layout &inner) const;

  /// For every register of `to` the register of this that holds the same
  /// element in every thread, or none if data has to leave a thread.
  std::optional<llvm::SmallVector<int64_t>> registerMap(const Layout &to) const;
  /// Whether the layouts differ in the order of registers only.
  bool equalUpToRegisters(const Layout &other) const;

  /// The longest run n such that registers [k * n, (k + 1) * n) hold
  /// consecutive elements along `dim`, starting at a multiple of the largest
  /// power of two that divides n: the vector width of loads and stores.
  int64_t contiguity(unsigned dim) const;

  bool operator==(const Layout &o) const {
    return reg == o.reg && lane == o.lane && warp == o.warp &&
           repeat == o.repeat;
  }
  bool operator!=(const Layout &o) const { return !(*this == o); }
  friend llvm::hash_code hash_value(const Layout &layout);

private:
  Layout(Bases reg, Bases lane, Bases warp, llvm::ArrayRef<int64_t> repeat)
      : reg(std::move(reg)), lane(std::move(lane)), warp(std::move(warp)),
        repeat(repeat.begin(), repeat.end()) {
    normalize();
  }
  void normalize();

  Bases reg, lane, warp;
  llvm::SmallVector<int64_t, 4> repeat;
};

} // namespace heddle_gpu

#endif // HEDDLE_DIALECT_HEDDLEGPU_IR_LAYOUT_H
