//===- Gemm.cpp - the matrix product that everything uses -----------------===//

#include "Gemm.h"

#include <algorithm>

namespace heddle::reference {

// One version per vector width, chosen when the program is loaded.
#if defined(__x86_64__) && defined(__clang__)
#define HEDDLE_VECTOR_CLONES                                                   \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HEDDLE_VECTOR_CLONES
#endif

constexpr int64_t kRows = 8;

/// Eight rows times one panel. The accumulators have constant extents so that
/// they live in registers.
HEDDLE_VECTOR_CLONES
static void eightRows(const double *a, int64_t lda, const double *panel,
                      int64_t k, double *c, int64_t ldc) {
  typedef double Vector __attribute__((vector_size(64)));
  Vector acc[kRows][2] = {};
  for (int64_t p = 0; p < k; ++p) {
    Vector b0, b1;
    __builtin_memcpy(&b0, panel + p * kPanel, sizeof(b0));
    __builtin_memcpy(&b1, panel + p * kPanel + 8, sizeof(b1));
    for (int64_t r = 0; r < kRows; ++r) {
      double s = a[r * lda + p];
      acc[r][0] += b0 * s;
      acc[r][1] += b1 * s;
    }
  }
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t j = 0; j < kPanel; ++j)
      c[r * ldc + j] += acc[r][j / 8][j % 8];
}

HEDDLE_VECTOR_CLONES
static void oneRow(const double *a, const double *panel, int64_t k, double *c) {
  double acc[kPanel] = {};
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < kPanel; ++j)
      acc[j] += a[p] * panel[p * kPanel + j];
  for (int64_t j = 0; j < kPanel; ++j)
    c[j] += acc[j];
}

void multiplyAccumulate(const double *a, int64_t lda, int64_t m,
                        const PackedMatrix &b, double *c, int64_t ldc) {
  for (int64_t j = 0; j < b.n; j += kPanel) {
    const double *panel = b.data.data() + j * b.k;
    int64_t i = 0;
    for (; i + kRows <= m; i += kRows)
      eightRows(a + i * lda, lda, panel, b.k, c + i * ldc + j, ldc);
    for (; i < m; ++i)
      oneRow(a + i * lda, panel, b.k, c + i * ldc + j);
  }
}

} // namespace heddle::reference
