//===- Peak.h - what this CPU can do at most --------------------*- C++ -*-===//
//
// Rates measured with independent chains of one instruction, and of copies too
// large for the caches. The widest instructions of the CPU are chosen at run
// time: AVX-512, AVX2 with FMA, or plain code.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_BENCH_PEAK_H
#define HEDDLE_BENCH_PEAK_H

#include "Timing.h"

namespace heddle::bench {

enum class PeakOp {
  Fma,  // f32 multiply-add, two FLOPs
  Dot,  // bf16 pair products added to f32 (vdpbf16ps), four FLOPs
  Copy, // bytes read plus bytes written
};

/// Whether this CPU has the instruction.
bool peakOpAvailable(PeakOp op);
/// "avx512f", "avx512_bf16", "avx2+fma", "scalar", "memcpy".
std::string peakIsa(PeakOp op);

struct PeakMeasurement {
  Timing timing;   // of one pass over the kernel by every thread
  double rate = 0; // FLOP/s, or bytes/s for copies, of the best sample
};

/// Runs `op` on `threads` threads at once.
PeakMeasurement measurePeakOp(PeakOp op, int threads, int repeats);

/// The rates other rows are compared with.
struct PeakRates {
  double fma = 0;  // FLOP/s
  double dot = 0;  // FLOP/s; the FMA rate where there is no bf16 dot
  double copy = 0; // bytes/s, read and written
};
PeakRates measurePeak(int threads);

} // namespace heddle::bench

#endif // HEDDLE_BENCH_PEAK_H
