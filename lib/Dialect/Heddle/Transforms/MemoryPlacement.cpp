//===- MemoryPlacement.cpp - where each value of a program lives ----------===//

#include "MemoryPlacement.h"
#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Dialect/Heddle/Transforms/Loops.h"
#include "heddle/Dialect/Heddle/Transforms/PlanAttributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

/// Places in the arena begin at multiples of this.
static constexpr int64_t kArenaAlignment = 64;

int64_t heddle::tensorBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  int64_t bits = tensor.getElementType().isIndex()
                     ? 64
                     : tensor.getElementType().getIntOrFloatBitWidth();
  return tensor.getNumElements() * llvm::divideCeil(bits, 8);
}

/// Byte offset of a contiguous slice.
static int64_t sliceOffset(tensor::ExtractSliceOp op) {
  auto type = op.getSourceType();
  int64_t offset = 0;
  for (int64_t d = 0; d < type.getRank(); ++d)
    offset = offset * type.getDimSize(d) +
             *getConstantIntValue(op.getMixedOffsets()[d]);
  return offset * tensorBytes(type) /
         std::max<int64_t>(1, type.getNumElements());
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

int64_t MemoryPlacement::addItem(int64_t size, int64_t step) {
  Item item;
  item.size = size;
  item.begin = item.end = step;
  item.group = items.size();
  items.push_back(item);
  return item.group;
}

LogicalResult MemoryPlacement::findDonated() {
  donated.assign(function.getNumArguments(), false);
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    Attribute attr = function.getArgAttr(i, kArgumentDonated);
    if (!attr)
      continue;
    if (!isa<UnitAttr>(attr))
      return function.emitError("expected the unit attribute ")
             << kArgumentDonated << " on argument " << i << ", got " << attr
             << "; write {" << kArgumentDonated << "}";
    donated[i] = true;
  }
  return success();
}

LogicalResult MemoryPlacement::locate() {
  for (BlockArgument arg : function.getArguments()) {
    int64_t number = arg.getArgNumber();
    if (!donated[number]) {
      places[arg] = {ValuePlace::Argument, number, 0};
      continue;
    }
    int64_t item = addItem(tensorBytes(arg.getType()), -1);
    items[item].argument = number;
    places[arg] = {ValuePlace::Item, item, 0};
  }
  for (Operation &op : function.getBody().front()) {
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      int64_t step = launches.size();
      launches.push_back(launch);
      for (Value v : launch.getOutputs())
        places[v] = {ValuePlace::Item, addItem(tensorBytes(v.getType()), step),
                     0};
    } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (!isa<TensorType>(constant.getType()))
        continue;
      DenseElementsAttr dense = denseElements(constant.getValue());
      if (!dense)
        return constant.emitOpError("expected a dense constant, got ")
               << constant.getValue() << "; write it out as dense<...>";
      places[constant] = {ValuePlace::Constant,
                          static_cast<int64_t>(constants.size()), 0};
      constants.push_back(dense);
      constantOffsets.push_back(constantBytes);
      constantBytes =
          llvm::alignTo(constantBytes + tensorBytes(constant.getType()), 64);
    } else if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                   tensor::CastOp>(op)) {
      places[op.getResult(0)] = places.lookup(op.getOperand(0));
    } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
      ValuePlace at = places.lookup(slice.getSource());
      at.offset += sliceOffset(slice);
      places[slice] = at;
    } else if (!isa<func::ReturnOp>(op)) {
      return op.emitOpError(
          "expected only launches and views after fusion; run "
          "heddle-fuse-kernels first");
    }
  }
  int64_t end = launches.size();
  for (auto [step, launch] : llvm::enumerate(launches))
    for (Value v : launch.getInputs())
      if (ValuePlace at = places.lookup(v); at.kind == ValuePlace::Item)
        items[at.index].end = std::max<int64_t>(items[at.index].end, step);
  for (Value v : function.getBody().front().getTerminator()->getOperands())
    if (ValuePlace at = places.lookup(v); at.kind == ValuePlace::Item) {
      items[at.index].end = end;
      items[at.index].returned = true;
    }
  homes.resize(items.size());
  members.resize(items.size());
  for (auto [group, item] : llvm::enumerate(items)) {
    members[group].push_back(group);
    if (item.argument >= 0)
      homes[group] = {GroupHome::Argument, item.argument, 0};
  }
  return success();
}

void MemoryPlacement::merge(int64_t from, int64_t into) {
  for (int64_t item : members[from])
    items[item].group = into;
  members[into].append(members[from]);
  members[from].clear();
}

