//===- FuseOutline.cpp - ops leave for kernels of their own
//----------------===//

#include "Fuser.h"
#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Codegen/Tile/RowsAnalysis.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;

static constexpr auto kEquality = OperationEquivalence::IgnoreLocations;

static size_t hashBody(const KernelBody &body) {
  llvm::hash_code hash = llvm::hash_combine(
      body.family, llvm::hash_combine_range(body.inputs.getTypes()),
      llvm::hash_combine_range(body.results.getTypes()));
  for (Operation *op : body.ops)
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(
                  op, OperationEquivalence::ignoreHashValue,
                  OperationEquivalence::ignoreHashValue, kEquality));
  return hash;
}

/// Whether `kernel` is what outlining `body` would make.
static bool isEqual(func::FuncOp kernel, const KernelBody &body) {
  Block &block = kernel.getBody().front();
  if (kernel->getAttrOfType<StringAttr>(kKernelFamily) != body.family ||
      block.getOperations().size() != body.ops.size() + 1 ||
      TypeRange(kernel.getArgumentTypes()) != body.inputs.getTypes() ||
      TypeRange(kernel.getResultTypes()) != body.results.getTypes())
    return false;
  DenseMap<Value, Value> twins;
  for (auto [mine, twin] : llvm::zip(body.inputs, block.getArguments()))
    twins[mine] = twin;
  auto areTwins = [&](Value mine, Value twin) {
    return success(twins.lookup(mine) == twin);
  };
  auto mark = [&](Value mine, Value twin) { twins[mine] = twin; };
  for (auto [mine, twin] : llvm::zip(body.ops, block))
    if (!OperationEquivalence::isEquivalentTo(mine, &twin, areTwins, mark,
                                              kEquality))
      return false;
  return llvm::all_of_zip(
      body.results, block.getTerminator()->getOperands(),
      [&](Value mine, Value twin) { return twins.lookup(mine) == twin; });
}

/// Equal kernels are merged: the same text is the same function.
func::FuncOp Fuser::findEqual(const KernelBody &body, size_t hash) {
  for (func::FuncOp kernel : byBody.lookup(hash))
    if (isEqual(kernel, body))
      return kernel;
  return {};
}

void Fuser::insert(func::FuncOp kernel, size_t hash) {
  byBody[hash].push_back(kernel);
  symbols.insert(kernel);
}

void Fuser::launch(func::FuncOp kernel, ValueRange inputs, ValueRange results,
                   Operation *at) {
  OpBuilder b(at);
  auto op = LaunchOp::create(b, at->getLoc(), results.getTypes(),
                             SymbolRefAttr::get(kernel), inputs);
  for (auto [from, to] : llvm::zip(results, op.getResults())) {
    Value old = from;
    old.replaceAllUsesWith(to);
    if (kept.erase(old))
      kept.insert(to);
  }
}

/// A name that says what the kernel does: family and shape of the result.
static std::string kernelName(StringRef family, Type type) {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << family;
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    for (int64_t d : tensor.getShape())
      os << "_" << d;
    os << "_" << tensor.getElementType();
  }
  return name;
}

/// Clones a body into a private function, which is not part of the module.
static func::FuncOp makeKernel(const KernelBody &body) {
  Value first = body.results.front();
  OpBuilder b(first.getContext());
  Location loc = first.getLoc();
  auto type =
      b.getFunctionType(body.inputs.getTypes(), body.results.getTypes());
  auto kernel =
      func::FuncOp::create(loc, kernelName(body.family, first.getType()), type);
  kernel.setPrivate();
  kernel->setAttr(kKernelFamily, b.getStringAttr(body.family));
  Block *entry = kernel.addEntryBlock();
  IRMapping mapping;
  mapping.map(body.inputs, entry->getArguments());
  b.setInsertionPointToEnd(entry);
  for (Operation *op : body.ops)
    b.clone(*op, mapping);
  SmallVector<Value> returned;
  for (Value v : body.results)
    returned.push_back(mapping.lookup(v));
  func::ReturnOp::create(b, loc, returned);
  return kernel;
}

