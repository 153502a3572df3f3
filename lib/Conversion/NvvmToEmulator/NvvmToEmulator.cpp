//===- NvvmToEmulator.cpp - kernels of contract N for the emulator --------===//

#include "heddle/Conversion/NvvmToEmulator/NvvmToEmulator.h"
#include "Lowering.h"

#include "heddle/Dialect/HeddleNvvm/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/Support/MathExtras.h"

namespace heddle {
#define GEN_PASS_DEF_CONVERTNVVMTOEMULATORPASS
#include "heddle/Conversion/NvvmToEmulator/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::emulator;

//===----------------------------------------------------------------------===//
// Lowering: what the parts share
//===----------------------------------------------------------------------===//

/// "k.mlir:12:3"; empty where nothing is known.
static std::string describe(Location loc) {
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    return file.getFilename().str() + ":" + std::to_string(file.getLine()) +
           ":" + std::to_string(file.getColumn());
  if (auto name = dyn_cast<NameLoc>(loc)) {
    std::string child = describe(name.getChildLoc());
    return name.getName().str() + (child.empty() ? "" : " (" + child + ")");
  }
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return describe(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (std::string text = describe(part); !text.empty())
        return text;
  return {};
}

Lowering::Lowering(ModuleOp module) : module(module) {}

void Lowering::enter(LLVM::LLVMFuncOp f, int number) {
  function = f;
  kernel = number;
  thread = f.getArgument(0);
  sharedWindow = frames[0] = frames[1] = Value();
  numOps = 0;
}

Value Lowering::call(OpBuilder &b, Location loc, StringRef name, Type result,
                     ValueRange args) {
  SmallVector<Value> operands{thread};
  operands.append(args.begin(), args.end());
  LLVM::LLVMFuncOp &callee = declared[name];
  if (!callee) {
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    if (!result)
      result = LLVM::LLVMVoidType::get(b.getContext());
    callee = LLVM::LLVMFuncOp::create(
        top, module.getLoc(), ("heddle_emu_" + name).str(),
        LLVM::LLVMFunctionType::get(
            result, llvm::to_vector(ValueRange(operands).getTypes())));
  }
  auto op = LLVM::CallOp::create(b, loc, callee, operands);
  return op.getNumResults() ? op.getResult() : Value();
}

Value Lowering::i32(OpBuilder &b, Location loc, int64_t value) {
  return LLVM::ConstantOp::create(b, loc, b.getI32Type(),
                                  static_cast<int32_t>(value));
}

Value Lowering::asI32(OpBuilder &b, Value value) {
  if (value.getType().isInteger(32))
    return value;
  return LLVM::BitcastOp::create(b, value.getLoc(), b.getI32Type(), value);
}

Value Lowering::fromI32(OpBuilder &b, Value bits, Type type) {
  if (type.isInteger(32))
    return bits;
  return LLVM::BitcastOp::create(b, bits.getLoc(), type, bits);
}

Value Lowering::site(OpBuilder &b, Operation *op, SiteKind kind,
                     PointerBase base, int64_t bytes) {
  // The thread is the first argument of the function by now.
  int parameter = base.kind == PointerBase::Shared ? -2 : -1;
  if (kernel >= 0 && base.kind == PointerBase::Parameter)
    parameter = static_cast<int>(base.parameter) - 1;
  std::string where = describe(op->getLoc());
  if (where.empty())
    where = function.getName().str() + " op " + std::to_string(numOps);
  ++numOps;
  llvm::raw_string_ostream(sites)
      << "site " << kernel << " " << static_cast<uint32_t>(kind) << " "
      << parameter << " " << bytes << " " << op->getName().getStringRef() << " "
      << where << "\n";
  return i32(b, op->getLoc(), numSites++);
}

Value Lowering::window(OpBuilder &) {
  if (!sharedWindow) {
    OpBuilder b = OpBuilder::atBlockBegin(&function.getBody().front());
    sharedWindow = call(b, function.getLoc(), "shared_window",
                        LLVM::LLVMPointerType::get(b.getContext(), 3), {});
  }
  return sharedWindow;
}

Value Lowering::frame(bool results) {
  Value &f = frames[results];
  if (!f) {
    constexpr int64_t kWords = 16; // A, B and C of the largest mma are 10
    OpBuilder b = OpBuilder::atBlockBegin(&function.getBody().front());
    Location loc = function.getLoc();
    f = LLVM::AllocaOp::create(b, loc,
                               LLVM::LLVMPointerType::get(b.getContext()),
                               b.getI32Type(), i32(b, loc, kWords), 16);
  }
  return f;
}

Value Lowering::slot(OpBuilder &b, Location loc, Value frame, int64_t index) {
  if (!index)
    return frame;
  return LLVM::GEPOp::create(
      b, loc, frame.getType(), b.getI32Type(), frame,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
}

void Lowering::replace(Operation *op, Value value) {
  if (value)
    op->getResult(0).replaceAllUsesWith(value);
  op->erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ConvertNvvmToEmulator
    : heddle::impl::ConvertNvvmToEmulatorPassBase<ConvertNvvmToEmulator> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(nvvm::verifyNvvm(module)) || failed(inlineGpuModules(module)) ||
        failed(placeShared(module)) || failed(requireKernel(module)))
      return signalPassFailure();
    header = "heddle-emulator " + std::to_string(kAbiVersion) + "\n";
    header += "shared " + std::to_string(sharedBytes) + "\n";

    SmallVector<LLVM::LLVMFuncOp> functions;
    for (auto f : module.getOps<LLVM::LLVMFuncOp>())
      if (!f.isExternal())
        functions.push_back(f);
    for (LLVM::LLVMFuncOp f : functions)
      describeKernel(f);
    for (LLVM::LLVMFuncOp f : functions)
      addThread(f);
    Lowering lowering(module);
    bool good = true;
    for (LLVM::LLVMFuncOp f : functions)
      good &= succeeded(lower(lowering, f));
    if (!good)
      return signalPassFailure();
    lowering.callCounts();
    for (auto [f, number] : kernels)
      addEntry(f);
    for (LLVM::GlobalOp g : sharedGlobals)
      g.erase();
    addTable(module, header + lowering.sites);
    module->removeAttr(LLVM::LLVMDialect::getDataLayoutAttrName());
    module->removeAttr(LLVM::LLVMDialect::getTargetTripleAttrName());
  }

  LogicalResult inlineGpuModules(ModuleOp module);
  LogicalResult placeShared(ModuleOp module);
  LogicalResult requireKernel(ModuleOp module);
  void describeKernel(LLVM::LLVMFuncOp f);
  void addThread(LLVM::LLVMFuncOp f);
  LogicalResult lower(Lowering &lowering, LLVM::LLVMFuncOp f);
  void addEntry(LLVM::LLVMFuncOp f);
  void addTable(ModuleOp module, StringRef text);

  std::string header;
  int64_t sharedBytes = 0;
  SmallVector<LLVM::GlobalOp> sharedGlobals;
  llvm::StringMap<int64_t> sharedOffsets;
  llvm::MapVector<LLVM::LLVMFuncOp, int> kernels;
};
} // namespace

