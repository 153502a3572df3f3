//===- AttentionGrad.cpp - the gradient of attention row by row -----------===//
//
// For a block of query rows: scores and probabilities from the given lse, then
// the gradient of the scores, written from the formulas of the dialect page.
// Heads of one key head are summed by one worker, in order.
//
//===----------------------------------------------------------------------===//

#include "AttentionPairs.h"
#include "Gemm.h"
#include "Parallel.h"
#include "Support.h"

#include <limits>

using namespace mlir;

namespace heddle::reference {

namespace {
constexpr int64_t kRowBlock = 32;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Scores of a block of query rows and what follows from them. Rows of `stride`
/// elements; hidden pairs hold 0.
struct Block {
  int64_t rows, stride;
  std::vector<double> q, dOut;   // (rows, dqk), (rows, dv)
  std::vector<double> p, dS, dA; // (rows, stride)
  std::vector<uint8_t> visible;  // (rows, sk)
};

/// Keys and values of one (batch, key head).
struct Head {
  PackedMatrix keysTransposed, keys, valuesTransposed; // (d, Sk), (Sk, d)
  bool finite = true;
};

class GradRunner {
public:
  GradRunner(AttentionGradOp op, Operands operands, ArrayRef<int64_t> rows,
             const ReferenceOptions &options)
      : op(op), pairs(op, options), rows(rows),
        threads(workerCount(options.threads)), numRows(rows.size()) {
    unsigned next = 0;
    auto take = [&](Value value) -> const TensorValue * {
      return value ? &operands[next++] : nullptr;
    };
    query = take(op.getQuery());
    key = take(op.getKey());
    value = take(op.getValue());
    lse = take(op.getLse());
    dOut = take(op.getDOut());
    out = take(op.getOut());
    rowDots = take(op.getRowDots());
    dLse = take(op.getDLse());
    pairs.bias = take(op.getBias());
    pairs.querySegments = take(op.getQuerySegments());
    pairs.keySegments = take(op.getKeySegments());
    pairs.keyLengths = take(op.getKeyLengths());
    pairs.maskTensor = take(op.getMaskTensor());
    pairs.sinks = take(op.getSinks());
  }

  LogicalResult run(Capture capture, const ReferenceOptions &options,
                    Results &results);

private:
  int64_t queryOffset(int64_t b, int64_t r, int64_t h, int64_t dim) const {
    return pairs.offset(b, r, h, numRows, pairs.heads, dim);
  }
  int64_t statistic(int64_t b, int64_t h, int64_t r) const {
    return (b * pairs.heads + h) * numRows + r;
  }
  void findDots();
  Head pack(int64_t b, int64_t hk) const;
  bool computeBlock(const Head &head, int64_t b, int64_t h, int64_t begin,
                    int64_t end, Block &block) const;
  void addQuery(const Head &head, const Block &block, int64_t b, int64_t h,
                int64_t begin);
  void addKeys(const Block &block, bool finite, double *dKey, int64_t ldk,
               double *dValue, int64_t ldv) const;
  void addBias(const Block &block, int64_t b, int64_t h, int64_t begin);
  bool runHead(int64_t b, int64_t hk);
  void findSinks();

