//===- HeddleGpuDialect.cpp - registration and helpers on types -----------===//

#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle_gpu;

#include "heddle/Dialect/HeddleGpu/IR/HeddleGpuDialect.cpp.inc"
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpuEnums.cpp.inc"
#define GET_OP_CLASSES
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpuOps.cpp.inc"

namespace {
/// Layouts are long and few: they are printed once, under a short name.
struct GpuAsmInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (!isa<LayoutAttr, SharedAttr>(attr))
      return AliasResult::NoAlias;
    os << (isa<LayoutAttr>(attr) ? "layout" : "shared");
    return AliasResult::FinalAlias;
  }
  AliasResult getAlias(Type type, raw_ostream &os) const override {
    if (!isa<SmemType>(type))
      return AliasResult::NoAlias;
    os << "smem";
    return AliasResult::FinalAlias;
  }
};
} // namespace

void HeddleGpuDialect::initialize() {
  addInterfaces<GpuAsmInterface>();
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpuOps.cpp.inc"
      >();
}

Operation *HeddleGpuDialect::materializeConstant(OpBuilder &builder,
                                                 Attribute value, Type type,
                                                 Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

LogicalResult
HeddleGpuDialect::verifyOperationAttribute(Operation *op,
                                           NamedAttribute attribute) {
  /*gpu_shared_bytes_c1*/
  if (attribute.getName() == kSharedBytesAttrName) {
    auto bytes = dyn_cast<IntegerAttr>(attribute.getValue());
    if (bytes && !bytes.getValue().isNegative())
      return success();
    return op->emitOpError()
           << "expected " << kSharedBytesAttrName
           << " to be an integer that is not negative, got "
           << attribute.getValue();
  }
  if (attribute.getName() != kWarpsAttrName)
    return op->emitOpError()
           << "expected no attribute of the heddle_gpu dialect but "
           << kWarpsAttrName << " and " << kSharedBytesAttrName << ", got "
           << attribute.getName();
  /*gpu_warps_c1*/
  auto warps = dyn_cast<IntegerAttr>(attribute.getValue());
  if (!warps || warps.getValue().slt(1))
    return op->emitOpError()
           << "expected " << kWarpsAttrName << " to be a positive integer, got "
           << attribute.getValue();
  return success();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

LayoutAttr heddle_gpu::getLayoutAttr(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<LayoutAttr>(tensor.getEncoding())
                : LayoutAttr();
}

const Layout &heddle_gpu::getLayout(Type type) {
  return getLayoutAttr(type).getValue();
}

RankedTensorType heddle_gpu::withLayout(RankedTensorType type,
                                        const Layout &layout) {
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               LayoutAttr::get(type.getContext(), layout));
}

RankedTensorType heddle_gpu::tileType(Type elementType, MLIRContext *ctx,
                                      const Layout &layout) {
  return RankedTensorType::get(layout.shape(), elementType,
                               LayoutAttr::get(ctx, layout));
}

Type heddle_gpu::maskTypeOf(Type type) {
  return cast<RankedTensorType>(type).clone(
      IntegerType::get(type.getContext(), 1));
}

ProductKind heddle_gpu::toProductKind(DotKind kind) {
  switch (kind) {
  case DotKind::Mma:
    return ProductKind::Mma16;
  case DotKind::MmaTf32:
    return ProductKind::MmaTf32;
  case DotKind::Fma:
    break;
  }
  return ProductKind::Fma;
}

RankedTensorType heddle_gpu::reducedType(RankedTensorType type, int64_t axis) {
  return tileType(type.getElementType(), type.getContext(),
                  getLayout(type).slice(axis));
}

RankedTensorType heddle_gpu::partialType(RankedTensorType type, int64_t axis) {
  const Layout &layout = getLayout(type);
  Layout rest = layout.slice(axis).expandDims(axis);
  Layout::Bases lanes(rest.getLane()), warps(rest.getWarp());
  SmallVector<uint64_t> images;
  int64_t next = 1;
  // `parts` are counted along the axis; registers of a thread are one of them.
  auto visit = [&](ArrayRef<Layout::Basis> bases, Layout::Bases *parts) {
    for (auto [i, basis] : llvm::enumerate(bases)) {
      if (basis[axis] == 0)
        continue;
      // A move along other dimensions as well would mix sums.
      if (llvm::count(basis, 0) != layout.rank() - 1)
        return false;
      images.push_back(basis[axis]);
      if (!parts)
        continue;
      (*parts)[i][axis] = next;
      next *= 2;
    }
    return true;
  };
  // Elements that two threads hold would count twice.
  if (!visit(layout.getRegister(), nullptr) || !visit(layout.getLane(), &lanes) ||
      !visit(layout.getWarp(), &warps) ||
      LinearMap(64, images).redundantInputs() != 0)
    return {};
  std::optional<Layout> result = Layout::get(
      Layout::Bases(rest.getRegister()), lanes, warps, rest.getRepeat());
  return result ? tileType(type.getElementType(), type.getContext(), *result)
                : RankedTensorType();
}

RankedTensorType heddle_gpu::transposedType(RankedTensorType type,
                                            ArrayRef<int64_t> permutation) {
  return tileType(type.getElementType(), type.getContext(),
                  getLayout(type).transpose(permutation));
}
