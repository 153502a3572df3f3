//===- HeddleKernelOps.cpp - launch and tile_store ------------------------===//

#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace heddle;

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto kernel = symbolTable.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "expected a kernel function named "
                         << getKernelAttr() << ", found none";
  // Buffers may differ in shape from the kernel's own view of them only by the
  // view that the launch names, so types agree exactly.
  size_t given = getInputs().size();
  if (kernel.getNumArguments() != given)
    return emitOpError() << "expected " << kernel.getNumArguments()
                         << " operands for kernel " << getKernelAttr()
                         << ", got " << given;
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes()))
    if (type != getInputs()[i].getType())
      return emitOpError() << "expected operand " << i << " of type " << type
                           << ", got " << getInputs()[i].getType();
  return success();
}

void LaunchOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  // On tensors a launch is a pure function.
  if (getNumResults() != 0 || getInputs().empty())
    return;
  for (OpOperand &operand : getInputsMutable()) {
    effects.emplace_back(MemoryEffects::Read::get(), &operand);
    effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

LogicalResult TileStoreOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  auto dest = cast<MemRefType>(getDest().getType());
  if (!tile.hasStaticShape())
    return emitOpError() << "expected a static tile, got " << tile;
  if (tile.getElementType() != dest.getElementType())
    return emitOpError() << "expected a tile of " << dest.getElementType()
                         << ", got " << tile.getElementType();
  if (static_cast<int64_t>(getOffsets().size()) != dest.getRank())
    return emitOpError() << "expected " << dest.getRank()
                         << " offsets, one per axis of the buffer, got "
                         << getOffsets().size();
  if (static_cast<int64_t>(getDims().size()) != tile.getRank())
    return emitOpError() << "expected " << tile.getRank()
                         << " dims, one per axis of the tile, got "
                         << getDims().size();
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t d : getDims())
    if (d < 0 || d >= dest.getRank() || !seen.insert(d).second)
      return emitOpError() << "expected distinct dims below " << dest.getRank()
                           << ", got [" << getDims() << "]";
  return success();
}