  AttentionGradOp op;
  AttentionPairs pairs;
  ArrayRef<int64_t> rows; // positions of the query rows that are there
  int threads;
  int64_t numRows;
  const TensorValue *query, *key, *value, *lse, *dOut, *out, *rowDots, *dLse;
  std::vector<double> dots; // (B, H, rows)
  TensorValue dQuery, dKey, dValue, dBias, dSinks;
};
} // namespace

void GradRunner::findDots() {
  int64_t dv = pairs.dv;
  dots.resize(pairs.batch * pairs.heads * numRows);
  for (int64_t b = 0; b < pairs.batch; ++b)
    for (int64_t h = 0; h < pairs.heads; ++h)
      for (int64_t r = 0; r < numRows; ++r) {
        int64_t at = statistic(b, h, r);
        if (rowDots) {
          dots[at] = rowDots->realAt(at);
          continue;
        }
        int64_t o0 = queryOffset(b, r, h, dv);
        double sum = 0;
        for (int64_t c = 0; c < dv; ++c)
          sum += dOut->realAt(o0 + c) * out->realAt(o0 + c);
        dots[at] = sum - (dLse ? dLse->realAt(at) : 0.0);
      }
}

Head GradRunner::pack(int64_t b, int64_t hk) const {
  int64_t sk = pairs.sk, dqk = pairs.dqk, dv = pairs.dv;
  Head head;
  head.keysTransposed.resize(dqk, sk);
  head.keys.resize(sk, dqk);
  head.valuesTransposed.resize(dv, sk);
  for (int64_t j = 0; j < sk; ++j) {
    int64_t k0 = pairs.offset(b, j, hk, sk, pairs.keyHeads, dqk);
    for (int64_t c = 0; c < dqk; ++c) {
      double element = roundTo(pairs.roundInputs, key->realAt(k0 + c));
      head.finite &= std::isfinite(element);
      head.keysTransposed.at(c, j) = head.keys.at(j, c) = element;
    }
    int64_t v0 = pairs.offset(b, j, hk, sk, pairs.keyHeads, dv);
    for (int64_t c = 0; c < dv; ++c)
      head.valuesTransposed.at(c, j) =
          roundTo(pairs.roundInputs, value->realAt(v0 + c));
  }
  return head;
}

bool GradRunner::computeBlock(const Head &head, int64_t b, int64_t h,
                              int64_t begin, int64_t end, Block &block) const {
  int64_t sk = pairs.sk, dqk = pairs.dqk, dv = pairs.dv, n = end - begin;
  block.rows = n;
  block.stride = roundUpToPanel(sk);
  block.q.assign(n * dqk, 0.0);
  block.dOut.assign(n * dv, 0.0);
  block.p.assign(n * block.stride, 0.0);
  block.dS.assign(n * block.stride, 0.0);
  block.dA.assign(n * block.stride, 0.0);
  block.visible.assign(n * sk, 0);
  std::unique_ptr<ElementFrame> frame;
  if (pairs.score)
    frame = std::make_unique<ElementFrame>(*pairs.score);
  for (int64_t r = 0; r < n; ++r) {
    int64_t q0 = queryOffset(b, begin + r, h, dqk);
    for (int64_t c = 0; c < dqk; ++c)
      block.q[r * dqk + c] = roundTo(pairs.roundInputs, query->realAt(q0 + c));
    int64_t o0 = queryOffset(b, begin + r, h, dv);
    for (int64_t c = 0; c < dv; ++c)
      block.dOut[r * dv + c] = roundTo(pairs.roundInputs, dOut->realAt(o0 + c));
  }
  multiplyAccumulate(block.q.data(), dqk, n, head.keysTransposed,
                     block.p.data(), block.stride);
  multiplyAccumulate(block.dOut.data(), dv, n, head.valuesTransposed,
                     block.dS.data(), block.stride);
  std::vector<double> derivative(sk);
  for (int64_t r = 0; r < n; ++r) {
    double *p = block.p.data() + r * block.stride,
           *dS = block.dS.data() + r * block.stride,
           *dA = block.dA.data() + r * block.stride;
    uint8_t *shows = block.visible.data() + r * sk;
    pairs.findVisible(b, h, rows[begin + r], shows);
    if (!pairs.finishScores(frame.get(), b, h, rows[begin + r], p, shows,
                            derivative.data()))
      return false;
    int64_t at = statistic(b, h, begin + r);
    double rowLse = lse->realAt(at), dot = dots[at];
    for (int64_t j = 0; j < sk; ++j) {
      shows[j] = shows[j] && rowLse != -kInfinity;
      if (!shows[j]) {
        p[j] = dS[j] = 0.0;
        continue;
      }
      p[j] = std::exp(p[j] - rowLse);
      dS[j] = p[j] * (dS[j] - dot);
      dA[j] = roundTo(pairs.roundP, dS[j] * derivative[j]);
      p[j] = roundTo(pairs.roundP, p[j]);
    }
    // The products may have written behind the last key.
    std::fill(p + sk, p + block.stride, 0.0);
    std::fill(dS + sk, dS + block.stride, 0.0);
  }
  return true;
}

void GradRunner::addQuery(const Head &head, const Block &block, int64_t b,
                          int64_t h, int64_t begin) {
  int64_t sk = pairs.sk, dqk = pairs.dqk, ld = roundUpToPanel(dqk);
  std::vector<double> product(block.rows * ld, 0.0);
  if (head.finite) {
    multiplyAccumulate(block.dA.data(), block.stride, block.rows, head.keys,
                       product.data(), ld);
  } else { // a hidden key contributes nothing, not even 0 * NaN
    for (int64_t r = 0; r < block.rows; ++r)
      for (int64_t j = 0; j < sk; ++j)
        if (block.visible[r * sk + j])
          for (int64_t c = 0; c < dqk; ++c)
            product[r * ld + c] +=
                block.dA[r * block.stride + j] * head.keys.at(j, c);
  }
  for (int64_t r = 0; r < block.rows; ++r) {
    int64_t q0 = queryOffset(b, begin + r, h, dqk);
    for (int64_t c = 0; c < dqk; ++c)
      dQuery.real[q0 + c] = pairs.scale * product[r * ld + c];
  }
}

void GradRunner::addKeys(const Block &block, bool finite, double *dKey,
                         int64_t ldk, double *dValue, int64_t ldv) const {
  int64_t sk = pairs.sk, dqk = pairs.dqk, dv = pairs.dv, n = block.rows;
  if (!finite) {
    for (int64_t r = 0; r < n; ++r)
      for (int64_t j = 0; j < sk; ++j) {
        if (!block.visible[r * sk + j])
          continue;
        for (int64_t c = 0; c < dqk; ++c)
          dKey[j * ldk + c] +=
              block.dA[r * block.stride + j] * block.q[r * dqk + c];
        for (int64_t c = 0; c < dv; ++c)
          dValue[j * ldv + c] +=
              block.p[r * block.stride + j] * block.dOut[r * dv + c];
      }
    return;
  }
  std::vector<double> transposed(sk * n);
  auto product = [&](const std::vector<double> &left,
                     const std::vector<double> &right, int64_t dim, double *to,
                     int64_t ld) {
    for (int64_t r = 0; r < n; ++r)
      for (int64_t j = 0; j < sk; ++j)
        transposed[j * n + r] = left[r * block.stride + j];
    PackedMatrix packed;
    packed.resize(n, dim);
    for (int64_t r = 0; r < n; ++r)
      for (int64_t c = 0; c < dim; ++c)
        packed.at(r, c) = right[r * dim + c];
    multiplyAccumulate(transposed.data(), n, sk, packed, to, ld);
  };
  product(block.dA, block.q, dqk, dKey, ldk);
  product(block.p, block.dOut, dv, dValue, ldv);
}

void GradRunner::addBias(const Block &block, int64_t b, int64_t h,
                         int64_t begin) {
  for (int64_t r = 0; r < block.rows; ++r)
    for (int64_t j = 0; j < pairs.sk; ++j)
      dBias.real[AttentionPairs::broadcastOffset(dBias.shape, b, h,
                                                 rows[begin + r], j)] +=
          block.dS[r * block.stride + j];
}

bool GradRunner::runHead(int64_t b, int64_t hk) {
  int64_t sk = pairs.sk, dqk = pairs.dqk, dv = pairs.dv;
  int64_t group = pairs.heads / pairs.keyHeads;
  int64_t ldk = roundUpToPanel(dqk), ldv = roundUpToPanel(dv);
  bool keysWanted = op.getDKey() || op.getDValue();
  Head head = pack(b, hk);
  std::vector<double> sumKey(keysWanted ? sk * ldk : 0, 0.0),
      sumValue(keysWanted ? sk * ldv : 0, 0.0);
  auto finite = [](const std::vector<double> &values) {
    return llvm::all_of(values, [](double x) { return std::isfinite(x); });
  };
  Block block;
  for (int64_t h = hk * group; h < (hk + 1) * group; ++h)
    for (int64_t begin = 0; begin < numRows; begin += kRowBlock) {
      int64_t end = std::min(numRows, begin + kRowBlock);
      if (!computeBlock(head, b, h, begin, end, block))
        return false;
      if (op.getDQuery())
        addQuery(head, block, b, h, begin);
      if (keysWanted)
        addKeys(block, finite(block.q) && finite(block.dOut), sumKey.data(),
                ldk, sumValue.data(), ldv);
      if (op.getDBias())
        addBias(block, b, h, begin);
    }
  for (int64_t j = 0; j < sk && keysWanted; ++j) {
    if (op.getDKey())
      for (int64_t c = 0; c < dqk; ++c)
        dKey.real[pairs.offset(b, j, hk, sk, pairs.keyHeads, dqk) + c] =
            pairs.scale * sumKey[j * ldk + c];
    if (op.getDValue())
      for (int64_t c = 0; c < dv; ++c)
        dValue.real[pairs.offset(b, j, hk, sk, pairs.keyHeads, dv) + c] =
            sumValue[j * ldv + c];
  }
  return true;
}

void GradRunner::findSinks() {
  for (int64_t h = 0; h < pairs.heads; ++h) {
    double sum = 0;
    for (int64_t b = 0; b < pairs.batch; ++b)
      for (int64_t r = 0; r < numRows; ++r) {
        int64_t at = statistic(b, h, r);
        if (lse->realAt(at) == -kInfinity)
          continue;
        double p = std::exp(pairs.sinks->realAt(h) - lse->realAt(at));
        if (p != 0.0)
          sum -= p * dots[at];
      }
    dSinks.real[h] = sum;
  }
}

LogicalResult GradRunner::run(Capture capture, const ReferenceOptions &options,
                              Results &results) {
  if (!op.getScore().empty()) {
    FailureOr<ElementProgram> compiled =
        ElementProgram::compileBlock(op.getScore().front(), options, capture);
    if (failed(compiled))
      return failure();
    pairs.score = std::move(*compiled);
  }
  auto make = [](Value result) {
    return TensorValue::uninitialized(shapeOf(result.getType()), false);
  };
  if (op.getDQuery()) {
    Shape shape(shapeOf(op.getDQuery().getType()));
    shape[pairs.bshd ? 1 : 2] = numRows;
    dQuery = TensorValue::uninitialized(shape, false);
  }
  if (op.getDKey())
    dKey = make(op.getDKey());
  if (op.getDValue())
    dValue = make(op.getDValue());
  if (op.getDBias()) {
    dBias = make(op.getDBias());
    std::fill_n(dBias.real.get(), dBias.numElements(), 0.0);
  }
  findDots();
  // Heads meet in the gradient of a bias that they share.
  int workers = op.getDBias() ? 1 : threads;
  std::atomic<bool> inside{true};
  int64_t keyHeads = pairs.keyHeads;
  parallelFor(workers, pairs.batch * keyHeads, 1,
              [&](int64_t begin, int64_t end) {
                for (int64_t task = begin; task < end; ++task)
                  if (!runHead(task / keyHeads, task % keyHeads))
                    inside = false;
              });
  if (!inside)
    return op.emitError("expected every index of tensor.extract in the score "
                        "region inside its tensor, found one outside");
  if (op.getDSinks()) {
    dSinks = make(op.getDSinks());
    findSinks();
  }
  for (auto [value, result] :
       {std::pair<TensorValue *, Value>{&dQuery, op.getDQuery()},
        {&dKey, op.getDKey()},
        {&dValue, op.getDValue()},
        {&dBias, op.getDBias()},
        {&dSinks, op.getDSinks()}}) {
    if (!result)
      continue;
    roundForStorage(*value, result.getType(), options);
    results.push_back(std::move(*value));
  }
  if (op.getRowDotsOut()) {
    TensorValue value =
        TensorValue::uninitialized({pairs.batch, pairs.heads, numRows}, false);
    std::copy(dots.begin(), dots.end(), value.real.get());
    results.push_back(std::move(value));
  }
  return success();
}

LogicalResult evaluateAttentionGrad(AttentionGradOp op, Operands operands,
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
  return GradRunner(op, operands, *rows, options)
      .run(capture, options, results);
}

} // namespace heddle::reference

