//===- Values.h - seeded values of arguments --------------------*- C++ -*-===//
//
// The value rules by argument name, nothing of it all zero:
//   *.kernel       normal with variance 1 / fan_in (fan_in = first axis);
//                  *.alpha.kernel a twentieth of that
//   *.alpha.bias   -0.05 + normal * 0.02: log decays have either sign, but the
//                  state does not grow with the length
//   *.dt.bias      softplus of it lies in [1e-3, 0.1], uniform in the logarithm
//   *.bias         normal * 0.02
//   *.scale        1 + normal * 0.02
//   *.a_log        log(1 + row)
//   *.skip         1
//   *.nu, *.theta  exp(-exp(nu)) uniform in [0.5, 0.99], exp(theta) in
//                  (0, 6.28]
//   *.gamma        -0.8 + normal * 0.02
//   t              uniform in [0, 1)
//   delta          -3 + normal / 2: softplus of it is about 0.05
//   a              -(1 + column)
//   decay          uniform in [0.5, 0.999]; decay_real and decay_imag uniform
//   in
//                  [-0.7, 0.7], so that the complex decay is inside the circle
//   mu.*           normal * 1e-6, below what gradients add to it
//   nu.*           the square of 0.01 (0.5 + |normal|), above gradients, so
//   that
//                  a step does not depend on the last digits of small ones
//   count          10
//   others         normal(0, 1)
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
