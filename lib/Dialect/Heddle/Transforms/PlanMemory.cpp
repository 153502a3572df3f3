//===- PlanMemory.cpp - a place in memory for every kept value ------------===//

#include "MemoryPlacement.h"
#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/Heddle/Transforms/Loops.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"
#include "heddle/Dialect/Heddle/Transforms/PlanAttributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"

namespace heddle {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

static MemRefType bufferType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

namespace {
/// Plans one entry function and rewrites it onto buffers.
class Planner {
public:
  Planner(func::FuncOp function, SymbolTable &symbols)
      : function(function), placement(function, symbols) {}
  LogicalResult run();

private:
  void rewrite();
  void describe(OpBuilder &b, SmallVectorImpl<Type> &byteTypes);
  Value view(OpBuilder &b, ValuePlace at, Type type);
  Value view(OpBuilder &b, unsigned base, int64_t offset, Type type);

  func::FuncOp function;
  MemoryPlacement placement;
  unsigned numArgs = 0, numResults = 0;
};
} // namespace

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

Value Planner::view(OpBuilder &b, unsigned base, int64_t offset, Type type) {
  mlir::Location loc = function.getLoc();
  Value shift = arith::ConstantIndexOp::create(b, loc, offset);
  return memref::ViewOp::create(b, loc, bufferType(type),
                                function.getArgument(base), shift,
                                ValueRange{});
}

Value Planner::view(OpBuilder &b, ValuePlace at, Type type) {
  unsigned arena = numArgs + numResults;
  if (at.kind == ValuePlace::Argument)
    return view(b, at.index, at.offset, type);
  if (at.kind == ValuePlace::Constant)
    return view(b, arena + 1, at.offset + placement.constantOffsets[at.index],
                type);
  GroupHome home = placement.homeOf(at);
  unsigned base = home.kind == GroupHome::Arena      ? arena
                  : home.kind == GroupHome::Argument ? home.index
                                                     : numArgs + home.index;
  return view(b, base, at.offset + home.offset, type);
}

/// Signature and plan as attributes of the function; `byteTypes` are the types
/// of its new arguments.
void Planner::describe(OpBuilder &b, SmallVectorImpl<Type> &byteTypes) {
  SmallVector<Attribute> argumentTypes, resultTypes, used;
  auto bytes = [&](int64_t n) { return MemRefType::get({n}, b.getI8Type()); };
  for (BlockArgument arg : function.getArguments()) {
    argumentTypes.push_back(TypeAttr::get(arg.getType()));
    // A result that lives there makes the caller pass it.
    used.push_back(b.getBoolAttr(
        !arg.use_empty() ||
        llvm::is_contained(placement.aliases, arg.getArgNumber())));
    byteTypes.push_back(bytes(tensorBytes(arg.getType())));
  }
  for (Value v : function.getBody().front().getTerminator()->getOperands()) {
    resultTypes.push_back(TypeAttr::get(v.getType()));
    byteTypes.push_back(bytes(tensorBytes(v.getType())));
  }
  byteTypes.push_back(bytes(placement.arena.bytes));
  byteTypes.push_back(bytes(placement.constantBytes));
  function->setAttr(kPlanArgumentTypes, b.getArrayAttr(argumentTypes));
  function->setAttr(kPlanResultTypes, b.getArrayAttr(resultTypes));
  function->setAttr(kPlanArgumentUsed, b.getArrayAttr(used));
  function->setAttr(kPlanArena, b.getI64IntegerAttr(placement.arena.bytes));
  function->setAttr(kPlanMaxLive, b.getI64IntegerAttr(placement.maxLiveBytes));
  function->setAttr(kPlanWork, b.getI64IntegerAttr(placement.workBytes));
  if (llvm::is_contained(placement.donated, true)) {
    function->setAttr(kPlanDonated, b.getDenseBoolArrayAttr(placement.donated));
    function->setAttr(kPlanAliases, b.getDenseI64ArrayAttr(placement.aliases));
  }
  if (!placement.constants.empty()) {
    SmallVector<Attribute> values(placement.constants.begin(),
                                  placement.constants.end());
    function->setAttr(kPlanConstants, b.getArrayAttr(values));
    function->setAttr(kPlanConstantOffsets,
                      b.getDenseI64ArrayAttr(placement.constantOffsets));
  }
}

void Planner::rewrite() {
  OpBuilder b(function.getContext());
  mlir::Location loc = function.getLoc();
  Block &entry = function.getBody().front();
  SmallVector<Type> byteTypes;
  describe(b, byteTypes);
  numArgs = entry.getNumArguments();
  numResults = entry.getTerminator()->getNumOperands();

  struct Operand {
    ValuePlace at;
    Type type;
  };
  auto operand = [&](Value v) {
    return Operand{placement.placeOf(v), v.getType()};
  };
  SmallVector<std::pair<FlatSymbolRefAttr, SmallVector<Operand>>> launches;
  for (LaunchOp launch : placement.launches) {
    SmallVector<Operand> operands =
        llvm::map_to_vector(launch.getInputs(), operand);
    llvm::append_range(operands,
                       llvm::map_range(launch.getOutputs(), operand));
    launches.push_back({launch.getKernelAttr(), std::move(operands)});
  }
  SmallVector<std::pair<int64_t, Operand>> copies;
  for (const ResultCopy &copy : placement.copies)
    copies.push_back({copy.result, operand(copy.from)});

  while (!entry.empty()) {
    entry.back().dropAllUses();
    entry.back().erase();
  }
  entry.eraseArguments(0, numArgs);
  for (Type type : byteTypes)
    entry.addArgument(type, loc);
  function.setFunctionType(b.getFunctionType(byteTypes, {}));
  function->removeAttr("res_attrs");
  function.setAllArgAttrs(
      SmallVector<DictionaryAttr>(byteTypes.size(), b.getDictionaryAttr({})));

  b.setInsertionPointToEnd(&entry);
  for (auto &[name, operands] : launches) {
    SmallVector<Value> views;
    for (const Operand &o : operands)
      views.push_back(view(b, o.at, o.type));
    LaunchOp::create(b, loc, TypeRange{}, name, views);
  }
  for (auto &[result, from] : copies) {
    int64_t alias = placement.aliases[result];
    Value source = view(b, from.at, from.type);
    Value dest =
        view(b, alias < 0 ? numArgs + result : alias, 0, from.type);
    memref::CopyOp::create(b, loc, source, dest);
  }
  func::ReturnOp::create(b, loc);
}

LogicalResult Planner::run() {
  if (failed(placement.run()))
    return failure();
  rewrite();
  return success();
}

namespace {
struct PlanMemory : heddle::impl::PlanMemoryPassBase<PlanMemory> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (func::FuncOp f : functionsToPlan(getOperation(), symbols)) {
      keepNames(f);
      addWorkspaces(f, symbols);
      if (failed(Planner(f, symbols).run()))
        return signalPassFailure();
    }
    for (auto f : getOperation().getOps<func::FuncOp>())
      if (!f.isExternal() && f->hasAttr(kKernelFamily))
        bufferizeKernel(f);
    bufferizeLoops(getOperation());
  }

  /// Names move from attributes of arguments and results to the function, because
  /// these change.
  void keepNames(func::FuncOp f) {
    Builder b(f.getContext());
    SmallVector<Attribute> names, resultNames;
    bool any = false;
    for (unsigned i = 0; i < f.getNumArguments(); ++i) {
      auto name = f.getArgAttrOfType<StringAttr>(i, kArgumentName);
      names.push_back(name ? name : b.getStringAttr(""));
    }
    f->setAttr(kPlanArgumentNames, b.getArrayAttr(names));
    for (unsigned i = 0; i < f.getNumResults(); ++i) {
      auto name = f.getResultAttrOfType<StringAttr>(i, kResultName);
      resultNames.push_back(name ? name : b.getStringAttr(""));
      any |= bool(name);
    }
    if (any)
      f->setAttr(kPlanResultNames, b.getArrayAttr(resultNames));
  }
};
} // namespace
