//===- Differentiate.cpp - expands heddle.value_and_grad ------------------===//

#include "heddle/Dialect/Heddle/Differentiation/Differentiation.h"
#include "heddle/Dialect/Heddle/IR/DifferentiableOpInterface.h"
#include "heddle/Dialect/Heddle/Transforms/InlineCalls.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace heddle {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

namespace {
/// Expands the value_and_grad ops of one module, innermost callees first: a
/// loss that contains gradients is differentiated through their expansion.
class Expander {
public:
  explicit Expander(ModuleOp module) : symbols(module) {
    module.walk([&](ValueAndGradOp op) {
      losses.insert(op.getCalleeAttr());
      ++askedFor[{op.getCalleeAttr(), op.getWrtAttr()}];
    });
  }

  LogicalResult expand(func::FuncOp function);
  /// Removes private loss functions that nothing refers to any more.
  void removeCallees(ModuleOp module);

private:
  // callee, wrt, whether the gradient is differentiated again
  using Key = std::tuple<Operation *, Attribute, unsigned>;

  LogicalResult expand(ValueAndGradOp op);
  LogicalResult prepare(func::FuncOp function, bool again);
  FailureOr<func::FuncOp> gradientOf(func::FuncOp callee, ValueAndGradOp op);

  SymbolTable symbols;
  DenseSet<Attribute> losses; // symbols that some value_and_grad names
  DenseMap<std::pair<Attribute, Attribute>, int> askedFor; // callee and wrt
  DenseSet<Operation *> running, done;
  llvm::SetVector<Operation *> callees;
  DenseMap<Key, OwningOpRef<func::FuncOp>> gradients;
};
} // namespace

/// Users come after what they use: one walk backwards finds all that is dead.
static void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isOpTriviallyDead(&op))
      op.erase();
    else if (isa<CheckpointOp, LayerScanOp>(op))
      eraseDead(op.getRegion(0).front());
  }
}

/// Brings a loss into the form that rules exist for: no checkpoints, named
/// structured ops in their general form, casts of whole tensors as such, ssd
/// and gradients of linear scans written out. So are attention and selective
/// scans where the gradient is differentiated `again`, which their gradient ops
/// cannot be.
LogicalResult Expander::prepare(func::FuncOp function, bool again) {
  IRRewriter rewriter(function.getContext());
  SmallVector<CheckpointOp> checkpoints;
  // Innermost first: a body is inlined with what it holds already inlined.
  function.walk([&](CheckpointOp op) { checkpoints.push_back(op); });
  for (CheckpointOp op : checkpoints)
    inlineCheckpoint(op);
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (!isa<DifferentiableOpInterface>(op) ||
        (again && isa<AttentionOp, SelectiveScanOp>(op)))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    rewriter.setInsertionPoint(op);
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      if (failed(decomposeAttention(rewriter, attention)))
        return failure();
    } else if (auto scan = dyn_cast<SelectiveScanOp>(op)) {
      if (failed(decomposeSelectiveScan(rewriter, scan)))
        return failure();
    } else if (auto ssd = dyn_cast<SsdOp>(op)) {
      if (failed(decomposeSsd(rewriter, ssd)))
        return failure();
    } else if (auto grad = dyn_cast<LinearScanGradOp>(op)) {
      if (failed(decomposeLinearScanGrad(rewriter, grad)))
        return failure();
    } else if (auto named = dyn_cast<linalg::LinalgOp>(op);
               named && !isa<linalg::FillOp>(op)) {
      // What cannot be generalised has no rule, which the sweep reports.
      (void)linalg::generalizeNamedOp(rewriter, named);
    }
  }
  // Gradients pass unrounded through a cast that is known as one.
  SmallVector<linalg::GenericOp> generics;
  function.walk([&](linalg::GenericOp op) { generics.push_back(op); });
  for (linalg::GenericOp op : generics) {
    rewriter.setInsertionPoint(op);
    Value source;
    if (op->getNumResults() != 1)
      continue;
    if (Operation *cast = definingCast(op.getResult(0), source))
      rewriter.replaceOp(
          op, rewriter.create(OperationState(op.getLoc(), cast->getName(),
                                             source, op->getResultTypes())));
  }
  return success();
}

