//===- Attention.cpp - softmax attention row by row -----------------------===//
//
// For a block of query rows: scores to all keys, scale, score region, bias,
// mask; then softmax and the product with the values. Nothing is rescaled and
// no more than one block of scores exists per thread.
//
//===----------------------------------------------------------------------===//

#include "AttentionPairs.h"
#include "Gemm.h"
#include "Parallel.h"

#include <limits>

using namespace mlir;

namespace heddle::reference {

namespace {
constexpr int64_t kRowBlock = 32;

class AttentionRunner {
public:
  AttentionRunner(AttentionOp op, Operands operands, ArrayRef<int64_t> rows,
                  const ReferenceOptions &options)
      : op(op), pairs(op, options), rows(rows),
        threads(workerCount(options.threads)) {
    unsigned next = 0;
    auto take = [&](Value value) -> const TensorValue * {
      return value ? &operands[next++] : nullptr;
    };
    query = take(op.getQuery());
    key = take(op.getKey());
    value = take(op.getValue());
    pairs.bias = take(op.getBias());
    pairs.querySegments = take(op.getQuerySegments());
    pairs.keySegments = take(op.getKeySegments());
    pairs.keyLengths = take(op.getKeyLengths());
    pairs.maskTensor = take(op.getMaskTensor());
    pairs.sinks = take(op.getSinks());
  }

  LogicalResult run(Capture capture, const ReferenceOptions &options,
                    TensorValue &out, TensorValue *lse);

private:
  void packHead(int64_t b, int64_t hk);
  bool runBlock(int64_t b, int64_t h, int64_t begin, int64_t end,
                TensorValue &out, TensorValue *lse) const;

  AttentionOp op;
  AttentionPairs pairs;
  ArrayRef<int64_t> rows;
  int threads;
  const TensorValue *query, *key, *value;
  // Per (batch, key head): keys transposed to (dqk, Sk), values (Sk, dv).
  std::vector<PackedMatrix> keys, values;
  std::vector<uint8_t> valuesFinite;
};
} // namespace

void AttentionRunner::packHead(int64_t b, int64_t hk) {
  int64_t sk = pairs.sk, dqk = pairs.dqk, dv = pairs.dv;
  int64_t keyHeads = pairs.keyHeads, head = b * keyHeads + hk;
  Rounding roundInputs = pairs.roundInputs;
  PackedMatrix &packedKeys = keys[head], &packedValues = values[head];
  packedKeys.resize(dqk, sk);
  packedValues.resize(sk, dv);
  bool finite = true;
  for (int64_t j = 0; j < sk; ++j) {
    int64_t k0 = pairs.offset(b, j, hk, sk, keyHeads, dqk);
    for (int64_t c = 0; c < dqk; ++c)
      packedKeys.at(c, j) = roundTo(roundInputs, key->realAt(k0 + c));
    int64_t v0 = pairs.offset(b, j, hk, sk, keyHeads, dv);
    for (int64_t c = 0; c < dv; ++c) {
      double element = roundTo(roundInputs, value->realAt(v0 + c));
      finite &= std::isfinite(element);
      packedValues.at(j, c) = element;
    }
  }
  valuesFinite[head] = finite;
}

bool AttentionRunner::runBlock(int64_t b, int64_t h, int64_t begin, int64_t end,
                               TensorValue &out, TensorValue *lse) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  int64_t heads = pairs.heads, keyHeads = pairs.keyHeads, sq = pairs.sq,
          sk = pairs.sk, dqk = pairs.dqk, dv = pairs.dv;
  int64_t head = b * keyHeads + h / (heads / keyHeads);
  int64_t numRows = end - begin, outLength = rows.size();
  int64_t lds = roundUpToPanel(sk), ldo = roundUpToPanel(dv);
  std::vector<double> q(numRows * dqk), scores(numRows * lds, 0.0),
      product(numRows * ldo, 0.0), denominators(numRows, 0.0);
  std::vector<uint8_t> visible(numRows * sk);
  std::unique_ptr<ElementFrame> frame;
  if (pairs.score)
    frame = std::make_unique<ElementFrame>(*pairs.score);

  for (int64_t r = 0; r < numRows; ++r) {
    int64_t q0 = pairs.offset(b, rows[begin + r], h, sq, heads, dqk);
    for (int64_t c = 0; c < dqk; ++c)
      q[r * dqk + c] = roundTo(pairs.roundInputs, query->realAt(q0 + c));
  }
  multiplyAccumulate(q.data(), dqk, numRows, keys[head], scores.data(), lds);

