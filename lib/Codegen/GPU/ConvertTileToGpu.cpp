//===- ConvertTileToGpu.cpp - contract T to contract G --------------------===//

#include "GpuEmitter.h"
#include "LoopsToGpu.h"

#include "heddle/Codegen/Passes.h"
#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

namespace heddle {
#define GEN_PASS_DEF_CONVERTTILETOGPUPASS
#include "heddle/Codegen/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using heddle_gpu::Layout;

LogicalResult GpuEmitter::emitFor(scf::ForOp op) {
  SmallVector<Value> inits;
  for (Value init : op.getInitArgs()) {
    if (!isa<RankedTensorType>(init.getType())) {
      inits.push_back(scalar(init));
      continue;
    }
    FailureOr<Value> t = tile(init, layouts.of(init));
    if (failed(t))
      return failure();
    inits.push_back(*t);
  }
  auto loop = scf::ForOp::create(b, loc, scalar(op.getLowerBound()),
                                 scalar(op.getUpperBound()),
                                 scalar(op.getStep()), inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scalars.map(op.getInductionVar(), loop.getInductionVar());
  for (auto [from, to] :
       llvm::zip(op.getRegionIterArgs(), loop.getRegionIterArgs())) {
    if (isa<RankedTensorType>(from.getType()))
      define(from, to);
    else
      scalars.map(from, to);
  }
  // What the body makes is not there after it.
  auto outer = made;
  if (failed(emitBody(*op.getBody())))
    return failure();
  SmallVector<Value> yields;
  for (auto [v, arg] :
       llvm::zip(op.getYieldedValues(), loop.getRegionIterArgs())) {
    if (!isa<RankedTensorType>(v.getType())) {
      yields.push_back(scalar(v));
      continue;
    }
    FailureOr<Value> t = tile(v, heddle_gpu::getLayout(arg.getType()));
    if (failed(t))
      return failure();
    yields.push_back(*t);
  }
  if (!yields.empty())
    scf::YieldOp::create(b, loc, yields);
  made = std::move(outer);
  for (auto [from, to] : llvm::zip(op.getResults(), loop.getResults())) {
    if (isa<RankedTensorType>(from.getType()))
      define(from, to);
    else
      scalars.map(from, to);
  }
  return success();
}

LogicalResult GpuEmitter::emitOp(Operation *op) {
  if (isa<tensor::EmptyOp, bufferization::ToTensorOp, tensor::YieldOp>(op))
    return success();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return emitFor(loop);
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return emitGeneric(generic);
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    TypedAttr value;
    if (!matchPattern(fill.getInputs()[0], m_Constant(&value)))
      return op->emitOpError("expected a constant fill");
    splats[fill.getResult(0)] = value;
    return success();
  }
  if (auto transpose = dyn_cast<linalg::TransposeOp>(op)) {
    Value input = transpose.getInput();
    // Products read it transposed.
    auto isProduct = [](Operation *user) {
      auto generic = dyn_cast<linalg::GenericOp>(user);
      return generic && isTileContraction(generic);
    };
    if (loads.contains(input) &&
        llvm::all_of(transpose->getResult(0).getUsers(), isProduct))
      return success();
    Value result = transpose->getResult(0);
    // The layout whose transpose is the result's.
    Layout from = layouts.of(result).transpose({1, 0});
    FailureOr<Value> t = tile(input, from);
    if (failed(t))
      return failure();
    define(result, heddle_gpu::TransOp::create(
                       b, loc,
                       heddle_gpu::transposedType(
                           cast<RankedTensorType>(t->getType()), {1, 0}),
                       *t, ArrayRef<int64_t>{1, 0}));
    return success();
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return emitSlice(slice);
  if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    PendingLoad load = loads.lookup(pad.getSource());
    load.ragged = true;
    matchPattern(pad.getConstantPaddingValue(), m_Constant(&load.pad));
    loads[pad.getResult()] = load;
    return prefetch(pad.getResult());
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return emitExtract(extract);
  if (auto store = dyn_cast<TileStoreOp>(op))
    return emitStore(store);
  if (auto constant = dyn_cast<arith::ConstantOp>(op);
      constant && isa<RankedTensorType>(constant.getType())) {
    if (auto dense = dyn_cast<SplatElementsAttr>(constant.getValue()))
      splats[constant.getResult()] =
          cast<TypedAttr>(dense.getSplatValue<Attribute>());
    return success();
  }
  // Plain loops store scalars, which every thread would do.
  bool scalarOnly =
      op->getNumRegions() == 0 && !isa<memref::StoreOp>(op) &&
      llvm::none_of(op->getResultTypes(), llvm::IsaPred<TensorType>) &&
      llvm::none_of(op->getOperandTypes(), llvm::IsaPred<TensorType>);
  if (!scalarOnly)
    return op->emitOpError("is not part of contract T on the GPU");
  b.clone(*op, scalars);
  return success();
}

LogicalResult GpuEmitter::emitBody(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(emitOp(&op)))
      return failure();
  return success();
}

LogicalResult GpuEmitter::run() {
  if (failed(layouts.run()))
    return failure();
  b.setInsertionPoint(kernel);
  gpuModule = gpu::GPUModuleOp::create(b, loc, kernel.getName());
  b.setInsertionPointToEnd(gpuModule.getBody());
  gpuFunc = gpu::GPUFuncOp::create(b, loc, kernel.getName(),
                                   kernel.getFunctionType());
  gpuFunc->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  gpuFunc.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({static_cast<int32_t>(32 * warps), 1, 1}));
  for (NamedAttribute attr : kernel->getDiscardableAttrs())
    gpuFunc->setDiscardableAttr(attr.getName(), attr.getValue());
  gpuFunc->setAttr(heddle_gpu::HeddleGpuDialect::kWarpsAttrName,
                   b.getI64IntegerAttr(warps));
  b.setInsertionPointToStart(&gpuFunc.getBody().front());
  for (auto [from, to] :
       llvm::zip(kernel.getArguments(), gpuFunc.getArguments()))
    scalars.map(from, to);
  for (Operation &op : kernel.getBody().front().without_terminator())
    if (&op != grid.getOperation() && failed(emitOp(&op)))
      return failure();
  // One grid axis, the last dimension of the tile grid fastest.
  SmallVector<int64_t> sizes;
  int64_t blocks = 1;
  for (OpFoldResult size : grid.getMixedUpperBound()) {
    sizes.push_back(*getConstantIntValue(size));
    blocks *= sizes.back();
  }
  gpuFunc->setAttr("heddle.grid", b.getI64IntegerAttr(blocks));
  Value rest = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
  for (int64_t d = sizes.size() - 1; d >= 0; --d) {
    Value size = arith::ConstantIndexOp::create(b, loc, sizes[d]);
    Value i =
        d == 0 ? rest : arith::RemUIOp::create(b, loc, rest, size).getResult();
    if (d > 0)
      rest = arith::DivUIOp::create(b, loc, rest, size);
    scalars.map(grid.getInductionVar(d), i);
  }
  if (failed(emitBody(*grid.getBody())))
    return failure();
  gpu::ReturnOp::create(b, loc);
  kernel.erase();
  return success();
}

namespace {
struct ConvertTileToGpu
    : heddle::impl::ConvertTileToGpuPassBase<ConvertTileToGpu> {
  using ConvertTileToGpuPassBase::ConvertTileToGpuPassBase;

  void runOnOperation() override {
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      auto family = kernel->getAttrOfType<StringAttr>(kKernelFamily);
      if (!family)
        continue;
      if (family.getValue() == "loops" ||
          kernel->hasAttr(kKernelThreads)) {
        if (failed(lowerLoopsToGpu(kernel)))
          return signalPassFailure();
        continue;
      }
      auto grids = kernel.getOps<scf::ForallOp>();
      if (!llvm::hasSingleElement(grids)) {
        kernel.emitError("expected a tile program with one grid");
        return signalPassFailure();
      }
      int64_t count = warps;
      if (auto wanted = kernel->getAttrOfType<IntegerAttr>(kKernelWarps))
        count = wanted.getInt();
      if (failed(GpuEmitter(kernel, *grids.begin(), count).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
