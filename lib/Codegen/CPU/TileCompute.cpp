//===- TileCompute.cpp - generics of a tile program as vector loops -------===//

#include "Avx512Math.h"
#include "TileToCpuImpl.h"
#include "heddle/Codegen/Math/VectorMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::cpu;

//===----------------------------------------------------------------------===//
// Access to tiles in scratch
//===----------------------------------------------------------------------===//

Value TileToCpu::loadPanel(const Buffer &buffer, Value panel, Value col) {
  int64_t lanes = target.panelLanes;
  if (buffer.isSplat())
    return splatVector(buffer, lanes);
  auto type = VectorType::get({lanes}, buffer.storage);
  if (buffer.shape.size() < 2)
    return vector::LoadOp::create(b, loc, type, buffer.memory,
                                  ValueRange{mul(panel, lanes)});
  return vector::LoadOp::create(b, loc, type, buffer.memory,
                                ValueRange{panel, col, idx(0)});
}

void TileToCpu::storePanel(Value v, const Buffer &buffer, Value panel,
                           Value col) {
  if (buffer.shape.size() < 2)
    vector::StoreOp::create(b, loc, v, buffer.memory,
                            ValueRange{mul(panel, target.panelLanes)});
  else
    vector::StoreOp::create(b, loc, v, buffer.memory,
                            ValueRange{panel, col, idx(0)});
}

Value TileToCpu::loadVector(const Buffer &buffer, Value offset) {
  if (buffer.isSplat())
    return splatVector(buffer, target.panelLanes);
  return vector::LoadOp::create(
      b, loc, VectorType::get({target.panelLanes}, buffer.storage),
      buffer.memory, offset);
}

/// One element of a tile, by tile coordinates.
Value TileToCpu::loadScalar(const Buffer &buffer, ValueRange position) {
  if (buffer.isSplat())
    return vector::ExtractOp::create(b, loc, splatVector(buffer, 1),
                                     ArrayRef<int64_t>{0});
  if (buffer.shape.empty())
    return memref::LoadOp::create(b, loc, buffer.memory, idx(0));
  if (buffer.shape.size() == 1 || buffer.layout == Layout::Plain)
    return memref::LoadOp::create(b, loc, buffer.memory, position);
  Value lanes = idx(target.panelLanes);
  Value panel = arith::DivUIOp::create(b, loc, position[0], lanes);
  Value lane = arith::RemUIOp::create(b, loc, position[0], lanes);
  return memref::LoadOp::create(b, loc, buffer.memory,
                                ValueRange{panel, position[1], lane});
}

Value TileToCpu::broadcastScalar(Value value, int64_t lanes) {
  return vector::BroadcastOp::create(
      b, loc, VectorType::get({lanes}, value.getType()), value);
}

//===----------------------------------------------------------------------===//
// Bodies on vectors
//===----------------------------------------------------------------------===//

/// The type that values of `element` have while they are computed with.
static Type computeType(OpBuilder &b, Type element) {
  return element.isBF16() || element.isF16() ? b.getF32Type() : element;
}

