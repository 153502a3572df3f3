//===- HeddleOps.cpp - verifiers of the heddle ops ------------------------===//

#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace heddle;

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

static int64_t sizeOf(Value v, unsigned dim) {
  return cast<RankedTensorType>(v.getType()).getDimSize(dim);
}

int64_t AttentionOp::getBatch() { return sizeOf(getQuery(), 0); }
int64_t AttentionOp::getQueryHeads() {
  return sizeOf(getQuery(), getLayout() == AttentionLayout::BSHD ? 2 : 1);
}
int64_t AttentionOp::getKeyHeads() {
  return sizeOf(getKey(), getLayout() == AttentionLayout::BSHD ? 2 : 1);
}
int64_t AttentionOp::getQueryLength() {
  return sizeOf(getQuery(), getLayout() == AttentionLayout::BSHD ? 1 : 2);
}
int64_t AttentionOp::getKeyLength() {
  return sizeOf(getKey(), getLayout() == AttentionLayout::BSHD ? 1 : 2);
}
int64_t AttentionOp::getQueryHeadDim() { return sizeOf(getQuery(), 3); }
int64_t AttentionOp::getValueHeadDim() { return sizeOf(getValue(), 3); }
double AttentionOp::getEffectiveScale() {
  if (std::optional<APFloat> scale = getScale())
    return scale->convertToDouble();
  return 1.0 / std::sqrt(static_cast<double>(getQueryHeadDim()));
}

LogicalResult AttentionOp::verify() { return success(); }
LogicalResult SelectiveScanOp::verify() { return success(); }
LogicalResult SsdOp::verify() { return success(); }
LogicalResult LinearScanOp::verify() { return success(); }
LogicalResult CheckpointOp::verify() { return success(); }
LogicalResult NameOp::verify() { return success(); }
LogicalResult LayerScanOp::verify() { return success(); }
LogicalResult ValueAndGradOp::verify() { return success(); }
LogicalResult
ValueAndGradOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return success();
}
LogicalResult GatherOp::verify() { return success(); }
LogicalResult ScatterAddOp::verify() { return success(); }
LogicalResult RandomBitsOp::verify() { return success(); }

//===----------------------------------------------------------------------===//
// Regions with explicit inputs: checkpoint and layer_scan
//===----------------------------------------------------------------------===//

ParseResult CheckpointOp::parse(OpAsmParser &parser, OperationState &result) {
  return failure();
}
void CheckpointOp::print(OpAsmPrinter &p) {}
ParseResult LayerScanOp::parse(OpAsmParser &parser, OperationState &result) {
  return failure();
}
void LayerScanOp::print(OpAsmPrinter &p) {}

#define GET_OP_CLASSES
#include "heddle/Dialect/Heddle/IR/HeddleOps.cpp.inc"
