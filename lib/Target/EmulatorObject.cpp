//===- EmulatorObject.cpp - objects for the emulator ----------------------===//

#include "heddle/Target/EmulatorObject.h"

#include "heddle/Conversion/NvvmToEmulator/NvvmToEmulator.h"
#include "heddle/Target/CpuObject.h"

#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

LogicalResult heddle::emitEmulatorObject(ModuleOp module,
                                         std::vector<uint8_t> &object) {
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone());
  PassManager passes(module.getContext());
  passes.addPass(createConvertNvvmToEmulatorPass());
  if (failed(passes.run(*copy)))
    return failure();
  CpuTarget target;
  std::string error;
  if (failed(CpuTarget::parse("native", target, error)))
    return module.emitError(error);
  return emitCpu(*copy, target, CpuOutput::Object, object);
}

LogicalResult heddle::emitEmulatorObject(gpu::GPUModuleOp module,
                                         std::vector<uint8_t> &object) {
  OwningOpRef<ModuleOp> outer = ModuleOp::create(module.getLoc());
  OpBuilder::atBlockEnd(outer->getBody()).clone(*module);
  return emitEmulatorObject(*outer, object);
}
