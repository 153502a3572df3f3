//===- HeddleScanMapOps.cpp - verifiers of the maps of chunks -------------===//

#include "VerifyTensor.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/Heddle/IR/ScanChunks.h"

using namespace mlir;
using namespace heddle;

static int64_t sizeOf(Value v, unsigned dim) {
  return cast<RankedTensorType>(v.getType()).getDimSize(dim);
}

bool heddle::isScanOverChunks(Operation *op) {
  if (isa<LinearScanMapsOp, SelectiveScanMapsOp>(op))
    return true;
  if (auto scan = dyn_cast<LinearScanOp>(op))
    return scan.numChunks() > 1 || scan.getNanResets();
  if (auto scan = dyn_cast<LinearScanGradOp>(op))
    return scan.numChunks() > 1;
  if (auto scan = dyn_cast<SelectiveScanGradOp>(op))
    return scan.numChunks() > 1;
  auto scan = dyn_cast<SelectiveScanOp>(op);
  return scan && scan.numChunks() > 1;
}

LogicalResult LinearScanMapsOp::verify() {
  /*linear_scan_maps_c1*/
  if (failed(verifyTensor(*this, "b", getB(), {{"B"}, {"L"}, {"D"}},
                          Elements::Float)))
    return failure();
  Axis batch{"B", sizeOf(getB(), 0)}, length{"L", sizeOf(getB(), 1)};
  Axis channels{"D", sizeOf(getB(), 2)};
  SmallVector<Axis> all = {batch, length, channels}, decay = all;
  if (hasConstantDecay())
    decay = {channels};
  Type element = getB().getType().getElementType();
  /*linear_scan_maps_c1*/
  if (failed(verifyTensor(*this, "a", getA(), decay, element)))
    return failure();
  /*linear_scan_maps_c2*/
  if (!getAImag() != !getBImag())
    return emitOpError() << "expected a_imag and b_imag together, got only "
                         << (getBImag() ? "b_imag" : "a_imag");
  if (failed(verifyTensor(*this, "a_imag", getAImag(), decay, element)) ||
      failed(verifyTensor(*this, "b_imag", getBImag(), all, element)))
    return failure();
  SmallVector<Axis> entry = {batch, {"C"}, channels};
  /*linear_scan_maps_c3*/
  if (failed(verifyTensor(*this, "decay", getDecay(), entry, Elements::F32)))
    return failure();
  entry[1].size = numChunks();
  for (auto [name, value] :
       {std::pair<StringRef, Value>{"decay_imag", getDecayImag()},
        {"state", getState()},
        {"state_imag", getStateImag()}}) {
    if (name != "state" && isComplex() != static_cast<bool>(value))
      return emitOpError() << "expected " << (isComplex() ? "" : "no ") << name
                           << (isComplex() ? " with" : " without")
                           << " imag operands, got "
                           << (value ? "one" : "none");
    if (failed(verifyTensor(*this, name, value, entry, Elements::F32)))
      return failure();
  }
  /*linear_scan_maps_c4*/
  if (failed(verifyTensor(*this, "reset_ids", getResetIds(), {batch, length},
                          Elements::I32)))
    return failure();
  /*linear_scan_maps_c5*/
  return verifyScanChunks(*this, length.size, numChunks());
}

LogicalResult SelectiveScanMapsOp::verify() {
  /*selective_scan_maps_c1*/
  if (failed(verifyTensor(*this, "u", getU(), {{"B"}, {"L"}, {"D"}},
                          Elements::Float)))
    return failure();
  Axis batch{"B", sizeOf(getU(), 0)}, length{"L", sizeOf(getU(), 1)};
  Axis channels{"D", sizeOf(getU(), 2)};
  /*selective_scan_maps_c1*/
  if (failed(verifyTensor(*this, "delta", getDelta(), {batch, length, channels},
                          Elements::Float)) ||
      failed(
          verifyTensor(*this, "a", getA(), {channels, {"N"}}, Elements::F32)))
    return failure();
  Axis state{"N", sizeOf(getA(), 1)};
  SmallVector<Axis> rows = {batch, length, state};
  if (cast<RankedTensorType>(getB().getType()).getRank() == 4)
    rows.insert(rows.begin() + 2, Axis{"G"});
  /*selective_scan_maps_c1*/
  if (failed(verifyTensor(*this, "b", getB(), rows, Elements::Float)) ||
      failed(verifyTensor(*this, "z", getZ(), {batch, length, channels},
                          getU().getType().getElementType())) ||
      failed(verifyTensor(*this, "delta_bias", getDeltaBias(), {channels},
                          Elements::Float)) ||
      failed(verifyTensor(*this, "reset_ids", getResetIds(), {batch, length},
                          Elements::I32)))
    return failure();
  if (int64_t groups = rows.size() == 4 ? sizeOf(getB(), 2) : 1;
      !ShapedType::isDynamic(groups) && !ShapedType::isDynamic(channels.size) &&
      (groups == 0 || channels.size % groups != 0))
    return emitOpError() << "expected D divisible by the groups of b, got "
                         << channels.size << " and " << groups;
  SmallVector<Axis> entry = {batch, {"C"}, channels, state};
  /*selective_scan_maps_c2*/
  if (failed(verifyTensor(*this, "decay", getDecay(), entry, Elements::F32)))
    return failure();
  entry[1].size = numChunks();
  if (failed(verifyTensor(*this, "state", getState(), entry, Elements::F32)))
    return failure();
  /*selective_scan_maps_c3*/
  if (failed(verifyScanChunks(*this, length.size, numChunks())))
    return failure();
  /*selective_scan_maps_c4*/
  if (getZ() && !getGradient())
    return emitOpError("expected no z without gradient, got one; leave it to "
                       "the scan");
  return success();
}
