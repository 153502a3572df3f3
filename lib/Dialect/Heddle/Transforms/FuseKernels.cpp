//===- FuseKernels.cpp - groups graph ops into kernels --------------------===//

#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Codegen/Tile/RowsAnalysis.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace heddle {
#define GEN_PASS_DEF_FUSEKERNELSPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

/// Columns of a second contraction whose accumulator stays on chip.
static constexpr int64_t kMaxMlpColumns = 512;
/// Longest reduction that is recomputed from a whole row in scratch.
static constexpr int64_t kMaxRowLength = 8192;

namespace {
/// Kernels by a hash of their bodies.
using KernelsByBody = DenseMap<size_t, SmallVector<func::FuncOp>>;

enum class OpClass { Free, View, Rows, Contraction, Attention, Scan, Loops };

/// Decides what is kept in memory and outlines the rest, for one function.
class Fuser {
public:
  Fuser(func::FuncOp function, SymbolTable &symbols,
        KernelsByBody &byBody, const TileTarget &target)
      : function(function), symbols(symbols), byBody(byBody), target(target) {}
  LogicalResult run();

private:
  OpClass classify(Operation *op);
  void decide();
  void keep(Value v);
  bool isFused(Value v);
  unsigned contractionsIn(Value v);
  unsigned contractionsIn(Value v, DenseMap<Value, unsigned> &known);
  bool reductionIn(Value v);
  bool reductionIn(Value v, DenseSet<Value> &seen);
  void groupReturned();
  bool stayInside(Value v, ArrayRef<Value> group);
  LogicalResult outline(ArrayRef<Value> roots);
  LogicalResult outlineOp(Operation *op, StringRef family);
  func::FuncOp findEqual(func::FuncOp kernel);
  void insert(func::FuncOp kernel);
  void launch(func::FuncOp kernel, ValueRange inputs, ValueRange results,
              Operation *at);

  func::FuncOp function;
  SymbolTable &symbols;
  KernelsByBody &byBody;
  TileTarget target;
  llvm::SetVector<Value> kept;
  /// Values that one kernel makes together, by the last of them in the block.
  DenseMap<Operation *, SmallVector<Value>> groups;
  llvm::DenseSet<Operation *> grouped; // all but the last of each
};
} // namespace

/// Whether a slice of constant offsets starts at a multiple of 16 bytes, as the
/// kernels of a GPU expect of buffers.
static bool isAligned(tensor::ExtractSliceOp slice) {
  auto type = slice.getSourceType();
  Type element = type.getElementType();
  int64_t stride = element.isIndex()
                       ? 8
                       : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  int64_t offset = 0;
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    offset += *getConstantIntValue(slice.getMixedOffsets()[d]) * stride;
    stride *= type.getDimSize(d);
  }
  return offset % 16 == 0;
}

OpClass Fuser::classify(Operation *op) {
  if (isa<tensor::EmptyOp>(op))
    return OpClass::Free;
  // A constant tensor that is not a splat has bytes of its own.
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    return !isa<TensorType>(constant.getType()) || (dense && dense.isSplat())
               ? OpClass::Free
               : OpClass::View;
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return matchPattern(fill.getInputs()[0], m_Constant()) ? OpClass::Free
                                                           : OpClass::Loops;
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(op))
    return OpClass::View;
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    // A slice of leading indices is a view at an offset.
    auto type = slice.getSourceType();
    bool whole = true; // axes so far, from the last one, are covered
    bool contiguous = llvm::all_of(slice.getMixedStrides(), [](OpFoldResult s) {
      return isConstantIntValue(s, 1);
    });
    for (int64_t d = type.getRank() - 1; d >= 0; --d) {
      std::optional<int64_t> size = getConstantIntValue(slice.getMixedSizes()[d]);
      if (!size || !getConstantIntValue(slice.getMixedOffsets()[d]))
        contiguous = false;
      else if (!whole && *size != 1)
        contiguous = false;
      else if (*size != type.getDimSize(d))
        whole = false;
    }
    if (contiguous && target.matrixUnits && !isAligned(slice))
      contiguous = false; // a copy of its own
    return contiguous ? OpClass::View : OpClass::Loops;
  }
  if (isa<AttentionOp, AttentionGradOp>(op))
    return OpClass::Attention;
  if (isa<LinearScanOp, LinearScanGradOp, SelectiveScanOp, SelectiveScanGradOp>(
          op))
    return OpClass::Scan;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (isRowsContraction(generic)) {
    // Tiles of a batch of vectors would be all padding; loops do as well.
    return OpClass::Contraction;
  }
  if (isRowsGeneric(generic)) {
    SmallVector<unsigned> reduced;
    generic.getReductionDims(reduced);
    if (!reduced.empty() &&
        generic.getStaticLoopRanges()[reduced[0]] > kMaxRowLength)
      return OpClass::Loops;
    return OpClass::Rows;
  }
  return OpClass::Loops;
}

