//===- VerifyNvvm.cpp - checks contract N ---------------------------------===//

#include "heddle/Dialect/HeddleNvvm/Transforms/Passes.h"
#include "heddle/Dialect/HeddleNvvm/Transforms/PointerBase.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/Support/MathExtras.h"

namespace heddle::nvvm {
#define GEN_PASS_DEF_VERIFYNVVMPASS
#include "heddle/Dialect/HeddleNvvm/Transforms/Passes.h.inc"
} // namespace heddle::nvvm

using namespace mlir;
using namespace heddle::nvvm;

bool heddle::nvvm::isKernel(Operation *function) {
  return function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()) ||
         function->hasAttr(gpu::GPUDialect::getKernelFuncAttrName());
}

std::string heddle::nvvm::findLaunchProblem(Operation *kernel,
                                            ArrayRef<int32_t> block) {
  constexpr int64_t kMaxThreads = 1024; // of every target
  if (auto grid = kernel->getAttrOfType<IntegerAttr>("heddle.grid");
      grid && grid.getInt() < 1)
    return "expected a grid (heddle.grid) of at least one block, got " +
           std::to_string(grid.getInt()) +
           "; launch no kernel where there is nothing to do";
  if (block.empty())
    return "";
  int64_t threads = 1;
  for (int32_t size : block)
    threads = size < 1 || threads == 0 ? 0 : threads * size;
  if (threads < 1 || threads > kMaxThreads) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "expected a block of 1 to " << kMaxThreads << " threads, got ";
    llvm::interleave(block, os, " x ");
    os << "; use fewer warps";
    return text;
  }
  auto warps = kernel->getAttrOfType<IntegerAttr>("heddle_gpu.warps");
  int64_t found = llvm::divideCeil(threads, 32);
  if (warps && warps.getInt() != found)
    return "expected a block of " + std::to_string(warps.getInt()) +
           " warps (heddle_gpu.warps), got " + std::to_string(found) + " in " +
           std::to_string(threads) +
           " threads; make the block 32 threads a warp";
  return "";
}

/// Ops of the llvm dialect that both ways take: instructions of PTX, or short
/// sequences of them, and what has no code.
static bool isInstruction(Operation *op) {
  using namespace LLVM;
  if (isa<AddOp, SubOp, MulOp, UDivOp, SDivOp, URemOp, SRemOp, AndOp, OrOp,
          XOrOp, ShlOp, LShrOp, AShrOp, ICmpOp, FAddOp, FSubOp, FMulOp, FDivOp,
          FNegOp, FCmpOp, TruncOp, ZExtOp, SExtOp, FPExtOp, FPTruncOp,
          SIToFPOp, UIToFPOp, FPToSIOp, FPToUIOp, SelectOp, FreezeOp>(op))
    return true;
  if (isa<FMAOp, FMulAddOp, SqrtOp, FAbsOp, CopySignOp, FFloorOp, FCeilOp,
          FTruncOp, RintOp, NearbyintOp, RoundOp, RoundEvenOp, MaxNumOp,
          MinNumOp, MaximumOp, MinimumOp, SMaxOp, SMinOp, UMaxOp, UMinOp, AbsOp,
          CtPopOp, CountLeadingZerosOp, CountTrailingZerosOp, BitReverseOp,
          ByteSwapOp, FshlOp, FshrOp, SAddSat, UAddSat, SSubSat, USubSat,
          SAddWithOverflowOp, UAddWithOverflowOp, SSubWithOverflowOp,
          USubWithOverflowOp, SMulWithOverflowOp, UMulWithOverflowOp,
          IsFPClass>(op))
    return true;
  if (isa<LoadOp, StoreOp, AtomicRMWOp, AtomicCmpXchgOp, FenceOp, AllocaOp,
          GEPOp, AddressOfOp, AddrSpaceCastOp, IntToPtrOp, PtrToIntOp,
          BitcastOp, ExtractElementOp, InsertElementOp, ShuffleVectorOp,
          ExtractValueOp, InsertValueOp>(op))
    return true;
  return isa<ConstantOp, UndefOp, PoisonOp, ZeroOp, BrOp, CondBrOp, SwitchOp,
             ReturnOp, UnreachableOp, CallOp, AssumeOp, ExpectOp,
             LifetimeStartOp, LifetimeEndOp>(op);
}

namespace {
class Verifier {
public:
  Verifier(Operation *module, bool allowLibdevice)
      : module(module), allowLibdevice(allowLibdevice) {}

  LogicalResult run() {
    for (Operation &op : module->getRegion(0).front())
      checkTopLevel(op);
    return success(good);
  }

private:
  InFlightDiagnostic reject(Operation *op) {
    good = false;
    return op->emitOpError();
  }

  void checkTopLevel(Operation &op) {
    if (isa<gpu::GPUModuleOp>(op)) {
      good &= succeeded(Verifier(&op, allowLibdevice).run());
    } else if (auto global = dyn_cast<LLVM::GlobalOp>(op)) {
      checkGlobal(global);
    } else if (auto f = dyn_cast<LLVM::LLVMFuncOp>(op)) {
      checkFunction(f);
    } else {
      reject(&op) << "is not part of contract N: expected llvm.func and "
                     "llvm.mlir.global";
    }
  }

  void checkGlobal(LLVM::GlobalOp g) {
    if (g.getAddrSpace() == 3 && g.getName() != kDynamicSharedName &&
        g.getLinkage() == LLVM::Linkage::External && !g.getValueOrNull() &&
        g.getInitializerRegion().empty())
      reject(g) << "expected dynamic shared memory to be called '"
                << kDynamicSharedName
                << "', or an internal global for static shared memory";
  }

