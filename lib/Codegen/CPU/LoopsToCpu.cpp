//===- LoopsToCpu.cpp - kernels of plain loops as CPU functions -----------===//

#include "heddle/Codegen/CPU/TileToCpu.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

/// Temporaries of a block move into the scratch memory; returns their bytes.
static int64_t placeTemporaries(func::FuncOp kernel) {
  SmallVector<memref::AllocOp> temporaries;
  kernel.walk([&](memref::AllocOp op) { temporaries.push_back(op); });
  int64_t bytes = 0;
  SmallVector<int64_t> offsets;
  for (memref::AllocOp op : temporaries) {
    offsets.push_back(bytes);
    MemRefType type = op.getType();
    bytes +=
        llvm::alignTo(type.getNumElements() *
                          llvm::divideCeil(type.getElementTypeBitWidth(), 8),
                      64);
  }
  auto scratchType = MemRefType::get({std::max<int64_t>(bytes, 64)},
                                     IntegerType::get(kernel.getContext(), 8));
  Value scratch =
      kernel.getBody().front().addArgument(scratchType, kernel.getLoc());
  for (auto [op, offset] : llvm::zip(temporaries, offsets)) {
    OpBuilder b(op);
    Value shift = arith::ConstantIndexOp::create(b, op.getLoc(), offset);
    op.replaceAllUsesWith(memref::ViewOp::create(b, op.getLoc(), op.getType(),
                                                 scratch, shift, ValueRange{})
                              .getResult());
    op.erase();
  }
  return bytes;
}

LogicalResult heddle::lowerLoopsToCpu(func::FuncOp kernel) {
  auto grids = kernel.getOps<scf::ForallOp>();
  if (!llvm::hasSingleElement(grids))
    return kernel.emitError("expected one scf.forall over the blocks");
  scf::ForallOp grid = *grids.begin();
  OpBuilder b(kernel);
  int64_t numBlocks = grid.getStaticUpperBound().front();
  Block &entry = kernel.getBody().front();
  Value block = entry.addArgument(b.getIndexType(), kernel.getLoc());
  int64_t scratchBytes = placeTemporaries(kernel);
  kernel.setFunctionType(b.getFunctionType(entry.getArgumentTypes(), {}));
  kernel->setAttr("heddle.num_blocks", b.getI64IntegerAttr(numBlocks));
  kernel->setAttr("heddle.scratch_bytes", b.getI64IntegerAttr(scratchBytes));
  grid.getInductionVar(0).replaceAllUsesWith(block);
  grid.getTerminator()->erase();
  entry.getOperations().splice(grid->getIterator(),
                               grid.getBody()->getOperations());
  grid.erase();
  return success();
}
