//===- HeddleGpuComputeOps.cpp - products, reductions, layouts ------------===//

#include "VerifyTile.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace heddle_gpu;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static LogicalResult verifyProductShapes(Operation *op, ArrayRef<int64_t> a,
                                         ArrayRef<int64_t> b,
                                         ArrayRef<int64_t> c) {
  if (a.size() == 2 && b.size() == 2 && c.size() == 2 && a[0] == c[0] &&
      a[1] == b[0] && b[1] == c[1])
    return success();
  return op->emitOpError() << "expected shapes m x k, k x n and m x n, got ["
                           << a << "], [" << b << "] and [" << c << "]";
}

static bool isHalf(Type type) { return type.isBF16() || type.isF16(); }

LogicalResult DotOp::verify() {
  auto a = cast<RankedTensorType>(getA().getType());
  auto b = cast<RankedTensorType>(getB().getType());
  auto c = cast<RankedTensorType>(getAccumulator().getType());
  /*gpu_dot_c1*/
  if (failed(verifyTile(*this, "a", a)) || failed(verifyTile(*this, "b", b)) ||
      failed(verifyTile(*this, "an accumulator", c)))
    return failure();
  /*gpu_dot_c2*/
  if (failed(
          verifyProductShapes(*this, a.getShape(), b.getShape(), c.getShape())))
    return failure();
  /*gpu_dot_c3*/
  Type type = a.getElementType();
  bool fits = type == b.getElementType() && c.getElementType().isF32();
  if (getKind() == DotKind::Mma)
    fits &= isHalf(type);
  else if (getKind() == DotKind::MmaTf32)
    fits &= type.isF32();
  else
    fits &= isHalf(type) || type.isF32();
  if (!fits)
    return emitOpError() << "expected "
                         << (getKind() == DotKind::Mma ? "bf16 or f16"
                             : getKind() == DotKind::MmaTf32
                                 ? "f32"
                                 : "bf16, f16 or f32")
                         << " operands of one type and an f32 accumulator for "
                         << stringifyDotKind(getKind()) << ", got " << type
                         << ", " << b.getElementType() << " and "
                         << c.getElementType();
  /*gpu_dot_c4*/
  std::string problem = productProblem(toProductKind(getKind()), getLayout(a),
                                       getLayout(b), getLayout(c));
  if (!problem.empty())
    return emitOpError() << problem;
  return success();
}

/// The sides of an operand of dot_async.
static SmallVector<int64_t> operandShape(Type type, bool trans) {
  auto smem = dyn_cast<SmemType>(type);
  SmallVector<int64_t> shape(smem ? smem.getShape()
                                  : cast<RankedTensorType>(type).getShape());
  if (trans && smem)
    std::reverse(shape.begin(), shape.end());
  return shape;
}

/// Whether `c` is the accumulator of warpgroups, and a tile `a` its operand,
/// for some split of the warps.
static bool isWarpgroupProduct(ProductKind kind, RankedTensorType c,
                               RankedTensorType a) {
  const Layout &layout = getLayout(c);
  int64_t warps = layout.numWarps();
  for (int64_t m = 4; m <= warps; m *= 2) {
    std::optional<Layout> wanted = mmaOperand(kind, Operand::C, c.getShape()[0],
                                              c.getShape()[1], m, warps / m);
    if (!wanted || !layout.equalUpToRegisters(*wanted))
      continue;
    std::optional<Layout> left =
        a ? mmaOperand(kind, Operand::A, a.getShape()[0], a.getShape()[1], m,
                       warps / m)
          : std::nullopt;
    if (!a || (left && getLayout(a).equalUpToRegisters(*left)))
      return true;
  }
  return false;
}

