//===- EmitGpu.cpp - PTX and cubins of a GPU module -----------------------===//

#include "EmitGpu.h"

#include "heddle/Target/Ptxas.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <iostream>
#include <numeric>

using namespace heddle;
using namespace heddle::compile;
using namespace mlir;

/// Threads of a block as the kernel's launch bounds say, or 0.
static int launchBound(LLVM::LLVMFuncOp f) {
  DenseI32ArrayAttr bounds;
  for (StringRef name : {NVVM::NVVMDialect::getReqntidAttrName(),
                         NVVM::NVVMDialect::getMaxntidAttrName()})
    if (f && !bounds)
      bounds = f->getAttrOfType<DenseI32ArrayAttr>(name);
  if (!bounds)
    return 0;
  ArrayRef<int32_t> sizes = bounds.asArrayRef();
  return std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<int>());
}

static Json describe(const Options &options, gpu::GPUModuleOp module,
                     const PtxasKernel &k) {
  Json json{{"name", k.symbol},
            {"registers", k.registers},
            {"spill_store_bytes", k.spillStores},
            {"spill_load_bytes", k.spillLoads},
            {"stack_bytes", k.stackBytes},
            {"static_shared_bytes", k.sharedBytes}};
  auto f = module.lookupSymbol<LLVM::LLVMFuncOp>(k.symbol);
  int64_t shared = k.sharedBytes;
  if (auto dynamic =
          f ? f->getAttrOfType<IntegerAttr>(kGpuSharedBytes) : IntegerAttr()) {
    json["shared_bytes"] = dynamic.getInt();
    shared += dynamic.getInt();
  }
  if (int threads = launchBound(f)) {
    Occupancy occupancy =
        computeOccupancy(*options.gpus.front(),
                         {threads, static_cast<int>(k.registers), shared});
    json["threads"] = threads;
    json["blocks_per_sm"] = occupancy.blocksPerSM;
    json["occupancy"] = occupancy.fraction;
    json["limited_by"] = limitName(occupancy.limit).str();
  }
  return json;
}

/// What the kernels take. Dynamic shared memory is known of the compiler's own.
static void report(const Options &options, gpu::GPUModuleOp module,
                   const std::vector<PtxasKernel> &kernels) {
  Json list = Json::array();
  for (const PtxasKernel &k : kernels)
    list.push_back(describe(options, module, k));
  if (options.report == ReportFormat::Json) {
    std::cout << Json{{"target", options.gpus.front()->name.str()},
                      {"kernels", std::move(list)}}
                     .dump(2)
              << "\n";
    return;
  }
  std::cout << "target " << options.gpus.front()->name.str() << "\n";
  for (const Json &k : list) {
    std::cout << "kernel " << k["name"].get<std::string>() << ": "
              << k["registers"] << " registers, " << k["spill_store_bytes"]
              << " and " << k["spill_load_bytes"]
              << " bytes of spill stores and loads, " << k["stack_bytes"]
              << " bytes of stack, " << k["static_shared_bytes"]
              << " bytes of static shared memory";
    if (k.contains("shared_bytes"))
      std::cout << ", " << k["shared_bytes"] << " of dynamic";
    if (k.contains("threads"))
      std::cout << "; blocks of " << k["threads"] << " threads, "
                << k["blocks_per_sm"] << " per SM, "
                << static_cast<int>(100 * k["occupancy"].get<double>() + 0.5)
                << " % occupancy, limited by "
                << k["limited_by"].get<std::string>();
    std::cout << "\n";
  }
}

LogicalResult heddle::compile::emitGpu(const Options &options, ModuleOp module,
                                       std::string &bytes) {
  auto modules = llvm::to_vector(module.getOps<gpu::GPUModuleOp>());
  if (modules.size() != 1)
    return module.emitError("expected one gpu.module of llvm and nvvm ops "
                            "with --emit=ptx and --emit=cubin, found ")
           << modules.size() << "; pass the module after the GPU stages";
  gpu::GPUModuleOp gpuModule = modules.front();
  bool cubin = options.emit == Emit::Cubin;
  const PtxOptions &ptx = options.compile.gpu.ptx;
  const GpuTarget &target = *options.gpus.front();
  Ptxas ptxas;
  uint32_t version = 0;
  std::string error;
  // All that is about versions is said before any work.
  if (failed(resolvePtxVersion(target, ptx, version, error)) ||
      (cubin && (failed(Ptxas::find(options.compile.gpu.ptxas, ptxas, error)) ||
                 failed(ptxas.checkPtxVersion(version, error)))))
    return gpuModule.emitError(error);
  std::string text;
  if (failed(emitPtx(gpuModule, target, ptx, text)))
    return failure();
  if (!cubin) {
    bytes = std::move(text);
    return success();
  }
  std::vector<uint8_t> code;
  std::vector<PtxasKernel> kernels;
  if (failed(ptxas.assemble(text, target, ptx.lineInfo, code, kernels, error)))
    return gpuModule.emitError(error);
  bytes.assign(code.begin(), code.end());
  if (options.report != ReportFormat::None)
    report(options, gpuModule, kernels);
  return success();
}
