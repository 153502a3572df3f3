//===- HeddleScanOps.cpp - verifiers of the scans -------------------------===//

#include "VerifyTensor.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

using namespace mlir;
using namespace heddle;

static int64_t sizeOf(Value v, unsigned dim) {
  return cast<RankedTensorType>(v.getType()).getDimSize(dim);
}

/// Whether `groups` cannot divide `size`.
static bool cannotDivide(int64_t groups, int64_t size) {
  if (groups == 0)
    return true;
  return !ShapedType::isDynamic(groups) && !ShapedType::isDynamic(size) &&
         size % groups != 0;
}

//===----------------------------------------------------------------------===//
// SelectiveScanOp
//===----------------------------------------------------------------------===//

LogicalResult SelectiveScanOp::verify() {
  /*selective_scan_c1*/
  if (failed(verifyTensor(*this, "u", getU(), {{"B"}, {"L"}, {"D"}},
                          Elements::Float)))
    return failure();
  Axis batch{"B", sizeOf(getU(), 0)}, length{"L", sizeOf(getU(), 1)};
  Axis channels{"D", sizeOf(getU(), 2)};
  Type element = getU().getType().getElementType();
  /*selective_scan_c2*/
  if (failed(verifyTensor(*this, "delta", getDelta(), {batch, length, channels},
                          Elements::Float)))
    return failure();
  /*selective_scan_c3*/
  if (failed(
          verifyTensor(*this, "a", getA(), {channels, {"N"}}, Elements::F32)))
    return failure();
  Axis state{"N", sizeOf(getA(), 1)};
  for (auto [name, value] :
       {std::pair<StringRef, Value>{"b", getB()}, {"c", getC()}}) {
    bool grouped = cast<RankedTensorType>(value.getType()).getRank() == 4;
    SmallVector<Axis> axes = {batch, length};
    if (grouped)
      axes.push_back({"G"});
    axes.push_back(state);
    /*selective_scan_c4*/
    if (failed(verifyTensor(*this, name, value, axes, Elements::Float)))
      return failure();
    /*selective_scan_c5*/
    if (grouped && cannotDivide(sizeOf(value, 2), channels.size))
      return emitOpError() << "expected D divisible by the groups of " << name
                           << ", got " << channels.size << " and "
                           << sizeOf(value, 2);
  }
  /*selective_scan_c6*/
  if (failed(verifyTensor(*this, "d", getD(), {channels}, Elements::Float)) ||
      failed(verifyTensor(*this, "delta_bias", getDeltaBias(), {channels},
                          Elements::Float)))
    return failure();
  /*selective_scan_c7*/
  if (failed(
          verifyTensor(*this, "z", getZ(), {batch, length, channels}, element)))
    return failure();
  /*selective_scan_c8*/
  if (failed(verifyTensor(*this, "initial_state", getInitialState(),
                          {batch, channels, state}, Elements::F32)) ||
      failed(verifyTensor(*this, "final_state", getFinalState(),
                          {batch, channels, state}, Elements::F32)))
    return failure();
  /*selective_scan_c9*/
  if (failed(verifyTensor(*this, "reset_ids", getResetIds(), {batch, length},
                          Elements::I32)))
    return failure();
  /*selective_scan_c10*/
  return verifyTensor(*this, "y", getY(), {batch, length, channels}, element);
}

//===----------------------------------------------------------------------===//
// SsdOp
//===----------------------------------------------------------------------===//

