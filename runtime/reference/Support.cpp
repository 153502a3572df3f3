//===- Support.cpp - what the reference device can evaluate ---------------===//

#include "Support.h"
#include "Ops.h"
#include "heddle/Dialect/Heddle/IR/ScanChunks.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace heddle::reference {

namespace {
class Checker {
public:
  void checkFunction(func::FuncOp function) {
    if (!done.insert(function).second)
      return;
    active.insert(function);
    for (Operation &op : function.getBody().getOps())
      checkGraphOp(&op);
    if (!function.getBody().hasOneBlock())
      report(function, "expected a single block");
    active.erase(function);
  }

  void checkGraphOp(Operation *op) {
    if (op->hasTrait<OpTrait::IsTerminator>()) {
      if (!isa<func::ReturnOp, YieldOp, scf::YieldOp>(op))
        report(op, "control flow between blocks is not supported");
      return;
    }
    if (auto valueAndGrad = dyn_cast<ValueAndGradOp>(op))
      return report(valueAndGrad, "differentiate the module first");
    if (isa<LaunchOp>(op))
      return report(op, "kernels are not part of the model; give the module "
                        "from before fusion");
    if (!checkTypes(op))
      return;
    if (isScanOverChunks(op))
      return report(op, "chunks of time are made by the compiler; give the "
                        "scan from before them");
    if (auto call = dyn_cast<func::CallOp>(op))
      return checkCall(call);
    if (isa<CheckpointOp, LayerScanOp, scf::ForOp, scf::IfOp>(op)) {
      for (Region &region : op->getRegions())
        for (Operation &nested : region.getOps())
          checkGraphOp(&nested);
      return;
    }
    if (isa<AttentionOp, AttentionGradOp, linalg::LinalgOp, tensor::PadOp,
            tensor::GenerateOp>(op)) {
      for (Region &region : op->getRegions())
        for (Operation &nested : region.getOps())
          checkElementOp(&nested);
      return;
    }
    if (isa<SelectiveScanOp, SelectiveScanGradOp, SsdOp, LinearScanOp,
            LinearScanGradOp, NameOp, GatherOp, ScatterAddOp, RandomBitsOp,
            linalg::SoftmaxOp>(op) ||
        isTensorOp(op))
      return;
    std::string why = ElementProgram::whyUnsupported(op);
    if (!why.empty() || isa<linalg::IndexOp>(op))
      report(op, "not part of a model graph");
  }

  LogicalResult finish(Operation *root) {
    if (problems.empty())
      return success();
    InFlightDiagnostic error = root->emitError("expected ops of a model graph, "
                                               "found ")
                               << problems.size()
                               << " that the reference device cannot "
                                  "evaluate; rewrite or lower them";
    for (auto &[op, why] : problems)
      error.attachNote(op->getLoc())
          << "unsupported '" << op->getName() << "': " << why;
    return error;
  }

private:
  void report(Operation *op, StringRef why) {
    problems.emplace_back(op, why.str());
  }

  bool checkTypes(Operation *op) {
    auto check = [&](Type type) {
      if (auto tensor = dyn_cast<RankedTensorType>(type)) {
        if (!tensor.hasStaticShape()) {
          report(op, "expected static shapes, found a dynamic one");
          return false;
        }
        type = tensor.getElementType();
      }
      if (!type.isIndex() && !hostTypeOf(type)) {
        std::string text;
        llvm::raw_string_ostream(text)
            << "expected static tensors or scalars of f64, f32, f16, bf16, "
               "i1, i8, i16, i32, i64 or index, found "
            << type;
        report(op, text);
        return false;
      }
      return true;
    };
    return llvm::all_of(op->getOperandTypes(), check) &&
           llvm::all_of(op->getResultTypes(), check);
  }

  void checkElementOp(Operation *op) {
    if (op->hasTrait<OpTrait::IsTerminator>())
      return;
    if (op->getNumRegions() != 0)
      return report(op, "a region of scalar code cannot hold regions");
    std::string why = ElementProgram::whyUnsupported(op);
    if (!why.empty())
      return report(op, why);
    checkTypes(op);
  }

  void checkCall(func::CallOp call) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    if (!callee || callee.isExternal())
      return report(call, "the called function has no body");
    if (active.contains(callee))
      return report(call, "recursive calls are not supported");
    checkFunction(callee);
  }

  SmallVector<std::pair<Operation *, std::string>> problems;
  llvm::SmallPtrSet<Operation *, 8> done, active;
};
} // namespace

LogicalResult checkSupported(func::FuncOp function) {
  Checker checker;
  checker.checkFunction(function);
  return checker.finish(function);
}

LogicalResult checkSupported(Operation *op) {
  Checker checker;
  checker.checkGraphOp(op);
  return checker.finish(op);
}

} // namespace heddle::reference