using namespace heddle;
using namespace heddle::reference;

/// The query rows `rows` of a tensor, in the op's layout.
static TensorValue rowsOf(const TensorValue &from, unsigned axis,
                          ArrayRef<int64_t> rows) {
  Shape shape = from.shape;
  shape[axis] = rows.size();
  TensorValue to = TensorValue::uninitialized(shape, false);
  int64_t outer = 1, inner = 1, length = from.shape[axis];
  for (unsigned d = 0; d < axis; ++d)
    outer *= from.shape[d];
  for (unsigned d = axis + 1; d < from.shape.size(); ++d)
    inner *= from.shape[d];
  double *write = to.real.get();
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t row : rows)
      for (int64_t e = 0; e < inner; ++e)
        *write++ = from.realAt((o * length + row) * inner + e);
  return to;
}

LogicalResult heddle::evaluateAttentionGradRows(AttentionOp forward,
                                                AttentionGradOp op,
                                                ArrayRef<HostTensor> inputs,
                                                ArrayRef<int64_t> rows,
                                                const ReferenceOptions &options,
                                                ReferenceTensor &dQuery) {
  if (failed(checkSupported(op)) || failed(checkSupported(forward)))
    return failure();
  if (inputs.size() != 4 || forward->getNumOperands() != 3 ||
      op->getNumOperands() != 6 || !op.getOut() || !op.getDQuery() ||
      !op.getScore().empty())
    return op.emitError("expected an attention of query, key and value only, "
                        "and its gradient with d_query");
  SmallVector<TensorValue> values;
  for (const HostTensor &input : inputs)
    values.push_back(fromHost(input));
  for (int64_t row : rows)
    if (row < 0 || row >= op.getQueryLength())
      return op.emitError("expected query rows within [0, ")
             << op.getQueryLength() << "), found " << row;
  if (options.mode == ReferenceMode::Declared) {
    values[3] = TensorValue::unique(std::move(values[3]));
    roundForStorage(values[3], op.getDOut().getType(), options);
  }
  auto capture = [](Value) -> const TensorValue * { return nullptr; };
  SmallVector<int64_t> wanted(rows);
  SmallVector<TensorValue> residuals, results;
  SmallVector<TensorValue> forwardOperands(values.begin(), values.begin() + 3);
  if (failed(evaluateAttention(forward, forwardOperands, &wanted, options,
                               capture, residuals)))
    return failure();
  unsigned axis = op.getLayout() == AttentionLayout::BSHD ? 1 : 2;
  SmallVector<TensorValue> operands = {
      rowsOf(values[0], axis, rows), values[1],   values[2], residuals[1],
      rowsOf(values[3], axis, rows), residuals[0]};
  if (failed(evaluateAttentionGrad(op, operands, &wanted, options, capture,
                                   results)))
    return failure();
  dQuery = toReference(results.front());
  return success();
}
