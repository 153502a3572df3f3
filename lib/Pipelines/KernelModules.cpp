//===- KernelModules.cpp - hand-written kernels as programs ---------------===//

#include "KernelModules.h"

#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"
#include "heddle/Target/CommandList.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace heddle;

/// On an llvm.func of contract N: (arguments) -> (results).
static constexpr llvm::StringLiteral kSignature = "heddle.signature";

bool heddle::isKernelModule(ModuleOp module) {
  bool kernels = false;
  module.walk([&](gpu::GPUModuleOp) { kernels = true; });
  return kernels && module.getOps<func::FuncOp>().empty();
}

namespace {
/// A kernel's buffers in the order of its parameters.
struct Signature {
  SmallVector<Type> types;
  SmallVector<bool> isResult;
};
} // namespace

static FailureOr<Signature> signatureOf(gpu::GPUFuncOp kernel) {
  Signature signature;
  for (BlockArgument argument : kernel.getArguments()) {
    if (!isa<MemRefType>(argument.getType()))
      return kernel.emitError("expected buffers (memref) as arguments, got ")
             << argument.getType() << "; make it part of one";
    signature.types.push_back(argument.getType());
    signature.isResult.push_back(
        llvm::any_of(argument.getUsers(), [&](Operation *user) {
          auto store = dyn_cast<heddle_gpu::StoreOp>(user);
          return store && store.getDest() == argument;
        }));
  }
  if (!llvm::is_contained(signature.isResult, true))
    return kernel.emitError("expected a kernel that stores to an argument, "
                            "found no heddle_gpu.store to one");
  return signature;
}

static FailureOr<Signature> signatureOf(LLVM::LLVMFuncOp kernel) {
  auto attr = kernel->getAttrOfType<TypeAttr>(kSignature);
  auto type = attr ? dyn_cast<FunctionType>(attr.getValue()) : FunctionType();
  if (!type)
    return kernel.emitError("expected what the kernel's pointers are as ")
           << kSignature
           << " = (tensor<8xf32>) -> tensor<8xf32> or the like, found none";
  Signature signature;
  llvm::append_range(signature.types, type.getInputs());
  signature.isResult.resize(type.getNumInputs(), false);
  llvm::append_range(signature.types, type.getResults());
  signature.isResult.resize(signature.types.size(), true);
  if (signature.types.size() != kernel.getNumArguments())
    return kernel.emitError("expected ")
           << kernel.getNumArguments() << " types in " << kSignature << ", got "
           << signature.types.size();
  return signature;
}

/// A function that launches the kernel once.
static LogicalResult addFunction(Operation *kernel, StringRef name,
                                 const Signature &signature, Program &program) {
  Function function;
  function.name = name.str();
  KernelInfo info;
  info.name = name.str();
  info.family = "kernel";
  if (auto family = kernel->getAttrOfType<StringAttr>(kKernelFamily))
    info.family = family.str();
  Command launch;
  for (auto [type, isResult] : llvm::zip(signature.types, signature.isResult)) {
    auto shaped = dyn_cast<ShapedType>(type);
    if (!shaped)
      return kernel->emitError("expected tensors in ")
             << kSignature << ", got " << type;
    FailureOr<heddle::TensorType> tensor =
        runtimeType(shaped, kernel->getLoc());
    if (failed(tensor))
      return failure();
    auto &values = isResult ? function.results : function.arguments;
    (isResult ? function.plan.outBytes : function.plan.argBytes) +=
        tensor->byteSize();
    info.minBytes += tensor->byteSize();
    LaunchArg &arg = launch.args.emplace_back();
    BufferRef &buffer = arg.buffers.emplace_back();
    buffer.space = isResult ? Space::Result : Space::Argument;
    buffer.index = static_cast<uint32_t>(values.size());
    buffer.size = tensor->byteSize();
    values.emplace_back().type = *tensor;
  }
  function.kernels.push_back(std::move(info));
  function.commands.push_back(std::move(launch));
  program.functions.push_back(std::move(function));
  return success();
}

static LogicalResult readKernel(gpu::GPUModuleOp part, Program &program) {
  Operation *kernel = part.lookupSymbol(part.getName());
  FailureOr<Signature> signature = failure();
  if (auto f = dyn_cast_or_null<gpu::GPUFuncOp>(kernel); f && f.isKernel())
    signature = signatureOf(f);
  else if (auto f = dyn_cast_or_null<LLVM::LLVMFuncOp>(kernel);
           f && f->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()))
    signature = signatureOf(f);
  else
    return part.emitError("expected a kernel called '")
           << part.getName()
           << "' (gpu.func of contract G or llvm.func of contract N) in the "
              "gpu.module of that name, found none";
  return failed(signature)
             ? failure()
             : addFunction(kernel, part.getName(), *signature, program);
}

LogicalResult heddle::readKernelModule(ModuleOp module, Program &program) {
  SmallVector<gpu::GPUModuleOp> parts;
  module.walk([&](gpu::GPUModuleOp part) { parts.push_back(part); });
  OpBuilder b(module.getContext());
  for (gpu::GPUModuleOp part : parts) {
    if (failed(readKernel(part, program)))
      return failure();
    if (part->getParentOp() != module)
      continue;
    b.setInsertionPoint(part);
    auto own = ModuleOp::create(b, part.getLoc(), part.getName());
    part->moveBefore(own.getBody(), own.getBody()->end());
  }
  return success();
}
