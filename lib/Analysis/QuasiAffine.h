//===- QuasiAffine.h - conjunctions over two integers -----------*- C++ -*-===//
//
// Private to the mask analysis. A quasi-affine conjunction holds constraints
// over two non-negative integers (x, y) and over floor divisions of them. It
// stands between the affine expressions of a mask, the sets of the Presburger
// library, and the evaluation of one row: given x, which runs of y satisfy it.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_ANALYSIS_QUASIAFFINE_H
#define HEDDLE_LIB_ANALYSIS_QUASIAFFINE_H

#include "mlir/Analysis/Presburger/IntegerRelation.h"
#include "mlir/IR/IntegerSet.h"

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace heddle::detail {

/// Integers [begin, end).
struct Range {
  int64_t begin, end;
  bool operator==(const Range &o) const {
    return begin == o.begin && end == o.end;
  }
};

/// Sorted, disjoint ranges; no two of them touch.
using Ranges = llvm::SmallVector<Range, 4>;

/// Appends `range`, which starts at or after the last one, to `ranges`.
void appendRange(Ranges &ranges, Range range);
/// Set operations; linear in the number of ranges.
Ranges unite(const Ranges &a, const Ranges &b);
Ranges intersect(const Ranges &a, const Ranges &b);
/// The ranges of [begin, end) that are not in `a`.
Ranges complement(const Ranges &a, int64_t begin, int64_t end);

class QuasiAffine {
public:
  /// Coefficients of x, y, 1 and then of the divisions; missing ones are 0.
  using Row = llvm::SmallVector<int64_t, 6>;

  /// Reads a set over two dimensions. Returns nullopt where an expression is
  /// not quasi-affine (a zero or negative divisor, a product of positions) or
  /// its coefficients overflow.
  static std::optional<QuasiAffine> fromIntegerSet(mlir::IntegerSet set);
  /// Reads a polyhedron over two dimensions all of whose locals are floor
  /// divisions; nullopt where one is not, or a coefficient exceeds 64 bits.
  static std::optional<QuasiAffine>
  fromPolyhedron(const mlir::presburger::IntegerRelation &relation);

  /// The same set with a local variable per division.
  mlir::presburger::IntegerPolyhedron toPolyhedron() const;

  /// The variable floor(dividend / divisor), divisor > 0: its column.
  unsigned addDivision(Row dividend, int64_t divisor);
  /// row >= 0, or row = 0.
  void addConstraint(Row row, bool isEquality);

  /// Whether evaluation for x in [0, xEnd), y in [0, yEnd) stays far from
  /// overflow; `ranges` needs it.
  bool fitsIn64Bits(int64_t xEnd, int64_t yEnd) const;

  /// Appends to `out` (which ends at or before yBegin) the y in
  /// [yBegin, yEnd) with (x, y) in the set. Between two steps of a division all
  /// constraints are linear in y, so each such piece costs one division per
  /// constraint.
  void ranges(int64_t x, int64_t yBegin, int64_t yEnd, Ranges &out) const;

private:
  struct Division {
    Row dividend;
    int64_t divisor;
  };
  struct Constraint {
    Row row;
    bool isEquality;
  };
  llvm::SmallVector<Division, 4> divisions;
  llvm::SmallVector<Constraint, 4> constraints;
};

} // namespace heddle::detail

#endif // HEDDLE_LIB_ANALYSIS_QUASIAFFINE_H
