//===- Attention.cpp - softmax attention row by row -----------------------===//
//
// For a block of query rows: scores to all keys, scale, score region, bias,
// mask; then softmax and the product with the values. Nothing is rescaled and
// no more than one block of scores exists per thread.
//
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "Gemm.h"
#include "Ops.h"
#include "Parallel.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;

namespace heddle::reference {

bool maskShows(MaskAttr mask, int64_t i, int64_t j, int64_t sq, int64_t sk) {
  if (!mask)
    return true;
  ArrayRef<int64_t> v = mask.getValues();
  switch (mask.getKind()) {
  case MaskKind::Causal:
  case MaskKind::CausalUpperLeft:
    return j <= i;
  case MaskKind::CausalLowerRight:
    return j - sk <= i - sq;
  case MaskKind::Window:
    return j >= i - v[0] && j <= i + v[1];
  case MaskKind::Prefix:
    return j < v[0];
  case MaskKind::BlockDiagonal:
    return llvm::divideFloorSigned(i, v[0]) == llvm::divideFloorSigned(j, v[0]);
  case MaskKind::AffineSet: {
    int64_t position[] = {i, j};
    for (auto [c, expr] : llvm::enumerate(mask.getSet().getConstraints())) {
      int64_t value = evaluateExpr(expr, position);
      if (mask.getSet().isEq(c) ? value != 0 : value < 0)
        return false;
    }
    return true;
  }
  case MaskKind::Union:
    for (MaskAttr term : mask.getTerms())
      if (maskShows(term, i, j, sq, sk))
        return true;
    return false;
  case MaskKind::Intersection:
    for (MaskAttr term : mask.getTerms())
      if (!maskShows(term, i, j, sq, sk))
        return false;
    return true;
  }
  return false;
}

/// The lowest finite value of a float type. A bias at or below it masks, as
/// -inf does: both are how graphs spell a mask as numbers.
static double lowestFinite(Type type) {
  type = elementTypeOf(type);
  if (type.isF16())
    return -65504.0;
  if (type.isBF16())
    return -3.3895313892515355e38;
  if (type.isF32())
    return -std::numeric_limits<float>::max();
  return std::numeric_limits<double>::lowest();
}

namespace {
constexpr int64_t kRowBlock = 32;

class AttentionRunner {
public:
  AttentionRunner(AttentionOp op, Operands operands, ArrayRef<int64_t> rows,
                  const ReferenceOptions &options)
      : op(op), rows(rows), threads(workerCount(options.threads)),
        batch(op.getBatch()), heads(op.getQueryHeads()),
        keyHeads(op.getKeyHeads()), sq(op.getQueryLength()),
        sk(op.getKeyLength()), dqk(op.getQueryHeadDim()),
        dv(op.getValueHeadDim()), scale(op.getEffectiveScale()),
        mask(op.getMaskAttr()), bshd(op.getLayout() == AttentionLayout::BSHD) {
    unsigned next = 0;
    auto take = [&](Value value) -> const TensorValue * {
      return value ? &operands[next++] : nullptr;
    };
    query = take(op.getQuery());
    key = take(op.getKey());
    value = take(op.getValue());
    bias = take(op.getBias());
    querySegments = take(op.getQuerySegments());
    keySegments = take(op.getKeySegments());
    keyLengths = take(op.getKeyLengths());
    maskTensor = take(op.getMaskTensor());
    sinks = take(op.getSinks());
    if (bias)
      biasMasksAt = lowestFinite(op.getBias().getType());
    if (options.mode == ReferenceMode::Declared) {
      Type type = elementTypeOf(op.getQuery().getType());
      if (type.isBF16())
        roundP = Rounding::BF16;
      else if (type.isF16())
        roundP = Rounding::F16;
      else if (type.isF32() && op.getPrecision() == Precision::TF32)
        roundP = roundInputs = Rounding::TF32;
    }
  }