/// Clones the body of a generic onto vectors of `lanes` elements. Values of
/// bf16 and f16 live as f32 and are rounded where the body truncates, not after
/// each operation: a sum would lose all its digits.
SmallVector<Value>
TileToCpu::emitBody(Block &body, ValueRange args, int64_t lanes,
                    function_ref<Value(unsigned)> indexOf) {
  DenseMap<Value, Value> local;
  for (auto [arg, value] : llvm::zip(body.getArguments(), args)) {
    if (!value)
      continue;
    Value v = value;
    if (arg.getType().isInteger(1) &&
        !getElementTypeOrSelf(v.getType()).isInteger(1)) {
      // Stored as bytes.
      Value zero = arith::ConstantOp::create(b, loc, v.getType(),
                                             b.getZeroAttr(v.getType()));
      v = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, v, zero);
    }
    local[arg] = v;
  }
  auto get = [&](Value v) -> Value {
    if (Value mapped = local.lookup(v))
      return mapped;
    Type compute = computeType(b, v.getType());
    TypedAttr constant;
    if (matchPattern(v, m_Constant(&constant))) {
      Buffer splat;
      splat.splat = constant;
      splat.storage = compute;
      if (v.getType().isIndex() || v.getType().isInteger(1))
        splat.storage = v.getType();
      return local[v] = splatVector(splat, lanes);
    }
    Value s = scalar(v);
    if (s.getType() != compute)
      s = widen(s, compute);
    return local[v] = broadcastScalar(s, lanes);
  };
  auto round = [&](Value v, Type element) -> Value {
    auto narrowType = cast<VectorType>(v.getType()).clone(element);
    Value n = arith::TruncFOp::create(b, loc, narrowType, v);
    return arith::ExtFOp::create(b, loc, v.getType(), n);
  };
  auto storedAsF32 = [](Type t) { return t.isBF16() || t.isF16(); };

  for (Operation &op : body.without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      local[index.getResult()] = indexOf(index.getDim());
      continue;
    }
    if (isa<arith::ExtFOp>(op) && storedAsF32(op.getOperand(0).getType()) &&
        op.getResult(0).getType().isF32()) {
      local[op.getResult(0)] = get(op.getOperand(0));
      continue;
    }
    if (isa<arith::TruncFOp>(op) && storedAsF32(op.getResult(0).getType()) &&
        op.getOperand(0).getType().isF32()) {
      local[op.getResult(0)] =
          round(get(op.getOperand(0)), op.getResult(0).getType());
      continue;
    }
    if (auto cast = dyn_cast<arith::BitcastOp>(op)) {
      // The bits are those of the narrow type.
      Type from = cast.getIn().getType(), to = cast.getType();
      auto of = [&](Type t) { return VectorType::get({lanes}, t); };
      Value v = get(cast.getIn());
      if (storedAsF32(from))
        v = arith::TruncFOp::create(b, loc, of(from), v);
      v = arith::BitcastOp::create(b, loc, of(to), v);
      if (storedAsF32(to))
        v = arith::ExtFOp::create(b, loc, of(b.getF32Type()), v);
      local[op.getResult(0)] = v;
      continue;
    }
    if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      SmallVector<Value> indices;
      for (Value v : extract.getIndices())
        indices.push_back(get(v));
      local[op.getResult(0)] = gather(extract, indices, lanes);
      continue;
    }
    SmallVector<Value> operands;
    for (Value v : op.getOperands())
      operands.push_back(get(v));
    Value result;
    Type type = op.getNumResults() == 1 ? op.getResult(0).getType() : Type();
    if (op.getNumOperands() == 1 && type &&
        computeType(b, type).isF32()) {
      if (isa<math::Exp2Op>(op))
        result = target.vectorLanes == 16 && lanes >= 16 &&
                         llvm::isPowerOf2_64(lanes)
                     ? emitExp2Avx512(b, loc, operands[0])
                     : emitExp2(b, loc, operands[0]);
      else if (isa<math::ExpOp>(op))
        result = emitExp(b, loc, operands[0]);
      else if (isa<math::TanhOp>(op))
        result = emitTanh(b, loc, operands[0]);
      else if (isa<math::ErfOp>(op))
        result = emitErf(b, loc, operands[0]);
      else if (isa<math::SinOp>(op))
        result = emitSin(b, loc, operands[0]);
      else if (isa<math::CosOp>(op))
        result = emitCos(b, loc, operands[0]);
    }
    // x + a * b is one instruction, also under the guard of a select.
    if (!result && isa<arith::AddFOp>(op)) {
      for (unsigned side : {1u, 0u}) {
        auto product = op.getOperand(side).getDefiningOp<arith::MulFOp>();
        if (!product || product->getBlock() != &body ||
            !product->hasOneUse())
          continue;
        result = math::FmaOp::create(b, loc, get(product.getLhs()),
                                     get(product.getRhs()), operands[1 - side]);
        break;
      }
    }
    if (!result) {
      OperationState state(loc, op.getName());
      state.addOperands(operands);
      state.addAttributes(op.getAttrs());
      state.addTypes(VectorType::get(
          {lanes}, computeType(b, op.getResult(0).getType())));
      result = b.create(state)->getResult(0);
    }
    local[op.getResult(0)] = result;
  }
  SmallVector<Value> results;
  for (Value v : body.getTerminator()->getOperands()) {
    Value r = get(v);
    if (v.getType().isInteger(1)) // stored as bytes
      r = arith::ExtUIOp::create(b, loc, VectorType::get({lanes}, b.getI8Type()),
                                 r);
    results.push_back(r);
  }
  return results;
}

