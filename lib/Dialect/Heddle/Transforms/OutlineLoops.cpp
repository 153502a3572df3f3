//===- OutlineLoops.cpp - layer scans that stay loops ---------------------===//

#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/Heddle/Transforms/Loops.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"
#include "heddle/Dialect/Heddle/Transforms/PlanAttributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace heddle {
#define GEN_PASS_DEF_OUTLINELOOPSPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

/// The body of the scan as a function. The values that it carries are
/// donated: each iteration may write over them.
static func::FuncOp makeBody(LayerScanOp scan, StringRef name) {
  Block &from = scan.getBody().front();
  Operation *yield = from.getTerminator();
  OpBuilder b(scan.getContext());
  auto body = func::FuncOp::create(
      scan.getLoc(), name,
      b.getFunctionType(from.getArgumentTypes(), yield->getOperandTypes()));
  body.setPrivate();
  unsigned carried = scan.getCarried().size();
  body->setAttr(kLoopState, b.getI64IntegerAttr(carried));
  for (unsigned i = 0; i < carried; ++i)
    body.setArgAttr(i, kArgumentDonated, b.getUnitAttr());
  Block *entry = body.addEntryBlock();
  IRMapping mapping;
  mapping.map(from.getArguments(), entry->getArguments());
  b.setInsertionPointToEnd(entry);
  for (Operation &op : from.without_terminator())
    b.clone(op, mapping);
  SmallVector<Value> results;
  for (Value v : yield->getOperands())
    results.push_back(mapping.lookup(v));
  func::ReturnOp::create(b, yield->getLoc(), results);
  return body;
}

static func::FuncOp makeDeclaration(LayerScanOp scan, StringRef name,
                                    func::FuncOp body) {
  Builder b(scan.getContext());
  auto loop = func::FuncOp::create(
      scan.getLoc(), name,
      b.getFunctionType(scan->getOperandTypes(), scan->getResultTypes()));
  loop.setPrivate();
  unsigned carried = scan.getCarried().size();
  loop->setAttr(kLoopBody, FlatSymbolRefAttr::get(body));
  loop->setAttr(kLoopTrips, b.getI64IntegerAttr(scan.getNumLayers()));
  loop->setAttr(kLoopCarried, b.getI64IntegerAttr(carried));
  loop->setAttr(kLoopStacked, b.getI64IntegerAttr(scan.getStacked().size()));
  if (scan.getReverse())
    loop->setAttr(kLoopReverse, b.getUnitAttr());
  // What a carried value begins with is read once, before it is written over.
  SmallVector<Attribute> inPlace;
  for (unsigned i = 0; i < scan.getNumResults(); ++i)
    inPlace.push_back(b.getDenseI64ArrayAttr(
        i < carried ? SmallVector<int64_t>{i} : SmallVector<int64_t>{}));
  loop->setAttr(kKernelInPlace, b.getArrayAttr(inPlace));
  return loop;
}

/// The loop reads its operands from memory: one that is the same number
/// everywhere is written there by an elementwise kernel.
static Value inMemory(OpBuilder &b, Value v) {
  auto type = cast<RankedTensorType>(v.getType());
  Attribute element;
  if (auto fill = v.getDefiningOp<linalg::FillOp>()) {
    if (!matchPattern(fill.getInputs()[0], m_Constant(&element)))
      return v;
  } else {
    DenseElementsAttr dense;
    if (type.getNumElements() == 0 || !matchPattern(v, m_Constant(&dense)) ||
        !dense.isSplat())
      return v;
    element = dense.getSplatValue<Attribute>();
  }
  Value empty = tensor::EmptyOp::create(b, v.getLoc(), type.getShape(),
                                        type.getElementType());
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto write = linalg::GenericOp::create(
      b, v.getLoc(), type, ValueRange(), empty,
      b.getMultiDimIdentityMap(type.getRank()), loops,
      [&](OpBuilder &inner, Location loc, ValueRange) {
        Value number =
            arith::ConstantOp::create(inner, loc, cast<TypedAttr>(element));
        linalg::YieldOp::create(inner, loc, number);
      });
  return write.getResult(0);
}

namespace {
struct OutlineLoops : heddle::impl::OutlineLoopsPassBase<OutlineLoops> {
  using OutlineLoopsPassBase::OutlineLoopsPassBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    // Bodies are functions that may have loops of their own.
    for (size_t i = 0; i < functions.size(); ++i) {
      SmallVector<LayerScanOp> scans;
      if (!functions[i].isExternal())
        llvm::append_range(
            scans, functions[i].getBody().front().getOps<LayerScanOp>());
      for (LayerScanOp scan : scans)
        if (scan.getNumLayers() > unroll)
          functions.push_back(outline(scan, functions[i].getName(), symbols));
    }
  }

  func::FuncOp outline(LayerScanOp scan, StringRef function,
                       SymbolTable &symbols) {
    func::FuncOp body = makeBody(scan, (function + "_loop_body").str());
    symbols.insert(body);
    func::FuncOp loop = makeDeclaration(scan, (function + "_loop").str(), body);
    symbols.insert(loop);
    OpBuilder b(scan);
    SmallVector<Value> operands;
    for (Value v : scan->getOperands())
      operands.push_back(inMemory(b, v));
    auto launch = LaunchOp::create(b, scan.getLoc(), scan.getResultTypes(),
                                   SymbolRefAttr::get(loop), operands);
    scan.replaceAllUsesWith(launch.getResults());
    scan.erase();
    return body;
  }
};
} // namespace
