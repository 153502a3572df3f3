//===- Random.h - seeded values for host tensors ----------------*- C++ -*-===//
//
// Element i of a tensor depends on the seed and on i only: the same on every
// machine, for every number of threads and for every compiler. Part of the
// runtime: no LLVM header here.
//
// The generator is counter based: the finalizer of splitmix64 (Steele, Lea and
// Flood, OOPSLA 2014) on the seed and the element's number. Normal values come
// from Box and Muller's transform with logarithm, sine and cosine of our own,
// because those of C libraries differ in the last bit.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_RANDOM_H
#define HEDDLE_RUNTIME_RANDOM_H

#include "heddle/Runtime/DType.h"

namespace heddle {

/// What to draw. Integer tensors are uniform in [integerLow, integerHigh)
/// whatever the distribution, bool tensors are true for every second element on
/// average.
struct RandomFill {
  enum class Distribution {
    Normal,  // mean `a`, standard deviation `b`
    Uniform, // from `a` (included) to `b`
  };
  Distribution distribution = Distribution::Normal;
  double a = 0.0, b = 1.0;
  int64_t integerLow = 0, integerHigh = 10;
  uint64_t seed = 0;
  int threads = 1; // 0: all the cores this process may use
};

/// Fills `n` elements of raw data. Float types round to nearest even from
/// float32 (float64 gets the full double).
void fillRandom(void *data, DType type, int64_t n, const RandomFill &fill);
void fillRandom(HostTensor &tensor, const RandomFill &fill);

/// 64 random bits as a function of seed and position.
uint64_t randomBits(uint64_t seed, uint64_t index);

} // namespace heddle

#endif // HEDDLE_RUNTIME_RANDOM_H
