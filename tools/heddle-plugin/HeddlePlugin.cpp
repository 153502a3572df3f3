//===- HeddlePlugin.cpp - the heddle dialect and passes for mlir-opt ------===//
//
//   mlir-opt --load-dialect-plugin=HeddlePlugin.so
//            --load-pass-plugin=HeddlePlugin.so --heddle-decompose-attention
//
//===----------------------------------------------------------------------===//

#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Heddle", LLVM_VERSION_STRING,
          [](mlir::DialectRegistry *registry) {
            registry->insert<heddle::HeddleDialect>();
          }};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Heddle", LLVM_VERSION_STRING,
          [] { heddle::registerHeddlePasses(); }};
}
