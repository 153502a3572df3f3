//===- LowerKernelsToGpu.cpp - the GPU stages on all kernels --------------===//

#include "LowerKernelsToGpu.h"

#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace heddle;

namespace {
struct Refused {
  std::string name, family, reason;
  mlir::Location where;
};

struct LowerKernelsToGpu
    : PassWrapper<LowerKernelsToGpu, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerKernelsToGpu)

  LowerKernelsToGpu() = default;
  LowerKernelsToGpu(const LowerKernelsToGpu &other) : PassWrapper(other) {}
  LowerKernelsToGpu(bool toGpu, bool toNvvm) {
    gpu = toGpu;
    nvvm = toNvvm;
  }

  StringRef getArgument() const final { return "heddle-lower-kernels-to-gpu"; }
  StringRef getDescription() const final {
    return "runs the GPU stages on all kernels and lists those they refuse";
  }

  OpPassManager pipeline() const {
    OpPassManager pm(ModuleOp::getOperationName());
    if (gpu)
      addGpuPasses(pm);
    if (nvvm)
      addNvvmPasses(pm);
    return pm;
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    // Asked before options are set as well: those of both stages.
    OpPassManager pm(ModuleOp::getOperationName());
    addGpuPasses(pm);
    addNvvmPasses(pm);
    pm.getDependentDialects(registry);
  }

  void runOnOperation() override {
    OpPassManager pm = pipeline();
    SmallVector<Refused> refused;
    for (auto kernel : getOperation().getOps<ModuleOp>())
      convert(pm, kernel, refused);
    if (refused.empty())
      return;
    report(refused);
    signalPassFailure();
  }

  void convert(OpPassManager &pm, ModuleOp kernel,
               SmallVectorImpl<Refused> &refused) {
    Refused r{kernel.getName().value_or("?").str(), "", "", kernel.getLoc()};
    for (auto f : kernel.getOps<func::FuncOp>())
      if (auto family = f->getAttrOfType<StringAttr>(kKernelFamily))
        r.family = family.str();
    // Diagnostics of other threads, which compile other models in this context,
    // are not ours.
    uint64_t thread = llvm::get_threadid();
    ScopedDiagnosticHandler handler(&getContext(), [&](Diagnostic &diagnostic) {
      if (llvm::get_threadid() != thread ||
          diagnostic.getSeverity() != DiagnosticSeverity::Error)
        return failure();
      if (r.reason.empty()) {
        r.reason = diagnostic.str();
        r.where = diagnostic.getLocation();
      }
      return success();
    });
    if (failed(runPipeline(pm, kernel)))
      refused.push_back(std::move(r));
  }

  void report(ArrayRef<Refused> refused) {
    std::string names;
    for (const Refused &r : refused)
      names += (names.empty() ? "'" : ", '") + r.name + "'";
    InFlightDiagnostic diagnostic =
        getOperation().emitError("expected kernels that have GPU code, got ")
        << refused.size() << (refused.size() == 1 ? " that has" : " that have")
        << " none: " << names << "; use --target=cpu";
    for (const Refused &r : refused)
      diagnostic.attachNote(r.where)
          << "'" << r.name << "' (" << r.family << "): "
          << (r.reason.empty() ? "refused without a reason" : r.reason);
  }

  Option<bool> gpu{*this, "gpu", llvm::cl::desc("contract T to contract G"),
                   llvm::cl::init(true)};
  Option<bool> nvvm{*this, "nvvm", llvm::cl::desc("contract G to contract N"),
                    llvm::cl::init(true)};
};
} // namespace

std::unique_ptr<Pass> heddle::createLowerKernelsToGpuPass(bool gpu, bool nvvm) {
  return std::make_unique<LowerKernelsToGpu>(gpu, nvvm);
}

void heddle::registerLowerKernelsToGpuPass() {
  registerPass([] { return createLowerKernelsToGpuPass(true, true); });
}
