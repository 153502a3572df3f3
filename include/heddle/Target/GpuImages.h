//===- GpuImages.h - kernels of contract N as images of a bundle *- C++ -*-===//

#ifndef HEDDLE_TARGET_GPUIMAGES_H
#define HEDDLE_TARGET_GPUIMAGES_H

#include "heddle/Runtime/Program.h"
#include "heddle/Target/PtxObject.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

namespace heddle {

/// Which images are made.
struct GpuImageOptions {
  PtxOptions ptx;
  bool makePtx = true;
  /// Machine code beside the PTX. Needs ptxas; without it that is an error.
  bool makeCubin = false;
  /// Registers, spills, stack and static shared memory in the images, where
  /// ptxas is installed and knows the PTX ISA.
  bool findFacts = true;
  std::string ptxas; // path; empty: the one that is installed
  /// Code that the emulator device runs, for processes that compile and run.
  bool makeEmulator = false;
};

/// What stands on the llvm.func of a kernel at contract N beside its block,
/// nvvm.reqntid.
constexpr llvm::StringLiteral kGpuGrid = "heddle.grid"; // i64: blocks along x
constexpr llvm::StringLiteral kGpuSharedBytes =
    "heddle_gpu.shared_bytes";                          // i64
constexpr llvm::StringLiteral kGpuTile = "heddle.tile"; // string

/// Appends the images of `function` for `target`. `module` holds a gpu.module
/// for each of the function's kernels, under its name, as they are or each in a
/// module of its own; all kernels of the function share one image of each kind,
/// in which their symbols carry the tile ("matmul_100_96_f32_r64_c64").
/// `traffic` has the bytes of tileTraffic by kernel, where they are known. The IR
/// stays as it is. Emits an error and fails where a kernel is missing, breaks
/// contract N, or exceeds what a launch on the target may ask for.
llvm::LogicalResult
appendGpuImages(mlir::ModuleOp module, const GpuTarget &target,
                const GpuImageOptions &options, Function &function,
                const llvm::StringMap<int64_t> &traffic = {});

/// How many blocks of a kernel share a multiprocessor of `target`, the name of
/// a GPU target. Nothing where its registers are unknown.
std::optional<Occupancy> kernelOccupancy(llvm::StringRef target,
                                         const GpuKernel &kernel);

/// A module with one gpu.module that holds all kernels of `module`, their
/// symbols with the tile.
mlir::OwningOpRef<mlir::ModuleOp> joinGpuModules(mlir::ModuleOp module);

} // namespace heddle

#endif // HEDDLE_TARGET_GPUIMAGES_H
