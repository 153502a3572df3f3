//===- Gemm.h - the matrix product that everything uses ---------*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_REFERENCE_GEMM_H
#define HEDDLE_RUNTIME_REFERENCE_GEMM_H

#include <cstdint>
#include <vector>

namespace heddle::reference {

/// Columns of one packed panel.
constexpr int64_t kPanel = 16;

inline int64_t roundUpToPanel(int64_t n) {
  return (n + kPanel - 1) / kPanel * kPanel;
}

/// A K x N matrix as panels of kPanel columns, each panel K rows of kPanel
/// contiguous values; the last panel is padded with zeros.
struct PackedMatrix {
  int64_t k = 0, n = 0;
  std::vector<double> data;
  void resize(int64_t rows, int64_t columns) {
    k = rows;
    n = columns;
    data.assign(k * roundUpToPanel(n), 0.0);
  }
  int64_t offset(int64_t row, int64_t column) const {
    return (column / kPanel) * k * kPanel + row * kPanel + column % kPanel;
  }
  double &at(int64_t row, int64_t column) { return data[offset(row, column)]; }
  double at(int64_t row, int64_t column) const {
    return data[offset(row, column)];
  }
};

/// c += a b for `m` rows. `a` has rows of `lda` values, `c` rows of `ldc` >=
/// roundUpToPanel(b.n) values; c's columns beyond b.n receive zeros times a.
void multiplyAccumulate(const double *a, int64_t lda, int64_t m,
                        const PackedMatrix &b, double *c, int64_t ldc);

} // namespace heddle::reference

#endif // HEDDLE_RUNTIME_REFERENCE_GEMM_H
