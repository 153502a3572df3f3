//===- QuasiAffine.cpp - conjunctions over two integers -------------------===//

#include "QuasiAffine.h"

#include "mlir/IR/AffineExpr.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace heddle::detail;
using llvm::divideCeilSigned;
using llvm::divideFloorSigned;
using presburger::IntegerPolyhedron;
using presburger::IntegerRelation;
using presburger::PresburgerSpace;

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

void heddle::detail::appendRange(Ranges &ranges, Range range) {
  if (range.begin >= range.end)
    return;
  if (!ranges.empty() && ranges.back().end >= range.begin)
    ranges.back().end = std::max(ranges.back().end, range.end);
  else
    ranges.push_back(range);
}

Ranges heddle::detail::unite(const Ranges &a, const Ranges &b) {
  Ranges result;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    bool takeA = j == b.size() || (i < a.size() && a[i].begin <= b[j].begin);
    appendRange(result, takeA ? a[i++] : b[j++]);
  }
  return result;
}

Ranges heddle::detail::intersect(const Ranges &a, const Ranges &b) {
  Ranges result;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    appendRange(result, {std::max(a[i].begin, b[j].begin),
                         std::min(a[i].end, b[j].end)});
    a[i].end < b[j].end ? ++i : ++j;
  }
  return result;
}