LogicalResult SsdOp::verify() {
  Type element = getQuery().getType().getElementType();
  /*ssd_c1*/
  if (failed(verifyTensor(*this, "query", getQuery(),
                          {{"B"}, {"L"}, {"G"}, {"dk"}}, Elements::Float)))
    return failure();
  Axis batch{"B", sizeOf(getQuery(), 0)}, length{"L", sizeOf(getQuery(), 1)};
  Axis groups{"G", sizeOf(getQuery(), 2)}, dk{"dk", sizeOf(getQuery(), 3)};
  /*ssd_c2*/
  if (failed(verifyTensor(*this, "key", getKey(), {batch, length, groups, dk},
                          element)))
    return failure();
  /*ssd_c3*/
  if (failed(verifyTensor(*this, "value", getValue(),
                          {batch, length, {"H"}, {"dv"}}, element)))
    return failure();
  Axis heads{"H", sizeOf(getValue(), 2)}, dv{"dv", sizeOf(getValue(), 3)};
  /*ssd_c4*/
  if (cannotDivide(groups.size, heads.size))
    return emitOpError() << "expected value heads divisible by the groups of "
                            "query and key, got "
                         << heads.size << " and " << groups.size;
  /*ssd_c5*/
  if (failed(verifyTensor(*this, "log_decay", getLogDecay(),
                          {batch, length, heads}, Elements::Float)))
    return failure();
  /*ssd_c6*/
  if (failed(verifyTensor(*this, "initial_state", getInitialState(),
                          {batch, heads, dk, dv}, Elements::F32)) ||
      failed(verifyTensor(*this, "final_state", getFinalState(),
                          {batch, heads, dk, dv}, Elements::F32)))
    return failure();
  /*ssd_c7*/
  if (failed(verifyTensor(*this, "reset_ids", getResetIds(), {batch, length},
                          Elements::I32)))
    return failure();
  /*ssd_c8*/
  return verifyTensor(*this, "out", getOut(), {batch, length, heads, dv},
                      element);
}

//===----------------------------------------------------------------------===//
// LinearScanOp
//===----------------------------------------------------------------------===//

LogicalResult LinearScanOp::verify() {
  /*linear_scan_c1*/
  if (failed(verifyTensor(*this, "b", getB(), {{"B"}, {"L"}, {"D"}},
                          Elements::Float)))
    return failure();
  Axis batch{"B", sizeOf(getB(), 0)}, length{"L", sizeOf(getB(), 1)};
  Axis channels{"D", sizeOf(getB(), 2)};
  Type element = getB().getType().getElementType();
  SmallVector<Axis> decay = {batch, length, channels};
  if (hasConstantDecay())
    decay = {channels};
  /*linear_scan_c2*/
  if (failed(verifyTensor(*this, "a", getA(), decay, element)))
    return failure();
  /*linear_scan_c3*/
  if (!getAImag() != !getBImag())
    return emitOpError() << "expected a_imag and b_imag together, got only "
                         << (getBImag() ? "b_imag" : "a_imag");
  Axis all[] = {batch, length, channels};
  if (failed(verifyTensor(*this, "a_imag", getAImag(), decay, element)) ||
      failed(verifyTensor(*this, "b_imag", getBImag(), all, element)))
    return failure();
  /*linear_scan_c4*/
  if (failed(verifyTensor(*this, "h", getH(), all, element)))
    return failure();
  /*linear_scan_c5*/
  if (isComplex() != static_cast<bool>(getHImag()))
    return emitOpError() << "expected an imaginary part of h "
                         << (isComplex() ? "with" : "only with")
                         << " imag operands, got "
                         << (getHImag() ? "one" : "none");
  if (failed(verifyTensor(*this, "h_imag", getHImag(), all, element)))
    return failure();
  /*linear_scan_c6*/
  for (auto [name, value] :
       {std::pair<StringRef, Value>{"initial_state", getInitialState()},
        {"initial_state_imag", getInitialStateImag()},
        {"final_state", getFinalState()},
        {"final_state_imag", getFinalStateImag()}})
    if (failed(
            verifyTensor(*this, name, value, {batch, channels}, Elements::F32)))
      return failure();
  /*linear_scan_c7*/
  for (auto [name, real, imag] :
       {std::tuple<StringRef, Value, Value>{"initial", getInitialState(),
                                            getInitialStateImag()},
        {"final", getFinalState(), getFinalStateImag()}}) {
    bool wanted = isComplex() && real;
    if (wanted != static_cast<bool>(imag))
      return emitOpError() << "expected " << (wanted ? "an" : "no")
                           << " imaginary part of the " << name
                           << " state, as the scan is "
                           << (isComplex() ? "complex" : "real")
                           << " and its real part is "
                           << (real ? "present" : "absent") << ", got "
                           << (imag ? "one" : "none");
  }
  /*linear_scan_c8*/
  return verifyTensor(*this, "reset_ids", getResetIds(), {batch, length},
                      Elements::I32);
}
