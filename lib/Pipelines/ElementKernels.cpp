//===- ElementKernels.cpp - table kernels for a module --------------------===//

#include "ElementKernels.h"

#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Codegen/Tile/TableKernel.h"
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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
      ->loadDialect<arith::ArithDialect, heddle_gpu::HeddleGpuDialect,
                    memref::MemRefDialect, scf::SCFDialect>();
  SmallVector<func::FuncOp> numbersOnly;
  for (auto kernel : module.getOps<func::FuncOp>()) {
    auto family = kernel->getAttrOfType<StringAttr>(kKernelFamily);
    if (!family || family.getValue() != "elementwise")
      continue;
    UniformArguments uniform = uniformArguments(kernel);
    if (llvm::all_of(uniform, [](bool isNumber) { return isNumber; }))
      numbersOnly.push_back(kernel);
    else
      note(kernel, uniform, /*onlyKnown=*/false);
  }
  // A parameter of one element: what is one number for all shows in others.
  for (func::FuncOp kernel : numbersOnly)
    for (const SmallVector<bool> &roles : llvm::to_vector(uniform))
      if (roles.size() == kernel.getNumArguments() &&
          note(kernel, roles, /*onlyKnown=*/true))
        break;
}

bool ElementKernels::note(func::FuncOp kernel, ArrayRef<bool> roles,
                          bool onlyKnown) {
  int64_t count = countElements(kernel, roles);
  std::string text = count > 0 ? elementwiseText(kernel, roles) : "";
  if (text.empty() || (onlyKnown && !kinds.contains(text)))
    return false;
  auto [it, isNew] = kinds.try_emplace(text, static_cast<int>(uniform.size()));
  if (isNew)
    uniform.emplace_back(roles);
  elements[kernel.getName()] = {it->second, count,
                                SmallVector<bool>(roles)};
  return true;
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
  func::FuncOp table =
      buildTableKernel(module, name, f, elements.lookup(kernel.name).uniform,
                       leaves, blocks);
  return symbols.insert(table).str();
}