LogicalResult DotAsyncOp::verify() {
  auto a = dyn_cast<RankedTensorType>(getA().getType());
  SmemType b = getB().getType();
  auto c = cast<RankedTensorType>(getAccumulator().getType());
  /*gpu_dot_async_c1*/
  if (failed(verifyTile(*this, "an accumulator", c)) ||
      (a && failed(verifyTile(*this, "a", a))))
    return failure();
  /*gpu_dot_async_c2*/
  if (failed(verifyProductShapes(*this,
                                 operandShape(getA().getType(), getTransA()),
                                 operandShape(b, getTransB()), c.getShape())))
    return failure();
  /*gpu_dot_async_c3*/
  Type type = a ? a.getElementType()
                : cast<SmemType>(getA().getType()).getElementType();
  if (type != b.getElementType() || !(isHalf(type) || type.isF32()) ||
      !c.getElementType().isF32())
    return emitOpError() << "expected bf16, f16 or f32 operands of one type "
                            "and an f32 accumulator, got "
                         << type << ", " << b.getElementType() << " and "
                         << c.getElementType();
  /*gpu_dot_async_c7*/
  if (type.isF32() && (!getTransB() || (!a && getTransA())))
    return emitOpError() << "expected f32 operands along k in shared memory: "
                            "trans_b and no trans_a";
  /*gpu_dot_async_c4*/
  ProductKind kind = isHalf(type) ? ProductKind::Mma16 : ProductKind::MmaTf32;
  if (!isWarpgroupProduct(kind, c, a))
    return emitOpError() << "expected the layouts of an mma product with four "
                            "warps of each warpgroup along m";
  /*gpu_dot_async_c5*/
  auto lacksStage = [](Type operand, Value stage) {
    auto smem = dyn_cast<SmemType>(operand);
    return smem && smem.getStages() > 1 && !stage;
  };
  if (lacksStage(getA().getType(), getAStage()) || lacksStage(b, getBStage()))
    return emitOpError() << "expected a stage index, %tile[%index], for "
                            "operands of several stages";
  /*gpu_dot_async_c6*/
  for (OpOperand &use : getResult().getUses()) {
    auto next = dyn_cast<DotAsyncOp>(use.getOwner());
    bool accumulates =
        next && next.getAccumulatorMutable().getOperandNumber() ==
                    use.getOperandNumber();
    if (accumulates || isa<DotWaitOp>(use.getOwner()))
      continue;
    InFlightDiagnostic diag =
        emitOpError() << "expected a result that is used by dot_wait or as an "
                         "accumulator of dot_async only";
    diag.attachNote(use.getOwner()->getLoc()) << "it is used here";
    return diag;
  }
  return success();
}

LogicalResult DotAsyncOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location>,
                                           DotAsyncOp::Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getAccumulator().getType());
  return success();
}

void DotAsyncOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (isa<SmemType>(getA().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), &getAMutable());
  effects.emplace_back(MemoryEffects::Read::get(), &getBMutable());
}

LogicalResult DotWaitOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location>,
                                          ValueRange operands, DictionaryAttr,
                                          OpaqueProperties, RegionRange,
                                          SmallVectorImpl<Type> &types) {
  llvm::append_range(types, operands.getTypes());
  return success();
}

LogicalResult DotWaitOp::verify() {
  /*gpu_dot_wait_c1*/
  int64_t pending = getPending();
  if (pending < 0)
    return emitOpError() << "expected at least 0 pending, got " << pending;
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions and scans
//===----------------------------------------------------------------------===//

/// Says what is wrong with inputs or axis; silent on success.
static LogicalResult inferAlongAxis(std::optional<Location> loc,
                                    ValueRange inputs, int64_t axis) {
  for (Type type : inputs.getTypes()) {
    /*gpu_reduce_c1*/ /*gpu_scan_c1*/
    LayoutAttr layout = getLayoutAttr(type);
    if (!layout || layout != getLayoutAttr(inputs.front().getType()))
      return emitOptionalError(loc, "expected inputs with one layout, got ",
                               type);
    /*gpu_reduce_c2*/ /*gpu_scan_c2*/
    int64_t rank = layout.getValue().rank();
    if (axis < 0 || axis >= rank)
      return emitOptionalError(loc, "expected an axis below ", rank, ", got ",
                               axis);
  }
  if (inputs.empty())
    return emitOptionalError(loc, "expected at least one input");
  return success();
}

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> loc,
                                         ReduceOp::Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  int64_t axis = adaptor.getAxis();
  if (failed(inferAlongAxis(loc, adaptor.getInputs(), axis)))
    return failure();
  for (Type type : adaptor.getInputs().getTypes()) {
    auto tile = cast<RankedTensorType>(type);
    Type result = adaptor.getPartial() ? partialType(tile, axis)
                                       : reducedType(tile, axis);
    /*gpu_reduce_c5*/
    if (!result)
      return emitOptionalError(loc, "expected threads that each have elements of "
                                    "their own along axis ",
                               axis, " of a partial reduction, got ", type);
    types.push_back(result);
  }
  return success();
}

LogicalResult ScanOp::inferReturnTypes(MLIRContext *,
                                       std::optional<Location> loc,
                                       ScanOp::Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  if (failed(inferAlongAxis(loc, adaptor.getInputs(), adaptor.getAxis())))
    return failure();
  llvm::append_range(types, adaptor.getInputs().getTypes());
  return success();
}

template <typename OpT>
static LogicalResult verifyCombination(OpT op) {
  bool region = !op.getCombine().empty();
  if (region == op.getKind().has_value() ||
      (!region && op.getInputs().size() != 1))
    return op.emitOpError()
           << "expected either a kind, for one input, or a combine region";
  return success();
}

