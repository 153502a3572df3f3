//===- Scans.cpp - recurrences step by step -------------------------------===//

#include "Parallel.h"
#include "ScanOrder.h"

using namespace mlir;

namespace heddle::reference {

static double silu(double x) { return x * sigmoid(x); }

void finishScan(Operation *op, const ReferenceOptions &options,
                MutableArrayRef<TensorValue> values, Results &results) {
  unsigned i = 0;
  for (TensorValue &value : values) {
    if (!value.real)
      continue; // an optional result that the op does not have
    roundForStorage(value, op->getResult(i).getType(), options);
    results.push_back(std::move(value));
    ++i;
  }
}

LogicalResult evaluateSelectiveScan(SelectiveScanOp op, Operands operands,
                                    const ReferenceOptions &options,
                                    Results &results) {
  OperandReader reader(operands);
  const TensorValue *u = reader.take(op.getU()),
                    *delta = reader.take(op.getDelta()),
                    *a = reader.take(op.getA()), *bIn = reader.take(op.getB()),
                    *cIn = reader.take(op.getC()),
                    *skip = reader.take(op.getD()),
                    *gate = reader.take(op.getZ()),
                    *deltaBias = reader.take(op.getDeltaBias()),
                    *initial = reader.take(op.getInitialState()),
                    *resetIds = reader.take(op.getResetIds());
  int64_t batch = u->shape[0], length = u->shape[1], channels = u->shape[2];
  int64_t states = a->shape[1];
  // b and c may have different groups.
  auto groupsOf = [](const TensorValue *t) {
    return t->shape.size() == 4 ? t->shape[2] : 1;
  };
  int64_t groupsB = groupsOf(bIn), groupsC = groupsOf(cIn);
  if (groupsB == 0 || groupsC == 0 || channels % groupsB != 0 ||
      channels % groupsC != 0)
    return op.emitError("expected channels divisible by groups, got ")
           << channels << " channels, " << groupsB << " groups of b and "
           << groupsC << " groups of c";
  ScanOrder order(length, op.getReverse(), resetIds);
  TensorValue outputs[3];
  TensorValue &y = outputs[0] = TensorValue::uninitialized(u->shape, false);
  TensorValue final =
      TensorValue::uninitialized({batch, channels, states}, false);
  int64_t chunk = op.getChunk().value_or(0);
  int64_t boundaries =
      chunk > 0 ? std::max<int64_t>(1, (length + chunk - 1) / chunk) - 1 : 0;
  TensorValue ofChunks = TensorValue::uninitialized(
      {batch, boundaries, channels, states}, false);
  parallelFor(
      workerCount(options.threads), batch * channels, 1,
      [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          int64_t b = task / channels, d = task % channels;
          int64_t groupB = d / (channels / groupsB);
          int64_t groupC = d / (channels / groupsC);
          double *h = final.real.get() + task * states;
          for (int64_t n = 0; n < states; ++n)
            h[n] = initial ? initial->realAt(task * states + n) : 0.0;
          for (int64_t step = 0; step < length; ++step) {
            int64_t t = order.position(step);
            if (chunk > 0 && step > 0 && step % chunk == 0)
              std::copy_n(h, states,
                          ofChunks.real.get() +
                              ((b * boundaries + step / chunk - 1) * channels +
                               d) *
                                  states);
            bool starts = order.starts(b, step, initial);
            int64_t at = (b * length + t) * channels + d;
            int64_t atB = ((b * length + t) * groupsB + groupB) * states;
            int64_t atC = ((b * length + t) * groupsC + groupC) * states;
            double dt = delta->realAt(at);
            if (deltaBias)
              dt += deltaBias->realAt(d);
            if (op.getDeltaSoftplus())
              dt = softplus(dt);
            double input = u->realAt(at), sum = 0.0;
            for (int64_t n = 0; n < states; ++n) {
              double kept =
                  starts ? 0.0
                         : std::exp(dt * a->realAt(d * states + n)) * h[n];
              h[n] = kept + dt * bIn->realAt(atB + n) * input;
              sum += cIn->realAt(atC + n) * h[n];
            }
            if (skip)
              sum += skip->realAt(d) * input;
            if (gate)
              sum *= silu(gate->realAt(at));
            y.real[at] = sum;
          }
        }
      });
  if (op.getFinalState())
    outputs[1] = final;
  if (op.getChunkStates())
    outputs[2] = ofChunks;
  finishScan(op, options, outputs, results);
  return success();
}

