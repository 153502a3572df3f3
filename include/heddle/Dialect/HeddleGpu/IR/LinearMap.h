//===- LinearMap.h - linear maps over GF(2) ---------------------*- C++ -*-===//
//
// Bits in, bits out: the image of a sum (xor) is the xor of the images. Layouts
// of tiles whose sides are powers of two are such maps, and their inverses,
// compositions and factors are linear algebra. Plain LLVM ADT; no MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_HEDDLEGPU_IR_LINEARMAP_H
#define HEDDLE_DIALECT_HEDDLEGPU_IR_LINEARMAP_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace heddle_gpu {

/// A linear map over GF(2) from numInputs() bits to numOutputs() bits, at most
/// 64 each. Column i is the image of input bit i.
class LinearMap {
public:
  LinearMap(unsigned numOutputs, llvm::ArrayRef<uint64_t> columns)
      : outputs(numOutputs), columns(columns.begin(), columns.end()) {}

  static LinearMap identity(unsigned bits);

  unsigned numInputs() const { return columns.size(); }
  unsigned numOutputs() const { return outputs; }
  llvm::ArrayRef<uint64_t> getColumns() const { return columns; }

  uint64_t apply(uint64_t input) const;
  unsigned rank() const;
  bool isInjective() const { return rank() == numInputs(); }
  bool isSurjective() const { return rank() == numOutputs(); }

  /// The map x -> this(inner(x)). inner has as many outputs as this has inputs.
  LinearMap compose(const LinearMap &inner) const;

  /// An input with this image, or none. Of the inputs with that image it is the
  /// one in which every bit of redundantInputs() is 0.
  std::optional<uint64_t> solve(uint64_t output) const;

  /// A map g with this(g(y)) = y for every y, or none if this is not
  /// surjective. For an injective map it is the inverse.
  std::optional<LinearMap> rightInverse() const;

  /// Input bits whose images depend on those of earlier bits: every output is
  /// reached by exactly one input in which these bits are 0.
  uint64_t redundantInputs() const;

  /// A basis of the inputs that map to 0, one vector per redundant bit.
  llvm::SmallVector<uint64_t> kernel() const;

  /// Low input bits go through low, the bits above through high; likewise the
  /// outputs.
  static LinearMap directSum(const LinearMap &low, const LinearMap &high);

  /// The map h with directSum(low, h) equal to this, or none.
  std::optional<LinearMap> divide(const LinearMap &low) const;

  bool operator==(const LinearMap &other) const {
    return outputs == other.outputs && columns == other.columns;
  }

private:
  unsigned outputs;
  llvm::SmallVector<uint64_t> columns;
};

} // namespace heddle_gpu

#endif // HEDDLE_DIALECT_HEDDLEGPU_IR_LINEARMAP_H
