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

/// States of chunks have an axis of them after the batch.
static void allowChunks(Value states, SmallVectorImpl<Axis> &axes) {
  if (states && cast<RankedTensorType>(states.getType()).getRank() ==
                    static_cast<int64_t>(axes.size()) + 1)
    axes.insert(axes.begin() + 1, Axis{"C"});
}

/// The operands that the scan and its gradient share.
template <typename OpTy> static LogicalResult verifySelectiveScan(OpTy op) {
  /*selective_scan_c1*/
  if (failed(verifyTensor(op, "u", op.getU(), {{"B"}, {"L"}, {"D"}},
                          Elements::Float)))
    return failure();
  Axis batch{"B", sizeOf(op.getU(), 0)}, length{"L", sizeOf(op.getU(), 1)};
  Axis channels{"D", sizeOf(op.getU(), 2)};
  Type element = op.getU().getType().getElementType();
  /*selective_scan_c2*/
  if (failed(verifyTensor(op, "delta", op.getDelta(), {batch, length, channels},
                          Elements::Float)))
    return failure();
  /*selective_scan_c3*/
  if (failed(
          verifyTensor(op, "a", op.getA(), {channels, {"N"}}, Elements::F32)))
    return failure();
  Axis state{"N", sizeOf(op.getA(), 1)};
  for (auto [name, value] :
       {std::pair<StringRef, Value>{"b", op.getB()}, {"c", op.getC()}}) {
    bool grouped = cast<RankedTensorType>(value.getType()).getRank() == 4;
    SmallVector<Axis> axes = {batch, length};
    if (grouped)
      axes.push_back({"G"});
    axes.push_back(state);
    /*selective_scan_c4*/
    if (failed(verifyTensor(op, name, value, axes, Elements::Float)))
      return failure();
    /*selective_scan_c5*/
    if (grouped && cannotDivide(sizeOf(value, 2), channels.size))
      return op.emitOpError() << "expected D divisible by the groups of " << name
                           << ", got " << channels.size << " and "
                           << sizeOf(value, 2)
                           << "; use a number of groups that divides D";
  }
  /*selective_scan_c6*/
  if (failed(verifyTensor(op, "d", op.getD(), {channels}, Elements::Float)) ||
      failed(verifyTensor(op, "delta_bias", op.getDeltaBias(), {channels},
                          Elements::Float)))
    return failure();
  /*selective_scan_c7*/
  if (failed(
          verifyTensor(op, "z", op.getZ(), {batch, length, channels}, element)))
    return failure();
  SmallVector<Axis> initial = {batch, channels, state};
  allowChunks(op.getInitialState(), initial);
  /*selective_scan_c8*/
  if (failed(verifyTensor(op, "initial_state", op.getInitialState(), initial,
                          Elements::F32)))
    return failure();
  /*selective_scan_c9*/
  return verifyTensor(op, "reset_ids", op.getResetIds(), {batch, length},
                      Elements::I32);
}

/// Chunks of `states`, where these have one axis more than `rank`.
static LogicalResult verifyChunks(Operation *op, Value states, int64_t rank,
                                  int64_t length) {
  auto type = states ? cast<RankedTensorType>(states.getType())
                     : RankedTensorType();
  if (!type || type.getRank() == rank)
    return success();
  return verifyScanChunks(op, length, type.getDimSize(1));
}

/// Parts of sums over time: of each batch entry, and chunk.
static int64_t partsOfTime(int64_t batch, int64_t chunks) {
  bool isKnown = !ShapedType::isDynamic(batch) && !ShapedType::isDynamic(chunks);
  return isKnown ? batch * chunks : ShapedType::kDynamic;
}

/// Only states of chunks can stand for none.
template <typename OpTy> static LogicalResult verifyFresh(OpTy op) {
  if (op.getFresh() && op.numChunks() == 1)
    return op.emitOpError("expected fresh only with initial states of chunks; "
                          "leave out the initial state");
  return success();
}

