//===- ElementKernels.h - table kernels for a module ------------*- C++ -*-===//

#ifndef HEDDLE_LIB_PIPELINES_ELEMENTKERNELS_H
#define HEDDLE_LIB_PIPELINES_ELEMENTKERNELS_H

#include "heddle/Target/CommandList.h"

#include "llvm/ADT/StringMap.h"

namespace heddle {

/// Knows the elementwise kernels of a module of contract K and adds the table
/// kernels that launches ask for.
class ElementKernels : public TableKernels {
public:
  ElementKernels(mlir::ModuleOp module, mlir::SymbolTable &symbols);

  Element elementOf(const KernelInfo &kernel) override;
  std::string make(const KernelInfo &kernel, int64_t leaves,
                   int64_t blocks) override;

private:
  mlir::ModuleOp module;
  mlir::SymbolTable &symbols;
  llvm::StringMap<int> kinds;        // by text
  llvm::StringMap<Element> elements; // by name
};

} // namespace heddle

#endif // HEDDLE_LIB_PIPELINES_ELEMENTKERNELS_H
