//===- ScanGrad.cpp - reverse recurrences with every state at hand --------===//

#include "Parallel.h"
#include "ScanOrder.h"

#include <complex>

using namespace mlir;

namespace heddle::reference {

namespace {
/// The gradients of one selective scan. What batch entries share (a, d,
/// delta_bias) has a copy per entry and is summed at the end; what channels
/// share (b, c) has a copy per range of channels.
struct SelectiveScanGrad {
  const TensorValue *u, *delta, *a, *b, *c, *skip, *gate, *deltaBias, *initial,
      *resetIds, *dy, *dfinal;
  bool useSoftplus, reverse;
  int64_t batch, length, channels, states;

  struct Rows { // of b or c
    int64_t groups;
    int64_t at(const SelectiveScanGrad &g, int64_t entry, int64_t t,
               int64_t d) const {
      int64_t group = d / (g.channels / groups);
      return ((entry * g.length + t) * groups + group) * g.states;
    }
  };
  Rows rowsOfB, rowsOfC;
  TensorValue du, ddelta, da, db, dc, dd, dz, dbias, dinitial;

  /// Sums of one entry over a range of channels.
  struct Shared {
    std::vector<double> db, dc;
  };
  void runChannel(int64_t entry, int64_t d, Shared &shared);
  void run(int threads);
};
} // namespace

void SelectiveScanGrad::runChannel(int64_t entry, int64_t d, Shared &shared) {
  ScanOrder order(length, reverse, resetIds);
  int64_t first = (entry * channels + d) * states;
  // h[step] is the state that a step starts from, before any reset.
  std::vector<double> h((length + 1) * states), dts(length), raws(length);
  for (int64_t n = 0; n < states; ++n)
    h[n] = initial ? initial->realAt(first + n) : 0.0;
  auto positionOf = [&](int64_t step) { return order.position(step); };
  for (int64_t step = 0; step < length; ++step) {
    int64_t t = positionOf(step), at = (entry * length + t) * channels + d;
    double raw = delta->realAt(at) + (deltaBias ? deltaBias->realAt(d) : 0.0);
    double dt = useSoftplus ? softplus(raw) : raw;
    raws[step] = raw;
    dts[step] = dt;
    const double *before = &h[step * states];
    double *after = &h[(step + 1) * states];
    bool starts = order.starts(entry, step, initial);
    for (int64_t n = 0; n < states; ++n) {
      double kept =
          starts ? 0.0 : std::exp(dt * a->realAt(d * states + n)) * before[n];
      after[n] = kept + dt * u->realAt(at) *
                            b->realAt(rowsOfB.at(*this, entry, t, d) + n);
    }
  }
  std::vector<double> g(states);
  for (int64_t n = 0; n < states; ++n)
    g[n] = dfinal ? dfinal->realAt(first + n) : 0.0;
  for (int64_t step = length - 1; step >= 0; --step) {
    int64_t t = positionOf(step), at = (entry * length + t) * channels + d;
    int64_t atB = rowsOfB.at(*this, entry, t, d);
    int64_t atC = rowsOfC.at(*this, entry, t, d);
    double *sumsB = &shared.db[rowsOfB.at(*this, 0, t, d)],
           *sumsC = &shared.dc[rowsOfC.at(*this, 0, t, d)];
    const double *before = &h[step * states], *after = &h[(step + 1) * states];
    double dt = dts[step], input = u->realAt(at), ds = dy->realAt(at);
    if (gate) {
      double z = gate->realAt(at), s = sigmoid(z), out = 0.0;
      for (int64_t n = 0; n < states; ++n)
        out += c->realAt(atC + n) * after[n];
      if (skip)
        out += skip->realAt(d) * input;
      dz.real[at] = ds * out * (s + z * s * (1.0 - s));
      ds *= z * s;
    }
    bool starts = order.starts(entry, step, initial);
    double dx = 0.0, ddt = 0.0;
    for (int64_t n = 0; n < states; ++n) {
      double rate = a->realAt(d * states + n);
      double decay = starts ? 0.0 : std::exp(dt * rate);
      double kept = starts ? 0.0 : decay * before[n];
      double q = g[n] + c->realAt(atC + n) * ds;
      sumsC[n] += ds * after[n];
      sumsB[n] += q * dt * input;
      dx += q * b->realAt(atB + n);
      da.real[first + n] += q * kept * dt;
      ddt += q * kept * rate;
      g[n] = starts ? 0.0 : decay * q;
    }
    ddt += dx * input;
    du.real[at] = dx * dt + (skip ? skip->realAt(d) * ds : 0.0);
    double slope = !useSoftplus        ? 1.0
                   : raws[step] > 20.0 ? 1.0
                                       : sigmoid(raws[step]);
    ddelta.real[at] = ddt * slope;
    dbias.real[entry * channels + d] += ddt * slope;
    dd.real[entry * channels + d] += ds * input;
  }
  for (int64_t n = 0; n < states; ++n)
    dinitial.real[first + n] = g[n];
}

/// As many ranges of channels whatever the number of threads, so that sums have
/// one order.
void SelectiveScanGrad::run(int threads) {
  constexpr int64_t ranges = 4;
  int64_t sizeB = length * rowsOfB.groups * states,
          sizeC = length * rowsOfC.groups * states;
  for (int64_t entry = 0; entry < batch; ++entry) {
    std::vector<Shared> parts(ranges);
    parallelFor(threads, ranges, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        parts[part].db.resize(sizeB);
        parts[part].dc.resize(sizeC);
        for (int64_t d = part * channels / ranges,
                     last = (part + 1) * channels / ranges;
             d < last; ++d)
          runChannel(entry, d, parts[part]);
      }
    });
    for (const Shared &part : parts) {
      for (int64_t i = 0; i < sizeB; ++i)
        db.real[entry * sizeB + i] += part.db[i];
      for (int64_t i = 0; i < sizeC; ++i)
        dc.real[entry * sizeC + i] += part.dc[i];
    }
  }
}

