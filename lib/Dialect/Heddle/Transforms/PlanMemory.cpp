//===- PlanMemory.cpp - a place in memory for every kept value ------------===//

#include "heddle/Analysis/ArenaPlanner.h"
#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"
#include "heddle/Dialect/Heddle/Transforms/PlanAttributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

namespace heddle {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

static int64_t byteSize(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  int64_t bits = tensor.getElementType().isIndex()
                     ? 64
                     : tensor.getElementType().getIntOrFloatBitWidth();
  return tensor.getNumElements() * llvm::divideCeil(bits, 8);
}

static MemRefType bufferType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

namespace {
/// Where a tensor's bytes are: a place and a byte offset into it.
struct Location {
  enum Kind { Argument, Constant, Item } kind = Item;
  int64_t index = 0;
  int64_t offset = 0;
};

/// A kept value. Values that share one buffer form a group.
struct PlacedItem {
  int64_t size = 0, begin = 0, end = 0;
  int64_t group = 0;
  bool returned = false;
  int64_t result = -1; // the first result that is this value
};

/// A result that is not written where it belongs.
struct PlannedCopy {
  Location from;
  Type type;
  int64_t result = -1; // or, with -1, into an item
  int64_t item = -1;
};

/// Plans one entry function and rewrites it onto buffers.
class Planner {
public:
  Planner(func::FuncOp function, SymbolTable &symbols)
      : function(function), symbols(symbols) {}
  LogicalResult run();

private:
  LogicalResult readDonation();
  LogicalResult locate();
  bool isFree(int64_t argument, int64_t step);
  void shareBuffers();
  void placeResults();
  void placeArena();
  int64_t peakWork();
  LogicalResult rewrite();
  Value view(OpBuilder &b, mlir::Location loc, Location at, Type type);

