//===- AllocateShared.cpp - offsets of tiles in shared memory -------------===//
//
// A tile lives from its first to its last use in the order of the program; a
// barrier stands before every write, so that the bytes may have held another
// tile. A loop that reads what was written before it, or what an earlier round
// wrote (several stages), keeps the tile alive as long as it runs.
//
//===----------------------------------------------------------------------===//

#include "heddle/Codegen/Passes.h"
#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/Support/MathExtras.h"

namespace heddle {
#define GEN_PASS_DEF_GPUALLOCATESHAREDPASS
#include "heddle/Codegen/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle_gpu;

namespace {
struct GpuAllocateShared
    : heddle::impl::GpuAllocateSharedPassBase<GpuAllocateShared> {
  struct Tile {
    SmemAllocOp op;
    int64_t bytes, first, last, offset;
  };

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      allocate(kernel);
  }

  static void allocate(gpu::GPUFuncOp kernel) {
    // Positions of ops: a region's ops lie between its op's begin and end.
    DenseMap<Operation *, std::pair<int64_t, int64_t>> span;
    int64_t now = 0;
    std::function<void(Operation *)> number = [&](Operation *op) {
      int64_t begin = now++;
      for (Region &region : op->getRegions())
        for (Operation &inner : region.getOps())
          number(&inner);
      span[op] = {begin, now++};
    };
    number(kernel);
    SmallVector<Tile> tiles;
    kernel.walk([&](SmemAllocOp op) {
      Tile tile{op, op.getType().getBytes(), INT64_MAX, -1, 0};
      bool carried = op.getType().getStages() > 1;
      Operation *first = nullptr;
      for (Operation *user : op->getUsers())
        if (!first || span[user].first < span[first].first)
          first = user;
      for (Operation *user : op->getUsers()) {
        Operation *at = user;
        for (Operation *p = user->getParentOp(); p && p != kernel;
             p = p->getParentOp())
          if (isa<LoopLikeOpInterface>(p) && (carried || !p->isAncestor(first)))
            at = p;
        tile.first = std::min(tile.first, span[at].first);
        tile.last = std::max(tile.last, span[at].second);
      }
      tiles.push_back(tile);
    });
    // The largest first, each at the lowest offset that is free while it lives.
    SmallVector<Tile *> order;
    for (Tile &tile : tiles) {
      auto at = llvm::find_if(order, [&](Tile *t) { return t->bytes < tile.bytes; });
      order.insert(at, &tile);
    }
    int64_t total = 0;
    SmallVector<Tile *> placed;
    for (Tile *tile : order) {
      bool moved = true;
      while (moved) {
        moved = false;
        for (Tile *other : placed) {
          bool together =
              tile->first <= other->last && other->first <= tile->last;
          bool overlap = tile->offset < other->offset + other->bytes &&
                         other->offset < tile->offset + tile->bytes;
          if (together && overlap) {
            tile->offset = llvm::alignTo(other->offset + other->bytes, 128);
            moved = true;
          }
        }
      }
      placed.push_back(tile);
      total = std::max(total, tile->offset + tile->bytes);
      tile->op.setOffset(tile->offset);
    }
    // Buffers of programs of threads, which place their own barriers, live as
    // long as the kernel.
    kernel.walk([&](memref::AllocOp op) {
      auto type = op.getType();
      if (!gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(type))
        return;
      total = llvm::alignTo(total, 128);
      op->setAttr(heddle::kSharedOffset,
                  OpBuilder(kernel).getI64IntegerAttr(total));
      total += type.getNumElements() * type.getElementTypeBitWidth() / 8;
    });
    kernel->setAttr(HeddleGpuDialect::kSharedBytesAttrName,
                    OpBuilder(kernel).getI64IntegerAttr(llvm::alignTo(total, 16)));
  }
};
} // namespace
