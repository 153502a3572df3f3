//===- LoopsToGpu.cpp - kernels of plain loops on a GPU -------------------===//

#include "LoopsToGpu.h"

#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

LogicalResult heddle::lowerLoopsToGpu(func::FuncOp kernel) {
  auto grids = kernel.getOps<scf::ForallOp>();
  if (!llvm::hasSingleElement(grids) || (*grids.begin()).getRank() != 2)
    return kernel.emitError("expected one scf.forall over blocks and threads; "
                            "build the kernel with block-threads");
  scf::ForallOp grid = *grids.begin();
  int64_t blocks = grid.getStaticUpperBound()[0];
  int64_t threads = grid.getStaticUpperBound()[1];
  Location loc = kernel.getLoc();
  OpBuilder b(kernel);
  auto module = gpu::GPUModuleOp::create(b, loc, kernel.getName());
  b.setInsertionPointToEnd(module.getBody());
  auto f = gpu::GPUFuncOp::create(b, loc, kernel.getName(),
                                  kernel.getFunctionType());
  for (NamedAttribute attr : kernel->getDiscardableAttrs())
    f->setDiscardableAttr(attr.getName(), attr.getValue());
  f->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  f.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({static_cast<int32_t>(threads), 1, 1}));
  f->setAttr(heddle_gpu::HeddleGpuDialect::kWarpsAttrName,
             b.getI64IntegerAttr(llvm::divideCeil(threads, 32)));
  f->setAttr("heddle.grid", b.getI64IntegerAttr(blocks));
  if (!f->hasAttr(kIndexBits))
    f->setAttr(kIndexBits, b.getI64IntegerAttr(64));

  Block &entry = f.getBody().front(), &old = kernel.getBody().front();
  for (auto [from, to] : llvm::zip(old.getArguments(), entry.getArguments()))
    from.replaceAllUsesWith(to);
  old.getTerminator()->erase();
  entry.getOperations().splice(entry.end(), old.getOperations());
  b.setInsertionPoint(grid);
  grid.getInductionVar(0).replaceAllUsesWith(
      gpu::BlockIdOp::create(b, loc, gpu::Dimension::x));
  grid.getInductionVar(1).replaceAllUsesWith(
      gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x));
  grid.getTerminator()->erase();
  entry.getOperations().splice(grid->getIterator(),
                               grid.getBody()->getOperations());
  grid.erase();
  b.setInsertionPointToEnd(&entry);
  gpu::ReturnOp::create(b, loc);
  kernel.erase();
  return success();
}