/// A kernel's result takes over the buffer of an input that dies there, where
/// the kernel says that it may: a returned one that of a donated argument first,
/// so that it need not be copied there.
void MemoryPlacement::shareBuffers() {
  for (int64_t step = 0; step < static_cast<int64_t>(launches.size()); ++step) {
    LaunchOp launch = launches[step];
    auto kernel = symbols.lookup<func::FuncOp>(launch.getKernel());
    llvm::SmallDenseSet<int64_t> taken; // groups, by results of this launch
    auto mayShare = [&](const ValuePlace &in, const Item &to) {
      if (in.kind != ValuePlace::Item || in.offset != 0)
        return false;
      const Item &from = items[in.index];
      bool dies = from.end == step && !from.returned;
      if (!dies || from.size != to.size || taken.contains(from.group))
        return false;
      // Another operand in the same buffer would be overwritten under way.
      return llvm::count_if(launch.getInputs(), [&](Value v) {
               ValuePlace at = places.lookup(v);
               return at.kind == ValuePlace::Item &&
                      items[at.index].group == from.group;
             }) == 1;
    };
    for (auto [result, output] : llvm::enumerate(launch.getOutputs())) {
      int64_t to = places.lookup(output).index, best = -1;
      for (int64_t arg : inPlaceInputs(kernel, result)) {
        ValuePlace in = places.lookup(launch.getInputs()[arg]);
        if (!mayShare(in, items[to]))
          continue;
        int64_t group = items[in.index].group;
        bool donates = homes[group].kind == GroupHome::Argument;
        if (best < 0 || (donates && items[to].returned))
          best = group;
        if (donates || !items[to].returned)
          break;
      }
      if (best < 0)
        continue;
      taken.insert(best);
      merge(items[to].group, best);
    }
  }
}

MemoryPlacement::Lifetime MemoryPlacement::lifetimeOf(int64_t group) const {
  Lifetime life{static_cast<int64_t>(launches.size()), -1};
  for (int64_t item : members[group]) {
    life.begin = std::min(life.begin, items[item].begin);
    life.end = std::max(life.end, items[item].end);
  }
  return life;
}

/// What a loop carries comes back in the place it had.
bool MemoryPlacement::mayTake(int64_t result, int64_t argument) const {
  return !isLoopBody(function) || result == argument;
}

/// Gives a result the memory of a donated argument of its type that nothing
/// needs any more when the value is made or, with `mayCopy`, at the end.
bool MemoryPlacement::takeArgument(int64_t result, bool mayCopy) {
  Value v =
      function.getBody().front().getTerminator()->getOperand(result);
  ValuePlace at = places.lookup(v);
  bool own = at.kind == ValuePlace::Item && at.offset == 0 &&
             items[at.index].size == tensorBytes(v.getType()) &&
             homes[items[at.index].group].kind == GroupHome::Arena;
  if (!own && !mayCopy)
    return false;
  for (int64_t number : donatedOfType.lookup(v.getType())) {
    if (isTaken[number] || !mayTake(result, number))
      continue;
    int64_t group = items[places.lookup(function.getArgument(number)).index].group;
    Lifetime argument = lifetimeOf(group);
    if (own && argument.end < lifetimeOf(items[at.index].group).begin) {
      merge(items[at.index].group, group);
      alias(result, number);
      placedResult[result] = true;
      return true;
    }
    if (mayCopy && argument.end < static_cast<int64_t>(launches.size())) {
      alias(result, number);
      return true;
    }
  }
  return false;
}

void MemoryPlacement::alias(int64_t result, int64_t argument) {
  aliases[result] = argument;
  isTaken[argument] = true;
}

void MemoryPlacement::placeResults() {
  auto returned = function.getBody().front().getTerminator()->getOperands();
  int64_t count = returned.size();
  aliases.assign(count, -1);
  placedResult.assign(count, false);
  isTaken.assign(function.getNumArguments(), false);
  for (BlockArgument arg : function.getArguments())
    if (donated[arg.getArgNumber()])
      donatedOfType[arg.getType()].push_back(arg.getArgNumber());
  // Values that lie in donated arguments already.
  for (auto [i, v] : llvm::enumerate(returned)) {
    ValuePlace at = places.lookup(v);
    if (at.kind != ValuePlace::Item || at.offset != 0)
      continue;
    GroupHome home = homes[items[at.index].group];
    if (home.kind != GroupHome::Argument ||
        items[at.index].size != tensorBytes(v.getType()) ||
        function.getArgument(home.index).getType() != v.getType() ||
        isTaken[home.index] || !mayTake(i, home.index))
      continue;
    alias(i, home.index);
    placedResult[i] = true;
  }
  for (bool mayCopy : {false, true})
    for (int64_t i = 0; i < count; ++i)
      if (aliases[i] < 0)
        takeArgument(i, mayCopy);
  for (auto [i, v] : llvm::enumerate(returned)) {
    if (placedResult[i])
      continue;
    ValuePlace at = places.lookup(v);
    bool own = at.kind == ValuePlace::Item && at.offset == 0 &&
               items[at.index].size == tensorBytes(v.getType());
    GroupHome *home = own ? &homes[items[at.index].group] : nullptr;
    if (own && home->kind == GroupHome::Arena && aliases[i] < 0)
      *home = {GroupHome::Result, static_cast<int64_t>(i), 0};
    else
      copies.push_back({static_cast<int64_t>(i), v});
  }
}

