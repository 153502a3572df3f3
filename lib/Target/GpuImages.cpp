//===- GpuImages.cpp - kernels of contract N as images of a bundle --------===//

#include "heddle/Target/GpuImages.h"
#include "heddle/Target/EmulatorObject.h"
#include "heddle/Target/Ptxas.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/SymbolTable.h"

#include <limits>

using namespace mlir;
using namespace heddle;

/// The gpu.module of a kernel, or null.
static gpu::GPUModuleOp findKernelModule(ModuleOp module, StringRef name) {
  Operation *found = SymbolTable::lookupSymbolIn(module, name);
  if (auto own = dyn_cast_or_null<ModuleOp>(found)) // isolated
    found = SymbolTable::lookupSymbolIn(own, name);
  return dyn_cast_or_null<gpu::GPUModuleOp>(found);
}

/// The kernel in its gpu.module, or null.
static LLVM::LLVMFuncOp findKernel(gpu::GPUModuleOp module, StringRef name) {
  auto f = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  return f && f->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName())
             ? f
             : LLVM::LLVMFuncOp();
}

/// The same thing in every kernel's module: a declaration, as of the dynamic
/// shared memory.
static bool isDeclaration(Operation &op) {
  if (auto global = dyn_cast<LLVM::GlobalOp>(op))
    return global.getLinkage() == LLVM::Linkage::External &&
           !global.getValueAttr() && global.getInitializerRegion().empty();
  auto f = dyn_cast<FunctionOpInterface>(op);
  return f && f.isExternal();
}

/// Moves copies of what `from` holds into `into`; private symbols that clash
/// (tables of constants) get other names.
static LogicalResult join(gpu::GPUModuleOp from, gpu::GPUModuleOp into) {
  OwningOpRef<gpu::GPUModuleOp> copy = from.clone();
  SymbolTable theirs(*copy), ours(into);
  for (Operation &op : llvm::make_early_inc_range(*copy->getBody())) {
    auto symbol = dyn_cast<SymbolOpInterface>(op);
    if (!symbol)
      continue;
    if (ours.lookup(symbol.getNameAttr())) {
      if (isDeclaration(op)) {
        op.erase();
        continue;
      }
      if (failed(theirs.renameToUnique(&op, {&ours})))
        return op.emitOpError("has a name that another kernel has too and that "
                              "cannot be changed");
    }
  }
  Block *body = into.getBody();
  for (Operation &op : llvm::make_early_inc_range(*copy->getBody()))
    op.moveBefore(body, body->end());
  return success();
}

/// The name of a kernel with its tile, as profilers and debuggers show it.
static std::string symbolOf(LLVM::LLVMFuncOp kernel) {
  std::string name = kernel.getName().str();
  auto tile = kernel->getAttrOfType<StringAttr>(kGpuTile);
  if (!tile || tile.empty())
    return name;
  name += '_';
  for (char c : tile.getValue())
    name += llvm::isAlnum(c) ? c : '_';
  return name;
}

/// Gives the kernels of a joined module the names of symbolOf. Fails where one
/// of these is taken.
static LogicalResult nameKernels(gpu::GPUModuleOp module) {
  SymbolTable symbols(module);
  for (auto f : module.getOps<LLVM::LLVMFuncOp>()) {
    std::string name = symbolOf(f);
    if (name == f.getName() ||
        !f->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()))
      continue;
    if (failed(symbols.rename(f, StringAttr::get(module.getContext(), name))))
      return f.emitError("cannot be called ") << name << ", which exists";
  }
  return success();
}

/// An empty module with an empty gpu.module.
static OwningOpRef<ModuleOp> makeJoined(mlir::Location loc,
                                        gpu::GPUModuleOp &gpuModule) {
  OwningOpRef<ModuleOp> outer = ModuleOp::create(loc);
  OpBuilder b = OpBuilder::atBlockEnd(outer->getBody());
  gpuModule = gpu::GPUModuleOp::create(b, loc, "kernels");
  return outer;
}

OwningOpRef<ModuleOp> heddle::joinGpuModules(ModuleOp module) {
  SmallVector<gpu::GPUModuleOp> parts;
  module.walk([&](gpu::GPUModuleOp part) { parts.push_back(part); });
  gpu::GPUModuleOp joined;
  OwningOpRef<ModuleOp> outer = makeJoined(module.getLoc(), joined);
  for (gpu::GPUModuleOp part : parts)
    if (failed(join(part, joined)))
      return nullptr;
  if (failed(nameKernels(joined)))
    return nullptr;
  return outer;
}

std::optional<Occupancy> heddle::kernelOccupancy(StringRef name,
                                                 const GpuKernel &kernel) {
  const GpuTarget *target = nullptr;
  std::string error;
  if (kernel.registers < 0 || failed(GpuTarget::parse(name, target, error)))
    return std::nullopt;
  BlockResources block;
  block.threads =
      static_cast<int>(kernel.block[0] * kernel.block[1] * kernel.block[2]);
  block.registers = static_cast<int>(kernel.registers);
  block.sharedBytes =
      kernel.sharedBytes + std::max<int64_t>(kernel.staticSharedBytes, 0);
  return computeOccupancy(*target, block);
}

static int64_t intAttr(Operation *op, StringRef name, int64_t otherwise) {
  auto attr = op->getAttrOfType<IntegerAttr>(name);
  return attr ? attr.getInt() : otherwise;
}

/// "--target=sm_80 or sm_90, " where blocks may have so much shared memory; "":
/// nowhere.
static std::string targetsWith(int64_t sharedBytes) {
  std::string names;
  for (const GpuTarget &target : GpuTarget::all())
    if (target.maxSharedPerBlock >= sharedBytes && !target.specific)
      names += (names.empty() ? "--target=" : " or ") + target.name.str();
  return names.empty() ? names : names + ", ";
}

