//===- Evaluator.cpp - walks a function and evaluates its ops -------------===//

#include "heddle/Reference/Evaluator.h"
#include "Constants.h"
#include "LoopNest.h"
#include "Ops.h"
#include "Parallel.h"
#include "Support.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::reference;

namespace {
using Values = SmallVector<TensorValue>;

/// One evaluation of a function and of what it calls. Values live until their
/// last use in the block that defines them.
class Evaluation {
public:
  explicit Evaluation(const ReferenceOptions &options) : options(options) {}

  /// Evaluates a block on its arguments; `yielded` gets the operands of its
  /// terminator.
  LogicalResult evaluateBlock(Block &block, MutableArrayRef<TensorValue> args,
                              Values &yielded);

  const TensorValue *find(Value value) const {
    auto it = environment.find(value);
    return it == environment.end() ? nullptr : &it->second;
  }

private:
  LogicalResult evaluateOp(Operation *op, Operands operands, Values &results);
  LogicalResult evaluateLayerScan(LayerScanOp op, Operands operands,
                                  Values &results);
  LogicalResult evaluateFor(scf::ForOp op, Operands operands, Values &results);

  /// Values that die at each op of a block, a null op standing for those that
  /// nobody uses.
  using Deaths = DenseMap<Operation *, SmallVector<Value>>;
  const Deaths &deathsIn(Block &block);

  ReferenceOptions options;
  DenseMap<Value, TensorValue> environment;
  DenseMap<Block *, std::unique_ptr<Deaths>> deaths;
};
} // namespace

const Evaluation::Deaths &Evaluation::deathsIn(Block &block) {
  std::unique_ptr<Deaths> &entry = deaths[&block];
  if (entry)
    return *entry;
  entry = std::make_unique<Deaths>();
  auto addValue = [&](Value value) {
    Operation *last = nullptr;
    for (Operation *user : value.getUsers()) {
      Operation *here = block.findAncestorOpInBlock(*user);
      if (here && (!last || last->isBeforeInBlock(here)))
        last = here;
    }
    (*entry)[last ? last : value.getDefiningOp()].push_back(value);
  };
  for (BlockArgument argument : block.getArguments())
    addValue(argument);
  for (Operation &op : block)
    for (Value result : op.getResults())
      addValue(result);
  return *entry;
}

LogicalResult Evaluation::evaluateBlock(Block &block,
                                        MutableArrayRef<TensorValue> args,
                                        Values &yielded) {
  const Deaths &deaths = deathsIn(block);
  for (auto [argument, value] : llvm::zip(block.getArguments(), args))
    environment[argument] = std::move(value);
  for (Operation &op : block) {
    auto dying = deaths.find(&op);
    auto dies = [&](Value value) {
      return dying != deaths.end() && llvm::is_contained(dying->second, value);
    };
    Values operands;
    for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
      TensorValue &value = environment.find(operand)->second;
      // A dying operand is handed over, so that ops can reuse its storage,
      // unless the op needs it again: later in its list, or in a region.
      bool again =
          llvm::is_contained(op.getOperands().drop_front(i + 1), operand) ||
          llvm::any_of(operand.getUsers(), [&](Operation *user) {
            return op.isProperAncestor(user);
          });
      if (dies(operand) && !again)
        operands.push_back(std::move(value));
      else
        operands.push_back(value);
    }
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      yielded = std::move(operands);
    } else {
      Values results;
      if (failed(evaluateOp(&op, operands, results)))
        return failure();
      for (auto [result, value] : llvm::zip(op.getResults(), results))
        environment[result] = std::move(value);
    }
    if (dying != deaths.end())
      for (Value value : dying->second)
        environment.erase(value);
  }
  return success();
}

/// A slice of the leading axis, sharing nothing.
static TensorValue layerOf(const TensorValue &stacked, int64_t layer) {
  ArrayRef<int64_t> shape = ArrayRef<int64_t>(stacked.shape).drop_front();
  if (stacked.splat)
    return stacked.reshaped(shape);
  TensorValue value = TensorValue::uninitialized(shape, stacked.isInteger);
  int64_t n = value.numElements();
  if (stacked.isInteger)
    std::copy_n(stacked.integer.get() + layer * n, n, value.integer.get());
  else
    std::copy_n(stacked.real.get() + layer * n, n, value.real.get());
  return value;
}

/// Writes a value as one slice of the leading axis.
static void setLayer(const TensorValue &value, int64_t layer,
                     TensorValue &stacked) {
  for (int64_t i = 0, n = value.numElements(); i < n; ++i) {
    if (value.isInteger)
      stacked.integer[layer * n + i] = value.integerAt(i);
    else
      stacked.real[layer * n + i] = value.realAt(i);
  }
}

