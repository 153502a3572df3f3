//===- GpuImage.h - the kernels of a function as GPU code -------*- C++ -*-===//
//
// A function that is compiled for a GPU has one image per chip and kind; each
// image holds every kernel of the function. Part of the runtime: no LLVM header
// here.
//
// Kernel ABI. An entry takes one parameter of 8 bytes per launch argument: the
// device address of a buffer, the i64 of a scalar, or the device address of an
// array of device addresses for a pointer table. It returns nothing.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_GPUIMAGE_H
#define HEDDLE_RUNTIME_GPUIMAGE_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

/// What the bytes of an image are. The numbers are part of the bundle format.
enum class GpuImageKind : uint8_t {
  Ptx = 0,      // PTX text; the driver compiles it for its chip
  Cubin = 1,    // machine code of one chip, an ELF file of ptxas
  Emulator = 2, // x86-64 ELF relocatable that the emulator device runs
};
/// "ptx", "cubin", "emulator".
const char *gpuImageKindName(GpuImageKind kind);

/// One kernel in an image; it has the index of its entry in Function::kernels.
struct GpuKernel {
  std::string symbol;                        // entry point in the image
  std::array<uint32_t, 3> grid = {1, 1, 1};  // blocks; a 0 launches nothing
  std::array<uint32_t, 3> block = {1, 1, 1}; // threads of a block
  int64_t sharedBytes = 0;                   // dynamic shared memory of a block
  // Facts for reports; -1 where unknown.
  int64_t registers = -1;         // per thread
  int64_t spillBytes = -1;        // stores and loads of spills, per thread
  int64_t stackBytes = -1;        // stack frame per thread
  int64_t staticSharedBytes = -1; // beside sharedBytes
  int64_t globalBytes = -1;       // that all blocks ask global memory for
  std::string tile;               // tile sizes in words
};

/// GPU code of one function.
struct GpuImage {
  std::string target; // "sm_80", "sm_90a"
  GpuImageKind kind = GpuImageKind::Ptx;
  /// PTX ISA that the text asks for, 10 x major + minor: 80 is 8.0. 0 unless
  /// kind is Ptx.
  uint32_t ptxVersion = 0;
  std::vector<uint8_t> bytes;
  std::vector<GpuKernel> kernels;
};

/// A chip's architecture: "sm_86" is 86. `specific` is the suffix of targets
/// whose code runs on exactly one architecture ("sm_90a": 'a'), or 0.
struct GpuArch {
  int sm = 0;
  char specific = 0;
};
/// False unless `name` is "sm_" and 2 or 3 digits, then at most an "a" or "f".
bool parseGpuArch(const std::string &name, GpuArch &arch);

/// The newest PTX ISA (84 is 8.4) of a CUDA release (12040 is 12.4), for its
/// driver and its ptxas alike; by the release table of the PTX ISA manual.
/// Releases newer than the table count as the newest one in it.
uint32_t newestPtxOfCuda(int cudaVersion);
/// "8.4" for 84, "12.4" for 12040.
std::string ptxVersionText(uint32_t ptxVersion);
std::string cudaVersionText(int cudaVersion);

} // namespace heddle

#endif // HEDDLE_RUNTIME_GPUIMAGE_H