namespace {
/// One (batch, head) of an ssd op.
struct SsdHead {
  const TensorValue *query, *key, *value, *decay, *initial;
  ScanOrder order;
  int64_t length, groups, heads, dk, dv, b, h;
  Rounding operandRounding;

  int64_t keyOffset(int64_t t) const {
    return ((b * length + t) * groups + h / (heads / groups)) * dk;
  }
  int64_t valueOffset(int64_t t) const {
    return ((b * length + t) * heads + h) * dv;
  }
  double decayAt(int64_t t) const {
    return decay->realAt((b * length + t) * heads + h);
  }

  /// H_t = exp(a_t) H_{t-1} + k_t v_t^T; o_t = q_t H_t.
  void runSequential(double *out, double *state) const {
    for (int64_t step = 0; step < length; ++step) {
      int64_t t = order.position(step);
      if (order.resets(b, step))
        std::fill_n(state, dk * dv, 0.0);
      double factor = std::exp(decayAt(t));
      double *o = out + valueOffset(t);
      std::fill_n(o, dv, 0.0);
      for (int64_t n = 0; n < dk; ++n) {
        double k = key->realAt(keyOffset(t) + n);
        double q = query->realAt(keyOffset(t) + n);
        double *row = state + n * dv;
        for (int64_t c = 0; c < dv; ++c) {
          row[c] = factor * row[c] + k * value->realAt(valueOffset(t) + c);
          o[c] += q * row[c];
        }
      }
    }
  }

  /// The same as sums over pairs of steps, with the decayed operands rounded:
  /// o_t = sum_s round(exp(a_{s+1} + .. + a_t) q_t.k_s) v_s, and likewise the
  /// initial and final states.
  void runPairwise(double *out, double *state) const {
    std::vector<double> entering(state, state + dk * dv), row(dv);
    std::fill_n(state, dk * dv, 0.0);
    for (int64_t step = 0; step < length; ++step) {
      int64_t t = order.position(step);
      double logDecay = 0.0;
      double *o = out + valueOffset(t);
      std::fill_n(o, dv, 0.0);
      int64_t s = step;
      for (;; --s) {
        int64_t ts = order.position(s);
        double dot = 0.0;
        for (int64_t n = 0; n < dk; ++n)
          dot +=
              query->realAt(keyOffset(t) + n) * key->realAt(keyOffset(ts) + n);
        double p = roundTo(operandRounding, std::exp(logDecay) * dot);
        for (int64_t c = 0; c < dv; ++c)
          o[c] += p * value->realAt(valueOffset(ts) + c);
        logDecay += decayAt(ts);
        if (s == 0 || order.resets(b, s))
          break;
      }
      if (s > 0 || order.resets(b, s))
        continue;
      for (int64_t n = 0; n < dk; ++n) {
        double q =
            roundTo(operandRounding,
                    std::exp(logDecay) * query->realAt(keyOffset(t) + n));
        for (int64_t c = 0; c < dv; ++c)
          o[c] += q * entering[n * dv + c];
      }
    }
    double logDecay = 0.0;
    for (int64_t s = length - 1; s >= 0; --s) {
      int64_t ts = order.position(s);
      for (int64_t n = 0; n < dk; ++n) {
        double k = roundTo(operandRounding,
                           std::exp(logDecay) * key->realAt(keyOffset(ts) + n));
        for (int64_t c = 0; c < dv; ++c)
          state[n * dv + c] += k * value->realAt(valueOffset(ts) + c);
      }
      logDecay += decayAt(ts);
      if (order.resets(b, s))
        return;
    }
    for (int64_t i = 0; i < dk * dv; ++i)
      state[i] += std::exp(logDecay) * entering[i];
  }
};
} // namespace

