//===- LoopNest.cpp - structured ops as loops over a body -----------------===//

#include "LoopNest.h"
#include "Parallel.h"

using namespace mlir;

namespace heddle::reference {

static int64_t pointsOf(ArrayRef<unsigned> loops, ArrayRef<int64_t> extents) {
  int64_t n = 1;
  for (unsigned d : loops)
    n *= extents[d];
  return n;
}
int64_t LoopNest::parallelPoints() const { return pointsOf(parallel, extents); }
int64_t LoopNest::sequentialPoints() const {
  return pointsOf(sequential, extents);
}
bool LoopNest::allLinear() const {
  return llvm::all_of(accesses, [](const Access &a) { return a.linear; });
}

namespace {
/// How an operand moves along a row-major run through some loops.
enum class Motion { Constant, Contiguous, Strided };

/// Walks loop points in row-major order of `loops`.
class Odometer {
public:
  Odometer(ArrayRef<unsigned> loops, ArrayRef<int64_t> extents)
      : loops(loops), extents(extents) {}
  /// Sets the coordinates of `loops` in `point` to linear index `i`.
  void seek(int64_t i, MutableArrayRef<int64_t> point) const {
    for (unsigned d : llvm::reverse(loops)) {
      point[d] = i % extents[d];
      i /= extents[d];
    }
  }
  void advance(MutableArrayRef<int64_t> point) const {
    for (unsigned d : llvm::reverse(loops)) {
      if (++point[d] < extents[d])
        return;
      point[d] = 0;
    }
  }
  /// Offsets (without base) of `n` points from linear index `begin`.
  void offsets(int64_t begin, int64_t n, const Access &access,
               int64_t *out) const {
    Shape point(extents.size(), 0);
    seek(begin, point);
    if (loops.empty()) {
      std::fill_n(out, n, 0);
      return;
    }
    unsigned inner = loops.back();
    int64_t step = access.strides[inner];
    for (int64_t e = 0; e < n;) {
      int64_t offset = 0;
      for (unsigned d : loops)
        offset += point[d] * access.strides[d];
      int64_t run = std::min(n - e, extents[inner] - point[inner]);
      for (int64_t i = 0; i < run; ++i)
        out[e + i] = offset + i * step;
      e += run;
      point[inner] += run - 1;
      advance(point);
    }
  }
  Motion motion(const Access &access) const {
    bool moves = false, contiguous = true;
    int64_t expected = 1;
    for (unsigned d : llvm::reverse(loops)) {
      if (extents[d] == 1)
        continue;
      moves |= access.strides[d] != 0;
      contiguous &= access.strides[d] == expected;
      expected *= extents[d];
    }
    return !moves       ? Motion::Constant
           : contiguous ? Motion::Contiguous
                        : Motion::Strided;
  }

private:
  ArrayRef<unsigned> loops;
  ArrayRef<int64_t> extents;
};
} // namespace

/// Copies elements base + offsets[e] of `tensor` into a register.
static void loadRegister(const TensorValue &tensor, Motion motion, int64_t base,
                         const int64_t *offsets, int64_t n, ElementFrame &frame,
                         Register reg) {
  auto load = [&](const auto *data, auto *out) {
    if (motion == Motion::Constant)
      std::fill_n(out, n, data[base]);
    else if (motion == Motion::Contiguous)
      std::copy_n(data + base, n, out);
    else
      for (int64_t e = 0; e < n; ++e)
        out[e] = data[base + offsets[e]];
  };
  if (tensor.isInteger)
    load(tensor.integer.get(), frame.integer(reg));
  else
    load(tensor.real.get(), frame.real(reg));
}

static void storeRegister(TensorValue &tensor, Motion motion, int64_t base,
                          const int64_t *offsets, int64_t n,
                          ElementFrame &frame, Register reg) {
  auto store = [&](const auto *in, auto *data) {
    if (motion == Motion::Contiguous)
      std::copy_n(in, n, data + base);
    else
      for (int64_t e = 0; e < n; ++e)
        data[base + (motion == Motion::Constant ? 0 : offsets[e])] = in[e];
  };
  if (tensor.isInteger)
    store(frame.integer(reg), tensor.integer.get());
  else
    store(frame.real(reg), tensor.real.get());
}

namespace {
/// Runs a range of parallel points, kVectorLength at a time, the sequential
/// loops inside.
class NestRunner {
public:
  NestRunner(LoopNest &nest, const ElementProgram &program)
      : nest(nest), program(program), frame(program),
        parallel(nest.parallel, nest.extents),
        sequential(nest.sequential, nest.extents) {
    for (auto [i, access] : llvm::enumerate(nest.accesses)) {
      motions.push_back(access.linear ? parallel.motion(access)
                                      : Motion::Strided);
      // Offsets of non-linear accesses are found anew for every point.
      bool fixed = access.linear;
      for (unsigned d : nest.sequential)
        fixed &= access.linear && access.strides[d] == 0;
      invariant.push_back(fixed);
      loaded.push_back(program.isUsed(program.inputs[i]));
      offsets.emplace_back(kVectorLength);
    }
  }

