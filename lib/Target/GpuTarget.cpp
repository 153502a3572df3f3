//===- GpuTarget.cpp - architectures and chips ----------------------------===//

#include "heddle/Target/GpuTarget.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace heddle;

static constexpr double kGB = 1e9, kTera = 1e12, kGHz = 1e9;
static constexpr int64_t kKiB = 1024, kMiB = 1024 * 1024;

// name, multiprocessors, memory, f32, tf32, bf16, L2, clock
static constexpr GpuChip kAmpere[] = {
    // A100 white paper, table "Comparison of NVIDIA Data Center GPUs"; the
    // boards of 40 and 80 GB differ in memory bandwidth only.
    {"A100", 108, 1555 * kGB, 19.5 * kTera, 156 * kTera, 312 * kTera, 40 * kMiB,
     1.41 * kGHz},
    {"A100-80GB", 108, 2039 * kGB, 19.5 * kTera, 156 * kTera, 312 * kTera,
     40 * kMiB, 1.41 * kGHz},
};
static constexpr GpuChip kAmpereConsumer[] = {
    // GA102 white paper, table of the GeForce RTX 3090.
    {"RTX3090", 82, 936 * kGB, 35.6 * kTera, 35.6 * kTera, 71 * kTera,
     6 * kMiB, 1.695 * kGHz},
};
static constexpr GpuChip kAda[] = {
    // Ada white paper, table of the GeForce RTX 4090.
    {"RTX4090", 128, 1008 * kGB, 82.6 * kTera, 82.6 * kTera, 165.2 * kTera,
     72 * kMiB, 2.52 * kGHz},
    // L40S data sheet; L2 as L40 in the Ada white paper.
    {"L40S", 142, 864 * kGB, 91.6 * kTera, 183 * kTera, 362 * kTera, 96 * kMiB,
     2.52 * kGHz},
};
static constexpr GpuChip kHopper[] = {
    // H100 white paper, table of H100 SXM5 and PCIe; the clocks follow from 4096
    // FLOPs of bf16 per multiprocessor and clock.
    {"H100", 132, 3352 * kGB, 66.9 * kTera, 494.7 * kTera, 989.4 * kTera,
     50 * kMiB, 1.83 * kGHz},
    {"H100-PCIe", 114, 2039 * kGB, 51.2 * kTera, 378 * kTera, 756 * kTera,
     50 * kMiB, 1.62 * kGHz},
    // H200 data sheet: H100 SXM5 with other memory.
    {"H200", 132, 4800 * kGB, 66.9 * kTera, 494.7 * kTera, 989.4 * kTera,
     50 * kMiB, 1.83 * kGHz},
};

llvm::ArrayRef<GpuTarget> GpuTarget::all() {
  static const GpuTarget targets[] = {
      {"sm_80", 80, false, 70, 163 * kKiB, 164 * kKiB, 65536, 255, 2048, 64, 32,
       kAmpere},
      {"sm_86", 86, false, 71, 99 * kKiB, 100 * kKiB, 65536, 255, 1536, 48, 16,
       kAmpereConsumer},
      {"sm_89", 89, false, 78, 99 * kKiB, 100 * kKiB, 65536, 255, 1536, 48, 24,
       kAda},
      {"sm_90", 90, false, 78, 227 * kKiB, 228 * kKiB, 65536, 255, 2048, 64, 32,
       kHopper},
      {"sm_90a", 90, true, 80, 227 * kKiB, 228 * kKiB, 65536, 255, 2048, 64, 32,
       kHopper},
  };
  return targets;
}

/// "a, b or c".
static std::string listOf(llvm::ArrayRef<llvm::StringRef> names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0                  ? ""
             : i + 1 == names.size() ? " or "
                                     : ", ") +
            names[i].str();
  return text;
}

std::string GpuTarget::names() {
  llvm::SmallVector<llvm::StringRef> names;
  for (const GpuTarget &target : all())
    names.push_back(target.name);
  return listOf(names);
}

llvm::LogicalResult GpuTarget::parse(llvm::StringRef name,
                                     const GpuTarget *&target,
                                     std::string &error) {
  for (const GpuTarget &candidate : all())
    if (candidate.name == name) {
      target = &candidate;
      return llvm::success();
    }
  error = "expected a GPU target " + names() + ", got '" + name.str() + "'";
  return llvm::failure();
}

llvm::LogicalResult heddle::findGpuChip(llvm::StringRef name,
                                        const GpuChip *&chip,
                                        const GpuTarget *&target,
                                        std::string &error) {
  llvm::SmallVector<llvm::StringRef> names;
  for (const GpuTarget &t : GpuTarget::all())
    for (const GpuChip &c : t.chips) {
      if (name.equals_insensitive(c.name)) {
        chip = &c;
        target = &t;
        return llvm::success();
      }
      if (!t.specific)
        names.push_back(c.name);
    }
  error = "expected a GPU " + listOf(names) + ", got '" + name.str() + "'";
  return llvm::failure();
}

bool heddle::runsOn(const GpuTarget &target, const GpuChip &chip) {
  for (const GpuTarget &own : GpuTarget::all())
    for (const GpuChip &c : own.chips)
      if (c.name == chip.name &&
          (target.specific ? target.sm == own.sm : target.sm <= own.sm))
        return true;
  return false;
}

llvm::StringRef heddle::limitName(Occupancy::Limit limit) {
  switch (limit) {
  case Occupancy::Limit::None:
    return "none";
  case Occupancy::Limit::Warps:
    return "warps";
  case Occupancy::Limit::Blocks:
    return "blocks";
  case Occupancy::Limit::Registers:
    return "registers";
  case Occupancy::Limit::SharedMemory:
    return "shared memory";
  }
  return "";
}

Occupancy heddle::computeOccupancy(const GpuTarget &target,
                                   const BlockResources &block) {
  constexpr int kWarp = 32, kPartitions = 4;
  constexpr int64_t kRegisterUnit = 256, kSharedUnit = 128;
  Occupancy result;
  if (block.threads < 1 || block.threads > 1024 || block.registers < 0 ||
      block.registers > target.maxRegistersPerThread || block.sharedBytes < 0 ||
      block.sharedBytes > target.maxSharedPerBlock)
    return result;
  int64_t warps = (block.threads + kWarp - 1) / kWarp;

  int64_t blocks = target.maxWarpsPerSM / warps;
  result.limit = Occupancy::Limit::Warps;
  auto limit = [&](int64_t most, Occupancy::Limit why) {
    if (most >= blocks)
      return;
    blocks = most;
    result.limit = why;
  };
  limit(target.maxBlocksPerSM, Occupancy::Limit::Blocks);
  if (block.registers > 0) {
    int64_t perWarp = llvm::alignTo(block.registers * kWarp, kRegisterUnit);
    int64_t perPartition = target.registersPerSM / kPartitions / perWarp;
    // A block cannot be launched on part of a multiprocessor's registers.
    bool whole = (warps + kPartitions - 1) / kPartitions <= perPartition;
    limit(whole ? perPartition * kPartitions / warps : 0,
          Occupancy::Limit::Registers);
  }
  int64_t shared =
      llvm::alignTo(block.sharedBytes + kReservedSharedBytes, kSharedUnit);
  limit(target.sharedPerSM / shared, Occupancy::Limit::SharedMemory);

  result.blocksPerSM = static_cast<int>(blocks);
  result.warpsPerSM = static_cast<int>(blocks * warps);
  result.fraction =
      static_cast<double>(result.warpsPerSM) / target.maxWarpsPerSM;
  return result;
}