/// An indexed load of one element per lane. Positions are clamped to the
/// buffer: lanes that hold padding compute them too.
Value TileToCpu::gather(tensor::ExtractOp op, ValueRange indices,
                        int64_t lanes) {
  auto whole = op.getTensor().getDefiningOp<bufferization::ToTensorOp>();
  Value memory = scalar(whole.getBuffer());
  auto type = cast<MemRefType>(memory.getType());
  auto of = [&](Type t) { return VectorType::get({lanes}, t); };
  Value at = broadcastScalar(idx(0), lanes);
  SmallVector<Value> origin;
  for (auto [extent, index] : llvm::zip(type.getShape(), indices)) {
    Value last = broadcastScalar(idx(extent - 1), lanes);
    Value first = broadcastScalar(idx(0), lanes);
    Value inside = arith::MinSIOp::create(
        b, loc, arith::MaxSIOp::create(b, loc, index, first), last);
    at = arith::MulIOp::create(b, loc, at,
                               broadcastScalar(idx(extent), lanes));
    at = add(at, inside);
    origin.push_back(idx(0));
  }
  Value mask = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(of(b.getI1Type()), true));
  auto loaded = of(type.getElementType());
  Value zero = arith::ConstantOp::create(b, loc, loaded, b.getZeroAttr(loaded));
  Value v = vector::GatherOp::create(b, loc, loaded, memory, origin, at, mask,
                                     zero);
  Type element = op.getType();
  if (element.isInteger(1)) // stored as bytes
    return arith::TruncIOp::create(b, loc, of(element), v);
  return widen(v, computeType(b, element));
}

/// base + 0, 1, 2, ... as an index vector.
static Value iota(OpBuilder &b, Location loc, Value base, int64_t lanes) {
  auto type = VectorType::get({lanes}, b.getIndexType());
  SmallVector<Attribute> steps;
  for (int64_t i = 0; i < lanes; ++i)
    steps.push_back(b.getIndexAttr(i));
  Value offsets = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, steps));
  Value start = vector::BroadcastOp::create(b, loc, type, base);
  return arith::AddIOp::create(b, loc, start, offsets);
}

//===----------------------------------------------------------------------===//
// Elementwise and row reductions
//===----------------------------------------------------------------------===//

bool TileToCpu::isContraction(linalg::GenericOp op) {
  return op.getNumLoops() == 3 && op.getNumReductionLoops() == 1 &&
         op.getNumDpsInputs() == 2 && op.getNumDpsInits() == 1;
}

/// The buffer a generic writes: an operand's if that dies here, else new.
Buffer TileToCpu::outputBuffer(linalg::GenericOp op,
                               ArrayRef<linalg::GenericOp> group) {
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  Layout layout = layoutOf(op.getResult(0));
  Operation *last = group.back();
  AffineMap outMap = op.getIndexingMapsArray().back();
  for (OpOperand &operand : op->getOpOperands()) {
    Value v = operand.get();
    Buffer candidate = bufferFor(v);
    if (!candidate.memory || candidate.borrowed ||
        candidate.storage != storageType(type.getElementType()) ||
        llvm::ArrayRef<int64_t>(candidate.shape) != type.getShape() ||
        candidate.layout != layout || !isLastUse(v, last) ||
        op.getMatchingIndexingMap(&operand) != outMap)
      continue;
    // Another group member may already have taken it.
    bool taken = llvm::any_of(group, [&](linalg::GenericOp g) {
      return bufferFor(g.getResult(0)).memory == candidate.memory;
    });
    if (!taken)
      return candidate;
  }
  return allocate(type, layout);
}

/// A read of an argument at computed positions.
static bool isIndexedLoad(Operation *op) {
  auto extract = dyn_cast<tensor::ExtractOp>(op);
  return extract &&
         extract.getTensor().getDefiningOp<bufferization::ToTensorOp>();
}

static bool isSumOverRows(linalg::GenericOp op) {
  return op.getNumLoops() == 2 &&
         op.getIteratorTypesArray()[0] == utils::IteratorType::reduction;
}
static bool isReductionOverColumns(linalg::GenericOp op) {
  return op.getNumLoops() == 2 &&
         op.getIteratorTypesArray()[1] == utils::IteratorType::reduction;
}

