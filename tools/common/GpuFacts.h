//===- GpuFacts.h - what the compiler knows of kernels, for reports -------===//
//
// For tools that are built with the compiler.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_COMMON_GPUFACTS_H
#define HEDDLE_TOOLS_COMMON_GPUFACTS_H

#include "common/Report.h"
#include "heddle/Target/GpuImages.h"
#include "heddle/Target/KernelCost.h"

namespace heddle {

/// Occupancy on the target, and the roofline of `chip` (null: the first product
/// of the target) where it runs code of the target.
inline KernelFactsOf kernelFactsOn(const GpuChip *chip) {
  return [chip](const std::string &name, const KernelInfo &info,
                const GpuKernel &kernel) {
    KernelFacts facts;
    if (std::optional<Occupancy> o = kernelOccupancy(name, kernel))
      facts.occupancy = KernelOccupancy{o->blocksPerSM, o->fraction,
                                        limitName(o->limit).str()};
    const GpuTarget *target = nullptr;
    std::string error;
    if (failed(GpuTarget::parse(name, target, error)))
      return facts;
    const GpuChip *on = chip ? chip : target->chips.begin();
    if (!runsOn(*target, *on))
      return facts;
    Roofline roofline = computeRoofline(*on, info);
    facts.chip = on->name.str();
    facts.rooflineSeconds = roofline.seconds;
    facts.rooflineLimit = roofline.limit.str();
    return facts;
  };
}

} // namespace heddle

#endif // HEDDLE_TOOLS_COMMON_GPUFACTS_H
