//===- VerifyContracts.cpp - checks contracts M and K ---------------------===//

#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/Heddle/IR/ScanChunks.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"
#include "heddle/Dialect/Heddle/Transforms/PlanAttributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/InterleavedRange.h"
#include "llvm/Support/MathExtras.h"

namespace heddle {
#define GEN_PASS_DEF_VERIFYMODELPASS
#define GEN_PASS_DEF_VERIFYKERNELSPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

/// Bytes that the addresses of a process can tell apart. Sums of thousands of
/// tensors below it stay far from overflow.
static constexpr int64_t kMostBytes = int64_t(1) << 47;

/// Whether a static tensor takes more bytes than `kMostBytes`.
static bool isTooLarge(RankedTensorType type) {
  if (llvm::is_contained(type.getShape(), 0))
    return false;
  Type element = type.getElementType();
  int64_t bytes = element.isIndex()
                      ? 8
                      : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  return llvm::any_of(type.getShape(), [&](int64_t extent) {
    return llvm::MulOverflow(bytes, extent, bytes) || bytes > kMostBytes;
  });
}

/// What is wrong with a type in contract M, or empty.
static std::string typeProblem(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (isa<TensorType>(type) && !tensor)
    os << "expected a ranked tensor, got " << type;
  else if (tensor && !tensor.hasStaticShape())
    os << "expected a static shape, got " << type
       << "; compile one specialisation per shape";
  else if (tensor && isa<ComplexType>(tensor.getElementType()))
    os << "expected pairs of real tensors for complex values, got " << type;
  else if (tensor && !tensor.getElementType().isIntOrIndexOrFloat())
    os << "expected integer or float elements, got " << type;
  else if (tensor && isTooLarge(tensor))
    os << "expected a tensor of at most " << (kMostBytes >> 40) << " TiB, got "
       << type << "; use smaller shapes";
  return text;
}

/// Why an op is outside contract M (or what a target runs), or empty.
static std::string opProblem(Operation *op, StringRef target) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Dialect *dialect = op->getDialect();
  bool known =
      isa_and_nonnull<linalg::LinalgDialect, tensor::TensorDialect,
                      arith::ArithDialect, math::MathDialect, HeddleDialect>(
          dialect) ||
      isa<func::ReturnOp>(op);
  if (!known || isa<LaunchOp, TileStoreOp>(op)) {
    os << "'" << op->getName()
       << "' is not part of a model; use heddle, linalg, tensor, arith and "
          "math "
          "ops";
    return text;
  }
  if (target == "gpu" && isa<AttentionGradOp>(op)) {
    os << "'" << op->getName()
       << "' has no gpu kernel yet; use --target=cpu, or run it with "
          "--device=reference";
    return text;
  }
  if (isScanOverChunks(op)) {
    os << "'" << op->getName()
       << "' over chunks of time is not part of a model; write the scan, which "
          "becomes chunks where a GPU needs them";
    return text;
  }
  for (Type t : op->getResultTypes())
    if (std::string problem = typeProblem(t); !problem.empty()) {
      os << "'" << op->getName() << "': " << problem;
      return text;
    }
  return text;
}

/// A donated argument is the memory of one result.
static LogicalResult verifyDonation(func::FuncOp f) {
  LogicalResult result = success();
  DenseMap<Value, SmallVector<int64_t>> returned; // results, by argument
  for (OpOperand &operand :
       f.getBody().front().getTerminator()->getOpOperands()) {
    Value v = operand.get();
    while (v.getDefiningOp() &&
           isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
               v.getDefiningOp()))
      v = v.getDefiningOp()->getOperand(0);
    if (isa<BlockArgument>(v))
      returned[v].push_back(operand.getOperandNumber());
  }
  for (BlockArgument arg : f.getArguments()) {
    unsigned number = arg.getArgNumber();
    ArrayRef<int64_t> results = returned[arg];
    if (results.size() < 2 || !f.getArgAttr(number, kArgumentDonated))
      continue;
    std::string name;
    if (auto attr = f.getArgAttrOfType<StringAttr>(number, kArgumentName))
      name = (" '" + attr.getValue() + "'").str();
    result = emitError(arg.getLoc())
             << "expected donated argument " << number << name
             << " to be returned once, got it as results "
             << llvm::interleaved(results) << "; return it once, or drop "
             << kArgumentDonated;
  }
  return result;
}