/// Whether the body adds a term to the running value.
static bool isFloatSum(linalg::GenericOp op) {
  Block &body = op.getRegion().front();
  auto sum = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  Value acc = body.getArguments().back();
  return sum && sum.getType().isF32() && acc.hasOneUse() &&
         (sum.getLhs() == acc || sum.getRhs() == acc);
}

LogicalResult TileToCpu::emitGroup(ArrayRef<linalg::GenericOp> group) {
  for (linalg::GenericOp op : group) {
    if (op->getNumResults() != 1 || op.getNumLoops() > 2)
      return op->emitOpError(
          "expected one result and at most two loops in a tile program");
    if (isSumOverRows(op) && !isFloatSum(op))
      return op->emitOpError("expected a reduction over rows to be a sum");
    for (Operation &inner : op.getRegion().front().without_terminator())
      if (!isa<linalg::IndexOp>(inner) && !isIndexedLoad(&inner) &&
          !OpTrait::hasElementwiseMappableTraits(&inner) &&
          !inner.hasTrait<OpTrait::ConstantLike>())
        return inner.emitOpError("is not an elementwise op");
  }
  linalg::GenericOp first = group.front();
  if (first.getNumLoops() < 2) {
    emitVectorGroup(group);
    return success();
  }
  if (cast<RankedTensorType>(first.getResult(0).getType()).getRank() == 2 &&
      layoutOf(first.getResult(0)) == Layout::Plain) {
    emitPlainGroup(group);
    return success();
  }
  emitPanelGroup(group);
  return success();
}

namespace {
/// Vectors that a group has at hand at one position, by value and by which of
/// the loop dims the access uses.
using Cache = llvm::MapVector<std::pair<Value, unsigned>, Value>;

unsigned dimsKey(AffineMap map) {
  unsigned key = 0;
  for (AffineExpr e : map.getResults())
    if (auto d = dyn_cast<AffineDimExpr>(e))
      key |= 1u << d.getPosition();
  return key;
}

/// Whether some user outside the group (or none yet emitted) needs the value in
/// memory.
bool neededOutside(Value v, ArrayRef<linalg::GenericOp> group) {
  return llvm::any_of(v.getUsers(), [&](Operation *user) {
    return !llvm::any_of(
        group, [&](linalg::GenericOp g) { return g == user; });
  });
}
} // namespace

/// Adds one panel's rows to element `col` of a sum over rows: the body on a sum
/// that starts at zero gives each lane's term, and lanes are added in a tree.
void TileToCpu::addRows(linalg::GenericOp op, ArrayRef<Value> inputs,
                        Value panel, Value col) {
  int64_t lanes = target.panelLanes;
  Buffer out = bufferFor(op->getResult(0));
  auto type = VectorType::get({lanes}, out.storage);
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  SmallVector<Value> args(inputs);
  args.back() = zero;
  auto indexOf = [&](unsigned dim) -> Value {
    return dim == 0 ? iota(b, loc, mul(panel, lanes), lanes)
                    : broadcastScalar(col, lanes);
  };
  Value terms = emitBody(op.getRegion().front(), args, lanes, indexOf)[0];
  int64_t rows = op.getStaticLoopRanges()[0];
  if (rows % lanes != 0) {
    Value left = arith::SubIOp::create(b, loc, idx(rows), mul(panel, lanes));
    Value mask = vector::CreateMaskOp::create(
        b, loc, VectorType::get({lanes}, b.getI1Type()), left);
    terms = arith::SelectOp::create(b, loc, mask, terms, zero);
  }
  Value sum = vector::ReductionOp::create(b, loc, vector::CombiningKind::ADD,
                                          terms, arith::FastMathFlags::reassoc);
  Value old = memref::LoadOp::create(b, loc, out.memory, col);
  memref::StoreOp::create(b, loc, arith::AddFOp::create(b, loc, old, sum),
                          out.memory, col);
}