  for (int64_t r = 0; r < numRows; ++r) {
    int64_t i = rows[begin + r];
    double *s = scores.data() + r * lds;
    uint8_t *shows = visible.data() + r * sk;
    pairs.findVisible(b, h, i, shows);
    if (!pairs.finishScores(frame.get(), b, h, i, s, shows, nullptr))
      return false;
    double sink = pairs.sinks ? pairs.sinks->realAt(h) : -infinity;
    double max = sink;
    bool hasLogit = sink != -infinity;
    for (int64_t j = 0; j < sk; ++j) {
      if (!shows[j])
        continue;
      hasLogit = true;
      if (s[j] > max)
        max = s[j];
    }
    if (hasLogit && max == -infinity)
      max = 0; // every visible score is NaN
    double sum = max == -infinity ? 0.0 : std::exp(sink - max);
    for (int64_t j = 0; j < sk; ++j) {
      double p = shows[j] ? std::exp(s[j] - max) : 0.0;
      sum += p;
      s[j] = roundTo(pairs.roundP, p);
    }
    denominators[r] = sum;
    if (lse)
      lse->real[(b * heads + h) * outLength + begin + r] =
          hasLogit ? max + std::log(sum) : -infinity;
  }

  if (valuesFinite[head]) {
    multiplyAccumulate(scores.data(), lds, numRows, values[head],
                       product.data(), ldo);
  } else { // a masked value must not reach the output, not even as 0 * NaN
    const PackedMatrix &v = values[head];
    for (int64_t r = 0; r < numRows; ++r)
      for (int64_t j = 0; j < sk; ++j)
        if (visible[r * sk + j])
          for (int64_t c = 0; c < dv; ++c)
            product[r * ldo + c] += scores[r * lds + j] * v.at(j, c);
  }
  for (int64_t r = 0; r < numRows; ++r) {
    int64_t o0 = pairs.offset(b, begin + r, h, outLength, heads, dv);
    for (int64_t c = 0; c < dv; ++c) // a row without visible keys gives 0
      out.real[o0 + c] =
          denominators[r] == 0.0 ? 0.0 : product[r * ldo + c] / denominators[r];
  }
  return true;
}

LogicalResult AttentionRunner::run(Capture capture,
                                   const ReferenceOptions &options,
                                   TensorValue &out, TensorValue *lse) {
  if (!op.getScore().empty()) {
    FailureOr<ElementProgram> compiled =
        ElementProgram::compileBlock(op.getScore().front(), options, capture);
    if (failed(compiled))
      return failure();
    pairs.score = std::move(*compiled);
  }
  int64_t batch = pairs.batch, heads = pairs.heads, keyHeads = pairs.keyHeads;
  keys.resize(batch * keyHeads);
  values.resize(batch * keyHeads);
  valuesFinite.resize(batch * keyHeads);
  parallelFor(threads, batch * keyHeads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t head = begin; head < end; ++head)
      packHead(head / keyHeads, head % keyHeads);
  });
  int64_t numRows = rows.size();
  int64_t blocks = (numRows + kRowBlock - 1) / kRowBlock;
  std::atomic<bool> inside{true};
  parallelFor(threads, batch * heads * blocks, 1,
              [&](int64_t begin, int64_t end) {
                for (int64_t task = begin; task < end; ++task) {
                  int64_t block = task % blocks, bh = task / blocks;
                  int64_t first = block * kRowBlock;
                  if (!runBlock(bh / heads, bh % heads, first,
                                std::min(numRows, first + kRowBlock), out, lse))
                    inside = false;
                }
              });
  if (!inside)
    return op.emitError("expected every index of tensor.extract in the score "
                        "region inside its tensor, found one outside");
  return success();
}

LogicalResult evaluateAttention(AttentionOp op, Operands operands,
                                const SmallVector<int64_t> *rows,
                                const ReferenceOptions &options,
                                Capture capture, Results &results) {
  SmallVector<int64_t> all;
  if (!rows) {
    all = llvm::to_vector(llvm::seq<int64_t>(op.getQueryLength()));
    rows = &all;
  }
  if (op.getKeyHeads() == 0 || op.getQueryHeads() % op.getKeyHeads() != 0)
    return op.emitError("expected query heads divisible by key heads, got ")
           << op.getQueryHeads() << " and " << op.getKeyHeads();
  bool bshd = op.getLayout() == AttentionLayout::BSHD;
  int64_t n = rows->size();
  Shape outShape =
      bshd ? Shape{op.getBatch(), n, op.getQueryHeads(), op.getValueHeadDim()}
           : Shape{op.getBatch(), op.getQueryHeads(), n, op.getValueHeadDim()};
  TensorValue out = TensorValue::uninitialized(outShape, false), lse;
  if (op.getLse())
    lse = TensorValue::uninitialized({op.getBatch(), op.getQueryHeads(), n},
                                     false);
  AttentionRunner runner(op, operands, *rows, options);
  if (failed(runner.run(capture, options, out, op.getLse() ? &lse : nullptr)))
    return failure();
  roundForStorage(out, op.getOut().getType(), options);
  results.push_back(std::move(out));
  if (op.getLse())
    results.push_back(std::move(lse));
  return success();
}

} // namespace heddle::reference