void Fuser::keep(Value v) {
  // Views are looked through: what they view is kept.
  while (Operation *op = v.getDefiningOp()) {
    if (classify(op) != OpClass::View || op->getNumOperands() == 0)
      break;
    v = op->getOperand(0);
  }
  if (v.getDefiningOp())
    kept.insert(v);
}

bool Fuser::isFused(Value v) {
  Operation *op = v.getDefiningOp();
  if (!op || kept.contains(v))
    return false;
  OpClass c = classify(op);
  return c == OpClass::Rows || c == OpClass::Contraction;
}

/// Contractions that a kernel asking for v would have to run.
unsigned Fuser::contractionsIn(Value v) {
  DenseMap<Value, unsigned> known;
  return contractionsIn(v, known);
}

/// Each value is met once, by however many paths it is reached.
unsigned Fuser::contractionsIn(Value v, DenseMap<Value, unsigned> &known) {
  if (!isFused(v))
    return 0;
  if (auto it = known.find(v); it != known.end())
    return it->second;
  auto op = cast<linalg::GenericOp>(v.getDefiningOp());
  unsigned own = isRowsContraction(op) ? 1 : 0, n = own;
  for (Value in : op.getDpsInputs())
    n = std::max(n, contractionsIn(in, known) + own);
  known[v] = n;
  return n;
}

bool Fuser::reductionIn(Value v) {
  DenseSet<Value> seen;
  return reductionIn(v, seen);
}

bool Fuser::reductionIn(Value v, DenseSet<Value> &seen) {
  if (!isFused(v) || !seen.insert(v).second)
    return false;
  auto op = cast<linalg::GenericOp>(v.getDefiningOp());
  return op.getNumReductionLoops() > 0 ||
         llvm::any_of(op.getDpsInputs(),
                      [&](Value in) { return reductionIn(in, seen); });
}

/// Uses of v by ops that are not dead, views counted through.
static bool hasOneUser(Value v) {
  Operation *user = nullptr;
  for (Operation *u : v.getUsers()) {
    if (user && user != u)
      return false;
    user = u;
  }
  return user != nullptr;
}