  LogicalResult run(Capture capture, ReferenceMode mode, TensorValue &out,
                    TensorValue *lse);

private:
  /// Element offset of (b, s, h, 0) in a tensor of the op's layout.
  int64_t offset(int64_t b, int64_t s, int64_t h, int64_t length,
                 int64_t numHeads, int64_t dim) const {
    return (bshd ? (b * length + s) * numHeads + h
                 : (b * numHeads + h) * length + s) *
           dim;
  }
  /// Element of an operand of shape (B|1, H|1, Sq|1, Sk|1).
  int64_t broadcastOffset(const TensorValue &t, int64_t b, int64_t h, int64_t i,
                          int64_t j) const {
    const Shape &s = t.shape;
    return (((s[0] == 1 ? 0 : b) * s[1] + (s[1] == 1 ? 0 : h)) * s[2] +
            (s[2] == 1 ? 0 : i)) *
               s[3] +
           (s[3] == 1 ? 0 : j);
  }

  void packHead(int64_t b, int64_t hk);
  void findVisible(int64_t b, int64_t h, int64_t i, uint8_t *visible) const;
  bool applyScore(ElementFrame *frame, const ElementProgram *program, int64_t b,
                  int64_t h, int64_t i, double *scores) const;
  bool runBlock(int64_t b, int64_t h, int64_t begin, int64_t end,
                const ElementProgram *program, TensorValue &out,
                TensorValue *lse) const;

  AttentionOp op;
  ArrayRef<int64_t> rows;
  int threads;
  int64_t batch, heads, keyHeads, sq, sk, dqk, dv;
  double scale;
  MaskAttr mask;
  bool bshd;
  double biasMasksAt = 0;
  Rounding roundP = Rounding::None, roundInputs = Rounding::None;
  const TensorValue *query, *key, *value, *bias, *querySegments, *keySegments,
      *keyLengths, *maskTensor, *sinks;
  // Per (batch, key head): keys transposed to (dqk, Sk), values (Sk, dv).
  std::vector<PackedMatrix> keys, values;
  std::vector<uint8_t> valuesFinite;
};
} // namespace

void AttentionRunner::packHead(int64_t b, int64_t hk) {
  int64_t head = b * keyHeads + hk;
  PackedMatrix &packedKeys = keys[head], &packedValues = values[head];
  packedKeys.resize(dqk, sk);
  packedValues.resize(sk, dv);
  bool finite = true;
  for (int64_t j = 0; j < sk; ++j) {
    int64_t k0 = offset(b, j, hk, sk, keyHeads, dqk);
    for (int64_t c = 0; c < dqk; ++c)
      packedKeys.at(c, j) = roundTo(roundInputs, key->realAt(k0 + c));
    int64_t v0 = offset(b, j, hk, sk, keyHeads, dv);
    for (int64_t c = 0; c < dv; ++c) {
      double element = roundTo(roundInputs, value->realAt(v0 + c));
      finite &= std::isfinite(element);
      packedValues.at(j, c) = element;
    }
  }
  valuesFinite[head] = finite;
}

void AttentionRunner::findVisible(int64_t b, int64_t h, int64_t i,
                                  uint8_t *visible) const {
  int64_t length = sk;
  if (keyLengths)
    length = std::clamp<int64_t>(keyLengths->integerAt(b), 0, sk);
  std::fill(visible + length, visible + sk, 0);
  if (!mask && !querySegments && !maskTensor) {
    std::fill(visible, visible + length, 1);
    return;
  }
  for (int64_t j = 0; j < length; ++j) {
    bool shows = maskShows(mask, i, j, sq, sk);
    if (shows && querySegments)
      shows = querySegments->integerAt(b * sq + i) ==
              keySegments->integerAt(b * sk + j);
    if (shows && maskTensor)
      shows =
          maskTensor->integerAt(broadcastOffset(*maskTensor, b, h, i, j)) != 0;
    visible[j] = shows;
  }
}

bool AttentionRunner::applyScore(ElementFrame *frame,
                                 const ElementProgram *program, int64_t b,
                                 int64_t h, int64_t i, double *scores) const {
  if (!program)
    return true;
  for (int64_t j0 = 0; j0 < sk; j0 += kVectorLength) {
    int64_t n = std::min(kVectorLength, sk - j0);
    std::copy_n(scores + j0, n, frame->real(program->inputs[0]));
    std::fill_n(frame->integer(program->inputs[1]), n, b);
    std::fill_n(frame->integer(program->inputs[2]), n, h);
    std::fill_n(frame->integer(program->inputs[3]), n, i);
    for (int64_t e = 0; e < n; ++e)
      frame->integer(program->inputs[4])[e] = j0 + e;
    if (!frame->run(n))
      return false;
    std::copy_n(frame->real(program->results[0]), n, scores + j0);
  }
  return true;
}

bool AttentionRunner::runBlock(int64_t b, int64_t h, int64_t begin, int64_t end,
                               const ElementProgram *program, TensorValue &out,
                               TensorValue *lse) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  int64_t head = b * keyHeads + h / (heads / keyHeads);
  int64_t numRows = end - begin, outLength = rows.size();
  int64_t lds = roundUpToPanel(sk), ldo = roundUpToPanel(dv);
  std::vector<double> q(numRows * dqk), scores(numRows * lds, 0.0),
      product(numRows * ldo, 0.0), denominators(numRows, 0.0);
  std::vector<uint8_t> visible(numRows * sk);
  std::unique_ptr<ElementFrame> frame;
  if (program)
    frame = std::make_unique<ElementFrame>(*program);