Ranges heddle::detail::complement(const Ranges &a, int64_t begin, int64_t end) {
  Ranges result;
  for (const Range &range : a) {
    appendRange(result, {begin, std::min(range.begin, end)});
    begin = std::max(begin, range.end);
  }
  appendRange(result, {begin, end});
  return result;
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

/// Columns of x, y and the constant.
enum : unsigned { kX, kY, kOne, kFirstDivision };

static void trim(QuasiAffine::Row &row) {
  row.resize(std::max<size_t>(row.size(), kFirstDivision), 0);
  while (row.size() > kFirstDivision && row.back() == 0)
    row.pop_back();
}

unsigned QuasiAffine::addDivision(Row dividend, int64_t divisor) {
  trim(dividend);
  for (auto [index, division] : llvm::enumerate(divisions))
    if (division.divisor == divisor && division.dividend == dividend)
      return kFirstDivision + index;
  divisions.push_back({std::move(dividend), divisor});
  return kFirstDivision + divisions.size() - 1;
}

void QuasiAffine::addConstraint(Row row, bool isEquality) {
  trim(row);
  Constraint constraint{std::move(row), isEquality};
  if (!llvm::is_contained(constraints, constraint))
    constraints.push_back(std::move(constraint));
}

unsigned QuasiAffine::importDivision(const QuasiAffine &other, unsigned index,
                                     MutableArrayRef<unsigned> columns) {
  unsigned &column = columns[kFirstDivision + index];
  if (column == 0)
    column =
        addDivision(importRow(other, other.divisions[index].dividend, columns),
                    other.divisions[index].divisor);
  return column;
}

QuasiAffine::Row QuasiAffine::importRow(const QuasiAffine &other,
                                        const Row &row,
                                        MutableArrayRef<unsigned> columns) {
  Row result(row.begin(), row.begin() + kFirstDivision);
  for (unsigned c = kFirstDivision; c < row.size(); ++c) {
    if (row[c] == 0)
      continue;
    unsigned column = importDivision(other, c - kFirstDivision, columns);
    result.resize(std::max<size_t>(result.size(), column + 1), 0);
    result[column] += row[c];
  }
  return result;
}

void QuasiAffine::intersect(const QuasiAffine &other) {
  SmallVector<unsigned> columns(kFirstDivision + other.divisions.size(), 0);
  for (const Constraint &constraint : other.constraints)
    addConstraint(importRow(other, constraint.row, columns),
                  constraint.isEquality);
}

void QuasiAffine::dropUnusedDivisions() {
  QuasiAffine result;
  result.intersect(*this);
  *this = std::move(result);
}

SmallVector<QuasiAffine, 4> QuasiAffine::complement() const {
  SmallVector<QuasiAffine, 4> result;
  QuasiAffine before;
  before.divisions = divisions;
  for (const Constraint &constraint : constraints) {
    // Not row >= 0 is -row - 1 >= 0; not row = 0 is that, or row - 1 >= 0.
    for (int64_t sign : {-1, 1}) {
      if (sign == 1 && !constraint.isEquality)
        continue;
      Row row = constraint.row;
      for (int64_t &coefficient : row)
        coefficient *= sign;
      row[kOne] -= 1;
      QuasiAffine &part = result.emplace_back(before);
      part.addConstraint(std::move(row), /*isEquality=*/false);
    }
    before.addConstraint(constraint.row, constraint.isEquality);
  }
  return result;
}

int64_t QuasiAffine::getLargestDivisor() const {
  int64_t largest = 1;
  for (const Division &division : divisions)
    largest = std::max(largest, division.divisor);
  return largest;
}

bool QuasiAffine::isDifferenceSet() const {
  for (const Division &division : divisions) {
    const Row &dividend = division.dividend;
    if (dividend.size() > kFirstDivision || dividend[kX] + dividend[kY] != 1 ||
        dividend[kX] * dividend[kY] != 0)
      return false;
  }
  return llvm::all_of(constraints, [&](const Constraint &constraint) {
    // x and y weigh 1, a division by D weighs D.
    SmallVector<std::pair<int64_t, int64_t>, 2> used;
    for (auto [column, coefficient] : llvm::enumerate(constraint.row))
      if (column != kOne && coefficient != 0)
        used.emplace_back(coefficient,
                          column < kFirstDivision
                              ? 1
                              : divisions[column - kFirstDivision].divisor);
    return used.size() < 2 ||
           (used.size() == 2 &&
            static_cast<__int128>(used[0].first) * used[1].second ==
                -static_cast<__int128>(used[1].first) * used[0].second);
  });
}

/// target += factor * source; false on overflow.
static bool addScaled(QuasiAffine::Row &target, const QuasiAffine::Row &source,
                      int64_t factor) {
  target.resize(std::max(target.size(), source.size()), 0);
  for (auto [index, value] : llvm::enumerate(source)) {
    int64_t product;
    if (llvm::MulOverflow(value, factor, product) ||
        llvm::AddOverflow(target[index], product, target[index]))
      return false;
  }
  return true;
}

static std::optional<QuasiAffine::Row> flatten(AffineExpr expr,
                                               QuasiAffine &result) {
  QuasiAffine::Row row(kFirstDivision, 0);
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    row[dim.getPosition() == 0 ? kX : kY] = 1;
    return row;
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    row[kOne] = constant.getValue();
    return row;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<QuasiAffine::Row> lhs = flatten(binary.getLHS(), result);
  if (!lhs)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Add) {
    std::optional<QuasiAffine::Row> rhs = flatten(binary.getRHS(), result);
    if (!rhs || !addScaled(*lhs, *rhs, 1))
      return std::nullopt;
    return lhs;
  }
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (!constant)
    return std::nullopt;
  int64_t factor = constant.getValue();
  if (binary.getKind() == AffineExprKind::Mul) {
    if (!addScaled(row, *lhs, factor))
      return std::nullopt;
    return row;
  }
  if (factor <= 0)
    return std::nullopt;
  // ceil(e / c) = -floor(-e / c); e mod c = e - c * floor(e / c).
  bool isCeil = binary.getKind() == AffineExprKind::CeilDiv;
  bool isMod = binary.getKind() == AffineExprKind::Mod;
  if (!addScaled(row, *lhs, isCeil ? -1 : 1))
    return std::nullopt;
  unsigned column = result.addDivision(row, factor);
  QuasiAffine::Row quotient(column + 1, 0);
  quotient[column] = isCeil ? -1 : 1;
  if (!isMod)
    return quotient;
  if (!addScaled(*lhs, quotient, -factor))
    return std::nullopt;
  return lhs;
}

