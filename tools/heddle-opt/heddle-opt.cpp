//===- heddle-opt.cpp - runs passes and stages on MLIR --------------------===//

#include "heddle/Analysis/Passes.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  heddle::registerTestMaskTilingPass();
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<heddle::HeddleDialect>();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Heddle optimizer driver\n", registry));
}