  for (int64_t r = 0; r < numRows; ++r) {
    int64_t q0 = offset(b, rows[begin + r], h, sq, heads, dqk);
    for (int64_t c = 0; c < dqk; ++c)
      q[r * dqk + c] = roundTo(roundInputs, query->realAt(q0 + c));
  }
  multiplyAccumulate(q.data(), dqk, numRows, keys[head], scores.data(), lds);

  for (int64_t r = 0; r < numRows; ++r) {
    int64_t i = rows[begin + r];
    double *s = scores.data() + r * lds;
    uint8_t *shows = visible.data() + r * sk;
    findVisible(b, h, i, shows);
    for (int64_t j = 0; j < sk; ++j)
      s[j] *= scale;
    if (!applyScore(frame.get(), program, b, h, i, s))
      return false;
    if (bias)
      for (int64_t j = 0; j < sk; ++j) {
        double addend = bias->realAt(broadcastOffset(*bias, b, h, i, j));
        if (addend <= biasMasksAt)
          shows[j] = 0;
        s[j] += addend;
      }
    double sink = sinks ? sinks->realAt(h) : -infinity;
    double max = sink;
    bool hasLogit = sink != -infinity;
    for (int64_t j = 0; j < sk; ++j) {
      if (s[j] == -infinity)
        shows[j] = 0;
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
      s[j] = roundTo(roundP, p);
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
    int64_t o0 = offset(b, begin + r, h, outLength, heads, dv);
    for (int64_t c = 0; c < dv; ++c) // a row without visible keys gives 0
      out.real[o0 + c] =
          denominators[r] == 0.0 ? 0.0 : product[r * ldo + c] / denominators[r];
  }
  return true;
}

LogicalResult AttentionRunner::run(Capture capture, ReferenceMode mode,
                                   TensorValue &out, TensorValue *lse) {
  std::optional<ElementProgram> program;
  if (!op.getScore().empty()) {
    FailureOr<ElementProgram> compiled =
        ElementProgram::compileBlock(op.getScore().front(), mode, capture);
    if (failed(compiled))
      return failure();
    program = std::move(*compiled);
  }
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
                                std::min(numRows, first + kRowBlock),
                                program ? &*program : nullptr, out, lse))
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
  if (failed(
          runner.run(capture, options.mode, out, op.getLse() ? &lse : nullptr)))
    return failure();
  if (options.mode == ReferenceMode::Declared)
    roundForStorage(out, elementTypeOf(op.getOut().getType()),
                    workerCount(options.threads));
  results.push_back(std::move(out));
  if (op.getLse())
    results.push_back(std::move(lse));
  return success();
}

} // namespace heddle::reference