/// Sums over the leading axis.
static TensorValue sumOverBatch(const TensorValue &parts) {
  int64_t count = parts.shape[0];
  Shape shape(parts.shape.begin() + 1, parts.shape.end());
  TensorValue sum = TensorValue::splatReal(shape, 0.0).dense();
  int64_t size = sum.numElements();
  for (int64_t entry = 0; entry < count; ++entry)
    for (int64_t i = 0; i < size; ++i)
      sum.real[i] += parts.real[entry * size + i];
  return sum;
}

LogicalResult evaluateSelectiveScanGrad(SelectiveScanGradOp op,
                                        Operands operands,
                                        const ReferenceOptions &options,
                                        Results &results) {
  if (op.getPartialSums())
    return op.emitError("expected a gradient with all its sums, got partial "
                        "ones, which only the compiler makes");
  OperandReader reader(operands);
  SelectiveScanGrad g;
  g.u = reader.take(op.getU());
  g.delta = reader.take(op.getDelta());
  g.a = reader.take(op.getA());
  g.b = reader.take(op.getB());
  g.c = reader.take(op.getC());
  g.skip = reader.take(op.getD());
  g.gate = reader.take(op.getZ());
  g.deltaBias = reader.take(op.getDeltaBias());
  g.initial = reader.take(op.getInitialState());
  g.resetIds = reader.take(op.getResetIds());
  g.dy = reader.take(op.getDy());
  g.dfinal = reader.take(op.getDfinalState());
  reader.take(op.getChunkStates()); // made again
  g.useSoftplus = op.getDeltaSoftplus();
  g.reverse = op.getReverse();
  g.batch = g.u->shape[0];
  g.length = g.u->shape[1];
  g.channels = g.u->shape[2];
  g.states = g.a->shape[1];
  auto groupsOf = [](const TensorValue *t) {
    return t->shape.size() == 4 ? t->shape[2] : 1;
  };
  g.rowsOfB = {groupsOf(g.b)};
  g.rowsOfC = {groupsOf(g.c)};
  for (int64_t groups : {g.rowsOfB.groups, g.rowsOfC.groups})
    if (groups == 0 || g.channels % groups != 0)
      return op.emitError("expected channels divisible by groups, got ")
             << g.channels << " and " << groups;
  auto zeros = [](ArrayRef<int64_t> shape) {
    return TensorValue::splatReal(shape, 0.0).dense();
  };
  g.du = zeros(g.u->shape);
  g.ddelta = zeros(g.u->shape);
  g.da = zeros({g.batch, g.channels, g.states});
  g.db = zeros(g.b->shape);
  g.dc = zeros(g.c->shape);
  g.dd = zeros({g.batch, g.channels});
  g.dz = zeros(g.u->shape);
  g.dbias = zeros({g.batch, g.channels});
  g.dinitial = zeros({g.batch, g.channels, g.states});
  g.run(workerCount(options.threads));
  TensorValue outputs[9] = {g.du, g.ddelta, sumOverBatch(g.da), g.db, g.dc};
  if (g.skip)
    outputs[5] = sumOverBatch(g.dd);
  if (g.gate)
    outputs[6] = g.dz;
  if (g.deltaBias)
    outputs[7] = sumOverBatch(g.dbias);
  if (g.initial)
    outputs[8] = g.dinitial;
  finishScan(op, options, outputs, results);
  return success();
}

