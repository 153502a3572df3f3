//===- VerifyGpu.cpp - checks contract G ----------------------------------===//

#include "heddle/Dialect/HeddleGpu/Transforms/Passes.h"

#include "heddle/Dialect/HeddleNvvm/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace heddle_gpu {
#define GEN_PASS_DEF_VERIFYGPUPASS
#include "heddle/Dialect/HeddleGpu/Transforms/Passes.h.inc"
} // namespace heddle_gpu

using namespace mlir;
using namespace heddle_gpu;

static bool isKernel(FunctionOpInterface function) {
  if (isa<gpu::GPUFuncOp>(function.getOperation()) ||
      function->hasAttr(HeddleGpuDialect::kWarpsAttrName))
    return true;
  WalkResult result = function->walk([](Operation *op) {
    return isa_and_nonnull<HeddleGpuDialect>(op->getDialect())
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

static bool isKnown(Operation *op) {
  return isa_and_nonnull<HeddleGpuDialect, arith::ArithDialect,
                         math::MathDialect, scf::SCFDialect,
                         memref::MemRefDialect, gpu::GPUDialect,
                         func::FuncDialect, vector::VectorDialect>(op->getDialect()) ||
         isa<tensor::SplatOp, affine::AffineApplyOp, affine::AffineMinOp,
             affine::AffineMaxOp>(op);
}

namespace {
/// Collects what breaks the contract in one kernel.
class KernelChecker {
public:
  using Problems = SmallVector<std::pair<Location, std::string>>;
  KernelChecker(FunctionOpInterface kernel, Problems &problems)
      : problems(problems), kernel(kernel) {
    if (auto attr = kernel->getAttrOfType<IntegerAttr>(
            HeddleGpuDialect::kWarpsAttrName))
      kernelWarps = attr.getInt();
  }

  void run() {
    if (auto f = dyn_cast<gpu::GPUFuncOp>(kernel.getOperation())) {
      DenseI32ArrayAttr block = f.getKnownBlockSizeAttr();
      std::string problem = heddle::nvvm::findLaunchProblem(
          f, block ? block.asArrayRef() : ArrayRef<int32_t>());
      if (!problem.empty())
        report(f.getLoc(), problem);
    }
    kernel->walk<WalkOrder::PreOrder>([&](Operation *op) {
      // The inside of an op that has to go does not matter.
      if (op != kernel.getOperation() && !check(op))
        return WalkResult::skip();
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            checkType(op, argument.getType(), argument.getLoc());
      return WalkResult::advance();
    });
  }

private:
  void report(Location loc, const Twine &text) {
    problems.push_back({loc, text.str()});
  }

  /// False if the op is not part of the contract.
  bool check(Operation *op) {
    std::string name = ("'" + op->getName().getStringRef() + "'").str();
    if (!isKnown(op)) {
      report(op->getLoc(),
             name + " is not part of a GPU tile program; expected heddle_gpu, "
                    "arith, math, scf and memref ops");
      return false;
    }
    if (auto alloc = dyn_cast<memref::AllocOp>(op);
        alloc &&
        !gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(alloc.getType()))
      report(op->getLoc(), name + " allocates global memory; expected "
                                  "#gpu.address_space<workgroup>");
    if (auto role = dyn_cast<WarpRoleOp>(op))
      checkRole(role);
    for (Type type : op->getResultTypes())
      checkType(op, type, op->getLoc());
    return true;
  }

  void checkRole(WarpRoleOp role) {
    if (role->getParentOfType<WarpRoleOp>())
      report(role.getLoc(),
             "a warp role stands in another; expected roles side "
             "by side");
    int64_t end = role.getFirst() + role.getWarps();
    if (kernel->hasAttr(HeddleGpuDialect::kWarpsAttrName) && end > *kernelWarps)
      report(role.getLoc(), "a warp role ends at warp " + Twine(end) +
                                ", but the kernel has " + Twine(*kernelWarps));
  }

  /// The tensor `type`, of a value of or in `op`, has a layout over the right
  /// number of warps.
  void checkType(Operation *op, Type type, Location loc) {
    if (!isa<TensorType>(type))
      return;
    std::string text;
    llvm::raw_string_ostream os(text);
    LayoutAttr layout = getLayoutAttr(type);
    if (!layout) {
      os << "expected a layout (#heddle_gpu.layout) on every tensor, got '"
         << type << "'";
      report(loc, text);
      return;
    }
    int64_t warps = layout.getValue().numWarps();
    auto role = dyn_cast<WarpRoleOp>(op);
    if (!role)
      role = op->getParentOfType<WarpRoleOp>();
    if (!role && !kernelWarps)
      kernelWarps = warps;
    int64_t wanted =
        role ? static_cast<int64_t>(role.getWarps()) : *kernelWarps;
    if (warps == wanted)
      return;
    os << "expected layouts over " << wanted << " warps, those of the "
       << (role ? "role" : "kernel") << ", got " << warps << " in '" << type
       << "'";
    report(loc, text);
  }

  Problems &problems;
  FunctionOpInterface kernel;
  std::optional<int64_t> kernelWarps;
};

struct VerifyGpu : heddle_gpu::impl::VerifyGpuPassBase<VerifyGpu> {
  void runOnOperation() override {
    KernelChecker::Problems problems;
    getOperation().walk([&](FunctionOpInterface function) {
      if (isKernel(function))
        KernelChecker(function, problems).run();
    });
    if (problems.empty())
      return;
    InFlightDiagnostic diag = mlir::emitError(problems.front().first)
                              << "contract G: " << problems.front().second;
    for (auto &[loc, text] : ArrayRef(problems).drop_front())
      diag.attachNote(loc) << "contract G: " << text;
    signalPassFailure();
  }
};
} // namespace
