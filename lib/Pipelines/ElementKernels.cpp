//===- ElementKernels.cpp - table kernels for a module --------------------===//

#include "ElementKernels.h"

#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Codegen/Tile/TableKernel.h"
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace heddle;

/// Elements of the buffers that are not numbers; they have one shape.
static int64_t countElements(func::FuncOp kernel, ArrayRef<bool> uniform) {
  for (auto [type, isNumber] : llvm::zip(kernel.getArgumentTypes(), uniform))
    if (!isNumber)
      return cast<MemRefType>(type).getNumElements();
  return 0;
}

ElementKernels::ElementKernels(ModuleOp module, SymbolTable &symbols)
    : module(module), symbols(symbols) {
  module.getContext()
      ->loadDialect<arith::ArithDialect, gpu::GPUDialect,
                    heddle_gpu::HeddleGpuDialect, memref::MemRefDialect,
                    scf::SCFDialect>();
  for (auto kernel : module.getOps<func::FuncOp>()) {
    auto family = kernel->getAttrOfType<StringAttr>(kKernelFamily);
    if (!family || family.getValue() != "elementwise")
      continue;
    UniformArguments uniform = uniformArguments(kernel);
    int64_t count = countElements(kernel, uniform);
    std::string text = count > 0 ? elementwiseText(kernel) : "";
    if (text.empty())
      continue;
    int kind =
        kinds.try_emplace(text, static_cast<int>(kinds.size())).first->second;
    elements[kernel.getName()] = {kind, count, uniform};
  }
}

TableKernels::Element ElementKernels::elementOf(const KernelInfo &kernel) {
  return elements.lookup(kernel.name);
}

std::string ElementKernels::make(const KernelInfo &kernel, int64_t leaves,
                                 int64_t blocks) {
  auto f = symbols.lookup<func::FuncOp>(kernel.name);
  std::string name;
  llvm::raw_string_ostream(name)
      << "elementwise_" << leaves << "_leaves_"
      << cast<MemRefType>(f.getArgumentTypes().back()).getElementType();
  func::FuncOp table = buildTableKernel(module, name, f, leaves, blocks);
  return symbols.insert(table).str();
}