void TileToCpu::emitPanelGroup(ArrayRef<linalg::GenericOp> group) {
  int64_t lanes = target.panelLanes;
  SmallVector<int64_t> extents =
      const_cast<linalg::GenericOp &>(group.front()).getStaticLoopRanges();
  DenseSet<Value> inside;
  for (linalg::GenericOp op : group)
    inside.insert(op->getResult(0));

  SmallVector<Buffer> outputs;
  SmallVector<bool> stored;
  for (linalg::GenericOp op : group) {
    bool reduction = op.getNumReductionLoops() > 0;
    bool store = reduction || neededOutside(op->getResult(0), group);
    stored.push_back(store);
    Buffer out;
    if (store) {
      if (isSumOverRows(op)) { // grows panel by panel
        out = allocate(cast<RankedTensorType>(op.getResult(0).getType()),
                       Layout::Panels);
        copyBuffer(bufferFor(op.getDpsInits()[0]), out);
      } else {
        out = outputBuffer(op, group);
      }
      buffers[op->getResult(0)] = out;
    }
    outputs.push_back(out);
  }

  loop(0, llvm::divideCeil(extents[0], lanes), 1, [&](Value panel) {
    // Accumulators of the reductions, and what does not change with the column.
    SmallVector<Value> accumulators;
    Cache rowCache;
    for (linalg::GenericOp op : group) {
      linalg::GenericOp g = op;
      if (isReductionOverColumns(g))
        accumulators.push_back(
            loadPanel(bufferFor(g.getDpsInits()[0]), panel, {}));
      for (OpOperand *operand : g.getDpsInputOperands()) {
        unsigned key = dimsKey(g.getMatchingIndexingMap(operand));
        Value v = operand->get();
        if (key == 1 && !rowCache.contains({v, key}))
          rowCache[{v, key}] = loadPanel(bufferFor(v), panel, {});
        if (key == 0 && !rowCache.contains({v, key}))
          rowCache[{v, key}] =
              broadcastScalar(loadScalar(bufferFor(v), {}), lanes);
      }
    }
    auto forCols = scf::ForOp::create(b, loc, idx(0), idx(extents[1]), idx(1),
                                      accumulators);
    {
      OpBuilder::InsertionGuard guard(b);
      if (accumulators.empty())
        b.setInsertionPoint(forCols.getBody()->getTerminator());
      else
        b.setInsertionPointToEnd(forCols.getBody());
      Value col = forCols.getInductionVar();
      Cache cache(rowCache);
      // All reads come before the first write: buffers are reused in place.
      for (linalg::GenericOp op : group) {
        linalg::GenericOp g = op;
        for (OpOperand &operand : g->getOpOperands()) {
          Value v = operand.get();
          unsigned key = dimsKey(g.getMatchingIndexingMap(&operand));
          if (inside.contains(v) || cache.contains({v, key}) ||
              !g.payloadUsesValueFromOperand(&operand) || key < 2 ||
              (g.isDpsInit(&operand) && isSumOverRows(g)))
            continue;
          if (key == 2)
            cache[{v, key}] =
                broadcastScalar(loadScalar(bufferFor(v), {col}), lanes);
          else
            cache[{v, key}] = loadPanel(bufferFor(v), panel, col);
        }
      }
      SmallVector<Value> next;
      unsigned accumulator = 0;
      for (auto [i, op] : llvm::enumerate(group)) {
        linalg::GenericOp g = op;
        SmallVector<Value> args;
        bool reduction = isReductionOverColumns(g);
        for (OpOperand &operand : g->getOpOperands()) {
          unsigned key = dimsKey(g.getMatchingIndexingMap(&operand));
          if (reduction && g.isDpsInit(&operand))
            args.push_back(forCols.getRegionIterArg(accumulator++));
          else
            args.push_back(cache.lookup({operand.get(), key}));
        }
        if (isSumOverRows(g)) {
          addRows(g, args, panel, col);
          continue;
        }
        Value out = emitBody(g.getRegion().front(), args, lanes,
                             [&](unsigned dim) -> Value {
                               if (dim == 0)
                                 return iota(b, loc, mul(panel, lanes), lanes);
                               return broadcastScalar(col, lanes);
                             })[0];
        if (reduction) {
          next.push_back(out);
          continue;
        }
        cache[{g->getResult(0), 3}] = out;
        if (stored[i])
          storePanel(out, outputs[i], panel, col);
      }
      if (!accumulators.empty())
        scf::YieldOp::create(b, loc, next);
    }
    unsigned accumulator = 0;
    for (auto [i, op] : llvm::enumerate(group)) {
      linalg::GenericOp g = op;
      if (isReductionOverColumns(g))
        storePanel(forCols.getResult(accumulator++), outputs[i], panel, {});
    }
  });
}

