//===- Loops.cpp - loops over whole lists of commands ---------------------===//

#include "heddle/Dialect/Heddle/Transforms/Loops.h"

#include "MemoryPlacement.h"
#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/Heddle/Transforms/PlanAttributes.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

/// Slots and slices begin at multiples of this.
static constexpr int64_t kSlotAlignment = 64;

std::optional<Loop> heddle::loopOf(func::FuncOp callee,
                                   const SymbolTable &symbols) {
  auto body =
      callee ? callee->getAttrOfType<FlatSymbolRefAttr>(kLoopBody) : nullptr;
  if (!body)
    return std::nullopt;
  auto number = [&](StringRef name) {
    auto attr = callee->getAttrOfType<IntegerAttr>(name);
    return attr ? attr.getInt() : 0;
  };
  Loop loop;
  loop.body = symbols.lookup<func::FuncOp>(body.getValue());
  loop.trips = number(kLoopTrips);
  loop.carried = number(kLoopCarried);
  loop.stacked = number(kLoopStacked);
  loop.reverse = callee->hasAttr(kLoopReverse);
  return loop;
}

LoopLayout heddle::layoutOf(const Loop &loop) {
  Operation *body = loop.body;
  auto arguments = body->getAttrOfType<ArrayAttr>(kPlanArgumentTypes);
  auto results = body->getAttrOfType<ArrayAttr>(kPlanResultTypes);
  auto aliases = body->getAttrOfType<DenseI64ArrayAttr>(kPlanAliases);
  LoopLayout layout;
  layout.bytes = body->getAttrOfType<IntegerAttr>(kPlanArena).getInt();
  auto slot = [&](int64_t size) {
    int64_t at = llvm::alignTo(layout.bytes, kSlotAlignment);
    layout.bytes = at + size;
    return at;
  };
  auto bytesOf = [](Attribute type) {
    return tensorBytes(cast<TypeAttr>(type).getValue());
  };
  for (auto [i, type] : llvm::enumerate(arguments)) {
    bool slice = i >= loop.carried && i < loop.carried + loop.stacked;
    int64_t size = bytesOf(type);
    layout.argumentSlots.push_back(
        slice && size % kSlotAlignment != 0 ? slot(size) : -1);
  }
  for (auto [i, type] : llvm::enumerate(results)) {
    int64_t size = bytesOf(type);
    bool inPlace = i < loop.carried
                       ? aliases && aliases[i] == static_cast<int64_t>(i)
                       : size % kSlotAlignment == 0;
    layout.resultSlots.push_back(inPlace ? -1 : slot(size));
  }
  return layout;
}

SmallVector<func::FuncOp> heddle::functionsToPlan(ModuleOp module,
                                                  const SymbolTable &symbols) {
  SmallVector<func::FuncOp> order;
  DenseSet<Operation *> seen;
  auto visit = [&](auto &&self, func::FuncOp f) -> void {
    if (!seen.insert(f).second)
      return;
    f.walk([&](LaunchOp launch) {
      auto callee = symbols.lookup<func::FuncOp>(launch.getKernel());
      if (std::optional<Loop> loop = loopOf(callee, symbols))
        self(self, loop->body);
    });
    order.push_back(f);
  };
  for (auto f : module.getOps<func::FuncOp>())
    if (!f.isExternal() && !f->hasAttr(kKernelFamily))
      visit(visit, f);
  return order;
}

void heddle::addWorkspaces(func::FuncOp function, const SymbolTable &symbols) {
  SmallVector<LaunchOp> launches(function.getBody().front().getOps<LaunchOp>());
  OpBuilder b(function.getContext());
  for (LaunchOp launch : launches) {
    auto callee = symbols.lookup<func::FuncOp>(launch.getKernel());
    std::optional<Loop> loop = loopOf(callee, symbols);
    if (!loop)
      continue;
    SmallVector<Type> types(launch.getResultTypes());
    types.push_back(
        RankedTensorType::get({layoutOf(*loop).bytes}, b.getI8Type()));
    callee.setFunctionType(
        b.getFunctionType(launch.getInputs().getTypes(), types));
    b.setInsertionPoint(launch);
    auto wider = LaunchOp::create(b, launch.getLoc(), types,
                                  launch.getKernelAttr(), launch.getInputs());
    launch.replaceAllUsesWith(wider.getResults().drop_back());
    launch.erase();
  }
}

void heddle::bufferizeLoops(ModuleOp module) {
  for (auto f : module.getOps<func::FuncOp>()) {
    if (!f->hasAttr(kLoopBody))
      continue;
    SmallVector<Type> types;
    FunctionType old = f.getFunctionType();
    for (Type type :
         llvm::concat<const Type>(old.getInputs(), old.getResults()))
      types.push_back(
          MemRefType::get(cast<RankedTensorType>(type).getShape(),
                          cast<RankedTensorType>(type).getElementType()));
    f.setFunctionType(FunctionType::get(f.getContext(), types, {}));
  }
}