/// How the kernel is launched, by its attributes.
static LogicalResult describeLaunch(LLVM::LLVMFuncOp kernel,
                                    const GpuTarget &target, GpuKernel &out) {
  out.symbol = symbolOf(kernel);
  int64_t grid = intAttr(kernel, kGpuGrid, 1);
  if (grid > std::numeric_limits<int32_t>::max())
    return kernel.emitError(
               "expected a grid of at most 2147483647 blocks, got ")
           << grid << "; use a smaller batch";
  out.grid[0] = static_cast<uint32_t>(grid);
  auto block = kernel->getAttrOfType<DenseI32ArrayAttr>(
      NVVM::NVVMDialect::getReqntidAttrName());
  if (!block || block.empty())
    return kernel.emitError(
        "expected the kernel's block in nvvm.reqntid, found "
        "none; give the gpu.func a known_block_size");
  for (auto [i, size] : llvm::enumerate(block.asArrayRef().take_front(3)))
    out.block[i] = static_cast<uint32_t>(size);
  out.sharedBytes = intAttr(kernel, kGpuSharedBytes, 0);
  if (out.sharedBytes > target.maxSharedPerBlock)
    return kernel.emitError("expected at most ")
           << target.maxSharedPerBlock << " bytes of shared memory in a block "
           << "on " << target.name << ", got " << out.sharedBytes << " for '"
           << out.symbol << "'; use " << targetsWith(out.sharedBytes)
           << "--target=cpu, or a model with smaller heads or rows";
  if (auto tile = kernel->getAttrOfType<StringAttr>(kGpuTile))
    out.tile = tile.str();
  return success();
}

namespace {
/// Adds images with the same kernels to a function.
class ImageMaker {
public:
  ImageMaker(gpu::GPUModuleOp module, const GpuTarget &target,
             const GpuImageOptions &options, Function &function)
      : module(module), target(target), options(options), function(function) {}

  LogicalResult run(const std::vector<GpuKernel> &launches) {
    kernels = launches;
    if ((options.makePtx || options.makeCubin) && failed(ptxAndCubin()))
      return failure();
    return options.makeEmulator ? emulator() : success();
  }

private:
  GpuImage &add(GpuImageKind kind, std::vector<uint8_t> bytes) {
    GpuImage &image = function.images.emplace_back();
    image.target = target.name.str();
    image.kind = kind;
    image.bytes = std::move(bytes);
    image.kernels = kernels;
    return image;
  }

  LogicalResult ptxAndCubin() {
    std::string text, error;
    if (failed(emitPtx(module, target, options.ptx, text)))
      return failure();
    uint32_t version = ptxVersionOf(text);
    std::vector<uint8_t> cubin;
    if (options.makeCubin || options.findFacts) {
      Ptxas ptxas;
      bool usable = succeeded(Ptxas::find(options.ptxas, ptxas, error)) &&
                    succeeded(ptxas.checkPtxVersion(version, error));
      std::vector<PtxasKernel> facts;
      if (usable && failed(ptxas.assemble(text, target, options.ptx.lineInfo,
                                          cubin, facts, error)))
        return module.emitError(error);
      if (!usable && (options.makeCubin || !options.ptxas.empty()))
        return module.emitError(error);
      GpuImage withFacts;
      withFacts.kernels = std::move(kernels);
      setKernelFacts(facts, withFacts);
      kernels = std::move(withFacts.kernels);
    }
    if (options.makePtx)
      add(GpuImageKind::Ptx, {text.begin(), text.end()}).ptxVersion = version;
    if (options.makeCubin)
      add(GpuImageKind::Cubin, std::move(cubin));
    return success();
  }

  LogicalResult emulator() {
    std::vector<uint8_t> object;
    if (failed(emitEmulatorObject(module, object)))
      return failure();
    add(GpuImageKind::Emulator, std::move(object));
    return success();
  }

  gpu::GPUModuleOp module;
  const GpuTarget &target;
  const GpuImageOptions &options;
  Function &function;
  std::vector<GpuKernel> kernels;
};
} // namespace

LogicalResult heddle::appendGpuImages(ModuleOp module, const GpuTarget &target,
                                      const GpuImageOptions &options,
                                      Function &function,
                                      const llvm::StringMap<int64_t> &traffic) {
  // A function of copies and fills needs no code.
  if (function.kernels.empty())
    return success();
  gpu::GPUModuleOp joined;
  OwningOpRef<ModuleOp> outer = makeJoined(module.getLoc(), joined);
  std::vector<GpuKernel> launches;
  for (KernelInfo &info : function.kernels) {
    gpu::GPUModuleOp part = findKernelModule(module, info.name);
    LLVM::LLVMFuncOp kernel =
        part ? findKernel(part, info.name) : LLVM::LLVMFuncOp();
    if (!kernel)
      return module.emitError("expected the kernel '")
             << info.name << "' in a gpu.module of its name, found none";
    if (failed(describeLaunch(kernel, target, launches.emplace_back())) ||
        failed(join(part, joined)))
      return failure();
    if (auto it = traffic.find(info.name); it != traffic.end())
      launches.back().globalBytes = it->second;
    // Reports name the first target's.
    if (function.images.empty()) {
      info.numBlocks = launches.back().grid[0];
      info.description = launches.back().tile;
    }
  }
  if (failed(nameKernels(joined)))
    return failure();
  return ImageMaker(joined, target, options, function).run(launches);
}