/// A function from the arguments of `callee` to its value and gradients. It is
/// not part of the module.
FailureOr<func::FuncOp> Expander::gradientOf(func::FuncOp callee,
                                             ValueAndGradOp op) {
  auto user = op->getParentOfType<func::FuncOp>();
  bool again = losses.contains(FlatSymbolRefAttr::get(user.getSymNameAttr()));
  OwningOpRef<func::FuncOp> &entry =
      gradients[{callee, op.getWrtAttr(), again}];
  if (entry)
    return *entry;
  entry = cast<func::FuncOp>(callee->clone());
  func::FuncOp function = *entry;
  if (failed(prepare(function, again)))
    return failure();
  Block &block = function.getBody().front();
  Operation *terminator = block.getTerminator();
  OpBuilder b(terminator);
  Value value = terminator->getOperand(0);
  SmallVector<Value> inputs, found;
  for (int64_t i : op.getWrt())
    inputs.push_back(function.getArgument(i));
  Value one = constantLike(b, value.getLoc(), value.getType(), 1.0);
  if (failed(differentiateBlock(b, block, inputs, value, one, found)))
    return failure();
  // A rule may have replaced the op that the value came from.
  SmallVector<Value> results{terminator->getOperand(0)};
  for (auto [input, gradient] : llvm::zip(inputs, found))
    results.push_back(gradient ? gradient
                               : zeros(b, input.getLoc(), input.getType()));
  terminator->setOperands(results);
  function.setFunctionType(b.getFunctionType(function.getArgumentTypes(),
                                             ValueRange(results).getTypes()));
  eraseDead(block);
  return function;
}

LogicalResult Expander::expand(ValueAndGradOp op) {
  auto callee = symbols.lookup<func::FuncOp>(op.getCallee());
  if (!callee || callee.isExternal() || !callee.getBody().hasOneBlock())
    return op.emitOpError("expected ")
           << op.getCalleeAttr()
           << " to be a func.func of one block, to differentiate it";
  if (running.contains(callee))
    return op.emitOpError("expected a loss that does not differentiate itself, "
                          "got ")
           << op.getCalleeAttr();
  if (failed(expand(callee)))
    return failure();
  callees.insert(callee);
  FailureOr<func::FuncOp> function = gradientOf(callee, op);
  if (failed(function))
    return failure();
  Block &block = function->getBody().front();
  SmallVector<Value> results;
  if (askedFor.lookup({op.getCalleeAttr(), op.getWrtAttr()}) == 1) {
    for (auto [argument, input] :
         llvm::zip(block.getArguments(), op.getInputs()))
      argument.replaceAllUsesWith(input);
    llvm::append_range(results, block.getTerminator()->getOperands());
    op->getBlock()->getOperations().splice(
        op->getIterator(), block.getOperations(), block.begin(),
        std::prev(block.end()));
    block.getTerminator()->setOperands({});
  } else {
    OpBuilder b(op);
    IRMapping mapping;
    mapping.map(block.getArguments(), op.getInputs());
    for (Operation &inner : block.without_terminator())
      b.clone(inner, mapping);
    for (Value v : block.getTerminator()->getOperands())
      results.push_back(mapping.lookupOrDefault(v));
  }
  op->replaceAllUsesWith(results);
  op->erase();
  return success();
}

LogicalResult Expander::expand(func::FuncOp function) {
  if (!done.insert(function).second)
    return success();
  SmallVector<ValueAndGradOp> ops;
  function.walk([&](ValueAndGradOp op) { ops.push_back(op); });
  running.insert(function);
  for (ValueAndGradOp op : ops)
    if (failed(expand(op)))
      return failure();
  running.erase(function);
  if (!ops.empty()) // a loss or a gradient that nobody asks for
    eraseDead(function.getBody().front());
  return success();
}

void Expander::removeCallees(ModuleOp module) {
  if (callees.empty())
    return;
  DenseSet<Attribute> used;
  module.walk([&](Operation *op) {
    if (auto user = dyn_cast<ValueAndGradOp>(op))
      used.insert(user.getCalleeAttr());
    else if (isa<SymbolUserOpInterface>(op))
      for (NamedAttribute attr : op->getAttrs())
        used.insert(attr.getValue());
  });
  for (Operation *callee : callees)
    if (SymbolTable::getSymbolVisibility(callee) ==
            SymbolTable::Visibility::Private &&
        !used.contains(FlatSymbolRefAttr::get(callee)))
      symbols.erase(callee);
}

namespace {
struct DifferentiatePass
    : heddle::impl::DifferentiatePassBase<DifferentiatePass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    DifferentiatePassBase::getDependentDialects(registry);
    registerDifferentiation(registry);
  }

  void runOnOperation() override {
    Expander expander(getOperation());
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp f : functions)
      if (failed(expander.expand(f)))
        return signalPassFailure();
    expander.removeCallees(getOperation());
  }
};
} // namespace

LogicalResult heddle::differentiate(ModuleOp module) {
  PassManager pm(module.getContext());
  pm.addPass(createInlineCallsPass());
  pm.addPass(createDifferentiatePass());
  return pm.run(module);
}
