//===- Ptxas.h - NVIDIA's assembler, where it is installed ------*- C++ -*-===//

#ifndef HEDDLE_TARGET_PTXAS_H
#define HEDDLE_TARGET_PTXAS_H

#include "heddle/Runtime/GpuImage.h"
#include "heddle/Target/GpuTarget.h"

#include <string>
#include <vector>

namespace heddle {

/// What ptxas says of one entry.
struct PtxasKernel {
  std::string symbol;
  int64_t registers = 0;                                   // per thread
  int64_t spillStores = 0, spillLoads = 0, stackBytes = 0; // bytes per thread
  int64_t sharedBytes = 0;                                 // static, per block
};

/// An installed ptxas. PTX runs without it, compiled by the driver; a cubin and
/// the facts above need it.
struct Ptxas {
  std::string path;
  int cudaVersion = 0; // 13000 is 13.0

  /// `option` names the program; empty: on PATH, or bin/ptxas in CUDA_HOME,
  /// CUDA_PATH or /usr/local/cuda. On failure `error` says where it looked.
  static llvm::LogicalResult find(const std::string &option, Ptxas &ptxas,
                                  std::string &error);

  /// Fails if `ptxVersion` (80 is 8.0) is newer than this ptxas knows, and
  /// names both and the option that lowers it.
  llvm::LogicalResult checkPtxVersion(uint32_t ptxVersion,
                                      std::string &error) const;

  /// Machine code of `ptx` for `target`. Fails with what ptxas says, and where
  /// it serialised wgmma, which costs the overlap that the code was made for.
  llvm::LogicalResult assemble(llvm::StringRef ptx, const GpuTarget &target,
                               bool lineInfo, std::vector<uint8_t> &cubin,
                               std::vector<PtxasKernel> &kernels,
                               std::string &error) const;
};

/// The number after ".version " in PTX text (80 is 8.0), or 0.
uint32_t ptxVersionOf(llvm::StringRef ptx);

/// Reads what `ptxas -v` prints: one PtxasKernel per entry function.
llvm::LogicalResult parsePtxasReport(llvm::StringRef report,
                                     std::vector<PtxasKernel> &kernels,
                                     std::string &error);

/// Writes registers, spills, stack and static shared memory into the kernels of
/// an image, by symbol.
void setKernelFacts(llvm::ArrayRef<PtxasKernel> facts, GpuImage &image);

} // namespace heddle

#endif // HEDDLE_TARGET_PTXAS_H
