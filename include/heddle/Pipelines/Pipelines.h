//===- Pipelines.h - the compiler in order ----------------------*- C++ -*-===//

#ifndef HEDDLE_PIPELINES_PIPELINES_H
#define HEDDLE_PIPELINES_PIPELINES_H

#include "heddle/Runtime/Program.h"
#include "heddle/Target/GpuImages.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <functional>
#include <string>

namespace heddle {

/// The named stages, in order. `--compile-to` stops after one. Between Tile and
/// Object a CPU has Cpu and Llvm, a GPU has Gpu and Nvvm.
enum class Stage {
  Model,
  Differentiate,
  Fuse,
  Plan,
  Tile,
  Cpu,
  Llvm,
  Gpu,
  Nvvm,
  Object
};

/// "model", "differentiate", "fuse", "plan", "tile", "cpu", "llvm", "gpu", "nvvm", "object".
llvm::StringRef stageName(Stage stage);
std::optional<Stage> parseStage(llvm::StringRef name);
/// "model, differentiate, fuse, plan, tile, cpu, llvm or object", or those of
/// GPUs.
std::string stageNames(bool gpu);

/// How products of f32 are formed: by IEEE multiply-adds, or by the matrix unit
/// of a GPU from operands rounded to TF32 (10 bits of mantissa).
enum class F32Precision { Ieee, Tf32 };
/// "ieee", "tf32".
std::optional<F32Precision> parseF32Precision(llvm::StringRef name);

/// Options of one compilation.
struct CompileOptions {
  std::string target = "cpu"; // or "sm_80,sm_90": an image for each
  std::string cpu = "native"; // native | x86-64-v3 | x86-64-v4
  /// Tf32 needs GPU targets; attention ops may ask for it themselves.
  F32Precision f32Precision = F32Precision::Ieee;
  std::string entry;          // empty: every public function
  std::string tile;           // of attention on GPUs, as "q128_k64_w8_s1"; empty:
                              // chosen for each
  int64_t scanChunks = 0;     // of time, of scans on GPUs; 0: chosen for each
  Stage compileTo = Stage::Object;
  bool keepSource = true;     // store contract M in the bundle
  std::string source;         // the module's text, where the caller has it
  bool verifyEach = false;    // check the IR after every pass
  GpuImageOptions gpu;        // of GPU targets
  /// Called on the pass manager before it runs (printing, timing, reproducers).
  std::function<void(mlir::PassManager &)> configure;
};

/// Reads "cpu" (no targets) or GPU targets joined by commas. On failure `error`
/// says what was expected.
llvm::LogicalResult
parseTargets(llvm::StringRef text,
             llvm::SmallVectorImpl<const GpuTarget *> &targets,
             std::string &error);

/// Registers every dialect, extension and translation that the compiler needs.
void registerCompilerDialects(mlir::DialectRegistry &registry);
/// Registers Heddle's passes and pipelines with MLIR's global registry.
void registerCompilerPasses();

/// Compiles `module` (contract M) in place up to `options.compileTo`; with
/// Stage::Object fills `program`. For several GPU targets the stages from Tile
/// on run once for each, on copies but for the last. Kernels that have no GPU
/// code are listed in one error. A module of kernels of contract G or N in place
/// of a model becomes a function of one launch for each (docs/cuda-runtime.md).
/// Errors are emitted as diagnostics.
llvm::LogicalResult compileModule(mlir::ModuleOp module,
                                  const CompileOptions &options,
                                  Program &program);

/// Emits after Stage::Llvm: LLVM IR or assembly text of all kernels.
llvm::LogicalResult emitLLVMText(mlir::ModuleOp module,
                                 const CompileOptions &options, bool assembly,
                                 std::string &text);

} // namespace heddle

#endif // HEDDLE_PIPELINES_PIPELINES_H