std::optional<QuasiAffine> QuasiAffine::fromIntegerSet(IntegerSet set) {
  QuasiAffine result;
  for (unsigned c = 0, e = set.getNumConstraints(); c < e; ++c) {
    std::optional<Row> row = flatten(set.getConstraint(c), result);
    if (!row)
      return std::nullopt;
    result.addConstraint(std::move(*row), set.isEq(c));
  }
  return result;
}

std::optional<QuasiAffine>
QuasiAffine::fromPolyhedron(const IntegerRelation &relation) {
  presburger::DivisionRepr reprs = relation.getLocalReprs();
  if (!reprs.hasAllReprs())
    return std::nullopt;
  // columnOf: the column here of a variable of the relation.
  constexpr unsigned kUnknown = ~0u;
  unsigned numVars = relation.getNumVars(), numDivs = reprs.getNumDivs();
  SmallVector<unsigned> columnOf(numVars, kUnknown);
  columnOf[0] = kX;
  columnOf[1] = kY;
  auto convert = [&](ArrayRef<llvm::DynamicAPInt> from, Row &to) {
    to.assign(kFirstDivision, 0);
    for (unsigned v = 0; v <= numVars; ++v) {
      if (from[v] == 0)
        continue;
      if (llvm::abs(from[v]) > (int64_t(1) << 60))
        return false;
      unsigned column = v == numVars ? unsigned(kOne) : columnOf[v];
      if (column == kUnknown)
        return false;
      to.resize(std::max<size_t>(to.size(), column + 1), 0);
      to[column] += static_cast<int64_t>(from[v]);
    }
    return true;
  };
  QuasiAffine result;
  Row row;
  // A division may stand before those it depends on.
  for (unsigned known = 0; known < numDivs;) {
    unsigned before = known;
    for (unsigned d = 0; d < numDivs; ++d) {
      unsigned &column = columnOf[numVars - numDivs + d];
      if (column != kUnknown || !convert(reprs.getDividend(d), row) ||
          reprs.getDenom(d) > (int64_t(1) << 60))
        continue;
      column = result.addDivision(row, static_cast<int64_t>(reprs.getDenom(d)));
      ++known;
    }
    if (known == before)
      return std::nullopt;
  }
  for (unsigned c = 0, e = relation.getNumEqualities(); c < e; ++c) {
    if (!convert(relation.getEquality(c), row))
      return std::nullopt;
    result.addConstraint(row, /*isEquality=*/true);
  }
  for (unsigned c = 0, e = relation.getNumInequalities(); c < e; ++c) {
    if (!convert(relation.getInequality(c), row))
      return std::nullopt;
    result.addConstraint(row, /*isEquality=*/false);
  }
  return result;
}