/// One pass in program order: each op says which of its operands it cannot
/// take as a recomputed tile.
void Fuser::decide() {
  for (Operation &op : function.getBody().front()) {
    OpClass c = classify(&op);
    if (c == OpClass::Free)
      continue;
    if (c == OpClass::View)
      continue; // kept where the view is used
    auto keepFused = [&](Value v) {
      Operation *def = v.getDefiningOp();
      if (!def)
        return;
      if (classify(def) == OpClass::View)
        keep(v);
      else if (isFused(v))
        kept.insert(v);
    };
    if (c == OpClass::Attention || c == OpClass::Scan || c == OpClass::Loops) {
      for (Value v : op.getOperands())
        keepFused(v);
      op.walk([&](Operation *inner) {
        for (Value v : inner->getOperands())
          if (isa<TensorType>(v.getType()) && v.getParentBlock() == op.getBlock())
            keepFused(v);
      });
      for (Value v : op.getResults())
        kept.insert(v);
      continue;
    }
    auto generic = cast<linalg::GenericOp>(op);
    AffineMap outMap = generic.getIndexingMapsArray().back();
    bool contraction = c == OpClass::Contraction;
    bool reduction = generic.getNumReductionLoops() > 0;
    SmallVector<Value> derived; // operands that carry a contraction
    for (OpOperand &operand : op.getOpOperands()) {
      Value v = operand.get();
      Operation *def = v.getDefiningOp();
      if (!def)
        continue;
      if (classify(def) == OpClass::View) {
        keep(v);
        continue;
      }
      if (!isFused(v))
        continue;
      unsigned inner = contractionsIn(v);
      if (contraction && operand.getOperandNumber() == 1) {
        if (inner || reductionIn(v))
          kept.insert(v);
        continue;
      }
      if (!inner)
        continue;
      bool identity = generic.getMatchingIndexingMap(&operand) == outMap;
      bool mlp = false;
      // On matrix units the hidden tile and both accumulators of a perceptron
      // are more than the registers hold.
      if (!target.matrixUnits && contraction &&
          operand.getOperandNumber() == 0 && inner == 1 && hasOneUser(v)) {
        RowsContraction rc = *matchRowsContraction(generic);
        mlp = generic.getStaticLoopRanges()[rc.n] <= kMaxMlpColumns;
      }
      if (mlp)
        continue;
      if (contraction || reduction || !identity || !hasOneUser(v))
        kept.insert(v);
      else
        derived.push_back(v);
    }
    // One contraction per kernel: of several, the last stays fused.
    for (Value v : ArrayRef<Value>(derived).drop_back(derived.empty() ? 0 : 1))
      if (v != derived.back())
        kept.insert(v);
    // Results that something outside of Rows and Contraction reads are kept by
    // those ops; a result nobody reads is dead.
    if (llvm::any_of(op.getUsers(), [](Operation *u) {
          return u->hasTrait<OpTrait::IsTerminator>();
        }))
      kept.insert(op.getResult(0));
  }
  for (Value v : function.getBody().front().getTerminator()->getOperands())
    keep(v);
}

/// Merges equal kernels: the same text is the same function.
static size_t hashBody(func::FuncOp kernel) {
  llvm::hash_code hash = hash_value(Type(kernel.getFunctionType()));
  for (Operation &op : kernel.getBody().front())
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(
                  &op, OperationEquivalence::ignoreHashValue,
                  OperationEquivalence::ignoreHashValue,
                  OperationEquivalence::IgnoreLocations));
  return hash;
}

func::FuncOp Fuser::findEqual(func::FuncOp kernel) {
  for (func::FuncOp other : byBody.lookup(hashBody(kernel)))
    if (other.getFunctionType() == kernel.getFunctionType() &&
        other->getAttr(kKernelFamily) == kernel->getAttr(kKernelFamily) &&
        OperationEquivalence::isRegionEquivalentTo(
            &other.getBody(), &kernel.getBody(),
            OperationEquivalence::IgnoreLocations))
      return other;
  return {};
}