LogicalResult Evaluation::evaluateLayerScan(LayerScanOp op, Operands operands,
                                            Values &results) {
  size_t numCarried = op.getCarried().size(),
         numStacked = op.getStacked().size();
  Operands carried = operands.take_front(numCarried),
           stacked = operands.slice(numCarried, numStacked),
           invariant = operands.drop_front(numCarried + numStacked);
  if (stacked.empty())
    return op.emitError("expected at least one stacked operand, which gives "
                        "the number of layers, found none");
  Block &body = op.getBody().front();
  if (body.getNumArguments() != operands.size())
    return op.emitError("expected ")
           << operands.size() << " block arguments, found "
           << body.getNumArguments();
  int64_t numLayers = stacked.front().shape.front();
  // What each layer yields beyond the carried values is stacked.
  Values outputs;
  for (Type type : llvm::drop_begin(op->getResultTypes(), numCarried))
    outputs.push_back(TensorValue::uninitialized(
        shapeOf(type), isIntegerElement(elementTypeOf(type))));
  Values state;
  for (TensorValue &value : carried)
    state.push_back(std::move(value));
  for (int64_t step = 0; step < numLayers; ++step) {
    int64_t layer = op.getReverse() ? numLayers - 1 - step : step;
    Values args = std::move(state), yielded;
    for (const TensorValue &value : stacked)
      args.push_back(layerOf(value, layer));
    llvm::append_range(args, invariant);
    if (failed(evaluateBlock(body, args, yielded)))
      return failure();
    if (yielded.size() != op->getNumResults())
      return op.emitError("expected ")
             << op->getNumResults() << " yielded values, one per result, found "
             << yielded.size();
    for (auto [value, output] :
         llvm::zip(ArrayRef(yielded).drop_front(numCarried), outputs))
      setLayer(value, layer, output);
    yielded.truncate(numCarried);
    state = std::move(yielded);
  }
  results = std::move(state);
  llvm::append_range(results, outputs);
  return success();
}

LogicalResult Evaluation::evaluateFor(scf::ForOp op, Operands operands,
                                      Values &results) {
  int64_t lower = operands[0].integerAt(0), upper = operands[1].integerAt(0),
          step = operands[2].integerAt(0);
  if (step <= 0)
    return op.emitError("expected a positive step, found ") << step;
  Values state(operands.begin() + 3, operands.end());
  for (int64_t i = lower; i < upper; i += step) {
    Values args, yielded;
    args.push_back(TensorValue::splatInteger({}, i));
    for (TensorValue &value : state)
      args.push_back(std::move(value));
    if (failed(evaluateBlock(*op.getBody(), args, yielded)))
      return failure();
    state = std::move(yielded);
  }
  results = std::move(state);
  return success();
}

LogicalResult Evaluation::evaluateOp(Operation *op, Operands operands,
                                     Values &results) {
  auto capture = [this](Value value) { return find(value); };
  if (isTensorOp(op))
    return evaluateTensorOp(op, operands, options, capture, results);
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return evaluateLinalg(linalgOp, operands, options, capture, results);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](arith::ConstantOp o) {
        FailureOr<TensorValue> value = evaluateConstant(o);
        if (failed(value))
          return failure();
        results.push_back(std::move(*value));
        return success();
      })
      .Case([&](AttentionOp o) {
        return evaluateAttention(o, operands, /*rows=*/nullptr, options,
                                 capture, results);
      })
      .Case([&](AttentionGradOp o) {
        return evaluateAttentionGrad(o, operands, /*rows=*/nullptr, options,
                                     capture, results);
      })
      .Case([&](SelectiveScanOp o) {
        return evaluateSelectiveScan(o, operands, options, results);
      })
      .Case([&](SelectiveScanGradOp o) {
        return evaluateSelectiveScanGrad(o, operands, options, results);
      })
      .Case([&](LinearScanGradOp o) {
        return evaluateLinearScanGrad(o, operands, options, results);
      })
      .Case([&](SsdOp o) { return evaluateSsd(o, operands, options, results); })
      .Case([&](LinearScanOp o) {
        return evaluateLinearScan(o, operands, options, results);
      })
      .Case([&](GatherOp o) { return evaluateGather(o, operands, results); })
      .Case([&](ScatterAddOp o) {
        return evaluateScatterAdd(o, operands, options, results);
      })
      .Case([&](RandomBitsOp o) {
        return evaluateRandomBits(o, operands, results);
      })
      .Case([&](linalg::SoftmaxOp o) {
        return evaluateSoftmax(o, operands, options, results);
      })
      .Case([&](NameOp) {
        results.push_back(std::move(operands[0]));
        return success();
      })
      .Case([&](CheckpointOp o) {
        return evaluateBlock(o.getBody().front(), operands, results);
      })
      .Case([&](LayerScanOp o) {
        return evaluateLayerScan(o, operands, results);
      })
      .Case([&](scf::ForOp o) { return evaluateFor(o, operands, results); })
      .Case([&](scf::IfOp o) {
        Region &taken =
            operands[0].integerAt(0) ? o.getThenRegion() : o.getElseRegion();
        if (taken.empty())
          return success();
        return evaluateBlock(taken.front(), {}, results);
      })
      .Case([&](func::CallOp o) {
        auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
            o, o.getCalleeAttr());
        return evaluateBlock(callee.getBody().front(), operands, results);
      })
      .Default([&](Operation *o) {
        return evaluateElementwise(o, operands, options, results);
      });
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