  /// False if a point lies outside a tensor.
  bool run(int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; p += kVectorLength)
      if (!runVector(p, std::min(kVectorLength, end - p)))
        return false;
    return true;
  }

private:
  bool runVector(int64_t begin, int64_t n) {
    Shape point(nest.extents.size(), 0);
    parallel.seek(begin, point);
    for (auto [i, access] : llvm::enumerate(nest.accesses))
      if (access.linear && motions[i] == Motion::Strided) {
        parallel.offsets(begin, n, access, offsets[i].data());
      } else if (access.linear) {
        offsets[i][0] = 0;
        for (unsigned d : nest.parallel)
          offsets[i][0] += point[d] * access.strides[d];
      }
    fillLoopIndices(begin, n, point);
    int64_t steps = nest.sequentialPoints();
    for (int64_t s = 0; s < steps; ++s) {
      bool first = s == 0, last = s + 1 == steps;
      for (unsigned i = 0; i < nest.accesses.size(); ++i)
        if (loaded[i] && (!invariant[i] || first) &&
            !move(i, begin, n, point, /*store=*/false))
          return false;
      for (auto [reg, dim] : program.loopIndices)
        if (llvm::is_contained(nest.sequential, dim))
          std::fill_n(frame.integer(reg), n, point[dim]);
      if (!frame.run(n))
        return false;
      for (unsigned i = nest.numInputs; i < nest.accesses.size(); ++i) {
        Register result = program.results[i - nest.numInputs];
        if (!invariant[i] || last) {
          if (!move(i, begin, n, point, /*store=*/true))
            return false;
        } else {
          carry(result, program.inputs[i], n);
        }
      }
      sequential.advance(point);
    }
    return true;
  }

  /// Loads or stores operand i at the current sequential point.
  bool move(unsigned i, int64_t begin, int64_t n, ArrayRef<int64_t> point,
            bool store) {
    const Access &access = nest.accesses[i];
    int64_t base = access.base;
    if (access.linear) {
      for (unsigned d : nest.sequential)
        base += point[d] * access.strides[d];
      if (motions[i] != Motion::Strided)
        base += offsets[i][0];
    } else {
      base = 0;
      Shape full(point.begin(), point.end());
      parallel.seek(begin, full);
      for (int64_t e = 0; e < n; ++e, parallel.advance(full))
        if ((offsets[i][e] = access.offset(full)) < 0)
          return false;
    }
    if (store)
      storeRegister(nest.operands[i], motions[i], base, offsets[i].data(), n,
                    frame, program.results[i - nest.numInputs]);
    else
      loadRegister(nest.operands[i], motions[i], base, offsets[i].data(), n,
                   frame, program.inputs[i]);
    return true;
  }

  void carry(Register from, Register to, int64_t n) {
    if (from.isInteger)
      std::copy_n(frame.integer(from), n, frame.integer(to));
    else
      std::copy_n(frame.real(from), n, frame.real(to));
  }

  void fillLoopIndices(int64_t begin, int64_t n, ArrayRef<int64_t> start) {
    for (auto [reg, dim] : program.loopIndices) {
      if (!llvm::is_contained(nest.parallel, dim))
        continue;
      Shape point(start.begin(), start.end());
      for (int64_t e = 0; e < n; ++e, parallel.advance(point))
        frame.integer(reg)[e] = point[dim];
    }
  }

  LoopNest &nest;
  const ElementProgram &program;
  ElementFrame frame;
  Odometer parallel, sequential;
  SmallVector<Motion> motions;
  SmallVector<bool> invariant, loaded;
  std::vector<std::vector<int64_t>> offsets;
};
} // namespace