/// Generics over one axis: rows or columns, vectors either way.
void TileToCpu::emitVectorGroup(ArrayRef<linalg::GenericOp> group) {
  int64_t lanes = target.panelLanes;
  linalg::GenericOp first = group.front();
  int64_t extent = first.getNumLoops() == 0 ? 1 : first.getStaticLoopRanges()[0];
  SmallVector<Buffer> outputs;
  for (linalg::GenericOp op : group) {
    outputs.push_back(outputBuffer(op, group));
    buffers[op->getResult(0)] = outputs.back();
  }
  loop(0, llvm::alignTo(extent, lanes), lanes, [&](Value at) {
    Cache cache;
    for (auto [i, op] : llvm::enumerate(group)) {
      linalg::GenericOp g = op;
      for (OpOperand &operand : g->getOpOperands()) {
        unsigned key = dimsKey(g.getMatchingIndexingMap(&operand));
        Value v = operand.get();
        if (cache.contains({v, key}) || !g.payloadUsesValueFromOperand(&operand))
          continue;
        bool fromGroup = llvm::any_of(group.take_front(i), [&](auto other) {
          return const_cast<linalg::GenericOp &>(other)->getResult(0) == v;
        });
        if (fromGroup)
          continue;
        cache[{v, key}] =
            key ? loadVector(bufferFor(v), at)
                : broadcastScalar(loadScalar(bufferFor(v), {}), lanes);
      }
    }
    for (auto [i, op] : llvm::enumerate(group)) {
      linalg::GenericOp g = op;
      SmallVector<Value> args;
      for (OpOperand &operand : g->getOpOperands())
        args.push_back(cache.lookup(
            {operand.get(), dimsKey(g.getMatchingIndexingMap(&operand))}));
      Value out =
          emitBody(g.getRegion().front(), args, lanes,
                   [&](unsigned) { return iota(b, loc, at, lanes); })[0];
      cache[{g->getResult(0), g.getNumLoops() ? 1u : 0u}] = out;
      vector::StoreOp::create(b, loc, out, outputs[i].memory, at);
    }
  });
}