namespace {
struct VerifyModel : heddle::impl::VerifyModelPassBase<VerifyModel> {
  using VerifyModelPassBase::VerifyModelPassBase;

  void runOnOperation() override {
    SmallVector<std::pair<mlir::Location, std::string>> problems;
    bool any = false;
    for (Operation &top : getOperation().getBody()->getOperations()) {
      auto f = dyn_cast<func::FuncOp>(top);
      if (!f) {
        problems.push_back({top.getLoc(), ("'" + top.getName().getStringRef() +
                                           "' is not part of a model; expected "
                                           "func.func only")
                                              .str()});
        continue;
      }
      if (f.isExternal()) {
        problems.push_back(
            {f.getLoc(), ("function '" + f.getName() +
                          "' has no body; give it one or remove it")
                             .str()});
        continue;
      }
      any = true;
      if (!f.getBody().hasOneBlock()) {
        problems.push_back({f.getLoc(), ("function '" + f.getName() +
                                         "' has branches; expected one block")
                                            .str()});
        continue;
      }
      for (auto [i, t] : llvm::enumerate(f.getArgumentTypes())) {
        std::string problem =
            isa<TensorType>(t) ? typeProblem(t) : "expected a tensor";
        if (!problem.empty())
          problems.push_back({f.getArgument(i).getLoc(),
                              "argument " + std::to_string(i) + " of '" +
                                  f.getName().str() + "': " + problem});
      }
      for (auto [i, t] : llvm::enumerate(f.getResultTypes()))
        if (!isa<TensorType>(t))
          problems.push_back({f.getLoc(), "result " + std::to_string(i) +
                                              " of '" + f.getName().str() +
                                              "': expected a tensor"});
      f.walk([&](Operation *op) {
        if (op == f.getOperation())
          return;
        // Bodies of structured ops hold scalars.
        std::string problem = opProblem(op, target);
        if (!problem.empty())
          problems.push_back({op->getLoc(), problem});
      });
    }
    if (!any) {
      getOperation().emitError("expected a func.func with a body to compile, "
                               "found none");
      return signalPassFailure();
    }
    if (problems.empty()) {
      for (auto f : getOperation().getOps<func::FuncOp>())
        if (failed(verifyDonation(f)))
          signalPassFailure();
      return;
    }
    InFlightDiagnostic diag =
        mlir::emitError(problems.front().first)
        << (problems.size() == 1
                ? "unsupported: "
                : std::to_string(problems.size()) + " unsupported: ")
        << problems.front().second;
    for (auto &[loc, text] : ArrayRef(problems).drop_front())
      diag.attachNote(loc) << "unsupported: " << text;
    signalPassFailure();
  }
};

struct VerifyKernels : heddle::impl::VerifyKernelsPassBase<VerifyKernels> {
  void runOnOperation() override {
    for (auto f : getOperation().getOps<func::FuncOp>()) {
      if (f.isExternal())
        continue;
      bool isKernel = f->hasAttr(kKernelFamily);
      for (Type t : f.getArgumentTypes())
        if (!isa<MemRefType>(t)) {
          f.emitError("contract K: expected buffers, got argument of type ")
              << t;
          return signalPassFailure();
        }
      if (isKernel)
        continue;
      for (Operation &op : f.getBody().front()) {
        bool known = isa<LaunchOp, memref::ViewOp, memref::CopyOp,
                         arith::ConstantOp, func::ReturnOp>(op);
        if (!known) {
          op.emitOpError("contract K: expected launches, copies and views of "
                         "buffers only");
          return signalPassFailure();
        }
      }
    }
  }
};
} // namespace