  func::FuncOp function;
  SymbolTable &symbols;
  SmallVector<LaunchOp> launches;
  llvm::DenseMap<Value, Location> locations;
  SmallVector<PlacedItem> items;
  SmallVector<DenseElementsAttr> constants;
  SmallVector<int64_t> constantOffsets;
  int64_t constantBytes = 0;
  SmallVector<int64_t> groupResult; // group -> result number or -1
  SmallVector<int64_t> groupOffset; // group -> arena offset
  SmallVector<int64_t> donor;       // result -> argument or -1
  SmallVector<PlannedCopy> firstCopies, lastCopies;
  ArenaResult arena;
  Value argumentBase; // of the rewritten function
};
} // namespace

/// Byte offset of a contiguous slice.
static int64_t sliceOffset(tensor::ExtractSliceOp op) {
  auto type = op.getSourceType();
  int64_t offset = 0;
  for (int64_t d = 0; d < type.getRank(); ++d)
    offset = offset * type.getDimSize(d) +
             *getConstantIntValue(op.getMixedOffsets()[d]);
  return offset * byteSize(type) / std::max<int64_t>(1, type.getNumElements());
}

/// The elements of a constant tensor; null where they have another form.
static DenseElementsAttr denseElements(Attribute value) {
  auto resource = dyn_cast<DenseResourceElementsAttr>(value);
  if (!resource)
    return dyn_cast<DenseElementsAttr>(value);
  ArrayRef<char> bytes = resource.getRawHandle().getBlob()
                             ? resource.getRawHandle().getBlob()->getData()
                             : ArrayRef<char>();
  // Resources hold a byte per i1 element, dense attributes a bit.
  bool isSplat = false;
  if (resource.getElementType().isInteger(1) ||
      !DenseElementsAttr::isValidRawBuffer(resource.getType(), bytes, isSplat))
    return {};
  return DenseElementsAttr::getFromRawBuffer(resource.getType(), bytes);
}

/// Which result lives in which argument.
LogicalResult Planner::readDonation() {
  auto returned = function.getBody().front().getTerminator()->getOperands();
  donor.assign(returned.size(), -1);
  for (BlockArgument arg : function.getArguments()) {
    int64_t a = arg.getArgNumber();
    auto attr = function.getArgAttrOfType<IntegerAttr>(a, kDonate);
    if (!attr)
      continue;
    int64_t r = attr.getInt();
    if (r < 0 || r >= static_cast<int64_t>(returned.size()))
      return function.emitError("expected heddle.donate of argument ")
             << a << " to be the number of a result below " << returned.size()
             << ", got " << r;
    if (returned[r].getType() != arg.getType())
      return function.emitError("expected argument ")
             << a << ", donated to result " << r << ", to have its type "
             << returned[r].getType() << ", got " << arg.getType()
             << "; donate it to a result of its own type";
    if (donor[r] >= 0)
      return function.emitError("expected one argument donated to result ")
             << r << ", got arguments " << donor[r] << " and " << a
             << "; a result lives in one place";
    donor[r] = a;
  }
  return success();
}

LogicalResult Planner::locate() {
  for (BlockArgument arg : function.getArguments())
    locations[arg] = {Location::Argument,
                      static_cast<int64_t>(arg.getArgNumber()), 0};
  for (Operation &op : function.getBody().front()) {
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      int64_t step = launches.size();
      launches.push_back(launch);
      for (Value v : launch.getOutputs()) {
        locations[v] = {Location::Item, static_cast<int64_t>(items.size()), 0};
        items.push_back({byteSize(v.getType()), step, step,
                         static_cast<int64_t>(items.size()), false});
      }
    } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (!isa<TensorType>(constant.getType()))
        continue;
      DenseElementsAttr dense = denseElements(constant.getValue());
      if (!dense)
        return constant.emitOpError("expected a dense constant, got ")
               << constant.getValue() << "; write it out as dense<...>";
      locations[constant] = {Location::Constant,
                             static_cast<int64_t>(constants.size()), 0};
      constants.push_back(dense);
      constantOffsets.push_back(constantBytes);
      constantBytes =
          llvm::alignTo(constantBytes + byteSize(constant.getType()), 64);
    } else if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                   tensor::CastOp>(op)) {
      locations[op.getResult(0)] = locations.lookup(op.getOperand(0));
    } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
      Location at = locations.lookup(slice.getSource());
      at.offset += sliceOffset(slice);
      locations[slice] = at;
    } else if (!isa<func::ReturnOp>(op)) {
      return op.emitOpError(
          "expected only launches and views after fusion; run "
          "heddle-fuse-kernels first");
    }
  }
  int64_t end = launches.size();
  for (auto [step, launch] : llvm::enumerate(launches))
    for (Value v : launch.getInputs()) {
      Location at = locations.lookup(v);
      if (at.kind == Location::Item)
        items[at.index].end = std::max<int64_t>(items[at.index].end, step);
    }
  for (auto [i, v] : llvm::enumerate(
           function.getBody().front().getTerminator()->getOperands())) {
    Location at = locations.lookup(v);
    if (at.kind != Location::Item)
      continue;
    PlacedItem &item = items[at.index];
    item.end = end;
    item.returned = true;
    if (item.result < 0 && at.offset == 0 && item.size == byteSize(v.getType()))
      item.result = i;
  }
  return success();
}

/// Whether the launch at `step` may write its first output into an argument's
/// memory: nothing reads that later, and the launch itself only where each
/// block reads of it what the block writes.
bool Planner::isFree(int64_t argument, int64_t step) {
  for (int64_t s = step, e = launches.size(); s < e; ++s) {
    LaunchOp launch = launches[s];
    int64_t readers = 0;
    for (auto [i, v] : llvm::enumerate(launch.getInputs())) {
      Location at = locations.lookup(v);
      if (at.kind != Location::Argument || at.index != argument)
        continue;
      auto inPlace = symbols.lookup<func::FuncOp>(launch.getKernel())
                         ->getAttrOfType<DenseI64ArrayAttr>(kKernelInPlace);
      if (s > step || ++readers > 1 || at.offset != 0 || !inPlace ||
          !llvm::is_contained(inPlace.asArrayRef(), static_cast<int64_t>(i)))
        return false;
    }
  }
  return true;
}

