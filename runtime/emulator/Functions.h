//===- Functions.h - what emulated kernels call -----------------*- C++ -*-===//
//
// X(name, result, parameters): one line per function of the library, the only
// list of them. Pointers to shared memory are addresses in the window.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_EMULATOR_FUNCTIONS_H
#define HEDDLE_RUNTIME_EMULATOR_FUNCTIONS_H

#include <cstdint>

namespace heddle::emulator {
struct Thread;
}

#define HEDDLE_EMULATOR_FUNCTIONS(X)                                           \
  /* accesses: the address to use, or that of the sink */                      \
  X(load_global, uint64_t, (Thread *, uint64_t, uint32_t, uint32_t))           \
  X(load_shared, uint64_t, (Thread *, uint64_t, uint32_t, uint32_t))           \
  X(load_generic, uint64_t, (Thread *, uint64_t, uint32_t, uint32_t))          \
  X(store_global, uint64_t, (Thread *, uint64_t, uint32_t, uint32_t))          \
  X(store_shared, uint64_t, (Thread *, uint64_t, uint32_t, uint32_t))          \
  X(store_generic, uint64_t, (Thread *, uint64_t, uint32_t, uint32_t))         \
  /* thread, address, operand, compared value, Atomic, ElementType, site */    \
  X(atomic, uint64_t,                                                          \
    (Thread *, uint64_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t))    \
  X(shared_window, uint64_t, (Thread *))                                       \
  X(register, uint32_t, (Thread *, uint32_t))                                  \
  X(fence, void, (Thread *))                                                   \
  /* number of a basic block of the table */                                   \
  X(count, void, (Thread *, uint32_t))                                         \
  /* collectives; the last parameter is the site */                            \
  X(shfl, uint64_t,                                                            \
    (Thread *, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t))    \
  X(vote, uint32_t, (Thread *, uint32_t, uint32_t, uint32_t, uint32_t))        \
  X(redux, uint32_t, (Thread *, uint32_t, uint32_t, uint32_t, uint32_t))       \
  X(elect, uint32_t, (Thread *, uint32_t, uint32_t))                           \
  X(syncwarp, void, (Thread *, uint32_t, uint32_t))                            \
  /* MmaShape::code, words of A B C, words of D */                             \
  X(mma, void, (Thread *, uint32_t, const uint32_t *, uint32_t *, uint32_t))   \
  /* address, matrices | transposed << 8, words */                             \
  X(ldmatrix, void, (Thread *, uint64_t, uint32_t, uint32_t *, uint32_t))      \
  X(stmatrix, void,                                                            \
    (Thread *, uint64_t, uint32_t, const uint32_t *, uint32_t))                \
  /* number, threads or 0, BarrierReduction, predicate */                      \
  X(barrier, uint32_t,                                                         \
    (Thread *, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t))              \
  X(barrier_arrive, void, (Thread *, uint32_t, uint32_t, uint32_t))            \
  /* asynchronous copies: to, from, bytes, bytes read */                       \
  X(cp_async, void,                                                            \
    (Thread *, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t))              \
  X(cp_async_commit, void, (Thread *, uint32_t))                               \
  X(cp_async_wait, void, (Thread *, uint32_t, uint32_t))                       \
  X(cp_async_mbarrier_arrive, void, (Thread *, uint64_t, uint32_t, uint32_t))  \
  /* mbarriers: address first, site last */                                    \
  X(mbarrier_init, void, (Thread *, uint64_t, uint32_t, uint32_t))             \
  X(mbarrier_inval, void, (Thread *, uint64_t, uint32_t))                      \
  X(mbarrier_arrive, uint64_t, (Thread *, uint64_t, uint32_t, uint32_t))       \
  X(mbarrier_arrive_drop, uint64_t, (Thread *, uint64_t, uint32_t, uint32_t))  \
  X(mbarrier_arrive_expect_tx, uint64_t,                                       \
    (Thread *, uint64_t, uint32_t, uint32_t))                                  \
  X(mbarrier_expect_tx, void, (Thread *, uint64_t, uint32_t, uint32_t))        \
  X(mbarrier_complete_tx, void, (Thread *, uint64_t, uint32_t, uint32_t))      \
  X(mbarrier_wait_parity, void, (Thread *, uint64_t, uint32_t, uint32_t))      \
  X(mbarrier_test_parity, uint32_t, (Thread *, uint64_t, uint32_t, uint32_t))  \
  X(mbarrier_test_state, uint32_t, (Thread *, uint64_t, uint64_t, uint32_t))   \
  X(mbarrier_try_parity, uint32_t, (Thread *, uint64_t, uint32_t, uint32_t))   \
  X(mbarrier_try_state, uint32_t, (Thread *, uint64_t, uint64_t, uint32_t))    \
  /* to, from, bytes, mbarrier */                                              \
  X(cp_async_bulk, void,                                                       \
    (Thread *, uint64_t, uint64_t, uint32_t, uint64_t, uint32_t))              \
  /* arithmetic */                                                             \
  X(ex2_approx_ftz_f32, float, (Thread *, float))                              \
  X(lg2_approx_ftz_f32, float, (Thread *, float))                              \
  X(rcp_approx_ftz_f32, float, (Thread *, float))                              \
  X(rsqrt_approx_ftz_f32, float, (Thread *, float))                            \
  X(tanh_approx_f32, float, (Thread *, float))                                 \
  /* high, low, Rounding | relu << 8 | satfinite << 9 */                       \
  X(cvt_bf16x2_f32, uint32_t, (Thread *, float, float, uint32_t))              \
  X(cvt_f16x2_f32, uint32_t, (Thread *, float, float, uint32_t))               \
  X(cvt_tf32_f32, uint32_t, (Thread *, float, uint32_t))                       \
  /* permute mode, selector, low word, high word */                            \
  X(prmt, uint32_t, (Thread *, uint32_t, uint32_t, uint32_t, uint32_t))

extern "C" {
using heddle::emulator::Thread;
#define HEDDLE_EMULATOR_DECLARE(name, result, parameters)                      \
  result heddle_emu_##name parameters;
HEDDLE_EMULATOR_FUNCTIONS(HEDDLE_EMULATOR_DECLARE)
#undef HEDDLE_EMULATOR_DECLARE
}

#endif // HEDDLE_RUNTIME_EMULATOR_FUNCTIONS_H
