//===- Contraction.cpp - products of two tensors as matrix products -------===//
//
// A loop is a batch, row, column or reduction loop by the operands it moves.
// Accesses only have to be linear, so convolutions are packed and multiplied
// like any matrix.
//
//===----------------------------------------------------------------------===//

#include "Gemm.h"
#include "LoopNest.h"
#include "Parallel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace heddle::reference {

bool isContractionBody(Block &block, ReferenceMode mode) {
  if (block.getNumArguments() != 3 ||
      block.getTerminator()->getNumOperands() != 1)
    return false;
  auto strip = [](Value value) {
    while (auto ext = value.getDefiningOp<arith::ExtFOp>())
      value = ext.getIn();
    return value;
  };
  auto add =
      block.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add)
    return false;
  Value out = block.getArgument(2);
  Value product = add.getLhs() == out ? add.getRhs() : add.getLhs();
  if (add.getLhs() != out && add.getRhs() != out)
    return false;
  auto mul = product.getDefiningOp<arith::MulFOp>();
  if (!mul)
    return false;
  Value a = strip(mul.getLhs()), b = strip(mul.getRhs());
  Value x = block.getArgument(0), y = block.getArgument(1);
  return (a == x && b == y) || (a == y && b == x);
}

/// Offsets of `access` over all points of `loops`, row-major.
static std::vector<int64_t> offsetsOver(ArrayRef<unsigned> loops,
                                        ArrayRef<int64_t> extents,
                                        const Access &access) {
  std::vector<int64_t> offsets{0};
  for (unsigned d : loops) {
    std::vector<int64_t> next;
    next.reserve(offsets.size() * extents[d]);
    for (int64_t base : offsets)
      for (int64_t i = 0; i < extents[d]; ++i)
        next.push_back(base + i * access.strides[d]);
    offsets = std::move(next);
  }
  return offsets;
}

namespace {
struct Roles {
  SmallVector<unsigned> batch, rows, columns, reduction;
};
} // namespace

static Roles classify(const LoopNest &nest, unsigned a, unsigned b) {
  Roles roles;
  for (unsigned d : nest.parallel) {
    bool inA = nest.accesses[a].strides[d] != 0;
    bool inB = nest.accesses[b].strides[d] != 0;
    (inA && inB ? roles.batch : inB ? roles.columns : roles.rows).push_back(d);
  }
  roles.reduction = nest.sequential;
  return roles;
}

bool runContraction(LoopNest &nest) {
  if (!nest.allLinear())
    return false;
  auto count = [&](ArrayRef<unsigned> loops) {
    int64_t n = 1;
    for (unsigned d : loops)
      n *= nest.extents[d];
    return n;
  };
  // An output that a reduction loop moves is no matrix product.
  for (unsigned d : nest.sequential)
    if (nest.accesses[2].strides[d] != 0)
      return false;
  unsigned a = 0, b = 1;
  Roles roles = classify(nest, a, b);
  if (count(roles.columns) < 8) { // the wider side becomes the columns
    std::swap(a, b);
    roles = classify(nest, a, b);
  }
  int64_t m = count(roles.rows), n = count(roles.columns),
          k = count(roles.reduction), numBatches = count(roles.batch);
  if (n < 8 || k < 2 || m * n * k * numBatches < 4096)
    return false;

  const Access &accessA = nest.accesses[a], &accessB = nest.accesses[b],
               &accessC = nest.accesses[2];
  const double *dataA = nest.operands[a].real.get();
  const double *dataB = nest.operands[b].real.get();
  double *dataC = nest.operands[2].real.get();
  auto offsets = [&](ArrayRef<unsigned> loops, const Access &access) {
    return offsetsOver(loops, nest.extents, access);
  };
  auto rowsA = offsets(roles.rows, accessA),
       rowsC = offsets(roles.rows, accessC);
  auto columnsB = offsets(roles.columns, accessB),
       columnsC = offsets(roles.columns, accessC);
  auto stepsA = offsets(roles.reduction, accessA),
       stepsB = offsets(roles.reduction, accessB);
  auto batchA = offsets(roles.batch, accessA),
       batchB = offsets(roles.batch, accessB),
       batchC = offsets(roles.batch, accessC);

  auto packB = [&](int64_t batch, PackedMatrix &packed) {
    packed.resize(k, n);
    const double *source = dataB + accessB.base + batchB[batch];
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < n; ++j)
        packed.at(p, j) = source[stepsB[p] + columnsB[j]];
  };
  constexpr int64_t rowBlock = 64;
  auto multiplyRows = [&](int64_t batch, const PackedMatrix &packed,
                          int64_t begin, int64_t end) {
    int64_t ldc = roundUpToPanel(n);
    std::vector<double> tileA(rowBlock * k), tileC(rowBlock * ldc);
    const double *sourceA = dataA + accessA.base + batchA[batch];
    double *targetC = dataC + accessC.base + batchC[batch];
    for (int64_t i0 = begin; i0 < end; i0 += rowBlock) {
      int64_t rows = std::min(rowBlock, end - i0);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t p = 0; p < k; ++p)
          tileA[i * k + p] = sourceA[rowsA[i0 + i] + stepsA[p]];
      std::fill(tileC.begin(), tileC.end(), 0.0);
      multiplyAccumulate(tileA.data(), k, rows, packed, tileC.data(), ldc);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < n; ++j)
          targetC[rowsC[i0 + i] + columnsC[j]] += tileC[i * ldc + j];
    }
  };
  if (numBatches >= nest.threads) {
    parallelFor(nest.threads, numBatches, 1, [&](int64_t begin, int64_t end) {
      PackedMatrix packed;
      for (int64_t batch = begin; batch < end; ++batch) {
        packB(batch, packed);
        multiplyRows(batch, packed, 0, m);
      }
    });
    return true;
  }
  for (int64_t batch = 0; batch < numBatches; ++batch) {
    PackedMatrix packed;
    packB(batch, packed);
    parallelFor(nest.threads, m, rowBlock, [&](int64_t begin, int64_t end) {
      multiplyRows(batch, packed, begin, end);
    });
  }
  return true;
}

} // namespace heddle::reference