/// A kernel's result takes over the buffer of an input that dies there, where
/// the kernel says that it may.
void Planner::shareBuffers() {
  for (auto [step, launch] : llvm::enumerate(launches)) {
    auto kernel = symbols.lookup<func::FuncOp>(launch.getKernel());
    auto inPlace = kernel->getAttrOfType<DenseI64ArrayAttr>(kKernelInPlace);
    if (!inPlace || launch.getNumResults() == 0)
      continue;
    Location out = locations.lookup(launch.getOutputs()[0]);
    int64_t result = items[out.index].result;
    if (result >= 0 && donor[result] >= 0 && isFree(donor[result], step))
      continue; // it goes where it belongs
    for (int64_t arg : inPlace.asArrayRef()) {
      Location in = locations.lookup(launch.getInputs()[arg]);
      if (in.kind != Location::Item || in.offset != 0)
        continue;
      PlacedItem &from = items[in.index], &to = items[out.index];
      bool dies = from.end == static_cast<int64_t>(step) && !from.returned;
      // Another operand in the same buffer would be overwritten under way.
      int64_t readers = llvm::count_if(launch.getInputs(), [&](Value v) {
        Location at = locations.lookup(v);
        return at.kind == Location::Item && items[at.index].group == from.group;
      });
      if (!dies || from.size != to.size || readers != 1)
        continue;
      to.group = from.group;
      break;
    }
  }
}

void Planner::placeResults() {
  groupResult.assign(items.size(), -1);
  for (auto [i, v] : llvm::enumerate(
           function.getBody().front().getTerminator()->getOperands())) {
    Location at = locations.lookup(v);
    bool own = at.kind == Location::Item &&
               items[at.index].result == static_cast<int64_t>(i);
    int64_t argument = donor[i];
    if (argument >= 0) {
      if (at.kind == Location::Argument && at.index == argument)
        continue; // unchanged
      int64_t begin = launches.size();
      for (const PlacedItem &item : items)
        if (own && item.group == items[at.index].group)
          begin = std::min(begin, item.begin);
      own &= isFree(argument, begin);
    }
    if (own && groupResult[items[at.index].group] < 0) {
      groupResult[items[at.index].group] = i;
      continue;
    }
    PlannedCopy copy{at, v.getType(), static_cast<int64_t>(i), -1};
    bool overwritten =
        at.kind == Location::Argument && llvm::is_contained(donor, at.index);
    if (overwritten && argument < 0) {
      firstCopies.push_back(copy);
      continue;
    }
    if (overwritten) {
      // Arguments change places: this one waits in the arena.
      int64_t saved = items.size(), end = launches.size();
      items.push_back({byteSize(v.getType()), 0, end, saved});
      groupResult.push_back(-1);
      firstCopies.push_back({at, v.getType(), -1, saved});
      copy.from = {Location::Item, saved, 0};
    }
    lastCopies.push_back(copy);
  }
}

void Planner::placeArena() {
  groupOffset.assign(items.size(), -1);
  std::vector<ArenaItem> wanted;
  SmallVector<int64_t> groupOf;
  llvm::DenseMap<int64_t, size_t> seen;
  for (const PlacedItem &item : items) {
    if (groupResult[item.group] >= 0)
      continue;
    auto [it, inserted] = seen.try_emplace(item.group, wanted.size());
    if (inserted) {
      wanted.push_back({item.size, item.begin, item.end, -1});
      groupOf.push_back(item.group);
      continue;
    }
    ArenaItem &w = wanted[it->second];
    w.begin = std::min(w.begin, item.begin);
    w.end = std::max(w.end, item.end);
  }
  arena = planArena(wanted);
  for (auto [w, group] : llvm::zip(wanted, groupOf))
    groupOffset[group] = w.offset;
}

/// Peak bytes of values that are neither arguments nor results, wherever they
/// are placed; values that share a buffer count once.
int64_t Planner::peakWork() {
  int64_t peak = 0;
  for (int64_t step = 0; step < static_cast<int64_t>(launches.size()); ++step) {
    llvm::DenseMap<int64_t, int64_t> bySize;
    for (const PlacedItem &item : items)
      if (!item.returned && item.begin <= step && step <= item.end)
        bySize[item.group] = std::max(bySize[item.group], item.size);
    // A value that becomes a result in place is a result from then on.
    for (const PlacedItem &item : items)
      if (item.returned && item.begin == step)
        bySize.erase(item.group);
    int64_t sum = 0;
    for (auto [group, size] : bySize)
      sum += size;
    peak = std::max(peak, sum);
  }
  return peak;
}