/// Converts `inputs` after checking them against `types`.
static LogicalResult readInputs(Operation *op, TypeRange types,
                                ArrayRef<HostTensor> inputs, Values &values) {
  if (types.size() != inputs.size())
    return op->emitError("expected ")
           << types.size() << " inputs, found " << inputs.size()
           << "; give one per argument";
  for (auto [i, type, input] : llvm::enumerate(types, inputs)) {
    std::optional<DType> dtype = hostTypeOf(type);
    ArrayRef<int64_t> shape = shapeOf(type);
    bool ranked = isa<RankedTensorType>(type) || type.isIntOrIndexOrFloat();
    if (!dtype || !ranked || ShapedType::isDynamicShape(shape))
      return op->emitError("expected static tensors or scalars of a host "
                           "element type, found ")
             << type << " as input " << i;
    heddle::TensorType wanted{*dtype, {shape.begin(), shape.end()}};
    if (!(wanted == input.type))
      return op->emitError("expected input ")
             << i << " of type " << wanted.str() << ", found "
             << input.type.str();
    if (static_cast<int64_t>(input.bytes.size()) != wanted.byteSize())
      return op->emitError("expected ")
             << wanted.byteSize() << " bytes in input " << i << ", found "
             << input.bytes.size();
    values.push_back(fromHost(input));
  }
  return success();
}

LogicalResult heddle::evaluate(func::FuncOp function,
                               ArrayRef<HostTensor> inputs,
                               const ReferenceOptions &options,
                               SmallVectorImpl<ReferenceTensor> &results) {
  if (function.isExternal())
    return function.emitError("expected a function with a body, found a "
                              "declaration");
  if (failed(checkSupported(function)))
    return failure();
  Values arguments, outputs;
  if (failed(
          readInputs(function, function.getArgumentTypes(), inputs, arguments)))
    return failure();
  Evaluation evaluation(options);
  if (failed(evaluation.evaluateBlock(function.getBody().front(), arguments,
                                      outputs)))
    return failure();
  for (const TensorValue &output : outputs)
    results.push_back(toReference(output));
  return success();
}

LogicalResult
heddle::evaluateAttentionRows(AttentionOp op, ArrayRef<HostTensor> inputs,
                              ArrayRef<int64_t> rows,
                              const ReferenceOptions &options,
                              SmallVectorImpl<ReferenceTensor> &outputs) {
  if (failed(checkSupported(op)))
    return failure();
  Values operands, results;
  if (failed(readInputs(op, op->getOperandTypes(), inputs, operands)))
    return failure();
  for (int64_t row : rows)
    if (row < 0 || row >= op.getQueryLength())
      return op.emitError("expected query rows within [0, ")
             << op.getQueryLength() << "), found " << row;
  // Outside values are those of constants, as no function runs around the op.
  DenseMap<Value, TensorValue> constants;
  auto capture = [&](Value value) -> const TensorValue * {
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    if (!constant)
      return nullptr;
    auto [it, isNew] = constants.try_emplace(value);
    if (isNew) {
      FailureOr<TensorValue> known = evaluateConstant(constant);
      if (failed(known))
        return nullptr;
      it->second = std::move(*known);
    }
    return &it->second;
  };
  SmallVector<int64_t> wanted(rows);
  if (failed(
          evaluateAttention(op, operands, &wanted, options, capture, results)))
    return failure();
  for (const TensorValue &result : results)
    outputs.push_back(toReference(result));
  return success();
}