/// Operands, and what the regions use from above (hoisted constants).
static SmallVector<Value> readsOf(Operation *op) {
  llvm::SetVector<Value> reads(op->operand_begin(), op->operand_end());
  if (op->getNumRegions())
    getUsedValuesDefinedAbove(op->getRegions(), reads);
  return reads.takeVector();
}

/// Inputs that the first result of a scan may be written over: a block reads
/// all that a step needs before it writes the step's results, and no other
/// block reads its channels. B and C of a selective scan are read by the blocks
/// of all channels; states before the steps of a gradient by those of two
/// chunks of time.
static SmallVector<int64_t> scanInPlace(Operation *op, ArrayRef<Value> inputs) {
  if (isa<LinearScanMapsOp, SelectiveScanMapsOp>(op))
    return {};
  SmallVector<Value> shared;
  TypeSwitch<Operation *>(op)
      .Case<SelectiveScanOp, SelectiveScanGradOp>([&](auto scan) {
        shared = {scan.getB(), scan.getC()};
      })
      .Case([&](LinearScanGradOp scan) {
        if (scan.numChunks() > 1)
          shared = {scan.getH(), scan.getHImag()};
      });
  SmallVector<int64_t> inPlace;
  for (auto [i, v] : llvm::enumerate(inputs))
    if (v.getType() == op->getResult(0).getType() &&
        llvm::is_contained(op->getOperands(), v) &&
        !llvm::is_contained(shared, v))
      inPlace.push_back(i);
  return inPlace;
}

/// Outlines one op with the constants it needs; everything else is an input.
LogicalResult Fuser::outlineOp(Operation *op, StringRef family) {
  llvm::SetVector<Value> inputs;
  llvm::SetVector<Operation *> ops;
  std::function<void(Operation *)> visit = [&](Operation *o) {
    for (Value v : readsOf(o)) {
      Operation *def = v.getDefiningOp();
      if (def && classify(def) == OpClass::Free) {
        visit(def);
        continue;
      }
      inputs.insert(v);
    }
    ops.insert(o);
  };
  visit(op);
  KernelBody body{ops.getArrayRef(), inputs.getArrayRef(), op->getResults(),
                  family};
  size_t hash = hashBody(body);
  if (func::FuncOp equal = findEqual(body, hash)) {
    launch(equal, inputs.getArrayRef(), op->getResults(), op);
    return success();
  }
  func::FuncOp kernel = makeKernel(body);
  if (family == "scan") {
    SmallVector<int64_t> inPlace = scanInPlace(op, inputs.getArrayRef());
    if (!inPlace.empty())
      kernel->setAttr(kKernelInPlace,
                      OpBuilder(op).getDenseI64ArrayAttr(inPlace));
  }
  if (auto attention = dyn_cast<AttentionOp>(op)) {
    // Each block reads the query rows that it writes, before it writes them.
    Value q = attention.getQuery();
    if (q.getType() == attention.getOut().getType() &&
        q != attention.getKey() && q != attention.getValue()) {
      int64_t arg = llvm::find(inputs, q) - inputs.begin();
      kernel->setAttr(kKernelInPlace,
                      OpBuilder(op).getDenseI64ArrayAttr({arg}));
    }
  }
  if (auto grad = dyn_cast<AttentionGradOp>(op)) {
    // Rows of out are read before those of d_query are written, by one block;
    // so are the keys of a block before d_key.
    Value over = grad.getDQuery() ? grad.getOut()
                 : grad.getDKey() ? grad.getKey()
                                  : Value();
    if (over && over.getType() == op->getResult(0).getType() &&
        llvm::count(op->getOperands(), over) == 1) {
      int64_t arg = llvm::find(inputs, over) - inputs.begin();
      kernel->setAttr(kKernelInPlace,
                      OpBuilder(op).getDenseI64ArrayAttr({arg}));
    }
  }
  insert(kernel, hash);
  launch(kernel, inputs.getArrayRef(), op->getResults(), op);
  return success();
}

