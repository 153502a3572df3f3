//===- heddle-lsp-server.cpp - language server for heddle's MLIR files ----===//
//
// Speaks the Language Server Protocol on standard input and output:
// diagnostics, definitions, hover and completion for .mlir files with heddle
// ops.
//
//===----------------------------------------------------------------------===//

#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<heddle::HeddleDialect, heddle_gpu::HeddleGpuDialect>();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