LogicalResult ConvertNvvmToEmulator::inlineGpuModules(ModuleOp module) {
  SymbolTable symbols(module);
  for (auto gpuModule :
       llvm::make_early_inc_range(module.getOps<gpu::GPUModuleOp>())) {
    symbols.remove(gpuModule); // a kernel may have its name
    for (Operation &op :
         llvm::make_early_inc_range(gpuModule.getBody()->getOperations())) {
      auto name = dyn_cast<SymbolOpInterface>(op);
      if (name && symbols.lookup(name.getName()))
        return op.emitOpError("expected one symbol named '")
               << name.getName()
               << "' in all gpu modules, found several; emit them one by one";
      op.moveBefore(gpuModule);
      if (name)
        symbols.insert(&op);
    }
    gpuModule.erase();
  }
  return success();
}

/// Static shared memory stands at the start of the window, dynamic behind it.
LogicalResult ConvertNvvmToEmulator::placeShared(ModuleOp module) {
  LLVM::GlobalOp dynamic;
  DataLayout layout(module);
  auto alignmentOf = [&](LLVM::GlobalOp g) {
    uint64_t least = layout.getTypeABIAlignment(g.getGlobalType());
    return std::max<uint64_t>({g.getAlignment().value_or(1), least, 16});
  };
  for (auto g : module.getOps<LLVM::GlobalOp>()) {
    if (g.getAddrSpace() != 3)
      continue;
    sharedGlobals.push_back(g);
    if (g.getName() == nvvm::kDynamicSharedName) {
      dynamic = g;
      continue;
    }
    sharedBytes = llvm::alignTo(sharedBytes, alignmentOf(g));
    sharedOffsets[g.getName()] = sharedBytes;
    sharedBytes += layout.getTypeSize(g.getGlobalType());
  }
  if (dynamic) {
    sharedBytes = llvm::alignTo(sharedBytes, alignmentOf(dynamic));
    sharedOffsets[dynamic.getName()] = sharedBytes;
  }
  return success();
}

LogicalResult ConvertNvvmToEmulator::requireKernel(ModuleOp module) {
  for (auto f : module.getOps<LLVM::LLVMFuncOp>())
    if (nvvm::isKernel(f) && !f.isExternal())
      return success();
  return module.emitError("expected a kernel: an llvm.func with the attribute "
                          "nvvm.kernel or gpu.kernel, found none");
}

static char paramKind(Type type) {
  if (isa<LLVM::LLVMPointerType>(type))
    return kParamPointer;
  if (type.isInteger(64))
    return kParamI64;
  if (type.isInteger(32))
    return kParamI32;
  return type.isF32() ? kParamF32 : kParamOther;
}

