//===- PointerBase.cpp - which memory a pointer leads to -----------------===//

#include "heddle/Dialect/HeddleNvvm/Transforms/PointerBase.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace heddle::nvvm;

namespace {
/// Null while nothing is known: a loop that only passes a pointer on.
using Found = std::optional<PointerBase>;

Found merge(Found x, Found y) {
  if (!x)
    return y;
  if (!y || *x == *y)
    return x;
  return PointerBase{};
}

Found follow(Value v, llvm::SmallPtrSetImpl<void *> &visited) {
  if (!visited.insert(v.getAsOpaquePointer()).second)
    return std::nullopt;
  if (auto arg = dyn_cast<BlockArgument>(v)) {
    Block *block = arg.getOwner();
    if (block->isEntryBlock())
      return PointerBase{PointerBase::Parameter, arg.getArgNumber()};
    Found found;
    for (auto it = block->pred_begin(); it != block->pred_end(); ++it) {
      auto branch = dyn_cast<BranchOpInterface>((*it)->getTerminator());
      if (!branch)
        return PointerBase{};
      SuccessorOperands operands =
          branch.getSuccessorOperands(it.getSuccessorIndex());
      Value operand = operands[arg.getArgNumber()];
      if (!operand)
        return PointerBase{};
      found = merge(found, follow(operand, visited));
    }
    return found;
  }
  Operation *op = v.getDefiningOp();
  if (auto gep = dyn_cast<LLVM::GEPOp>(op))
    return follow(gep.getBase(), visited);
  if (isa<LLVM::AddrSpaceCastOp, LLVM::BitcastOp>(op))
    return follow(op->getOperand(0), visited);
  if (auto select = dyn_cast<LLVM::SelectOp>(op))
    return merge(follow(select.getTrueValue(), visited),
                 follow(select.getFalseValue(), visited));
  if (isa<LLVM::AllocaOp>(op))
    return PointerBase{PointerBase::Local, 0};
  if (auto address = dyn_cast<LLVM::AddressOfOp>(op)) {
    bool isShared = address.getType().getAddressSpace() == 3;
    return PointerBase{isShared ? PointerBase::Shared : PointerBase::Constant,
                       0};
  }
  return PointerBase{};
}
} // namespace

PointerBase heddle::nvvm::findPointerBase(Value pointer) {
  llvm::SmallPtrSet<void *, 16> visited;
  return follow(pointer, visited).value_or(PointerBase{});
}

bool heddle::nvvm::isLocalOrConstant(Value pointer) {
  unsigned space =
      cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace();
  if (space == 3)
    return false;
  PointerBase base = findPointerBase(pointer);
  return space == 4 || space == 5 || base.kind == PointerBase::Local ||
         base.kind == PointerBase::Constant;
}