  void checkFunction(LLVM::LLVMFuncOp f) {
    if (f.isExternal())
      return; // its calls are looked at
    if (isKernel(f))
      checkKernel(f);
    f.walk([&](Operation *op) {
      if (op != f)
        check(op);
    });
  }

  void checkKernel(LLVM::LLVMFuncOp f) {
    DataLayout layout = DataLayout::closest(f);
    for (auto [i, type] : llvm::enumerate(f.getArgumentTypes()))
      if (!isa<LLVM::LLVMPointerType>(type) &&
          (!isa<IntegerType, FloatType>(type) || layout.getTypeSize(type) > 8))
        reject(f) << "expected pointers and scalars of at most 8 bytes as "
                     "parameters, got "
                  << type << " as parameter " << i << "; pass a pointer to it";
    auto block = f->getAttrOfType<DenseI32ArrayAttr>(
        NVVM::NVVMDialect::getReqntidAttrName());
    std::string problem =
        findLaunchProblem(f, block ? block.asArrayRef() : ArrayRef<int32_t>());
    if (!problem.empty())
      reject(f) << problem;
  }

  void check(Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    if (isa<LLVM::InlineAsmOp, LLVM::CallIntrinsicOp, NVVM::InlinePtxOp>(op)) {
      reject(op) << "cannot be emulated: use an op of nvvm or heddle_nvvm, or "
                    "add one";
    } else if (dialect == "nvvm" || dialect == "heddle_nvvm") {
      return;
    } else if (dialect != "llvm") {
      reject(op) << "is not part of contract N: expected llvm, nvvm and "
                    "heddle_nvvm ops";
    } else if (isa<LLVM::MemcpyOp, LLVM::MemcpyInlineOp, LLVM::MemmoveOp,
                   LLVM::MemsetOp, LLVM::MemsetInlineOp>(op)) {
      reject(op) << "is no access of a GPU: write loads and stores";
    } else if (!isInstruction(op)) {
      reject(op) << "is no instruction of a GPU: use those of heddle_nvvm, or "
                    "expand it";
    } else if (auto call = dyn_cast<LLVM::CallOp>(op)) {
      checkCall(call);
    } else if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
      checkAccess(op, load.getAddr(), load.getType(), load.getAlignment());
    } else if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
      checkAccess(op, store.getAddr(), store.getValue().getType(),
                  store.getAlignment());
    } else if (auto rmw = dyn_cast<LLVM::AtomicRMWOp>(op)) {
      if (rmw.getBinOp() > LLVM::AtomicBinOp::fmin)
        reject(op) << "expected an operation of atom.{add, min, max, and, or, "
                      "xor, exch}, got "
                   << LLVM::stringifyAtomicBinOp(rmw.getBinOp());
      checkAtomic(op, rmw.getPtr(), rmw.getVal().getType());
    } else if (auto exchange = dyn_cast<LLVM::AtomicCmpXchgOp>(op)) {
      checkAtomic(op, exchange.getPtr(), exchange.getVal().getType());
    }
  }

  void checkCall(LLVM::CallOp call) {
    StringRef name = call.getCallee().value_or("");
    auto callee = dyn_cast_or_null<LLVM::LLVMFuncOp>(
        name.empty() ? nullptr : SymbolTable::lookupSymbolIn(module, name));
    if (callee && (!callee.isExternal() ||
                   (allowLibdevice && name.starts_with("__nv_"))))
      return;
    InFlightDiagnostic diagnostic = reject(call);
    diagnostic << "expected the callee to be a function of the module, got ";
    if (name.empty())
      diagnostic << "a pointer; call it by name";
    else
      diagnostic << "'" << name << "', which has no body here; write it";
  }

  void checkAccess(Operation *op, Value pointer, Type type,
                   std::optional<uint64_t> alignment) {
    if (isLocalOrConstant(pointer))
      return;
    unsigned space =
        cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace();
    if (space > 3 || space == 2) {
      reject(op) << "expected a pointer to generic, global (1), shared (3), "
                    "constant (4) or local (5) memory, got address space "
                 << space;
      return;
    }
    uint64_t bytes = DataLayout::closest(op).getTypeSize(type);
    if (bytes == 0 || bytes > 16 || !llvm::isPowerOf2_64(bytes))
      reject(op) << "expected an access of 1, 2, 4, 8 or 16 bytes, as a GPU "
                    "has, got "
                 << bytes << "; split it";
    else if (alignment && *alignment < bytes)
      reject(op) << "expected an alignment of at least its " << bytes
                 << " bytes, got " << *alignment
                 << "; a GPU would make several accesses of it: split it";
  }

  void checkAtomic(Operation *op, Value pointer, Type type) {
    unsigned space =
        cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace();
    bool isKnown = type.isInteger(32) || type.isInteger(64) || type.isF32() ||
                   type.isF64();
    if (!isKnown || isLocalOrConstant(pointer))
      reject(op) << "expected an atomic of i32, i64, f32 or f64 on global or "
                    "shared memory, got "
                 << type << " in address space " << space;
  }

  Operation *module;
  bool allowLibdevice;
  bool good = true;
};

struct VerifyNvvm : heddle::nvvm::impl::VerifyNvvmPassBase<VerifyNvvm> {
  void runOnOperation() override {
    if (failed(verifyNvvm(getOperation())))
      signalPassFailure();
  }
};
} // namespace

LogicalResult heddle::nvvm::verifyNvvm(Operation *module, bool allowLibdevice) {
  return Verifier(module, allowLibdevice).run();
}
