//===- heddle-opt.cpp - runs passes and stages on MLIR --------------------===//

#include "heddle/Analysis/Passes.h"
#include "heddle/Pipelines/Pipelines.h"

#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  heddle::registerTestMaskTilingPass();
  heddle::registerCompilerPasses();
  mlir::DialectRegistry registry;
  heddle::registerCompilerDialects(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Heddle optimizer driver\n", registry));
}
