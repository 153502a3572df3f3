//===- ListTiles.cpp - the table of --list-tiles --------------------------===//

#include "ListTiles.h"

#include "heddle/Codegen/Tile/AttentionProblem.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Format.h"

using namespace heddle;
using namespace mlir;

static void printRow(llvm::StringRef name, const AttentionCost &cost,
                     llvm::raw_ostream &os) {
  std::string tile = ("q" + llvm::Twine(cost.tiles.queries) + "_k" +
                      llvm::Twine(cost.tiles.keys))
                         .str();
  os << llvm::left_justify(name, 36) << " " << llvm::left_justify(tile, 10)
     << llvm::format("%6d%7d%9d%10d%7d%6.2f%9.2f%12.2f\n",
                     int(cost.tiles.warps), int(cost.tiles.stages),
                     int(cost.sharedBytes), cost.registers,
                     cost.occupancy.blocksPerSM, cost.occupancy.fraction,
                     cost.waves, cost.seconds * 1e6);
}

void heddle::compile::listTiles(const Options &options, ModuleOp module,
                                llvm::raw_ostream &os) {
  for (const GpuTarget *target : options.gpus) {
    os << target->name << ", times of " << target->chips.front().name
       << "; the first tile of an op is chosen\n"
       << llvm::left_justify("op", 36) << " " << llvm::left_justify("tile", 10)
       << " warps stages   shared registers blocks occup.   waves     time us\n";
    module.walk([&](AttentionOp op) {
      auto kernel = op->getParentOfType<func::FuncOp>();
      for (const AttentionCost &cost :
           listAttentionTiles(attentionProblem(op), *target))
        printRow(kernel.getName(), cost, os);
    });
  }
}
