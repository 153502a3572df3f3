//===- TensorRules.cpp - gradients of ops that move elements --------------===//

#include "Adjoint.h"
#include "Rules.h"
#include "heddle/Dialect/Heddle/Differentiation/Differentiation.h"
#include "heddle/Dialect/Heddle/IR/DifferentiableOpInterface.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace heddle;

namespace {
/// What every rule here is given.
struct Move {
  OpBuilder &b;
  Location loc;
  Value dy;
  const llvm::BitVector &needed;
  SmallVectorImpl<Value> &gradients;

  bool wants(OpOperand &operand) const {
    return needed.test(operand.getOperandNumber());
  }
  void set(OpOperand &operand, Value gradient) const {
    gradients[operand.getOperandNumber()] = gradient;
  }
  RankedTensorType typeOf(OpOperand &operand) const {
    return cast<RankedTensorType>(operand.get().getType());
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

static LogicalResult differentiate(tensor::ExpandShapeOp op, const Move &m) {
  m.set(op.getSrcMutable(),
        tensor::CollapseShapeOp::create(m.b, m.loc, op.getSrcType(), m.dy,
                                        op.getReassociationIndices()));
  return success();
}

static LogicalResult differentiate(tensor::CollapseShapeOp op, const Move &m) {
  m.set(op.getSrcMutable(),
        tensor::ExpandShapeOp::create(m.b, m.loc, op.getSrcType(), m.dy,
                                      op.getReassociationIndices()));
  return success();
}

static LogicalResult differentiate(tensor::ReshapeOp op, const Move &m) {
  auto type = dyn_cast<RankedTensorType>(op.getSource().getType());
  if (!type || !type.hasStaticShape())
    return op.emitOpError("cannot be differentiated: expected a static source");
  auto shape = RankedTensorType::get({type.getRank()}, m.b.getIndexType());
  Value sizes = arith::ConstantOp::create(
      m.b, m.loc, DenseIntElementsAttr::get(shape, type.getShape()));
  m.set(op.getSourceMutable(),
        tensor::ReshapeOp::create(m.b, m.loc, type, m.dy, sizes));
  return success();
}

static LogicalResult differentiate(tensor::CastOp op, const Move &m) {
  m.set(op.getSourceMutable(),
        tensor::CastOp::create(m.b, m.loc, op.getSource().getType(), m.dy));
  return success();
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

static LogicalResult differentiate(tensor::ExtractSliceOp op, const Move &m) {
  Value zero = zeros(m.b, m.loc, op.getSourceType());
  m.set(op.getSourceMutable(),
        tensor::InsertSliceOp::create(m.b, m.loc, m.dy, zero,
                                      op.getMixedOffsets(), op.getMixedSizes(),
                                      op.getMixedStrides()));
  return success();
}

static LogicalResult differentiate(tensor::InsertSliceOp op, const Move &m) {
  if (m.wants(op.getSourceMutable()))
    m.set(op.getSourceMutable(),
          tensor::ExtractSliceOp::create(
              m.b, m.loc, op.getSourceType(), m.dy, op.getMixedOffsets(),
              op.getMixedSizes(), op.getMixedStrides()));
  if (m.wants(op.getDestMutable())) {
    Value zero = zeros(m.b, m.loc, op.getSourceType());
    m.set(op.getDestMutable(),
          tensor::InsertSliceOp::create(m.b, m.loc, zero, m.dy,
                                        op.getMixedOffsets(),
                                        op.getMixedSizes(),
                                        op.getMixedStrides()));
  }
  return success();
}

static SmallVector<OpFoldResult> staticSizes(OpBuilder &b,
                                             RankedTensorType type) {
  SmallVector<OpFoldResult> sizes;
  for (int64_t d : type.getShape())
    sizes.push_back(b.getIndexAttr(d));
  return sizes;
}

static LogicalResult differentiate(tensor::PadOp op, const Move &m) {
  if (!op.getSourceType().hasStaticShape())
    return op.emitOpError("cannot be differentiated: expected a static source");
  SmallVector<OpFoldResult> strides(op.getSourceType().getRank(),
                                    m.b.getIndexAttr(1));
  m.set(op.getSourceMutable(),
        tensor::ExtractSliceOp::create(
            m.b, m.loc, op.getSourceType(), m.dy, op.getMixedLowPad(),
            staticSizes(m.b, op.getSourceType()), strides));
  return success();
}

static LogicalResult differentiate(tensor::ConcatOp op, const Move &m) {
  int64_t axis = op.getDim(), begin = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    RankedTensorType type = m.typeOf(operand);
    if (!type.hasStaticShape())
      return op.emitOpError("cannot be differentiated: expected static inputs");
    SmallVector<OpFoldResult> offsets(type.getRank(), m.b.getIndexAttr(0)),
        strides(type.getRank(), m.b.getIndexAttr(1));
    offsets[axis] = m.b.getIndexAttr(begin);
    begin += type.getDimSize(axis);
    if (m.wants(operand))
      m.set(operand, tensor::ExtractSliceOp::create(
                         m.b, m.loc, type, m.dy, offsets,
                         staticSizes(m.b, type), strides));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Single elements
//===----------------------------------------------------------------------===//

static LogicalResult differentiate(tensor::ExtractOp op, const Move &m) {
  Value zero = zeros(m.b, m.loc, op.getTensor().getType());
  m.set(op.getTensorMutable(), tensor::InsertOp::create(m.b, m.loc, m.dy, zero,
                                                        op.getIndices()));
  return success();
}

static LogicalResult differentiate(tensor::InsertOp op, const Move &m) {
  if (m.wants(op.getScalarMutable()))
    m.set(op.getScalarMutable(),
          tensor::ExtractOp::create(m.b, m.loc, m.dy, op.getIndices()));
  if (m.wants(op.getDestMutable())) {
    Value zero = zeros(m.b, m.loc, op.getScalar().getType());
    m.set(op.getDestMutable(), tensor::InsertOp::create(m.b, m.loc, zero, m.dy,
                                                        op.getIndices()));
  }
  return success();
}

static LogicalResult differentiate(tensor::SplatOp op, const Move &m) {
  Value sum = sumAll(m.b, m.loc, m.dy);
  m.set(op.getInputMutable(),
        tensor::ExtractOp::create(m.b, m.loc, sum, ValueRange()));
  return success();
}

static LogicalResult differentiate(tensor::FromElementsOp op, const Move &m) {
  auto type = cast<RankedTensorType>(op.getType());
  for (OpOperand &operand : op->getOpOperands()) {
    if (!m.wants(operand))
      continue;
    int64_t position = operand.getOperandNumber();
    SmallVector<Value> indices(type.getRank());
    for (int64_t d = type.getRank(); d-- > 0;) {
      indices[d] = arith::ConstantIndexOp::create(
          m.b, m.loc, position % type.getDimSize(d));
      position /= type.getDimSize(d);
    }
    m.set(operand, tensor::ExtractOp::create(m.b, m.loc, m.dy, indices));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Rows by index, names
//===----------------------------------------------------------------------===//

/// Rows add up in f32, in index order.
static LogicalResult differentiate(GatherOp op, const Move &m) {
  auto type = op.getTable().getType();
  Type wide = accumulatorOf(type.getElementType());
  Value base = zeros(m.b, m.loc, withElement(type, wide));
  Value rows = castElements(m.b, m.loc, m.dy, wide);
  Value table = ScatterAddOp::create(m.b, m.loc, base.getType(), base,
                                     op.getIndices(), rows, op.getMode());
  m.set(op.getTableMutable(),
        castElements(m.b, m.loc, table, type.getElementType()));
  return success();
}

static LogicalResult differentiate(ScatterAddOp op, const Move &m) {
  if (m.wants(op.getBaseMutable()))
    m.set(op.getBaseMutable(), m.dy);
  if (m.wants(op.getUpdatesMutable()))
    m.set(op.getUpdatesMutable(),
          GatherOp::create(m.b, m.loc, op.getUpdates().getType(), m.dy,
                           op.getIndices(), op.getMode()));
  return success();
}

static LogicalResult differentiate(NameOp op, const Move &m) {
  m.set(op.getInputMutable(), m.dy);
  return success();
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

namespace {
template <typename Op>
struct MoveRule : DifferentiableOpInterface::ExternalModel<MoveRule<Op>, Op> {
  LogicalResult differentiate(Operation *op, OpBuilder &b,
                              ArrayRef<Value> cotangents,
                              const llvm::BitVector &needed,
                              SmallVectorImpl<Value> &gradients) const {
    return ::differentiate(
        cast<Op>(op), Move{b, op->getLoc(), cotangents[0], needed, gradients});
  }
};
} // namespace

template <typename... Ops>
static void attach(MLIRContext *context) {
  (Ops::template attachInterface<MoveRule<Ops>>(*context), ...);
}

void heddle::registerTensorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    attach<tensor::CastOp, tensor::CollapseShapeOp, tensor::ConcatOp,
           tensor::ExpandShapeOp, tensor::ExtractOp, tensor::ExtractSliceOp,
           tensor::FromElementsOp, tensor::InsertOp, tensor::InsertSliceOp,
           tensor::PadOp, tensor::ReshapeOp, tensor::SplatOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) {
    attach<GatherOp, NameOp, ScatterAddOp>(context);
  });
}