LogicalResult runLoops(LoopNest &nest, const ElementProgram &program) {
  int64_t points = nest.parallelPoints(), steps = nest.sequentialPoints();
  if (points == 0 || steps == 0)
    return success();
  std::atomic<bool> inside{true};
  int64_t vectors = std::max<int64_t>(1, 256 / std::max<int64_t>(1, steps));
  parallelFor(nest.threads, points, vectors * kVectorLength,
              [&](int64_t begin, int64_t end) {
                NestRunner runner(nest, program);
                if (!runner.run(begin, end))
                  inside = false;
              });
  if (!inside)
    return nest.op->emitError("expected every index inside its tensor, found "
                              "one outside; check the indexing maps and the "
                              "indices of tensor.extract");
  return success();
}

//===----------------------------------------------------------------------===//
// Folds: vectors run along the reduction
//===----------------------------------------------------------------------===//

/// Combines the accumulator with `n` values.
static bool foldReal(StringRef name, double &acc, const double *v, int64_t n) {
  if (name == "arith.addf") {
    double sums[8] = {};
    int64_t e = 0;
    for (; e + 8 <= n; e += 8)
      for (int64_t l = 0; l < 8; ++l)
        sums[l] += v[e + l];
    for (; e < n; ++e)
      sums[0] += v[e];
    for (double s : sums)
      acc += s;
  } else if (name == "arith.mulf") {
    for (int64_t e = 0; e < n; ++e)
      acc *= v[e];
  } else if (name == "arith.maxnumf") {
    for (int64_t e = 0; e < n; ++e)
      acc = std::fmax(acc, v[e]);
  } else if (name == "arith.minnumf") {
    for (int64_t e = 0; e < n; ++e)
      acc = std::fmin(acc, v[e]);
  } else if (name == "arith.maximumf") {
    for (int64_t e = 0; e < n; ++e)
      acc = std::isnan(v[e]) || v[e] > acc ? v[e] : acc;
  } else if (name == "arith.minimumf") {
    for (int64_t e = 0; e < n; ++e)
      acc = std::isnan(v[e]) || v[e] < acc ? v[e] : acc;
  } else {
    return false;
  }
  return true;
}

LogicalResult runFold(LoopNest &nest, const ElementProgram &program,
                      Operation *combine) {
  StringRef name = combine->getName().getStringRef();
  int64_t points = nest.parallelPoints(), steps = nest.sequentialPoints();
  Odometer parallel(nest.parallel, nest.extents),
      sequential(nest.sequential, nest.extents);
  // Offsets along the reduction are the same for every output point.
  std::vector<std::vector<int64_t>> offsets(nest.numInputs);
  SmallVector<Motion> motions;
  for (unsigned i = 0; i < nest.numInputs; ++i) {
    motions.push_back(sequential.motion(nest.accesses[i]));
    if (motions[i] == Motion::Strided) {
      offsets[i].resize(steps);
      sequential.offsets(0, steps, nest.accesses[i], offsets[i].data());
    }
  }
  std::atomic<bool> inside{true};
  int64_t grain = std::max<int64_t>(1, (1 << 16) / std::max<int64_t>(1, steps));
  parallelFor(nest.threads, points, grain, [&](int64_t begin, int64_t end) {
    ElementFrame frame(program);
    Shape point(nest.extents.size(), 0);
    parallel.seek(begin, point);
    for (int64_t p = begin; p < end; ++p, parallel.advance(point)) {
      auto baseOf = [&](const Access &access) {
        int64_t base = access.base;
        for (unsigned d : nest.parallel)
          base += point[d] * access.strides[d];
        return base;
      };
      double &acc = nest.operands.back().real[baseOf(nest.accesses.back())];
      for (int64_t s = 0; s < steps; s += kVectorLength) {
        int64_t n = std::min(kVectorLength, steps - s);
        for (unsigned i = 0; i < nest.numInputs; ++i) {
          int64_t base = baseOf(nest.accesses[i]);
          if (motions[i] == Motion::Contiguous)
            base += s;
          loadRegister(nest.operands[i], motions[i], base,
                       offsets[i].data() + (offsets[i].empty() ? 0 : s), n,
                       frame, program.inputs[i]);
        }
        for (auto [reg, dim] : program.loopIndices) {
          Shape inner(point.begin(), point.end());
          sequential.seek(s, inner);
          for (int64_t e = 0; e < n; ++e, sequential.advance(inner))
            frame.integer(reg)[e] = inner[dim];
        }
        if (!frame.run(n))
          inside = false;
        foldReal(name, acc, frame.real(program.results[0]), n);
      }
    }
  });
  if (!inside)
    return nest.op->emitError("expected every index of tensor.extract inside "
                              "its tensor, found one outside");
  return success();
}

} // namespace heddle::reference