IntegerPolyhedron QuasiAffine::toPolyhedron(int64_t xEnd, int64_t yEnd) const {
  IntegerPolyhedron result(PresburgerSpace::getSetSpace(/*numDims=*/2));
  unsigned numDivs = divisions.size();
  auto convert = [](const Row &from, unsigned numDivs) {
    SmallVector<int64_t, 8> to(2 + numDivs + 1, 0);
    to[0] = from[kX];
    to[1] = from[kY];
    to.back() = from[kOne];
    for (unsigned c = kFirstDivision; c < from.size(); ++c)
      to[2 + c - kFirstDivision] = from[c];
    return to;
  };
  for (auto [index, division] : llvm::enumerate(divisions))
    result.addLocalFloorDiv(convert(division.dividend, index),
                            division.divisor);
  for (const Constraint &constraint : constraints) {
    if (constraint.isEquality)
      result.addEquality(convert(constraint.row, numDivs));
    else
      result.addInequality(convert(constraint.row, numDivs));
  }
  result.addBound(presburger::BoundType::LB, 0, 0);
  result.addBound(presburger::BoundType::UB, 0, xEnd - 1);
  result.addBound(presburger::BoundType::LB, 1, 0);
  result.addBound(presburger::BoundType::UB, 1, yEnd - 1);
  return result;
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

bool QuasiAffine::fitsIn64Bits(int64_t xEnd, int64_t yEnd) const {
  constexpr double kLimit = 1e18; // below 2^60
  SmallVector<double, 8> bound = {std::max(double(xEnd), 1.0),
                                  std::max(double(yEnd), 1.0), 1.0};
  auto boundOf = [&](const Row &row) {
    double sum = 0;
    for (auto [index, coefficient] : llvm::enumerate(row))
      sum += std::abs(double(coefficient)) * bound[index];
    return sum;
  };
  for (const Division &division : divisions) {
    double dividend = boundOf(division.dividend);
    if (dividend + double(division.divisor) > kLimit)
      return false;
    bound.push_back(dividend / double(division.divisor) + 1);
  }
  return llvm::all_of(constraints, [&](const Constraint &constraint) {
    return boundOf(constraint.row) <= kLimit;
  });
}

Range QuasiAffine::piece(int64_t x, int64_t y, int64_t yEnd,
                         MutableArrayRef<int64_t> quotients,
                         int64_t &pieceEnd) const {
  auto valueOf = [&](const Row &row) {
    int64_t value = row[kX] * x + row[kY] * y + row[kOne];
    for (unsigned c = kFirstDivision; c < row.size(); ++c)
      value += row[c] * quotients[c - kFirstDivision];
    return value;
  };
  // The quotients are constant in the piece [y, y + length).
  int64_t length = yEnd - y;
  for (auto [index, division] : llvm::enumerate(divisions)) {
    int64_t value = valueOf(division.dividend);
    int64_t quotient = divideFloorSigned(value, division.divisor);
    int64_t rest = value - quotient * division.divisor;
    quotients[index] = quotient;
    int64_t slope = division.dividend[kY];
    if (slope > 0)
      length =
          std::min(length, divideCeilSigned(division.divisor - rest, slope));
    else if (slope < 0)
      length = std::min(length, rest / -slope + 1);
  }
  pieceEnd = y + length;
  int64_t begin = 0, end = length;
  for (const Constraint &constraint : constraints) {
    int64_t value = valueOf(constraint.row), slope = constraint.row[kY];
    if (slope == 0) {
      if (constraint.isEquality ? value != 0 : value < 0)
        return {y, y};
    } else if (constraint.isEquality) {
      if (value % slope != 0)
        return {y, y};
      begin = std::max(begin, -value / slope);
      end = std::min(end, -value / slope + 1);
    } else if (slope > 0) {
      begin = std::max(begin, divideCeilSigned(-value, slope));
    } else {
      end = std::min(end, divideFloorSigned(value, -slope) + 1);
    }
    if (begin >= end)
      return {y, y};
  }
  return {y + begin, y + end};
}

void QuasiAffine::ranges(int64_t x, int64_t yBegin, int64_t yEnd,
                         Ranges &out) const {
  SmallVector<int64_t, 8> quotients(divisions.size(), 0);
  for (int64_t y = yBegin; y < yEnd;)
    appendRange(out, piece(x, y, yEnd, quotients, y));
}

std::optional<int64_t> QuasiAffine::probe(int64_t x, int64_t yBegin,
                                          int64_t yEnd, int maxPieces) const {
  SmallVector<int64_t, 8> quotients(divisions.size(), 0);
  for (int64_t y = yBegin; y < yEnd && maxPieces > 0; --maxPieces) {
    Range found = piece(x, y, yEnd, quotients, y);
    if (found.begin < found.end)
      return found.begin;
  }
  return std::nullopt;
}
