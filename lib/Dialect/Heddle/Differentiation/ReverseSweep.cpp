//===- ReverseSweep.cpp - chains the gradient rules of a block ------------===//

#include "heddle/Dialect/Heddle/Differentiation/Differentiation.h"
#include "heddle/Dialect/Heddle/IR/DifferentiableOpInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace heddle;

/// Ops of a path that are shown in an error.
static constexpr size_t kMaxPath = 8;

namespace {
class Sweep {
public:
  Sweep(OpBuilder &builder, Block &block, ValueRange inputs, ValueRange outputs)
      : b(builder), block(block), inputs(inputs), outputs(outputs) {}

  LogicalResult run(ArrayRef<Value> cotangents,
                    SmallVectorImpl<Value> &gradients);

private:
  bool isActive(Value v) const { return active.contains(v); }
  Value total(Value v, Location loc);
  LogicalResult refuseBits();
  LogicalResult visit(Operation *op);
  LogicalResult apply(Operation *op, ArrayRef<Value> cotangents,
                      SmallVectorImpl<Value> &gradients);
  void notePath(Diagnostic &error, Operation *from);

  OpBuilder &b;
  Block &block;
  ValueRange inputs, outputs;
  SmallVector<Operation *> ops; // as they were before the sweep
  DenseSet<Value> active;       // float values that depend on an input
  DenseMap<Value, SmallVector<Value>> contributions;
  DenseSet<Operation *> visited; // ops with a cotangent
};
} // namespace

static bool isFloat(Value v) {
  return isa<FloatType>(getElementTypeOrSelf(v.getType()));
}

/// Values from above that regions of `op` read.
static SetVector<Value> capturesOf(Operation *op) {
  SetVector<Value> captures;
  if (op->getNumRegions() && !op->hasTrait<OpTrait::IsIsolatedFromAbove>())
    getUsedValuesDefinedAbove(op->getRegions(), captures);
  return captures;
}

DenseSet<Value> heddle::activeValues(Block &block, ValueRange inputs) {
  DenseSet<Value> active;
  for (Value v : inputs)
    if (isFloat(v))
      active.insert(v);
  auto isActive = [&](Value v) { return active.contains(v); };
  for (Operation &op : block) {
    if (!llvm::any_of(op.getOperands(), isActive) &&
        !llvm::any_of(capturesOf(&op), isActive))
      continue;
    for (Value v : op.getResults())
      if (isFloat(v))
        active.insert(v);
  }
  return active;
}

Value Sweep::total(Value v, Location loc) {
  auto it = contributions.find(v);
  return it == contributions.end() ? Value()
                                   : addContributions(b, loc, it->second);
}

/// The chain of ops from `from` to the value that is differentiated.
void Sweep::notePath(Diagnostic &error, Operation *from) {
  SmallVector<Operation *> path;
  Operation *at = from;
  while (at && path.size() < 64) {
    Operation *next = nullptr;
    for (Operation *user : at->getUsers()) {
      Operation *here = block.findAncestorOpInBlock(*user);
      if (here && here != at && visited.contains(here)) {
        next = here;
        break;
      }
    }
    if (next)
      path.push_back(next);
    at = next;
  }
  for (Operation *op : ArrayRef(path).take_front(kMaxPath))
    error.attachNote(op->getLoc())
        << "the differentiated value depends on it through '" << op->getName()
        << "' here";
  if (path.size() > kMaxPath)
    error.attachNote(path.back()->getLoc())
        << "and " << path.size() - kMaxPath << " more ops, up to '"
        << path.back()->getName() << "' here";
}