/// Kernels move from tensors to buffers: inputs first, then outputs.
static void bufferizeKernel(func::FuncOp kernel) {
  Block &body = kernel.getBody().front();
  OpBuilder b = OpBuilder::atBlockBegin(&body);
  auto ret = cast<func::ReturnOp>(body.getTerminator());
  SmallVector<Type> types;
  unsigned numInputs = kernel.getNumArguments();
  for (unsigned i = 0; i < numInputs; ++i) {
    BlockArgument arg = body.getArgument(i);
    Type tensor = arg.getType();
    auto memref = bufferType(tensor);
    types.push_back(memref);
    arg.setType(memref);
    auto read = bufferization::ToTensorOp::create(b, kernel.getLoc(), tensor,
                                                  arg, /*restrict=*/true);
    arg.replaceAllUsesExcept(read, read);
  }
  b.setInsertionPoint(ret);
  for (Value v : ret.getOperands()) {
    auto memref = bufferType(v.getType());
    types.push_back(memref);
    Value dest = body.addArgument(memref, kernel.getLoc());
    auto write = bufferization::MaterializeInDestinationOp::create(
        b, kernel.getLoc(), Type(), v, dest, /*restrict=*/true,
        /*writable=*/true);
    (void)write;
  }
  ret->setOperands({});
  kernel.setFunctionType(b.getFunctionType(types, {}));
}

Value Planner::view(OpBuilder &b, mlir::Location loc, Location at, Type type) {
  Block &entry = function.getBody().front();
  unsigned numArgs =
      function->getAttrOfType<ArrayAttr>(kPlanArgumentTypes).size();
  unsigned numResults =
      function->getAttrOfType<ArrayAttr>(kPlanResultTypes).size();
  Value base;
  int64_t offset = at.offset;
  switch (at.kind) {
  case Location::Argument:
    base = entry.getArgument(at.index);
    break;
  case Location::Constant:
    base = entry.getArgument(numArgs + numResults + 1);
    offset += constantOffsets[at.index];
    break;
  case Location::Item: {
    int64_t group = items[at.index].group;
    if (int64_t result = groupResult[group]; result >= 0) {
      base = entry.getArgument(donor[result] >= 0 ? donor[result]
                                                  : numArgs + result);
    } else {
      base = entry.getArgument(numArgs + numResults);
      offset += groupOffset[group];
    }
    break;
  }
  }
  Value shift = arith::ConstantIndexOp::create(b, loc, offset);
  return memref::ViewOp::create(b, loc, bufferType(type), base, shift,
                                ValueRange{});
}