/// What a kernel of `ops` that has no tiling reads from memory instead. Row
/// statistics first: they are small, and without them the rest is elementwise.
/// Then what the last op reads, one by one and reductions first.
Value Fuser::nextToKeep(ArrayRef<Operation *> ops, Operation *last) {
  Value next;
  for (Operation *op : ops) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic || isRowsContraction(generic))
      continue;
    for (OpOperand *operand : generic.getDpsInputOperands()) {
      Value in = operand->get();
      bool spread = generic.getMatchingIndexingMap(operand).getNumResults() <
                    generic.getNumLoops();
      if (spread && isFused(in) && reductionIn(in) &&
          (!next || in.getDefiningOp()->isBeforeInBlock(next.getDefiningOp())))
        next = in;
    }
  }
  if (next)
    return next;
  for (Value in : last->getOperands())
    if (isFused(in) && (!next || (reductionIn(in) && !reductionIn(next))))
      next = in;
  return next;
}

LogicalResult Fuser::outline(ArrayRef<Value> roots) {
  Value root = roots.front();
  Operation *at = root.getDefiningOp();
  for (Value v : roots)
    if (at->isBeforeInBlock(v.getDefiningOp()))
      at = v.getDefiningOp();
  llvm::SetVector<Value> inputs;
  llvm::SetVector<Operation *> ops;
  std::function<void(Value)> visit = [&](Value v) {
    Operation *op = v.getDefiningOp();
    bool free = op && classify(op) == OpClass::Free;
    if (!free && !llvm::is_contained(roots, v) && !isFused(v)) {
      inputs.insert(v);
      return;
    }
    if (ops.contains(op))
      return;
    for (Value in : readsOf(op))
      visit(in);
    ops.insert(op);
  };
  for (Value v : roots)
    visit(v);
  unsigned contractions = 0;
  bool reductions = false;
  for (Operation *op : ops)
    if (auto g = dyn_cast<linalg::GenericOp>(op)) {
      contractions += isRowsContraction(g);
      reductions |= g.getNumReductionLoops() > 0 && !isRowsContraction(g);
    }
  StringRef family = contractions > 1    ? "mlp"
                     : contractions == 1 ? "matmul"
                     : reductions        ? "rows"
                                         : "elementwise";
  KernelBody body{ops.getArrayRef(), inputs.getArrayRef(), roots, family};
  size_t hash = hashBody(body);
  if (func::FuncOp equal = findEqual(body, hash)) {
    launch(equal, inputs.getArrayRef(), roots, at);
    return success();
  }
  func::FuncOp kernel = makeKernel(body);
  auto results = llvm::to_vector(
      kernel.getBody().front().getTerminator()->getOperands());
  OpBuilder b(kernel);
  SmallVector<Attribute> inPlace;
  bool any = false;
  for (Value result : results) {
    SmallVector<int64_t> args;
    for (BlockArgument arg : kernel.getArguments())
      if (mayWriteOver(results, result, arg, target))
        args.push_back(arg.getArgNumber());
    any |= !args.empty();
    inPlace.push_back(b.getDenseI64ArrayAttr(args));
  }
  if (any)
    kernel->setAttr(kKernelInPlace, inPlace.size() == 1
                                        ? inPlace.front()
                                        : b.getArrayAttr(inPlace));
  if (!llvm::all_of(results, [&](Value result) {
        return chooseRowsShape(result, target).has_value();
      })) {
    kernel.erase();
    if (roots.size() > 1) {
      for (Value v : roots)
        if (failed(outline(v)))
          return failure();
      return success();
    }
    Operation *last = root.getDefiningOp();
    Value next = nextToKeep(ops.getArrayRef(), last);
    if (next) {
      kept.insert(next);
      return failed(outline(next)) ? failure() : outline(root);
    }
    return outlineOp(last, "loops");
  }
  insert(kernel, hash);
  launch(kernel, inputs.getArrayRef(), roots, at);
  return success();
}