void ConvertNvvmToEmulator::describeKernel(LLVM::LLVMFuncOp f) {
  if (!nvvm::isKernel(f))
    return;
  kernels.insert({f, static_cast<int>(kernels.size())});
  header += "kernel";
  auto reqntid = f->getAttrOfType<DenseI32ArrayAttr>(
      NVVM::NVVMDialect::getReqntidAttrName());
  for (int i = 0; i < 3; ++i) {
    int size = reqntid ? 1 : 0;
    if (reqntid && i < reqntid.size())
      size = reqntid[i];
    header += " " + std::to_string(size);
  }
  header += " " + f.getName().str() + "\n";
  for (Type type : f.getArgumentTypes())
    header += std::string("param ") + paramKind(type) + "\n";
}

/// Every function takes its thread first and hands it on.
void ConvertNvvmToEmulator::addThread(LLVM::LLVMFuncOp f) {
  MLIRContext *context = f.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  LLVM::LLVMFunctionType type = f.getFunctionType();
  SmallVector<Type> params{pointer};
  llvm::append_range(params, type.getParams());
  f.removeArgAttrsAttr();
  f.setFunctionType(LLVM::LLVMFunctionType::get(type.getReturnType(), params));
  f.getBody().front().insertArgument(0u, pointer, f.getLoc());
  for (NamedAttribute attr : llvm::to_vector(f->getDiscardableAttrs()))
    f->removeDiscardableAttr(attr.getName());
  f.setLinkage(LLVM::Linkage::Internal);
  f.setCConv(LLVM::CConv::C);
}

LogicalResult ConvertNvvmToEmulator::lower(Lowering &lowering,
                                           LLVM::LLVMFuncOp f) {
  auto kernel = kernels.find(f);
  lowering.enter(f, kernel == kernels.end() ? -1 : kernel->second);
  lowering.countBlocks(f);
  SmallVector<Operation *> ops;
  f.walk([&](Operation *op) {
    if (op != f)
      ops.push_back(op);
  });
  bool good = true;
  for (Operation *op : ops) {
    if (auto address = dyn_cast<LLVM::AddressOfOp>(op)) {
      // Pointers are followed to this op, so it goes after its accesses.
      continue;
    }
    if (auto call = dyn_cast<LLVM::CallOp>(op)) {
      SmallVector<Value> operands{f.getArgument(0)};
      llvm::append_range(operands, call.getArgOperands());
      OpBuilder b(op);
      auto callee =
          getOperation().lookupSymbol<LLVM::LLVMFuncOp>(*call.getCallee());
      auto inner = LLVM::CallOp::create(b, op->getLoc(), callee, operands);
      op->replaceAllUsesWith(inner);
      op->erase();
      continue;
    }
    if (op->getName().getDialectNamespace() == "llvm")
      lowering.lowerMemory(op);
    else
      good &= succeeded(lowering.lowerNvvm(op));
  }
  SmallVector<LLVM::AddressOfOp> addresses;
  f.walk([&](LLVM::AddressOfOp op) { addresses.push_back(op); });
  for (LLVM::AddressOfOp op : addresses) {
    auto place = sharedOffsets.find(op.getGlobalName());
    if (place != sharedOffsets.end())
      lowering.lowerSharedAddress(op, place->second);
  }
  return success(good);
}

/// void heddle_emu_entry_<kernel>(thread, slots): loads the parameters.
void ConvertNvvmToEmulator::addEntry(LLVM::LLVMFuncOp f) {
  OpBuilder b(f);
  b.setInsertionPointAfter(f);
  Location loc = f.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto entry = LLVM::LLVMFuncOp::create(
      b, loc, "heddle_emu_entry_" + f.getName().str(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                  {pointer, pointer}));
  b.setInsertionPointToStart(entry.addEntryBlock(b));
  SmallVector<Value> args{entry.getArgument(0)};
  for (auto [i, type] : llvm::enumerate(f.getArgumentTypes().drop_front())) {
    Value slot = LLVM::GEPOp::create(
        b, loc, pointer, b.getI64Type(), entry.getArgument(1),
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    args.push_back(LLVM::LoadOp::create(b, loc, type, slot));
  }
  LLVM::CallOp::create(b, loc, f, args);
  LLVM::ReturnOp::create(b, loc, ValueRange{});
}

/// The text and heddle_emu_table(), which returns it.
void ConvertNvvmToEmulator::addTable(ModuleOp module, StringRef text) {
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  Location loc = module.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  std::string bytes = text.str() + '\0';
  auto global = LLVM::GlobalOp::create(
      b, loc, LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size()),
      /*isConstant=*/true, LLVM::Linkage::Internal, "heddle_emu_table_text",
      b.getStringAttr(bytes));
  auto f = LLVM::LLVMFuncOp::create(b, loc, "heddle_emu_table",
                                    LLVM::LLVMFunctionType::get(pointer, {}));
  b.setInsertionPointToStart(f.addEntryBlock(b));
  Value address = LLVM::AddressOfOp::create(b, loc, global);
  LLVM::ReturnOp::create(b, loc, address);
}