/// Generics over a plain tile: vectors along the columns.
void TileToCpu::emitPlainGroup(ArrayRef<linalg::GenericOp> group) {
  int64_t lanes = target.panelLanes;
  SmallVector<int64_t> extents =
      const_cast<linalg::GenericOp &>(group.front()).getStaticLoopRanges();
  SmallVector<Buffer> outputs;
  DenseSet<Value> inside;
  for (linalg::GenericOp op : group) {
    outputs.push_back(outputBuffer(op, group));
    buffers[op->getResult(0)] = outputs.back();
    inside.insert(op->getResult(0));
  }
  auto vec = [&](Type t) { return VectorType::get({lanes}, t); };
  loop(0, extents[0], 1, [&](Value row) {
    loop(0, llvm::alignTo(extents[1], lanes), lanes, [&](Value col) {
      Cache cache;
      for (linalg::GenericOp op : group) {
        linalg::GenericOp g = op;
        for (OpOperand &operand : g->getOpOperands()) {
          Value v = operand.get();
          unsigned key = dimsKey(g.getMatchingIndexingMap(&operand));
          if (inside.contains(v) || cache.contains({v, key}) ||
              !g.payloadUsesValueFromOperand(&operand))
            continue;
          Buffer buffer = bufferFor(v);
          Value loaded;
          if (buffer.isSplat())
            loaded = splatVector(buffer, lanes);
          else if (key == 3)
            loaded = vector::LoadOp::create(b, loc, vec(buffer.storage),
                                            buffer.memory, ValueRange{row, col});
          else if (key == 2)
            loaded = loadVector(buffer, col);
          else
            loaded = broadcastScalar(
                loadScalar(buffer, key ? ValueRange{row} : ValueRange{}), lanes);
          cache[{v, key}] = loaded;
        }
      }
      for (auto [i, op] : llvm::enumerate(group)) {
        linalg::GenericOp g = op;
        SmallVector<Value> args;
        for (OpOperand &operand : g->getOpOperands())
          args.push_back(cache.lookup(
              {operand.get(), dimsKey(g.getMatchingIndexingMap(&operand))}));
        Value out = emitBody(g.getRegion().front(), args, lanes,
                             [&](unsigned dim) -> Value {
                               if (dim == 1)
                                 return iota(b, loc, col, lanes);
                               return broadcastScalar(row, lanes);
                             })[0];
        cache[{g->getResult(0), 3}] = out;
        vector::StoreOp::create(b, loc, out, outputs[i].memory,
                                ValueRange{row, col});
      }
    });
  });
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// acc[r, c] op= a[r, k] * b: for each panel of rows and each block of columns
/// the accumulators stay in registers over all of k. The left operand is one
/// vector load per k, the right operand one broadcast per column.
LogicalResult TileToCpu::emitContraction(linalg::GenericOp op) {
  int64_t lanes = target.panelLanes;
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  bool firstIsLeft = maps[0].isFunctionOfDim(0);
  Buffer left = bufferFor(op.getDpsInputs()[firstIsLeft ? 0 : 1]);
  Buffer right = bufferFor(op.getDpsInputs()[firstIsLeft ? 1 : 0]);
  AffineMap rightMap = maps[firstIsLeft ? 1 : 0];
  // Right operand as [k, c] or [c, k].
  bool colsFirst = cast<AffineDimExpr>(rightMap.getResult(0)).getPosition() == 1;
  Buffer init = bufferFor(op.getDpsInits()[0]);
  auto inMemory = [&](Buffer &buffer, Value tile, Layout layout) {
    if (!buffer.isSplat())
      return;
    Buffer filled =
        allocate(cast<RankedTensorType>(tile.getType()), layout);
    copyBuffer(buffer, filled);
    buffer = filled;
  };
  inMemory(left, op.getDpsInputs()[firstIsLeft ? 0 : 1], Layout::Panels);
  inMemory(right, op.getDpsInputs()[firstIsLeft ? 1 : 0], Layout::Plain);
  Buffer out = init.isSplat() || init.borrowed || !isLastUse(op.getDpsInits()[0], op)
                   ? allocate(cast<RankedTensorType>(op.getResult(0).getType()),
                              Layout::Panels)
                   : init;
  buffers[op.getResult(0)] = out;

  int64_t panels = llvm::divideCeil(extents[0], lanes);
  int64_t cols = extents[1], depth = extents[2];
  // Near-equal column blocks, none wider than the register tile.
  int64_t numBlocks = llvm::divideCeil(cols, target.maxCols);
  int64_t wide = llvm::divideCeil(cols, numBlocks);
  int64_t numWide = cols - numBlocks * (wide - 1);
  auto block = [&](Value panel, Value col, int64_t width) {
    SmallVector<Value> accumulators;
    for (int64_t c = 0; c < width; ++c)
      accumulators.push_back(loadPanel(init, panel, add(col, c)));
    auto forK = scf::ForOp::create(b, loc, idx(0), idx(depth), idx(1),
                                   accumulators);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(forK.getBody());
      Value k = forK.getInductionVar();
      Value a = loadPanel(left, panel, k);
      SmallVector<Value> next;
      for (int64_t c = 0; c < width; ++c) {
        Value at = add(col, c);
        Value s = loadScalar(right, colsFirst ? ValueRange{at, k}
                                              : ValueRange{k, at});
        Value r = broadcastScalar(s, lanes);
        SmallVector<Value> args{firstIsLeft ? a : r, firstIsLeft ? r : a,
                                forK.getRegionIterArg(c)};
        next.push_back(emitBody(op.getRegion().front(), args, lanes,
                                [&](unsigned) { return Value(); })[0]);
      }
      scf::YieldOp::create(b, loc, next);
    }
    for (int64_t c = 0; c < width; ++c)
      storePanel(forK.getResult(c), out, panel, add(col, c));
  };
  // Columns outside: the few columns of the right operand, which lie apart in
  // memory, stay in the first-level cache while the panels stream by.
  auto columns = [&](int64_t begin, int64_t end, int64_t width) {
    loop(begin, end, width, [&](Value col) {
      loop(0, panels, 1, [&](Value panel) { block(panel, col, width); });
    });
  };
  columns(0, numWide * wide, wide);
  columns(numWide * wide, cols, wide - 1);
  return success();
}