void Fuser::insert(func::FuncOp kernel) {
  byBody[hashBody(kernel)].push_back(kernel);
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
    if (kept.remove(old))
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

/// Clones `ops` into a private function of `inputs` that returns `results`.
static func::FuncOp makeKernel(ArrayRef<Operation *> ops, ValueRange inputs,
                               ValueRange results, StringRef name,
                               StringRef family) {
  OpBuilder b(results.front().getContext());
  Location loc = results.front().getLoc();
  auto type = b.getFunctionType(inputs.getTypes(), results.getTypes());
  auto kernel = func::FuncOp::create(loc, name, type);
  kernel.setPrivate();
  kernel->setAttr(kKernelFamily, b.getStringAttr(family));
  Block *entry = kernel.addEntryBlock();
  IRMapping mapping;
  mapping.map(inputs, entry->getArguments());
  b.setInsertionPointToEnd(entry);
  for (Operation *op : ops)
    b.clone(*op, mapping);
  SmallVector<Value> returned;
  for (Value v : results)
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
  func::FuncOp kernel =
      makeKernel(ops.getArrayRef(), inputs.getArrayRef(), op->getResults(),
                 kernelName(family, op->getResult(0).getType()), family);
  if (func::FuncOp equal = findEqual(kernel)) {
    kernel.erase();
    launch(equal, inputs.getArrayRef(), op->getResults(), op);
    return success();
  }
  if (family == "scan") {
    // A block reads all that a step needs before it writes the step's results,
    // and no other block reads those channels.
    SmallVector<int64_t> inPlace;
    for (auto [i, v] : llvm::enumerate(inputs))
      if (v.getType() == op->getResult(0).getType())
        inPlace.push_back(i);
    if (!inPlace.empty())
      kernel->setAttr(kKernelInPlace,
                      OpBuilder(op).getDenseI64ArrayAttr(inPlace));
  }
  if (auto attention = dyn_cast<AttentionOp>(op)) {
    // Each block reads the query rows that it writes, before it writes them.
    Value q = attention.getQuery();
    if (q.getType() == attention.getOut().getType() && q != attention.getKey() &&
        q != attention.getValue()) {
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
  insert(kernel);
  launch(kernel, inputs.getArrayRef(), op->getResults(), op);
  return success();
}

/// Whether only `group` and the function's end use v, directly or through ops
/// that are fused.
bool Fuser::stayInside(Value v, ArrayRef<Value> group) {
  return llvm::all_of(v.getUsers(), [&](Operation *user) {
    if (user->hasTrait<OpTrait::IsTerminator>())
      return true;
    if (user->getNumResults() != 1)
      return false;
    Value made = user->getResult(0);
    return llvm::is_contained(group, made) ||
           (isFused(made) && stayInside(made, group));
  });
}

/// Returned elementwise values of one shape that read one another or the same
/// tensor become one kernel, which reads what they share once: a parameter and
/// its moments are updated in one pass.
void Fuser::groupReturned() {
  Block &body = function.getBody().front();
  DenseMap<Value, SmallVector<Value>> readBy; // roots by what they read
  llvm::EquivalenceClasses<Value> classes;
  SmallVector<Value> roots;
  for (Value v : body.getTerminator()->getOperands()) {
    auto op = v.getDefiningOp<linalg::GenericOp>();
    if (!op || !kept.contains(v) || classify(op) != OpClass::Rows ||
        op.getNumReductionLoops() > 0 || llvm::is_contained(roots, v))
      continue;
    if (llvm::any_of(op.getOperands(), [&](Value in) {
          return contractionsIn(in) > 0 || reductionIn(in);
        }))
      continue;
    roots.push_back(v);
  }
  auto shapeOf = [](Value v) {
    return cast<RankedTensorType>(v.getType()).getShape();
  };
  for (Value root : roots) {
    classes.insert(root);
    llvm::DenseSet<Value> seen;
    std::function<void(Value)> visit = [&](Value v) {
      if (!isa<RankedTensorType>(v.getType()) || !seen.insert(v).second)
        return;
      if (v != root && !isFused(v)) {
        Operation *def = v.getDefiningOp();
        if ((def && classify(def) == OpClass::Free) ||
            shapeOf(v) != shapeOf(root))
          return;
        if (llvm::is_contained(roots, v))
          classes.unionSets(root, v);
        SmallVector<Value> &readers = readBy[v];
        if (!readers.empty())
          classes.unionSets(root, readers.front());
        readers.push_back(root);
        return;
      }
      for (Value in : v.getDefiningOp()->getOperands())
        visit(in);
    };
    visit(root);
  }
  for (Value leader : roots) {
    if (classes.getLeaderValue(leader) != leader)
      continue;
    SmallVector<Value> group;
    for (Value v : roots) // in the order of the results
      if (classes.isEquivalent(leader, v))
        group.push_back(v);
    if (group.size() < 2 || !llvm::all_of(group, [&](Value v) {
          return shapeOf(v) == shapeOf(leader) && stayInside(v, group);
        }))
      continue;
    Operation *last = group.front().getDefiningOp();
    for (Value v : group)
      if (last->isBeforeInBlock(v.getDefiningOp()))
        last = v.getDefiningOp();
    for (Value v : group)
      if (v.getDefiningOp() != last)
        grouped.insert(v.getDefiningOp());
    groups[last] = std::move(group);
  }
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
  func::FuncOp kernel =
      makeKernel(ops.getArrayRef(), inputs.getArrayRef(), roots,
                 kernelName(family, root.getType()), family);
  if (func::FuncOp equal = findEqual(kernel)) {
    kernel.erase();
    launch(equal, inputs.getArrayRef(), roots, at);
    return success();
  }
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
    // No tiling of the whole: keep what the last op reads, one by one and
    // reductions first, until the rest has one.
    Operation *last = root.getDefiningOp();
    Value next;
    for (Value in : last->getOperands())
      if (isFused(in) && (!next || (reductionIn(in) && !reductionIn(next))))
        next = in;
    if (next) {
      kept.insert(next);
      return failed(outline(next)) ? failure() : outline(root);
    }
    return outlineOp(last, "loops");
  }
  insert(kernel);
  launch(kernel, inputs.getArrayRef(), roots, at);
  return success();
}

LogicalResult Fuser::run() {
  decide();
  groupReturned();
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front())
    ops.push_back(&op);
  for (Operation *op : ops) {
    OpClass c = classify(op);
    if (c == OpClass::Attention) {
      if (failed(outlineOp(op, isa<AttentionOp>(op) ? "attention"
                                                : "attention_grad")))
        return failure();
    } else if (c == OpClass::Scan) {
      if (failed(outlineOp(op, "scan")))
        return failure();
    } else if (c == OpClass::Loops &&
               !op->hasTrait<OpTrait::IsTerminator>()) {
      if (failed(outlineOp(op, "loops")))
        return failure();
    } else if (op->getNumResults() == 1 && kept.contains(op->getResult(0)) &&
               (c == OpClass::Rows || c == OpClass::Contraction)) {
      if (grouped.contains(op))
        continue;
      auto group = groups.find(op);
      if (failed(group != groups.end() ? outline(group->second)
                                       : outline(op->getResult(0))))
        return failure();
    } else if (c == OpClass::Free && op->getNumResults() == 1 &&
               kept.contains(op->getResult(0))) {
      // A constant that is returned or handed to a view.
      if (isa<linalg::FillOp>(op) && failed(outlineOp(op, "loops")))
        return failure();
    }
  }
  // What was outlined has no users left.
  IRRewriter rewriter(function.getContext());
  (void)runRegionDCE(rewriter, function->getRegions());
  return success();
}

/// An op over an empty iteration space leaves its initial values as they are,
/// and a tensor without elements is a constant: no kernel has to handle either.
static void removeEmptyLoops(func::FuncOp f) {
  SmallVector<Operation *> ops;
  for (Operation &op : f.getBody().front())
    ops.push_back(&op);
  for (Operation *op : ops) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op);
        generic && llvm::is_contained(generic.getStaticLoopRanges(), 0))
      generic.replaceAllUsesWith(ValueRange(generic.getDpsInits()));
    if (op->hasTrait<OpTrait::ConstantLike>())
      continue;
    for (Value v : op->getResults()) {
      auto type = dyn_cast<RankedTensorType>(v.getType());
      if (!type || !type.hasStaticShape() || type.getNumElements() != 0)
        continue;
      OpBuilder b(op);
      v.replaceAllUsesWith(arith::ConstantOp::create(
          b, op->getLoc(),
          DenseElementsAttr::get(type, ArrayRef<Attribute>())));
    }
  }
}

