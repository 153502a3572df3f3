//===- Pipelines.h - the compiler in order ----------------------*- C++ -*-===//

#ifndef HEDDLE_PIPELINES_PIPELINES_H
#define HEDDLE_PIPELINES_PIPELINES_H

#include "heddle/Runtime/Program.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <functional>
#include <string>

namespace heddle {

/// The named stages, in order. `--compile-to` stops after one.
enum class Stage { Model, Fuse, Plan, Tile, Cpu, Llvm, Object };

/// "model", "fuse", "plan", "tile", "cpu", "llvm", "object".
llvm::StringRef stageName(Stage stage);
std::optional<Stage> parseStage(llvm::StringRef name);

/// Options of one compilation.
struct CompileOptions {
  std::string target = "cpu";
  std::string cpu = "native"; // native | x86-64-v3 | x86-64-v4
  std::string entry;          // empty: every public function
  Stage compileTo = Stage::Object;
  bool keepSource = true;     // store contract M in the bundle
  std::string source;         // the module's text, where the caller has it
  bool verifyEach = false;    // check the IR after every pass
  /// Called on the pass manager before it runs (printing, timing, reproducers).
  std::function<void(mlir::PassManager &)> configure;
};

/// Registers every dialect, extension and translation that the compiler needs.
void registerCompilerDialects(mlir::DialectRegistry &registry);
/// Registers Heddle's passes and pipelines with MLIR's global registry.
void registerCompilerPasses();

/// Compiles `module` (contract M) in place up to `options.compileTo`; with
/// Stage::Object fills `program`. Errors are emitted as diagnostics.
llvm::LogicalResult compileModule(mlir::ModuleOp module,
                                  const CompileOptions &options,
                                  Program &program);

/// Emits after Stage::Llvm: LLVM IR or assembly text of all kernels.
llvm::LogicalResult emitLLVMText(mlir::ModuleOp module,
                                 const CompileOptions &options, bool assembly,
                                 std::string &text);

} // namespace heddle

#endif // HEDDLE_PIPELINES_PIPELINES_H
