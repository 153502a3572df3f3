//===- Recomputed.cpp - products that a program forms again ---------------===//

#include "Recomputed.h"

#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/Heddle/Transforms/Loops.h"
#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Target/KernelCost.h"

using namespace mlir;

namespace heddle::bench {

/// Of a function and the loops that it launches.
static int64_t graphFlops(func::FuncOp function, const SymbolTable &symbols) {
  KernelInfo info;
  int64_t loops = 0;
  function.walk([&](Operation *op) {
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      auto callee = symbols.lookup<func::FuncOp>(launch.getKernel());
      if (std::optional<Loop> loop = loopOf(callee, symbols))
        loops += loop->trips * graphFlops(loop->body, symbols);
    } else if (!isa<AttentionGradOp>(op)) {
      countOp(op, info);
    }
  });
  return info.matrixFlops + loops;
}

static int64_t launchedFlops(const std::vector<Command> &commands,
                             const Function &function) {
  int64_t flops = 0;
  for (const Command &c : commands) {
    if (c.kind == Command::Kind::Repeat)
      flops += c.count * launchedFlops(c.body, function);
    if (c.kind != Command::Kind::Launch)
      continue;
    const KernelInfo &kernel = function.kernels[c.kernel];
    if (kernel.family != "attention_grad")
      flops += kernel.matrixFlops;
  }
  return flops;
}

std::optional<int64_t> recomputedFlops(const Model &model,
                                       const Function &function) {
  OwningOpRef<ModuleOp> copy = model.module.get().clone();
  CompileOptions options;
  options.compileTo = Stage::Differentiate;
  options.keepSource = false;
  Program program;
  if (failed(compileModule(*copy, options, program)))
    return std::nullopt;
  SymbolTable symbols(*copy);
  auto entry = symbols.lookup<func::FuncOp>(model.function);
  if (!entry)
    return std::nullopt;
  return launchedFlops(function.commands, function) -
         graphFlops(entry, symbols);
}

} // namespace heddle::bench
