//===- Peak.cpp - what this CPU can do at most ----------------------------===//

#include "Peak.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace heddle::bench {

namespace {

// Sixteen chains hide the latency of two FMA pipes of any x86 CPU (two pipes,
// four to five cycles) and fit the AVX-512 register file; AVX2 has room for
// twelve beside its two operands.
constexpr int64_t kPasses = 1 << 20;
constexpr int64_t kCopyBytes = int64_t(64) << 20; // per thread

/// Keeps the compiler from dropping a computed value.
template <typename T>
void keep(const T &value) {
  asm volatile("" : : "m"(value) : "memory");
}

/// Each kernel returns the FLOPs of `passes` passes.
using Kernel = double (*)(int64_t passes);

double fmaScalar(int64_t passes) {
  float acc[16] = {};
  volatile float source[2] = {0.999f, 0.001f};
  float a = source[0], b = source[1];
  for (int64_t i = 0; i < passes; ++i) {
    for (float &x : acc)
      x = x * a + b;
    asm volatile("" : "+m"(acc));
  }
  keep(acc);
  return 16.0 * 2.0 * static_cast<double>(passes);
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) double fmaAvx512(int64_t passes) {
  __m512 acc[16];
  __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
  for (int k = 0; k < 16; ++k)
    acc[k] = _mm512_set1_ps(static_cast<float>(k));
  for (int64_t i = 0; i < passes; ++i) {
#pragma GCC unroll 16
    for (int k = 0; k < 16; ++k) {
      acc[k] = _mm512_fmadd_ps(acc[k], a, b);
      asm volatile("" : "+v"(acc[k]));
    }
  }
  keep(acc);
  return 16.0 * 16.0 * 2.0 * static_cast<double>(passes);
}

__attribute__((target("avx2,fma"))) double fmaAvx2(int64_t passes) {
  __m256 acc[12];
  __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
  for (int k = 0; k < 12; ++k)
    acc[k] = _mm256_set1_ps(static_cast<float>(k));
  for (int64_t i = 0; i < passes; ++i) {
#pragma GCC unroll 12
    for (int k = 0; k < 12; ++k) {
      acc[k] = _mm256_fmadd_ps(acc[k], a, b);
      asm volatile("" : "+x"(acc[k]));
    }
  }
  keep(acc);
  return 12.0 * 8.0 * 2.0 * static_cast<double>(passes);
}

__attribute__((target("avx512f,avx512bf16"))) double dotAvx512(int64_t passes) {
  __m512 acc[16];
  __m512bh a = _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.5f), _mm512_set1_ps(0.5f));
  __m512bh b = _mm512_cvtne2ps_pbh(_mm512_set1_ps(-0.5f), _mm512_set1_ps(0.5f));
  for (int k = 0; k < 16; ++k)
    acc[k] = _mm512_set1_ps(static_cast<float>(k));
  for (int64_t i = 0; i < passes; ++i) {
#pragma GCC unroll 16
    for (int k = 0; k < 16; ++k) {
      acc[k] = _mm512_dpbf16_ps(acc[k], a, b);
      asm volatile("" : "+v"(acc[k]));
    }
  }
  keep(acc);
  return 16.0 * 32.0 * 2.0 * static_cast<double>(passes);
}
#endif

Kernel chooseFma() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return fmaAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return fmaAvx2;
#endif
  return fmaScalar;
}

Kernel chooseDot() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bf16"))
    return dotAvx512;
#endif
  return nullptr;
}

/// Runs `work(thread)` on all threads; the clock covers the common part only:
/// from the release of all threads to the end of the last one.
double runTogether(int threads, const std::function<void(int)> &work) {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> workers;
  auto body = [&](int id) {
    ready.fetch_add(1);
    while (!go.load(std::memory_order_acquire))
      std::this_thread::yield();
    work(id);
  };
  for (int id = 1; id < threads; ++id)
    workers.emplace_back(body, id);
  while (ready.load() != threads - 1)
    std::this_thread::yield();
  Stopwatch watch;
  go.store(true, std::memory_order_release);
  work(0);
  for (std::thread &worker : workers)
    worker.join();
  return watch.seconds();
}

} // namespace

bool peakOpAvailable(PeakOp op) {
  return op != PeakOp::Dot || chooseDot() != nullptr;
}

std::string peakIsa(PeakOp op) {
  if (op == PeakOp::Copy)
    return "memcpy";
#if defined(__x86_64__)
  if (op == PeakOp::Dot)
    return "avx512_bf16";
  if (chooseFma() == fmaAvx512)
    return "avx512f";
  if (chooseFma() == fmaAvx2)
    return "avx2+fma";
#endif
  return "scalar";
}

PeakMeasurement measurePeakOp(PeakOp op, int threads, int repeats) {
  PeakMeasurement result;
  std::vector<std::vector<char>> source, dest;
  double work = 0; // of all threads together
  std::function<void(int)> pass;
  if (op == PeakOp::Copy) {
    for (int i = 0; i < threads; ++i) {
      source.emplace_back(kCopyBytes, static_cast<char>(i + 1));
      dest.emplace_back(kCopyBytes, static_cast<char>(0));
    }
    work = 2.0 * static_cast<double>(kCopyBytes) * threads;
    pass = [&](int id) {
      std::memcpy(dest[id].data(), source[id].data(), kCopyBytes);
      keep(dest[id][0]);
    };
  } else {
    Kernel kernel = op == PeakOp::Fma ? chooseFma() : chooseDot();
    work = kernel(1) * static_cast<double>(kPasses) * threads;
    pass = [kernel](int) { kernel(kPasses); };
  }
  std::vector<double> samples;
  runTogether(threads, pass); // warm-up
  for (int i = 0; i < repeats; ++i)
    samples.push_back(runTogether(threads, pass));
  std::sort(samples.begin(), samples.end());
  result.timing.inner = 1;
  result.timing.median = quantile(samples, 0.5);
  result.timing.q1 = quantile(samples, 0.25);
  result.timing.q3 = quantile(samples, 0.75);
  result.timing.best = samples.front();
  result.rate = work / result.timing.best;
  return result;
}

PeakRates measurePeak(int threads) {
  PeakRates rates;
  rates.fma = measurePeakOp(PeakOp::Fma, threads, 15).rate;
  rates.dot = peakOpAvailable(PeakOp::Dot)
                  ? measurePeakOp(PeakOp::Dot, threads, 15).rate
                  : rates.fma;
  rates.copy = measurePeakOp(PeakOp::Copy, threads, 5).rate;
  return rates;
}

} // namespace heddle::bench