/// States at the boundaries of chunks, result or operand.
template <typename OpTy>
static LogicalResult verifyChunkStates(OpTy op, Value states) {
  std::optional<int64_t> chunk = op.getChunk();
  if (chunk && *chunk <= 0)
    return op.emitOpError() << "expected a positive chunk, got " << *chunk
                            << "; it is the number of steps between states";
  if (chunk.has_value() != static_cast<bool>(states))
    return op.emitOpError() << "expected chunk and chunk_states together, got "
                               "only "
                            << (states ? "chunk_states" : "chunk");
  if (!states)
    return success();
  int64_t length = sizeOf(op.getU(), 1);
  Axis boundaries{"boundaries"};
  if (!ShapedType::isDynamic(length))
    boundaries.size =
        std::max<int64_t>(1, llvm::divideCeil(length, *chunk)) - 1;
  return verifyTensor(op, "chunk_states", states,
                      {{"B", sizeOf(op.getU(), 0)},
                       boundaries,
                       {"D", sizeOf(op.getU(), 2)},
                       {"N", sizeOf(op.getA(), 1)}},
                      Elements::F32);
}

LogicalResult SelectiveScanOp::verify() {
  if (failed(verifySelectiveScan(*this)))
    return failure();
  /*selective_scan_c11*/
  if (failed(verifyChunkStates(*this, getChunkStates())))
    return failure();
  Axis batch{"B", sizeOf(getU(), 0)}, length{"L", sizeOf(getU(), 1)};
  Axis channels{"D", sizeOf(getU(), 2)}, state{"N", sizeOf(getA(), 1)};
  /*selective_scan_c8*/
  if (failed(verifyTensor(*this, "final_state", getFinalState(),
                          {batch, channels, state}, Elements::F32)))
    return failure();
  if (failed(verifyChunks(*this, getInitialState(), 3, length.size)))
    return failure();
  /*selective_scan_c12*/
  if (failed(verifyFresh(*this)))
    return failure();
  /*selective_scan_c10*/
  return verifyTensor(*this, "y", getY(), {batch, length, channels},
                      getU().getType().getElementType());
}