LogicalResult evaluateSsd(SsdOp op, Operands operands,
                          const ReferenceOptions &options, Results &results) {
  OperandReader reader(operands);
  const TensorValue *query = reader.take(op.getQuery()),
                    *key = reader.take(op.getKey()),
                    *value = reader.take(op.getValue()),
                    *decay = reader.take(op.getLogDecay()),
                    *initial = reader.take(op.getInitialState()),
                    *resetIds = reader.take(op.getResetIds());
  int64_t batch = key->shape[0], length = key->shape[1], groups = key->shape[2],
          dk = key->shape[3], heads = value->shape[2], dv = value->shape[3];
  if (groups == 0 || heads % groups != 0)
    return op.emitError("expected heads divisible by groups, got ")
           << heads << " and " << groups;
  Rounding rounding = storageRounding(op.getQuery().getType(), options);
  TensorValue outputs[2];
  outputs[0] = TensorValue::uninitialized(value->shape, false);
  TensorValue final = TensorValue::uninitialized({batch, heads, dk, dv}, false);
  ScanOrder order(length, op.getReverse(), resetIds);
  parallelFor(
      workerCount(options.threads), batch * heads, 1,
      [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          SsdHead head{query, key,          value,        decay,   initial,
                       order, length,       groups,       heads,   dk,
                       dv,    task / heads, task % heads, rounding};
          double *state = final.real.get() + task * dk * dv;
          for (int64_t i = 0; i < dk * dv; ++i)
            state[i] = initial ? initial->realAt(task * dk * dv + i) : 0.0;
          if (rounding.isNone())
            head.runSequential(outputs[0].real.get(), state);
          else
            head.runPairwise(outputs[0].real.get(), state);
        }
      });
  if (op.getFinalState())
    outputs[1] = final;
  finishScan(op, options, outputs, results);
  return success();
}

LogicalResult evaluateLinearScan(LinearScanOp op, Operands operands,
                                 const ReferenceOptions &options,
                                 Results &results) {
  OperandReader reader(operands);
  const TensorValue *a = reader.take(op.getA()), *bIn = reader.take(op.getB()),
                    *aImag = reader.take(op.getAImag()),
                    *bImag = reader.take(op.getBImag()),
                    *initial = reader.take(op.getInitialState()),
                    *initialImag = reader.take(op.getInitialStateImag()),
                    *resetIds = reader.take(op.getResetIds());
  int64_t batch = bIn->shape[0], length = bIn->shape[1],
          channels = bIn->shape[2];
  bool constantA = a->shape.size() == 1, complex = aImag || bImag;
  ScanOrder order(length, op.getReverse(), resetIds);
  TensorValue outputs[4];
  TensorValue h = TensorValue::uninitialized(bIn->shape, false), hImag, final,
              finalImag;
  final = TensorValue::uninitialized({batch, channels}, false);
  if (complex) {
    hImag = TensorValue::uninitialized(bIn->shape, false);
    finalImag = TensorValue::uninitialized({batch, channels}, false);
  }
  parallelFor(workerCount(options.threads), batch * channels, 16,
              [&](int64_t begin, int64_t end) {
                auto read = [](const TensorValue *t, int64_t i) {
                  return t ? t->realAt(i) : 0.0;
                };
                for (int64_t task = begin; task < end; ++task) {
                  int64_t b = task / channels, d = task % channels;
                  double re = read(initial, task), im = read(initialImag, task);
                  for (int64_t step = 0; step < length; ++step) {
                    bool starts = order.starts(b, step, initial);
                    int64_t at =
                        (b * length + order.position(step)) * channels + d;
                    double ar = a->realAt(constantA ? d : at);
                    double br = bIn->realAt(at);
                    if (complex) {
                      double ai = read(aImag, constantA ? d : at);
                      double keptRe = starts ? 0.0 : ar * re - ai * im;
                      double keptIm = starts ? 0.0 : ar * im + ai * re;
                      re = keptRe + br;
                      im = keptIm + read(bImag, at);
                      hImag.real[at] = im;
                    } else {
                      re = (starts ? 0.0 : ar * re) + br;
                    }
                    h.real[at] = re;
                  }
                  final.real[task] = re;
                  if (complex)
                    finalImag.real[task] = im;
                }
              });
  outputs[0] = h;
  if (op.getHImag())
    outputs[1] = hImag;
  if (op.getFinalState())
    outputs[2] = final;
  if (op.getFinalStateImag())
    outputs[3] = finalImag;
  finishScan(op, options, outputs, results);
  return success();
}

} // namespace heddle::reference
