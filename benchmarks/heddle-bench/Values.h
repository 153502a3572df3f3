//===- Values.h - seeded values of arguments --------------------*- C++ -*-===//
//
// The value rules by argument name, nothing of it all zero:
//   *.kernel  normal with variance 1 / fan_in (fan_in = first axis)
//   *.bias    normal * 0.02
//   *.scale   1 + normal * 0.02
//   others    normal(0, 1)
// A value depends on seed, argument number and element only, so it does not
// change with the number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_BENCH_VALUES_H
#define HEDDLE_BENCH_VALUES_H

#include "heddle/Runtime/Program.h"

namespace heddle::bench {

/// The tensor of argument number `position`, rounded to its dtype.
HostTensor makeValues(const NamedTensorType &argument, uint64_t seed,
                      uint64_t position, int threads);

} // namespace heddle::bench

#endif // HEDDLE_BENCH_VALUES_H
