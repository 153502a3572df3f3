//===- GpuTarget.h - what code generation knows of a GPU --------*- C++ -*-===//
//
// Limits are those of the CUDA C++ Programming Guide ("Technical Specifications
// per Compute Capability"), figures of chips those of NVIDIA's architecture
// white papers (A100, GA102, Ada, H100) and of the data sheets of L40S and
// H200.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TARGET_GPUTARGET_H
#define HEDDLE_TARGET_GPUTARGET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"

#include <cstdint>
#include <string>

namespace heddle {

/// A product. Rates are peaks at boost clock, dense (no sparsity), with f32
/// accumulation; an FMA counts as two FLOPs.
struct GpuChip {
  llvm::StringLiteral name; // "A100"
  int multiprocessors;
  double bytesPerSecond;       // device memory
  double f32Flops;             // FMA on the vector units
  double tf32Flops, bf16Flops; // matrix units; f16 is as bf16
  int64_t l2Bytes;
  double clock; // Hz, at which the matrix units reach their rate
};

/// An architecture by the name that PTX's .target has.
struct GpuTarget {
  llvm::StringLiteral name; // "sm_90a"
  int sm;                   // 90
  /// Has the instructions of exactly this architecture (wgmma, setmaxnreg); its
  /// code runs nowhere else.
  bool specific;
  uint32_t minPtxVersion;    // the first PTX ISA with this target; 80 is 8.0
  int64_t maxSharedPerBlock; // bytes, static and dynamic, after opting in
  int64_t sharedPerSM;       // bytes, of which each block also costs
                             // kReservedSharedBytes
  int64_t registersPerSM;    // of 32 bits
  int maxRegistersPerThread;
  int maxThreadsPerSM, maxWarpsPerSM, maxBlocksPerSM;
  llvm::ArrayRef<GpuChip> chips;

  /// All targets, the oldest first.
  static llvm::ArrayRef<GpuTarget> all();
  /// Finds a target by name. On failure `error` lists what exists.
  static llvm::LogicalResult
  parse(llvm::StringRef name, const GpuTarget *&target, std::string &error);
  /// "sm_80, sm_86, ... or sm_90a".
  static std::string names();
};

/// Shared memory that the system takes of every block.
constexpr int64_t kReservedSharedBytes = 1024;

/// A product by name ("H100", case does not matter) and the first target it
/// runs. On failure `error` lists what exists.
llvm::LogicalResult findGpuChip(llvm::StringRef name, const GpuChip *&chip,
                                const GpuTarget *&target, std::string &error);

/// Whether a product runs code (PTX) of a target: the target is no newer than
/// the chip's own, and that one itself where its code runs nowhere else.
bool runsOn(const GpuTarget &target, const GpuChip &chip);

/// What a kernel needs of a multiprocessor.
struct BlockResources {
  int threads = 1;         // of a block
  int registers = 0;       // per thread
  int64_t sharedBytes = 0; // of a block, static and dynamic
};

/// How many blocks share a multiprocessor.
struct Occupancy {
  enum class Limit { None, Warps, Blocks, Registers, SharedMemory };
  int blocksPerSM = 0; // 0: the kernel cannot be launched
  int warpsPerSM = 0;
  double fraction = 0; // of the warps that fit at most
  Limit limit = Limit::None;
};
/// "warps", "blocks", "registers", "shared memory".
llvm::StringRef limitName(Occupancy::Limit limit);

/// By the rules of NVIDIA's occupancy calculator for these architectures:
/// registers are given to warps in units of 256 and come from four partitions,
/// each with a quarter of them and of the warps; shared memory in units of 128
/// bytes.
Occupancy computeOccupancy(const GpuTarget &target,
                           const BlockResources &block);

} // namespace heddle

#endif // HEDDLE_TARGET_GPUTARGET_H
