//===- Linalg.cpp - structured ops through their region and maps ----------===//

#include "LoopNest.h"
#include "Parallel.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace heddle::reference {

/// Sorts the loops into parallel and sequential ones; see LoopNest.
static void sortLoops(LoopNest &nest, ArrayRef<AffineMap> outputMaps) {
  unsigned numLoops = nest.extents.size();
  auto isPlainIn = [](AffineMap map, unsigned d) {
    unsigned plain = 0, any = 0;
    for (AffineExpr expr : map.getResults()) {
      any += expr.isFunctionOfDim(d);
      auto dim = dyn_cast<AffineDimExpr>(expr);
      plain += dim && dim.getPosition() == d;
    }
    return plain == 1 && any == 1;
  };
  // Parallel loops follow the first output's axes, so that it is written in
  // the order it lies in memory.
  if (!outputMaps.empty())
    for (AffineExpr expr : outputMaps.front().getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        if (llvm::all_of(outputMaps, [&](AffineMap map) {
              return isPlainIn(map, dim.getPosition());
            }))
          nest.parallel.push_back(dim.getPosition());
  for (unsigned d = 0; d < numLoops; ++d)
    if (!llvm::is_contained(nest.parallel, d))
      nest.sequential.push_back(d);
}

/// The op that folds values into the only output, or null.
static Operation *foldOf(Block &block, unsigned numInputs) {
  Operation *yield = block.getTerminator();
  if (block.getNumArguments() != numInputs + 1 || yield->getNumOperands() != 1)
    return nullptr;
  Operation *combine = yield->getOperand(0).getDefiningOp();
  if (!combine || combine->getBlock() != &block)
    return nullptr;
  if (!isa<arith::AddFOp, arith::MulFOp, arith::MaximumFOp, arith::MinimumFOp,
           arith::MaxNumFOp, arith::MinNumFOp>(combine))
    return nullptr;
  Value out = block.getArgument(numInputs);
  bool first = combine->getOperand(0) == out;
  if (!out.hasOneUse() || !combine->hasOneUse() ||
      (!first && combine->getOperand(1) != out))
    return nullptr;
  return combine;
}

/// Whether vectors along the reduction beat vectors across outputs.
static bool prefersFold(const LoopNest &nest) {
  if (nest.sequential.empty() || !nest.allLinear())
    return false;
  for (unsigned d : nest.sequential)
    if (nest.accesses.back().strides[d] != 0)
      return false;
  int64_t steps = nest.sequentialPoints();
  if (steps < 16 || nest.operands.back().isInteger)
    return false;
  bool unit = llvm::any_of(
      ArrayRef(nest.accesses).take_front(nest.numInputs),
      [&](const Access &a) { return a.strides[nest.sequential.back()] == 1; });
  return unit || nest.parallelPoints() < kVectorLength / 4;
}

LogicalResult evaluateLinalg(linalg::LinalgOp op,
                             MutableArrayRef<TensorValue> operands,
                             const ReferenceOptions &options,
                             ElementProgram::Capture capture,
                             SmallVectorImpl<TensorValue> &results) {
  unsigned numInputs = op.getNumDpsInputs();
  if (auto fill = dyn_cast<linalg::FillOp>(op.getOperation())) {
    TensorValue &scalar = operands[0];
    ArrayRef<int64_t> shape = operands[1].shape;
    results.push_back(
        scalar.isInteger ? TensorValue::splatInteger(shape, scalar.integerAt(0))
                         : TensorValue::splatReal(shape, scalar.realAt(0)));
    return success();
  }
  LoopNest nest;
  nest.op = op;
  nest.numInputs = numInputs;
  nest.threads = workerCount(options.threads);
  nest.extents.assign(op.getStaticLoopRanges());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  sortLoops(nest, ArrayRef(maps).drop_front(numInputs));

  bool nothingToDo = llvm::is_contained(nest.extents, 0);
  Block *block = op.getBlock();
  for (auto [i, operand] : llvm::enumerate(operands)) {
    bool isOutput = i >= numInputs;
    Access access = Access::get(maps[i], operand.shape);
    if (!nothingToDo && !access.inBounds(nest.extents))
      return op.emitError("expected operand ")
             << i << " to hold every point of the loops, found indices outside "
             << op->getOperand(i).getType() << "; check its indexing map";
    if (!isOutput && operand.splat)
      access = Access::splat(nest.extents.size());
    nest.accesses.push_back(std::move(access));
    if (!isOutput) {
      nest.operands.push_back(std::move(operand));
      continue;
    }
    // Outputs that the body never reads and that are written whole need no
    // copy of what they held.
    bool readsOld = block->getNumArguments() == operands.size() &&
                    !block->getArgument(i).use_empty();
    bool writesAll = maps[i].isProjectedPermutation() && !nothingToDo;
    if (!readsOld && writesAll)
      nest.operands.push_back(
          TensorValue::uninitialized(operand.shape, operand.isInteger));
    else
      nest.operands.push_back(TensorValue::unique(std::move(operand)));
  }

  auto finish = [&] {
    for (unsigned i = numInputs; i < nest.operands.size(); ++i) {
      roundForStorage(nest.operands[i], op->getOperand(i).getType(), options);
      results.push_back(std::move(nest.operands[i]));
    }
    return success();
  };
  if (nothingToDo)
    return finish();
  if (numInputs == 2 && operands.size() == 3 &&
      isContractionBody(*block, options.mode) && runContraction(nest))
    return finish();
  if (Operation *combine = foldOf(*block, numInputs);
      combine && prefersFold(nest)) {
    Value out = block->getArgument(numInputs);
    Value value = combine->getOperand(combine->getOperand(0) == out ? 1 : 0);
    FailureOr<ElementProgram> program =
        ElementProgram::compileBlock(*block, options, capture, value, combine);
    if (failed(program) || failed(runFold(nest, *program, combine)))
      return failure();
    return finish();
  }
  FailureOr<ElementProgram> program =
      ElementProgram::compileBlock(*block, options, capture);
  if (failed(program))
    return failure();
  // linalg.map's region has no argument for its output.
  for (size_t i = program->inputs.size(); i < operands.size(); ++i) {
    bool isInteger = nest.operands[i].isInteger;
    program->inputs.push_back(
        {isInteger, isInteger ? program->numInteger++ : program->numReal++});
  }
  if (failed(runLoops(nest, *program)))
    return failure();
  return finish();
}

LogicalResult evaluateElementwise(Operation *op, ArrayRef<TensorValue> operands,
                                  const ReferenceOptions &options,
                                  SmallVectorImpl<TensorValue> &results) {
  FailureOr<ElementProgram> program = ElementProgram::compileOp(op, options);
  if (failed(program))
    return failure();
  LoopNest nest;
  nest.op = op;
  nest.threads = workerCount(options.threads);
  nest.numInputs = operands.size();
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0).getType());
  TensorValue shaped;
  shaped.shape.assign(shape.begin(), shape.end());
  nest.extents = {shaped.numElements()};
  nest.parallel = {0};
  for (const TensorValue &operand : operands) {
    nest.operands.push_back(operand);
    Access access = Access::splat(1);
    if (!operand.splat && !operand.shape.empty())
      access.strides[0] = 1;
    nest.accesses.push_back(access);
  }
  for (Value result : op->getResults()) {
    nest.operands.push_back(TensorValue::uninitialized(
        shape, isIntegerElement(elementTypeOf(result.getType()))));
    Access access = Access::splat(1);
    access.strides[0] = 1;
    nest.accesses.push_back(access);
    // The outputs' old contents are not read.
    bool isInteger = nest.operands.back().isInteger;
    program->inputs.push_back(
        {isInteger, isInteger ? program->numInteger++ : program->numReal++});
  }
  if (failed(runLoops(nest, *program)))
    return failure();
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    TensorValue &value = nest.operands[nest.numInputs + i];
    roundForStorage(value, result.getType(), options);
    results.push_back(std::move(value));
  }
  return success();
}

} // namespace heddle::reference