/// Scans and attention read their operands from memory: one that is the same
/// number everywhere is written there by an elementwise kernel.
static void materializeSplats(func::FuncOp f) {
  SmallVector<OpOperand *> operands;
  f.walk([&](Operation *op) {
    if (isa<AttentionOp, AttentionGradOp, LinearScanOp, LinearScanGradOp,
            SelectiveScanOp, SelectiveScanGradOp>(op))
      for (OpOperand &operand : op->getOpOperands())
        operands.push_back(&operand);
  });
  for (OpOperand *operand : operands) {
    auto type = cast<RankedTensorType>(operand->get().getType());
    DenseElementsAttr dense;
    if (type.getNumElements() == 0 ||
        !matchPattern(operand->get(), m_Constant(&dense)) || !dense.isSplat())
      continue;
    OpBuilder b(operand->getOwner());
    Location loc = operand->getOwner()->getLoc();
    Value empty = tensor::EmptyOp::create(b, loc, type.getShape(),
                                          type.getElementType());
    SmallVector<utils::IteratorType> iterators(type.getRank(),
                                               utils::IteratorType::parallel);
    auto write = linalg::GenericOp::create(
        b, loc, type, ValueRange(), empty,
        b.getMultiDimIdentityMap(type.getRank()), iterators,
        [&](OpBuilder &b, Location loc, ValueRange) {
          Value element = arith::ConstantOp::create(
              b, loc, cast<TypedAttr>(dense.getSplatValue<Attribute>()));
          linalg::YieldOp::create(b, loc, element);
        });
    operand->set(write.getResult(0));
  }
}