LogicalResult evaluateLinearScanGrad(LinearScanGradOp op, Operands operands,
                                     const ReferenceOptions &options,
                                     Results &results) {
  if (op.getPartialSums())
    return op.emitError("expected a gradient with all its sums, got partial "
                        "ones, which only the compiler makes");
  OperandReader reader(operands);
  const TensorValue *a = reader.take(op.getA()), *h = reader.take(op.getH()),
                    *dh = reader.take(op.getDh()),
                    *aImag = reader.take(op.getAImag()),
                    *hImag = reader.take(op.getHImag()),
                    *dhImag = reader.take(op.getDhImag()),
                    *initial = reader.take(op.getInitialState()),
                    *initialImag = reader.take(op.getInitialStateImag()),
                    *dfinal = reader.take(op.getDfinalState()),
                    *dfinalImag = reader.take(op.getDfinalStateImag()),
                    *resetIds = reader.take(op.getResetIds());
  int64_t batch = h->shape[0], length = h->shape[1], channels = h->shape[2];
  bool constant = op.hasConstantDecay(), complex = op.isComplex();
  auto zeros = [](ArrayRef<int64_t> shape) {
    return TensorValue::splatReal(shape, 0.0).dense();
  };
  Shape ofA = constant ? Shape{batch, channels} : h->shape;
  TensorValue da = zeros(ofA), daImag = zeros(ofA), db = zeros(h->shape),
              dbImag = zeros(h->shape), dinitial = zeros({batch, channels}),
              dinitialImag = zeros({batch, channels});
  ScanOrder order(length, op.getReverse(), resetIds);
  auto read = [](const TensorValue *t, int64_t i) {
    return std::complex<double>(t ? t->realAt(i) : 0.0, 0.0);
  };
  const std::complex<double> i(0.0, 1.0);
  parallelFor(
      workerCount(options.threads), batch * channels, 16,
      [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          int64_t entry = task / channels, d = task % channels;
          auto at = [&](int64_t step) {
            return (entry * length + order.position(step)) * channels + d;
          };
          std::complex<double> g =
              read(dfinal, task) + i * read(dfinalImag, task);
          for (int64_t step = length - 1; step >= 0; --step) {
            int64_t here = at(step), ofDecay = constant ? d : here;
            g += read(dh, here) + i * read(dhImag, here);
            db.real[here] = g.real();
            dbImag.real[here] = g.imag();
            if (order.resets(entry, step)) {
              g = 0.0;
              continue;
            }
            std::complex<double> before =
                step > 0 ? read(h, at(step - 1)) + i * read(hImag, at(step - 1))
                         : read(initial, task) + i * read(initialImag, task);
            std::complex<double> decay =
                read(a, ofDecay) + i * read(aImag, ofDecay);
            std::complex<double> change = g * std::conj(before);
            da.real[constant ? task : here] += change.real();
            daImag.real[constant ? task : here] += change.imag();
            g *= std::conj(decay);
          }
          dinitial.real[task] = g.real();
          dinitialImag.real[task] = g.imag();
        }
      });
  TensorValue outputs[6];
  outputs[0] = constant ? sumOverBatch(da) : da;
  outputs[1] = db;
  if (complex) {
    outputs[2] = constant ? sumOverBatch(daImag) : daImag;
    outputs[3] = dbImag;
  }
  if (initial)
    outputs[4] = dinitial;
  if (initialImag)
    outputs[5] = dinitialImag;
  finishScan(op, options, outputs, results);
  return success();
}

} // namespace heddle::reference