/// Runs the rule; its error gets the path to the output as notes.
LogicalResult Sweep::apply(Operation *op, ArrayRef<Value> cotangents,
                           SmallVectorImpl<Value> &gradients) {
  std::optional<Diagnostic> error;
  {
    uint64_t thread = llvm::get_threadid();
    ScopedDiagnosticHandler handler(op->getContext(), [&](Diagnostic &d) {
      if (llvm::get_threadid() != thread ||
          d.getSeverity() != DiagnosticSeverity::Error)
        return failure();
      if (!error)
        error = std::move(d);
      return success();
    });
    llvm::BitVector needed(op->getNumOperands());
    for (auto [i, v] : llvm::enumerate(op->getOperands()))
      if (isActive(v))
        needed.set(i);
    auto rule = dyn_cast<DifferentiableOpInterface>(op);
    LogicalResult result = failure();
    if (llvm::any_of(capturesOf(op), [&](Value v) { return isActive(v); }))
      op->emitOpError("cannot be differentiated: its region reads a value that "
                      "the gradient depends on; pass it as an operand");
    else if (!rule)
      op->emitOpError("cannot be differentiated: it has no gradient rule");
    else
      result = rule.differentiate(b, cotangents, needed, gradients);
    if (succeeded(result) && !error)
      return success();
  }
  if (!error)
    return failure();
  InFlightDiagnostic again = mlir::emitError(error->getLocation())
                             << error->str();
  for (Diagnostic &note : error->getNotes())
    again.attachNote(note.getLocation()) << note.str();
  notePath(*again.getUnderlyingDiagnostic(), op);
  return again;
}

LogicalResult Sweep::visit(Operation *op) {
  SmallVector<Value> cotangents;
  for (Value v : op->getResults())
    cotangents.push_back(isActive(v) ? total(v, op->getLoc()) : Value());
  auto isActive = [&](Value v) { return this->isActive(v); };
  if (llvm::none_of(cotangents, [](Value v) { return bool(v); }) ||
      (llvm::none_of(op->getOperands(), isActive) &&
       llvm::none_of(capturesOf(op), isActive)))
    return success();
  visited.insert(op);
  SmallVector<Value> gradients(op->getNumOperands());
  if (failed(apply(op, cotangents, gradients)))
    return failure();
  for (auto [operand, gradient] : llvm::zip(op->getOperands(), gradients)) {
    if (!gradient || !isActive(operand))
      continue;
    if (gradient.getType() != operand.getType())
      return op->emitOpError("has a gradient rule that gives ")
             << gradient.getType() << " for an operand of type "
             << operand.getType();
    contributions[operand].push_back(gradient);
  }
  return success();
}

/// Integers end a path, as they do not vary. The bits of a float do, and matter
/// where they become one again.
LogicalResult Sweep::refuseBits() {
  DenseSet<Value> bits;
  for (Operation &op : block) {
    bool isCast = isa<arith::BitcastOp, tensor::BitcastOp>(op);
    bool derived = llvm::any_of(op.getOperands(),
                                [&](Value v) { return bits.contains(v); });
    if (isCast && derived && isFloat(op.getResult(0)))
      return op.emitOpError("cannot be differentiated: it reads the bits of a "
                            "value that depends on what is differentiated; use "
                            "float ops, or leave the argument out of wrt");
    if (!derived && !(isCast && isActive(op.getOperand(0))))
      continue;
    for (Value v : op.getResults())
      if (!isFloat(v))
        bits.insert(v);
  }
  return success();
}

LogicalResult Sweep::run(ArrayRef<Value> cotangents,
                         SmallVectorImpl<Value> &gradients) {
  active = activeValues(block, inputs);
  if (failed(refuseBits()))
    return failure();
  for (Operation &op : block)
    ops.push_back(&op);
  for (auto [output, cotangent] : llvm::zip(outputs, cotangents))
    if (cotangent && isActive(output))
      contributions[output].push_back(cotangent);
  for (Operation *op : llvm::reverse(ops))
    if (failed(visit(op)))
      return failure();
  for (Value input : inputs)
    gradients.push_back(total(input, input.getLoc()));
  return success();
}

LogicalResult heddle::differentiateBlock(OpBuilder &builder, Block &block,
                                         ValueRange inputs, ValueRange outputs,
                                         ArrayRef<Value> cotangents,
                                         SmallVectorImpl<Value> &gradients) {
  return Sweep(builder, block, inputs, outputs).run(cotangents, gradients);
}