/// Kernels and buffers hold tensors: a scalar between ops has no place.
static LogicalResult refuseScalars(func::FuncOp f) {
  for (Operation &op : f.getBody().front()) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    for (Type t : op.getResultTypes())
      if (!isa<RankedTensorType>(t))
        return op.emitOpError("expected a tensor result outside of regions, "
                              "got ")
               << t << "; keep the value in a tensor of rank 0";
  }
  return success();
}

namespace {
struct FuseKernels : heddle::impl::FuseKernelsPassBase<FuseKernels> {
  using FuseKernelsPassBase::FuseKernelsPassBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    KernelsByBody byBody;
    TileTarget target;
    target.lanes = lanes;
    target.threads = threads;
    target.matrixUnits = matrixUnits;
    SmallVector<func::FuncOp> entries;
    for (auto f : getOperation().getOps<func::FuncOp>())
      if (!f.isExternal() && !f->hasAttr(kKernelFamily))
        entries.push_back(f);
    for (func::FuncOp f : entries) {
      IRRewriter rewriter(&getContext());
      SmallVector<linalg::SoftmaxOp> softmaxes;
      f.walk([&](linalg::SoftmaxOp op) { softmaxes.push_back(op); });
      for (linalg::SoftmaxOp op : softmaxes) {
        rewriter.setInsertionPoint(op);
        FailureOr<SmallVector<Value>> parts = op.decomposeOperation(rewriter);
        if (failed(parts)) {
          op->emitOpError("cannot be decomposed");
          return signalPassFailure();
        }
        rewriter.replaceOp(op, *parts);
      }
      SmallVector<linalg::LinalgOp> named;
      f.walk([&](linalg::LinalgOp op) {
        if (!isa<linalg::GenericOp, linalg::FillOp>(op))
          named.push_back(op);
      });
      for (linalg::LinalgOp op : named) {
        rewriter.setInsertionPoint(op);
        if (failed(linalg::generalizeNamedOp(rewriter, op))) {
          op->emitOpError("cannot be written as a linalg.generic");
          return signalPassFailure();
        }
      }
      removeEmptyLoops(f);
      materializeSplats(f);
      (void)runRegionDCE(rewriter, f->getRegions());
      if (failed(refuseScalars(f)) ||
          failed(Fuser(f, symbols, byBody, target).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