/// Everything without a home goes into memory that is free while it lives, or
/// into the arena.
void MemoryPlacement::placeRest() {
  int64_t end = launches.size();
  std::vector<BorrowedRegion> regions;
  SmallVector<GroupHome> regionHomes;
  llvm::DenseMap<std::pair<unsigned, int64_t>, SmallVector<int64_t>> groupsIn;
  for (auto [group, home] : llvm::enumerate(homes))
    if (home.kind != GroupHome::Arena)
      groupsIn[{home.kind, home.index}].push_back(group);
  auto addRegion = [&](GroupHome::Kind kind, int64_t index, int64_t size) {
    BorrowedRegion region;
    region.size = size;
    for (int64_t group : groupsIn.lookup({kind, index}))
      for (int64_t item : members[group])
        region.busy.push_back({items[item].begin, items[item].end});
    // What is copied there at the end arrives after the last launch.
    region.busy.push_back({end, end});
    regions.push_back(std::move(region));
    regionHomes.push_back({kind, index, 0});
  };
  auto returned = function.getBody().front().getTerminator()->getOperands();
  for (auto [i, v] : llvm::enumerate(returned))
    if (aliases[i] < 0)
      addRegion(GroupHome::Result, i, tensorBytes(v.getType()));
  // The caller need not pass an argument that nothing reads.
  for (BlockArgument arg : function.getArguments())
    if (donated[arg.getArgNumber()] &&
        (!arg.use_empty() || isTaken[arg.getArgNumber()]))
      addRegion(GroupHome::Argument, arg.getArgNumber(),
                tensorBytes(arg.getType()));

  std::vector<ArenaItem> wanted;
  SmallVector<int64_t> groupOf;
  for (int64_t group = 0; group < static_cast<int64_t>(items.size()); ++group) {
    if (homes[group].kind != GroupHome::Arena || members[group].empty())
      continue;
    Lifetime life = lifetimeOf(group);
    // All of a group have one size.
    int64_t size = items[members[group].front()].size;
    wanted.push_back({size, life.begin, life.end, -1, -1});
    groupOf.push_back(group);
  }
  arena = planArena(wanted, kArenaAlignment, regions);
  for (auto [w, group] : llvm::zip(wanted, groupOf)) {
    homes[group] = w.region < 0 ? GroupHome() : regionHomes[w.region];
    homes[group].offset = w.offset;
  }
}

void MemoryPlacement::measure() {
  size_t steps = launches.size();
  SmallVector<int64_t> live(steps + 1, 0); // by step
  for (ArrayRef<int64_t> group : members) {
    SmallVector<int64_t> order(group);
    llvm::sort(order, [&](int64_t x, int64_t y) {
      return items[x].begin < items[y].begin;
    });
    for (auto [i, number] : llvm::enumerate(order)) {
      const Item &item = items[number];
      if (item.returned || item.argument >= 0)
        continue;
      int64_t end = item.end; // what is made over it counts from its own step
      if (i + 1 < order.size())
        end = std::min(end, items[order[i + 1]].begin - 1);
      for (int64_t step = item.begin; step <= end; ++step)
        live[step] += llvm::alignTo(item.size, kArenaAlignment);
    }
  }
  workBytes = arena.bytes;
  for (auto [step, launch] : llvm::enumerate(launches)) {
    LoopFigures loop = figuresOf(launch);
    maxLiveBytes = std::max(maxLiveBytes, live[step] + loop.maxLiveBeyond);
    workBytes = std::max(workBytes, live[step] + loop.workBeyond);
  }
}

/// Beyond the workspace, which is one of the launch's results.
MemoryPlacement::LoopFigures MemoryPlacement::figuresOf(LaunchOp launch) const {
  LoopFigures figures;
  auto callee = symbols.lookup<func::FuncOp>(launch.getKernel());
  std::optional<Loop> loop = loopOf(callee, symbols);
  if (!loop)
    return figures;
  auto number = [&](StringRef name) {
    return loop->body->getAttrOfType<IntegerAttr>(name).getInt();
  };
  int64_t bodyArena = number(kPlanArena);
  figures.workBeyond = std::max<int64_t>(0, number(kPlanWork) - bodyArena);
  figures.maxLiveBeyond = number(kPlanMaxLive) - bodyArena;
  return figures;
}

LogicalResult MemoryPlacement::run() {
  if (failed(findDonated()) || failed(locate()))
    return failure();
  shareBuffers();
  placeResults();
  placeRest();
  measure();
  return success();
}
