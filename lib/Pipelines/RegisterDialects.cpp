//===- RegisterDialects.cpp - everything a model may contain --------------===//

#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"
#include "heddle/Dialect/HeddleNvvm/IR/HeddleNvvm.h"
#include "heddle/Pipelines/Pipelines.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"

void heddle::registerCompilerDialects(mlir::DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<HeddleDialect, heddle_gpu::HeddleGpuDialect,
                  nvvm::HeddleNvvmDialect>();
}