template <typename OpT>
static LogicalResult verifyCombineRegion(OpT op) {
  if (op.getCombine().empty())
    return success();
  SmallVector<Type> elements;
  for (Type type : op.getInputs().getTypes())
    elements.push_back(getElementTypeOrSelf(type));
  SmallVector<Type> arguments(elements);
  llvm::append_range(arguments, elements);
  Block &body = op.getCombine().front();
  if (!llvm::hasSingleElement(op.getCombine()) ||
      body.getArgumentTypes() != TypeRange(arguments))
    return op.emitOpError() << "expected a combine region of one block with "
                               "arguments ("
                            << arguments << ")";
  auto yield = dyn_cast<YieldOp>(body.back());
  if (!yield || yield.getValues().getTypes() != TypeRange(elements))
    return op.emitOpError()
           << "expected the combine region to yield (" << elements << ")";
  return success();
}

LogicalResult ReduceOp::verify() {
  /*gpu_reduce_c3*/
  return verifyCombination(*this);
}
LogicalResult ReduceOp::verifyRegions() {
  /*gpu_reduce_c4*/
  return verifyCombineRegion(*this);
}
LogicalResult ScanOp::verify() {
  /*gpu_scan_c3*/
  return verifyCombination(*this);
}
LogicalResult ScanOp::verifyRegions() {
  /*gpu_scan_c4*/
  return verifyCombineRegion(*this);
}

//===----------------------------------------------------------------------===//
// Shapes and layouts
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  /*gpu_broadcast_c1*/
  if (failed(verifyTile(*this, "an input", input)) ||
      failed(verifyTile(*this, "a result", result)) ||
      failed(verifyElementTypes(*this, input.getElementType(),
                                result.getElementType())))
    return failure();
  /*gpu_broadcast_c2*/
  ArrayRef<int64_t> dims = getDims();
  bool ascending = true;
  for (size_t i = 0; i < dims.size(); ++i)
    ascending &=
        dims[i] >= (i ? dims[i - 1] + 1 : 0) && dims[i] < result.getRank();
  SmallVector<int64_t> rest;
  for (int64_t d = 0; d < result.getRank(); ++d)
    if (!llvm::is_contained(dims, d))
      rest.push_back(result.getShape()[d]);
  if (!ascending || ArrayRef<int64_t>(rest) != input.getShape())
    return emitOpError() << "expected distinct, ascending dims of the result "
                            "whose removal leaves the shape of the input, got ["
                         << dims << "]";
  /*gpu_broadcast_c3*/
  Layout wanted = getLayout(result);
  for (int64_t d : llvm::reverse(dims))
    wanted = wanted.slice(d);
  if (!getLayout(input).registerMap(wanted))
    return emitOpError() << "expected an input with the layout of the result "
                            "without dims, "
                         << LayoutAttr::get(getContext(), wanted)
                         << ", so that no data moves";
  return success();
}

LogicalResult TransOp::inferReturnTypes(MLIRContext *,
                                        std::optional<Location> loc,
                                        TransOp::Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(adaptor.getInput().getType());
  /*gpu_trans_c1*/
  if (!getLayoutAttr(type))
    return emitOptionalError(loc, "expected an input with a layout, got ",
                             type);
  /*gpu_trans_c2*/
  SmallVector<int64_t> sorted(adaptor.getPermutation());
  llvm::sort(sorted);
  bool permutes = static_cast<int64_t>(sorted.size()) == type.getRank();
  for (auto [i, d] : llvm::enumerate(sorted))
    permutes &= d == static_cast<int64_t>(i);
  if (!permutes)
    return emitOptionalError(loc, "expected a permutation of ", type.getRank(),
                             " axes");
  types.push_back(transposedType(type, adaptor.getPermutation()));
  return success();
}

LogicalResult TransOp::verify() { return success(); }

LogicalResult ConvertLayoutOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  /*gpu_convert_layout_c1*/
  if (failed(verifyTile(*this, "an input", input)) ||
      failed(verifyTile(*this, "a result", result)))
    return failure();
  /*gpu_convert_layout_c2*/
  if (input.getShape() != result.getShape() ||
      input.getElementType() != result.getElementType())
    return emitOpError() << "expected a result that differs in layout only, "
                            "got "
                         << input << " and " << result;
  /*gpu_convert_layout_c3*/
  int64_t from = getLayout(input).numWarps(), to = getLayout(result).numWarps();
  if (from != to)
    return emitOpError() << "expected layouts with equal numbers of warps, got "
                         << from << " and " << to;
  return success();
}

LogicalResult IotaOp::verify() {
  auto type = cast<RankedTensorType>(getResult().getType());
  /*gpu_iota_c1*/
  if (failed(verifyTile(*this, "a result", type)))
    return failure();
  /*gpu_iota_c2*/
  int64_t axis = getAxis();
  if (axis < 0 || axis >= type.getRank())
    return emitOpError() << "expected an axis below " << type.getRank()
                         << ", got " << axis;
  return success();
}
