//===- ArithmeticCounts.cpp - ordinary instructions of a block ------------===//
//
// Arithmetic runs as code of the CPU, which tells nobody. So each basic block
// says that it runs, and the table says what it holds.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::emulator;

static Type elementOf(Type type) { return getElementTypeOrSelf(type); }

/// The kind of an op, or nothing for what is no instruction or is counted where
/// it runs.
static std::optional<BlockCount> kindOf(Operation *op) {
  using namespace LLVM;
  if (isa<BrOp, CondBrOp, SwitchOp, ReturnOp, CallOp>(op))
    return BlockCount::Control;
  if (isa<FPExtOp, FPTruncOp, SIToFPOp, UIToFPOp, FPToSIOp, FPToUIOp>(op))
    return BlockCount::Conversion;
  if (isa<AddOp, SubOp, MulOp, UDivOp, SDivOp, URemOp, SRemOp, AndOp, OrOp,
          XOrOp, ShlOp, LShrOp, AShrOp, ICmpOp, SMaxOp, SMinOp, UMaxOp, UMinOp,
          LLVM::AbsOp, CtPopOp, CountLeadingZerosOp, CountTrailingZerosOp,
          BitReverseOp, ByteSwapOp, FshlOp, FshrOp, SAddSat, UAddSat, SSubSat,
          USubSat, SAddWithOverflowOp, UAddWithOverflowOp, SSubWithOverflowOp,
          USubWithOverflowOp, SMulWithOverflowOp, UMulWithOverflowOp>(op))
    return BlockCount::Integer;
  bool fma = isa<FMAOp, FMulAddOp>(op);
  bool addOrMul = isa<FAddOp, FSubOp, FMulOp>(op);
  if (!fma && !addOrMul &&
      !isa<FDivOp, FNegOp, FCmpOp, SqrtOp, FAbsOp, CopySignOp, FFloorOp,
           FCeilOp, FTruncOp, RintOp, NearbyintOp, RoundOp, RoundEvenOp,
           MaxNumOp, MinNumOp, MaximumOp, MinimumOp, IsFPClass>(op))
    return std::nullopt;
  Type type = elementOf(op->getOperand(0).getType());
  if (type.isF64())
    return BlockCount::F64;
  if (!type.isF32())
    return BlockCount::F16;
  return fma        ? BlockCount::F32Fma
         : addOrMul ? BlockCount::F32AddMul
                    : BlockCount::F32Other;
}

void Lowering::countBlocks(LLVM::LLVMFuncOp f) {
  for (Block &block : f.getBody()) {
    int64_t counts[kBlockCounts] = {};
    for (Operation &op : block) {
      std::optional<BlockCount> kind = kindOf(&op);
      if (!kind)
        continue;
      int64_t elements = 1;
      if (op.getNumOperands())
        if (auto v = dyn_cast<VectorType>(op.getOperand(0).getType());
            v && *kind != BlockCount::Control)
          elements = v.getNumElements();
      counts[static_cast<int>(*kind)] += elements;
    }
    llvm::raw_string_ostream os(sites);
    os << "block";
    for (int64_t count : counts)
      os << " " << count;
    os << "\n";
    blocks.push_back(&block);
  }
}

void Lowering::callCounts() {
  for (auto [i, block] : llvm::enumerate(blocks)) {
    auto f = cast<LLVM::LLVMFuncOp>(block->getParentOp());
    thread = f.getArgument(0);
    OpBuilder b = OpBuilder::atBlockBegin(block);
    call(b, f.getLoc(), "count", {}, i32(b, f.getLoc(), i));
  }
}