LogicalResult SelectiveScanGradOp::verify() {
  /*selective_scan_grad_c1*/
  if (failed(verifySelectiveScan(*this)) ||
      failed(verifyType(*this, "dy", getDy().getType(), getU().getType())))
    return failure();
  Axis batch{"B", sizeOf(getU(), 0)}, channels{"D", sizeOf(getU(), 2)};
  Axis state{"N", sizeOf(getA(), 1)};
  SmallVector<Axis> final = {batch, channels, state};
  bool chunked =
      getInitialState() && getInitialState().getType().getRank() == 4;
  if (chunked)
    final.insert(final.begin() + 1, Axis{"C", sizeOf(getInitialState(), 1)});
  /*selective_scan_grad_c2*/
  if (chunked && !getDfinalState())
    return emitOpError("expected a dfinal_state of each chunk, as there are "
                       "initial states of chunks, got none");
  if (failed(verifyTensor(*this, "dfinal_state", getDfinalState(), final,
                          Elements::F32)))
    return failure();
  /*selective_scan_grad_c6*/
  if (failed(verifyChunkStates(*this, getChunkStates())))
    return failure();
  /*selective_scan_grad_c8*/
  if (failed(verifyChunks(*this, getInitialState(), 3, sizeOf(getU(), 1))))
    return failure();
  if (chunked && getChunkStates())
    return emitOpError("expected no chunk_states with initial states of "
                       "chunks, got both; give one of them");
  /*selective_scan_c12*/
  if (failed(verifyFresh(*this)))
    return failure();
  /*selective_scan_grad_c7*/
  if (getScratch() && !getPartialSums())
    return emitOpError("expected scratch only with partial_sums, got it alone; "
                       "heddle-split-scans adds both");
  if (failed(verifyTensor(*this, "scratch", getScratch(), {{"rows"}, {"columns"}},
                          Elements::F32)))
    return failure();
  struct Gradient {
    StringRef name;
    Value of, gradient;
    std::optional<int64_t> parts; // leading axis, where the sum is left open
  };
  std::optional<int64_t> open = getPartialSums();
  /*selective_scan_grad_c5*/
  if (open && *open <= 0)
    return emitOpError() << "expected positive partial_sums, got " << *open
                         << "; leave it out, heddle-split-scans sets it";
  std::optional<int64_t> none, batches;
  if (open)
    batches = partsOfTime(batch.size, numChunks());
  for (const Gradient &g :
       {Gradient{"du", getU(), getDu(), none},
        Gradient{"ddelta", getDelta(), getDdelta(), none},
        Gradient{"da", getA(), getDa(), batches},
        Gradient{"db", getB(), getDb(), open},
        Gradient{"dc", getC(), getDc(), open},
        Gradient{"dd", getD(), getDd(), batches},
        Gradient{"dz", getZ(), getDz(), none},
        Gradient{"ddelta_bias", getDeltaBias(), getDdeltaBias(), batches},
        Gradient{"dinitial_state", getInitialState(), getDinitialState(), none}}) {
    /*selective_scan_grad_c3*/
    if (!g.of != !g.gradient)
      return emitOpError() << "expected " << g.name << " exactly with "
                           << g.name.drop_front() << ", got only "
                           << (g.of ? g.name.drop_front() : g.name)
                           << (g.of ? "; declare the result too"
                                    : "; give the operand too");
    if (!g.of)
      continue;
    auto type = cast<RankedTensorType>(g.of.getType());
    // Of chunks it is that of the first one walked.
    if (chunked && g.of == getInitialState())
      type = RankedTensorType::get({batch.size, channels.size, state.size},
                                   type.getElementType());
    if (g.parts) {
      SmallVector<int64_t> shape(type.getShape());
      shape.insert(shape.begin(), *g.parts);
      bool ofRows = g.of == getB() || g.of == getC();
      Type element = Float32Type::get(getContext());
      if (ofRows && *open == 1 &&
          g.gradient.getType() == type.clone(shape, type.getElementType()))
        element = type.getElementType();
      type = RankedTensorType::get(shape, element);
    }
    /*selective_scan_grad_c4*/
    if (failed(verifyType(*this, g.name, g.gradient.getType(), type)))
      return failure();
  }
  return success();
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
                         << heads.size << " and " << groups.size
                         << "; use a number of groups that divides H";
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

/// One of the two shapes that a decay may have is wanted.
static LogicalResult verifyDecayRank(Operation *op, Value a) {
  auto type = cast<RankedTensorType>(a.getType());
  if (type.getRank() == 1 || type.getRank() == 3)
    return success();
  return op->emitOpError()
         << "expected a of shape (D), constant over time, or (B, L, D), got "
         << type << "; broadcast it over the axes that it lacks";
}

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
  if (failed(verifyDecayRank(*this, getA())) ||
      failed(verifyTensor(*this, "a", getA(), decay, element)))
    return failure();
  /*linear_scan_c3*/
  if (!getAImag() != !getBImag())
    return emitOpError() << "expected a_imag and b_imag together, got only "
                         << (getBImag() ? "b_imag" : "a_imag")
                         << "; write both, as in imag(%a_imag, %b_imag : ...)";
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
                         << (getHImag() ? "one; remove it, or give the operands"
                                        : "none; declare it after h");
  if (failed(verifyTensor(*this, "h_imag", getHImag(), all, element)))
    return failure();
  SmallVector<Axis> initial = {batch, channels}, final = initial;
  allowChunks(getInitialState(), initial);
  /*linear_scan_c6*/
  for (auto [name, value, axes] :
       {std::tuple<StringRef, Value, ArrayRef<Axis>>{
            "initial_state", getInitialState(), initial},
        {"initial_state_imag", getInitialStateImag(), initial},
        {"final_state", getFinalState(), final},
        {"final_state_imag", getFinalStateImag(), final}})
    if (failed(verifyTensor(*this, name, value, axes, Elements::F32)))
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
                           << (imag ? "one; remove it"
                                    : "none; give or declare it too");
  }
  /*linear_scan_c8*/
  if (failed(verifyTensor(*this, "reset_ids", getResetIds(), {batch, length},
                          Elements::I32)))
    return failure();
  /*linear_scan_c9*/
  if (failed(verifyChunks(*this, getInitialState(), 2, length.size)))
    return failure();
  /*linear_scan_c11*/
  if (failed(verifyFresh(*this)))
    return failure();
  /*linear_scan_c10*/
  if (getNanResets() && hasConstantDecay())
    return emitOpError("expected nan_resets only with an a that varies over "
                       "time");
  return success();
}

