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

  /// The same set within [0, xEnd) x [0, yEnd), with a local variable per
  /// division.
  mlir::presburger::IntegerPolyhedron toPolyhedron(int64_t xEnd,
                                                   int64_t yEnd) const;

  /// The variable floor(dividend / divisor), divisor > 0: its column.
  unsigned addDivision(Row dividend, int64_t divisor);
  /// row >= 0, or row = 0.
  void addConstraint(Row row, bool isEquality);
  /// Adds the constraints of `other`.
  void intersect(const QuasiAffine &other);
  /// Disjoint conjunctions that hold what this one does not: all constraints
  /// before one, and that one negated. A division has a value everywhere, so
  /// its bounds are no constraints here. (In the library's form they are, and
  /// once redundant ones are removed its complement loses bounds on a mod.)
  llvm::SmallVector<QuasiAffine, 4> complement() const;
  /// Drops divisions that no constraint uses.
  void dropUnusedDivisions();

  /// Whether every constraint compares two of x, y, D * (z floordiv D) with z
  /// one of x, y plus a constant, and a constant.
  bool isDifferenceSet() const;
  unsigned getNumDivisions() const { return divisions.size(); }
  /// 1 without divisions.
  int64_t getLargestDivisor() const;

  /// Whether evaluation for x in [0, xEnd), y in [0, yEnd) stays far from
  /// overflow; `ranges` needs it.
  bool fitsIn64Bits(int64_t xEnd, int64_t yEnd) const;

  /// Appends to `out` (which ends at or before yBegin) the y in
  /// [yBegin, yEnd) with (x, y) in the set. Between two steps of a division all
  /// constraints are linear in y, so each such piece costs one division per
  /// constraint.
  void ranges(int64_t x, int64_t yBegin, int64_t yEnd, Ranges &out) const;
  /// Some y in [yBegin, yEnd) with (x, y) in the set, if the first `maxPieces`
  /// pieces have one.
  std::optional<int64_t> probe(int64_t x, int64_t yBegin, int64_t yEnd,
                               int maxPieces) const;

private:
  /// The y of the piece that begins at `y`, which ends at `pieceEnd`.
  Range piece(int64_t x, int64_t y, int64_t yEnd,
              llvm::MutableArrayRef<int64_t> quotients,
              int64_t &pieceEnd) const;

  struct Division {
    Row dividend;
    int64_t divisor;
  };
  struct Constraint {
    Row row;
    bool isEquality;
    bool operator==(const Constraint &o) const {
      return isEquality == o.isEquality && row == o.row;
    }
  };
  /// Adds division `index` of `other` unless it is there, with those it needs;
  /// `columns` maps the columns of `other` to the ones here, 0 for unknown.
  unsigned importDivision(const QuasiAffine &other, unsigned index,
                          llvm::MutableArrayRef<unsigned> columns);
  Row importRow(const QuasiAffine &other, const Row &row,
                llvm::MutableArrayRef<unsigned> columns);

  llvm::SmallVector<Division, 4> divisions;
  llvm::SmallVector<Constraint, 4> constraints;
};

} // namespace heddle::detail

#endif // HEDDLE_LIB_ANALYSIS_QUASIAFFINE_H