LogicalResult Planner::rewrite() {
  OpBuilder b(function.getContext());
  mlir::Location loc = function.getLoc();
  Block &entry = function.getBody().front();
  auto returnOp = cast<func::ReturnOp>(entry.getTerminator());

  SmallVector<Attribute> argumentTypes, resultTypes, used;
  SmallVector<Type> byteTypes;
  auto bytes = [&](int64_t n) { return MemRefType::get({n}, b.getI8Type()); };
  for (BlockArgument arg : entry.getArguments()) {
    argumentTypes.push_back(TypeAttr::get(arg.getType()));
    used.push_back(b.getBoolAttr(!arg.use_empty()));
    byteTypes.push_back(bytes(byteSize(arg.getType())));
  }
  for (Value v : returnOp.getOperands()) {
    resultTypes.push_back(TypeAttr::get(v.getType()));
    byteTypes.push_back(bytes(byteSize(v.getType())));
  }
  byteTypes.push_back(bytes(arena.bytes));
  byteTypes.push_back(bytes(constantBytes));
  function->setAttr(kPlanArgumentTypes, b.getArrayAttr(argumentTypes));
  function->setAttr(kPlanResultTypes, b.getArrayAttr(resultTypes));
  function->setAttr(kPlanArgumentUsed, b.getArrayAttr(used));
  if (llvm::any_of(donor, [](int64_t a) { return a >= 0; }))
    function->setAttr(kPlanAlias, b.getDenseI64ArrayAttr(donor));
  function->setAttr(kPlanArena, b.getI64IntegerAttr(arena.bytes));
  function->setAttr(kPlanMaxLive, b.getI64IntegerAttr(arena.maxLive));
  function->setAttr(kPlanWork, b.getI64IntegerAttr(peakWork()));
  if (!constants.empty()) {
    SmallVector<Attribute> values(constants.begin(), constants.end());
    function->setAttr(kPlanConstants, b.getArrayAttr(values));
    function->setAttr(kPlanConstantOffsets,
                      b.getDenseI64ArrayAttr(constantOffsets));
  }

  // New arguments stand behind the old ones until those have no users.
  unsigned numOld = entry.getNumArguments();
  for (Type type : byteTypes)
    entry.addArgument(type, loc);
  SmallVector<std::pair<LaunchOp, SmallVector<Location>>> work;
  SmallVector<SmallVector<Type>> types;
  for (LaunchOp launch : launches) {
    SmallVector<Location> at;
    SmallVector<Type> t;
    for (Value v :
         llvm::concat<Value>(SmallVector<Value>(launch.getInputs()),
                             SmallVector<Value>(launch.getOutputs()))) {
      at.push_back(locations.lookup(v));
      t.push_back(v.getType());
    }
    work.push_back({launch, at});
    types.push_back(t);
  }
  // Drop the tensor program, keeping what each launch was.
  SmallVector<FlatSymbolRefAttr> names;
  for (LaunchOp launch : launches)
    names.push_back(launch.getKernelAttr());
  while (!entry.empty())
    entry.back().dropAllUses(), entry.back().erase();
  entry.eraseArguments(0, numOld);
  SmallVector<Type> none;
  function.setFunctionType(b.getFunctionType(byteTypes, {}));
  function->removeAttr("res_attrs");
  SmallVector<Attribute> argAttrs;
  function.setAllArgAttrs(
      SmallVector<DictionaryAttr>(byteTypes.size(), b.getDictionaryAttr({})));

  b.setInsertionPointToEnd(&entry);
  unsigned numArgs = argumentTypes.size();
  auto emitCopies = [&](ArrayRef<PlannedCopy> copies) {
    for (const PlannedCopy &copy : copies) {
      Value from = view(b, loc, copy.from, copy.type), to;
      if (copy.item >= 0) {
        to = view(b, loc, {Location::Item, copy.item, 0}, copy.type);
      } else {
        int64_t argument = donor[copy.result];
        Value base =
            entry.getArgument(argument >= 0 ? argument : numArgs + copy.result);
        Value shift = arith::ConstantIndexOp::create(b, loc, 0);
        to = memref::ViewOp::create(b, loc, bufferType(copy.type), base, shift,
                                    ValueRange{});
      }
      memref::CopyOp::create(b, loc, from, to);
    }
  };
  emitCopies(firstCopies);
  for (auto [item, t, name] : llvm::zip(work, types, names)) {
    SmallVector<Value> operands;
    for (auto [at, type] : llvm::zip(item.second, t))
      operands.push_back(view(b, loc, at, type));
    LaunchOp::create(b, loc, TypeRange{}, name, operands);
  }
  emitCopies(lastCopies);
  func::ReturnOp::create(b, loc);
  return success();
}

LogicalResult Planner::run() {
  if (failed(readDonation()) || failed(locate()))
    return failure();
  shareBuffers();
  placeResults();
  placeArena();
  return rewrite();
}

namespace {
struct PlanMemory : heddle::impl::PlanMemoryPassBase<PlanMemory> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<func::FuncOp> kernels, entries;
    for (auto f : getOperation().getOps<func::FuncOp>()) {
      if (f.isExternal())
        continue;
      (f->hasAttr(kKernelFamily) ? kernels : entries).push_back(f);
    }
    for (func::FuncOp f : entries) {
      keepArgumentNames(f);
      if (failed(Planner(f, symbols).run()))
        return signalPassFailure();
    }
    for (func::FuncOp kernel : kernels)
      bufferizeKernel(kernel);
  }

  /// Argument names and donation move from argument attributes to the function,
  /// because the arguments change.
  void keepArgumentNames(func::FuncOp f) {
    Builder b(f.getContext());
    SmallVector<Attribute> names;
    for (unsigned i = 0; i < f.getNumArguments(); ++i) {
      auto name = f.getArgAttrOfType<StringAttr>(i, kArgumentName);
      names.push_back(name ? name : b.getStringAttr(""));
    }
    f->setAttr(kPlanArgumentNames, b.getArrayAttr(names));
  }
};
} // namespace