LogicalResult LinearScanGradOp::verify() {
  /*linear_scan_grad_c1*/
  if (failed(verifyTensor(*this, "h", getH(), {{"B"}, {"L"}, {"D"}},
                          Elements::Float)))
    return failure();
  RankedTensorType all = getH().getType();
  if (failed(verifyType(*this, "dh", getDh().getType(), all)))
    return failure();
  Axis batch{"B", sizeOf(getH(), 0)}, length{"L", sizeOf(getH(), 1)};
  Axis channels{"D", sizeOf(getH(), 2)};
  SmallVector<Axis> decay = {batch, length, channels};
  if (hasConstantDecay())
    decay = {channels};
  /*linear_scan_grad_c2*/
  if (failed(verifyDecayRank(*this, getA())) ||
      failed(verifyTensor(*this, "a", getA(), decay, all.getElementType())))
    return failure();
  /*linear_scan_grad_c3*/
  for (auto [name, imag, real] :
       {std::tuple<StringRef, Value, Value>{"a_imag", getAImag(), getA()},
        {"h_imag", getHImag(), getH()},
        {"dh_imag", getDhImag(), getDh()}}) {
    if (isComplex() != static_cast<bool>(imag))
      return emitOpError() << "expected a_imag, h_imag and dh_imag together, got "
                           << (isComplex() ? "no " : "") << name
                           << (isComplex() ? "" : " without a_imag")
                           << "; write all three, as in imag(%a_imag, %h_imag, "
                              "%dh_imag : ...)";
    if (imag && failed(verifyType(*this, name, imag.getType(), real.getType())))
      return failure();
  }
  SmallVector<Axis> initial = {batch, channels}, incoming = initial;
  allowChunks(getDfinalState(), incoming);
  /*linear_scan_grad_c4*/
  for (auto [name, real, imag, axes] :
       {std::tuple<StringRef, Value, Value, ArrayRef<Axis>>{
            "initial_state", getInitialState(), getInitialStateImag(), initial},
        {"dfinal_state", getDfinalState(), getDfinalStateImag(), incoming}}) {
    bool wanted = isComplex() && real;
    if (wanted != static_cast<bool>(imag))
      return emitOpError() << "expected " << (wanted ? "an" : "no")
                           << " imaginary part of " << name << ", got "
                           << (imag ? "one; remove it" : "none; give it too");
    for (Value state : {real, imag})
      if (failed(verifyTensor(*this, name, state, axes, Elements::F32)))
        return failure();
  }
  /*linear_scan_grad_c8*/
  if (failed(verifyChunks(*this, getDfinalState(), 2, length.size)))
    return failure();
  /*linear_scan_grad_c5*/
  if (failed(verifyTensor(*this, "reset_ids", getResetIds(), {batch, length},
                          Elements::I32)))
    return failure();
  /*linear_scan_grad_c7*/
  if (getPartialSums() && !hasConstantDecay())
    return emitOpError("expected partial_sums only with an a that is constant "
                       "over time, got one of each step; leave it out, "
                       "heddle-split-scans sets it");
  RankedTensorType ofA = getA().getType();
  if (getPartialSums())
    ofA = RankedTensorType::get(
        {partsOfTime(batch.size, numChunks()), channels.size},
        Float32Type::get(getContext()));
  auto typeOf = [](Value v) { return v ? v.getType() : Type(); };
  /*linear_scan_grad_c6*/
  for (auto [name, gradient, wanted] :
       {std::tuple<StringRef, Value, Type>{"da", getDa(), ofA},
        {"db", getDb(), all},
        {"da_imag", getDaImag(), isComplex() ? ofA : Type()},
        {"db_imag", getDbImag(), isComplex() ? all : Type()},
        {"dinitial_state", getDinitialState(), typeOf(getInitialState())},
        {"dinitial_state_imag", getDinitialStateImag(),
         typeOf(getInitialStateImag())}}) {
    if (!wanted != !gradient)
      return emitOpError() << "expected " << (wanted ? "a " : "no ") << name
                           << ", got "
                           << (gradient ? "one; remove the result"
                                        : "none; declare the result");
    if (wanted &&
        failed(verifyType(*this, name, gradient.getType(), wanted)))
      return failure();
  }
  return success();
}
