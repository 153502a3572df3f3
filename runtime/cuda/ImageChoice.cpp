//===- ImageChoice.cpp - which image of a function runs on a device -------===//
//
// CUDA C++ Programming Guide, "Binary Compatibility" and "PTX Compatibility": a
// cubin runs on its architecture and on later minor versions of the same major
// one; PTX on its target and everything newer; both with the suffix "a" on
// their target only.
//
//===----------------------------------------------------------------------===//

#include "heddle/Runtime/CudaDevice.h"

#include <algorithm>

namespace heddle {

/// The targets that the compiler has, with the first PTX ISA of each
/// (include/heddle/Target/GpuTarget.h).
static constexpr struct {
  int sm;
  uint32_t minPtx;
} kTargets[] = {{80, 70}, {86, 71}, {89, 78}, {90, 78}};

/// The options of heddle-compile that make code for a device, or "": the newest
/// target that it runs and that PTX up to `ptx` has.
static std::string optionsFor(int sm, uint32_t ptx) {
  std::string options;
  for (auto [target, minPtx] : kTargets)
    if (target <= sm && minPtx <= ptx)
      options = "--target=sm_" + std::to_string(target);
  return options;
}

static uint32_t firstPtxOf(const std::string &target) {
  GpuArch arch;
  if (!parseGpuArch(target, arch) || arch.specific)
    return 80;
  for (auto [sm, minPtx] : kTargets)
    if (sm == arch.sm)
      return minPtx;
  return 80;
}

static std::string advice(int sm) {
  std::string options = optionsFor(sm, ~0u);
  if (options.empty())
    return "the device is older than sm_" + std::to_string(kTargets[0].sm) +
           ", the oldest that kernels are compiled for; use --device=cpu";
  return "recompile with " + options;
}

/// How well an image suits a device; 0 is not at all. Machine code of the very
/// chip is best, then text that the driver compiles for it, then machine code
/// of an older chip of its family.
static int suitability(const GpuImage &image, int sm) {
  GpuArch arch;
  if (image.kind == GpuImageKind::Emulator ||
      !parseGpuArch(image.target, arch) || arch.sm > sm)
    return 0;
  bool same = arch.sm == sm, family = arch.sm / 10 == sm / 10;
  if (arch.specific == 'f' ? !family : arch.specific && !same)
    return 0;
  bool cubin = image.kind == GpuImageKind::Cubin;
  if (cubin && !family)
    return 0;
  // Within a rank the newest target, and with a suffix rather than without.
  int newest = 2 * arch.sm + (arch.specific != 0);
  int rank = cubin ? (same ? 3 : 1) : 2;
  return 10000 * rank + newest;
}

Status chooseCudaImage(const Function &function, int sm, int cudaVersion,
                       const GpuImage *&image) {
  image = nullptr;
  if (function.kernels.empty())
    return {};
  int best = 0;
  std::string all;
  const GpuImage *tooNew = nullptr;
  uint32_t newestPtx = newestPtxOfCuda(cudaVersion);
  for (const GpuImage &candidate : function.images) {
    all += std::string(all.empty() ? "" : ", ") +
           gpuImageKindName(candidate.kind) + " for " + candidate.target;
    int score = suitability(candidate, sm);
    if (score && candidate.ptxVersion > newestPtx) {
      tooNew = &candidate;
      continue;
    }
    if (score > best) {
      best = score;
      image = &candidate;
    }
  }
  if (image)
    return {};
  if (tooNew) {
    // The text's own target may be newer than what the driver reads.
    std::string lower = "--ptx-version=" + ptxVersionText(newestPtx);
    if (firstPtxOf(tooNew->target) > newestPtx)
      lower = optionsFor(sm, newestPtx) + " " + lower;
    return Status::error(
        "function '" + function.name + "' has PTX of ISA version " +
        ptxVersionText(tooNew->ptxVersion) + " for " + tooNew->target +
        ", the driver for CUDA " + cudaVersionText(cudaVersion) +
        " takes versions up to " + ptxVersionText(newestPtx) +
        "; update the driver or recompile with " + lower);
  }
  return Status::error(
      "function '" + function.name + "' has no GPU code for sm_" +
      std::to_string(sm) +
      (all.empty() ? ", it has none at all" : ", only " + all) +
      "; " + advice(sm));
}

} // namespace heddle
