//===- InlineCalls.cpp - functions that models call -----------------------===//
//
// Contract M has no calls: fusion and differentiation look at one block.
// Innermost calls first, so that a body is cloned with what it calls in place.
//
//===----------------------------------------------------------------------===//

#include "heddle/Dialect/Heddle/Transforms/InlineCalls.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace heddle;

namespace {
class Inliner {
public:
  explicit Inliner(ModuleOp module) : module(module), symbols(module) {}
  LogicalResult run();

private:
  LogicalResult visit(func::FuncOp function);
  LogicalResult expand(func::CallOp call);

  ModuleOp module;
  SymbolTable symbols;
  DenseSet<Operation *> running, done, called;
};
} // namespace

LogicalResult Inliner::expand(func::CallOp call) {
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  if (!callee || callee.isExternal() || !callee.getBody().hasOneBlock())
    return call.emitOpError("expected ")
           << call.getCalleeAttr()
           << " to be a func.func of one block, to write it out here";
  if (running.contains(callee)) {
    InFlightDiagnostic error =
        call.emitOpError("expected a function that does not call itself, got ")
        << call.getCalleeAttr()
        << "; use heddle.layer_scan for work that repeats";
    error.attachNote(callee.getLoc()) << "which is this function";
    return error;
  }
  if (failed(visit(callee)))
    return failure();
  called.insert(callee);
  OpBuilder b(call);
  IRMapping mapping;
  Block &body = callee.getBody().front();
  mapping.map(body.getArguments(), call.getOperands());
  for (Operation &op : body.without_terminator())
    b.clone(op, mapping);
  SmallVector<Value> results;
  for (Value v : body.getTerminator()->getOperands())
    results.push_back(mapping.lookupOrDefault(v));
  call.replaceAllUsesWith(results);
  call.erase();
  return success();
}

LogicalResult Inliner::visit(func::FuncOp function) {
  if (!done.insert(function).second)
    return success();
  SmallVector<func::CallOp> calls;
  function.walk([&](func::CallOp call) { calls.push_back(call); });
  running.insert(function);
  for (func::CallOp call : calls)
    if (failed(expand(call)))
      return failure();
  running.erase(function);
  return success();
}

LogicalResult Inliner::run() {
  for (func::FuncOp f :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (failed(visit(f)))
      return failure();
  for (Operation *f : called)
    if (SymbolTable::getSymbolVisibility(f) ==
            SymbolTable::Visibility::Private &&
        SymbolTable::symbolKnownUseEmpty(f, module))
      symbols.erase(f);
  return success();
}

namespace {
struct InlineCalls : PassWrapper<InlineCalls, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InlineCalls)

  StringRef getArgument() const final { return "heddle-inline-calls"; }
  StringRef getDescription() const final {
    return "writes out the functions that a model calls";
  }

  void runOnOperation() override {
    if (failed(Inliner(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace

std::unique_ptr<Pass> heddle::createInlineCallsPass() {
  return std::make_unique<InlineCalls>();
}

void heddle::registerInlineCallsPass() {
  registerPass([] { return createInlineCallsPass(); });
}
