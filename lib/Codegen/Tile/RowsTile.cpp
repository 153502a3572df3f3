//===- RowsTile.cpp - tile programs of matmul, mlp, rows, elementwise -----===//
//
// One builder for every kernel whose output can be made row by row. It works
// backwards from the result: a tile of the result is asked for, and each op on
// the way asks for the tiles of its operands that it needs. Elementwise ops and
// row reductions become tile ops; a contraction becomes a loop over its
// reduction axis that asks for operand tiles inside. A contraction whose left
// operand comes from another contraction is the two-layer perceptron: the
// hidden tile lives only inside the loop.
//
//===----------------------------------------------------------------------===//

#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Codegen/Tile/RowsAnalysis.h"
#include "heddle/Codegen/Tile/TileBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

namespace {
/// A range of one axis of a graph value, and the tile axis that it becomes:
/// 0 rows, 1 columns, -1 none.
struct Dim {
  AxisRange range;
  int axis = -1;

  static Dim point(Value index, int64_t extent) {
    return {AxisRange::point(index, extent), -1};
  }
  static Dim tile(Value offset, int64_t size, int64_t extent, int axis) {
    return {AxisRange::tile(offset, size, extent), axis};
  }
  bool sameAs(const Dim &o) const {
    return axis == o.axis && range.offset == o.range.offset &&
           range.size == o.range.size;
  }
};
using Dims = SmallVector<Dim, 4>;

class RowsBuilder {
public:
  RowsBuilder(func::FuncOp kernel, const TileTarget &target, OpBuilder &b)
      : kernel(kernel), target(target), t(b, kernel.getLoc()), b(b),
        loc(kernel.getLoc()) {}
  void build(ArrayRef<Value> roots, const RowsShape &shape);

private:
  Value get(Value v, const Dims &dims);
  Value contraction(linalg::GenericOp op, const Dims &dims);
  Value generic(linalg::GenericOp op, const Dims &dims);
  Value leaf(Value buffer, const Dims &dims);
  void prefetch(Value v, const Dims &dims, ArrayRef<bool> unknown);
  std::optional<double> constantFill(Value v);
  SmallVector<int64_t> tileShape(const Dims &dims);

  func::FuncOp kernel;
  TileTarget target;
  TileBuilder t;
  OpBuilder &b;
  Location loc;
  RowsShape shape;
  /// Tiles already emitted; entries made inside a loop leave with it.
  SmallVector<std::tuple<Value, Dims, Value>> made;
};
} // namespace

SmallVector<int64_t> RowsBuilder::tileShape(const Dims &dims) {
  SmallVector<int64_t> s;
  for (int axis : {0, 1})
    for (const Dim &d : dims)
      if (d.axis == axis)
        s.push_back(d.range.size);
  return s;
}

/// Iteration dims (rows 0, columns 1) of a tile over `dims`, in a nest whose
/// tile axes are `nest`.
static SmallVector<int64_t> loopDims(const Dims &dims, const Dims &nest) {
  bool hasRows = llvm::any_of(nest, [](const Dim &d) { return d.axis == 0; });
  SmallVector<int64_t> r;
  for (int axis : {0, 1})
    for (const Dim &d : dims)
      if (d.axis == axis)
        r.push_back(hasRows ? axis : 0);
  return r;
}

std::optional<double> RowsBuilder::constantFill(Value v) {
  Attribute attr;
  if (auto fill = v.getDefiningOp<linalg::FillOp>())
    v = fill.getInputs()[0];
  if (!matchPattern(v, m_Constant(&attr)))
    return std::nullopt;
  if (auto splat = dyn_cast<SplatElementsAttr>(attr))
    attr = splat.getSplatValue<Attribute>();
  if (auto f = dyn_cast<FloatAttr>(attr))
    return f.getValueAsDouble();
  if (auto i = dyn_cast<IntegerAttr>(attr))
    return static_cast<double>(i.getValue().getSExtValue());
  return std::nullopt;
}

Value RowsBuilder::leaf(Value buffer, const Dims &dims) {
  SmallVector<AxisRange> ranges;
  SmallVector<int> order;
  for (const Dim &d : dims) {
    ranges.push_back(d.range);
    if (d.axis >= 0)
      order.push_back(d.axis);
  }
  Value tile = t.load(buffer, ranges);
  if (order.size() == 2 && order[0] > order[1])
    tile = t.transpose(tile);
  return tile;
}

Value RowsBuilder::get(Value v, const Dims &dims) {
  for (auto &[value, d, tile] : made)
    if (value == v && llvm::equal(d, dims, [](const Dim &x, const Dim &y) {
          return x.sameAs(y);
        }))
      return tile;
  Value tile;
  if (Value buffer = bufferOf(v))
    tile = leaf(buffer, dims);
  else if (std::optional<double> fill = constantFill(v))
    tile = t.fill(tileShape(dims),
                  cast<RankedTensorType>(v.getType()).getElementType(), *fill);
  else {
    auto op = v.getDefiningOp<linalg::GenericOp>();
    tile = isRowsContraction(op) ? contraction(op, dims) : generic(op, dims);
  }
  made.push_back({v, dims, tile});
  return tile;
}

/// The dims of an operand, from those of the iteration space.
static Dims project(AffineMap map, const SmallVector<Dim> &loops) {
  Dims dims;
  for (AffineExpr e : map.getResults())
    dims.push_back(loops[cast<AffineDimExpr>(e).getPosition()]);
  return dims;
}

/// Clones a scalar region; arith only, no index access.
static Value cloneBody(OpBuilder &nb, Region &region, ValueRange args) {
  IRMapping mapping;
  Block &block = region.front();
  for (auto [arg, value] : llvm::zip(block.getArguments(), args))
    if (value)
      mapping.map(arg, value);
  for (Operation &op : block.without_terminator())
    nb.clone(op, mapping);
  return mapping.lookupOrDefault(block.getTerminator()->getOperand(0));
}

Value RowsBuilder::generic(linalg::GenericOp op, const Dims &dims) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  SmallVector<Dim> loops(extents.size());
  AffineMap outMap = op.getIndexingMapsArray().back();
  for (auto [i, e] : llvm::enumerate(outMap.getResults()))
    loops[cast<AffineDimExpr>(e).getPosition()] = dims[i];
  bool reduction = op.getNumReductionLoops() > 0;
  if (reduction) {
    SmallVector<unsigned> reduced;
    op.getReductionDims(reduced);
    loops[reduced[0]] =
        Dim::tile({}, extents[reduced[0]], extents[reduced[0]], 1);
  }
  Dims nest(loops.begin(), loops.end());
  Type element =
      cast<RankedTensorType>(op.getResult(0).getType()).getElementType();
  SmallVector<Value> inputs;
  SmallVector<SmallVector<int64_t>> inputDims;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    Dims d = project(op.getMatchingIndexingMap(operand), loops);
    inputs.push_back(get(operand->get(), d));
    inputDims.push_back(loopDims(d, nest));
  }
  if (!reduction) {
    OpOperand &init = op.getDpsInitsMutable()[0];
    bool usesInit = op.payloadUsesValueFromOperand(&init);
    if (usesInit) {
      inputs.push_back(get(init.get(), dims));
      inputDims.push_back(loopDims(dims, nest));
    }
    return t.elementwise(inputs, inputDims, tileShape(nest), element,
                         [&](OpBuilder &nb, ValueRange args) {
                           SmallVector<Value> all(args.begin(), args.end());
                           if (!usesInit)
                             all.push_back(Value());
                           return cloneBody(nb, op.getRegion(), all);
                         });
  }
  // A row reduction, with as many inputs as the graph op has.
  Value init = get(op.getDpsInits()[0], dims);
  SmallVector<AffineMap> maps;
  auto map = [&](ArrayRef<int64_t> d) {
    SmallVector<AffineExpr> exprs;
    for (int64_t i : d)
      exprs.push_back(b.getAffineDimExpr(i));
    return AffineMap::get(2, 0, exprs, b.getContext());
  };
  for (auto &d : inputDims)
    maps.push_back(map(d));
  maps.push_back(map({0}));
  utils::IteratorType iterators[] = {utils::IteratorType::parallel,
                                     utils::IteratorType::reduction};
  return linalg::GenericOp::create(
             b, loc, init.getType(), inputs, init, maps, iterators,
             [&](OpBuilder &nb, Location l, ValueRange args) {
               linalg::YieldOp::create(nb, l,
                                       cloneBody(nb, op.getRegion(), args));
             })
      .getResult(0);
}

/// Emits ahead of a loop everything below `v` that does not depend on the loop:
/// `unknown[i]` says that axis i of v gets a range that only the loop knows.
void RowsBuilder::prefetch(Value v, const Dims &dims, ArrayRef<bool> unknown) {
  if (llvm::none_of(unknown, [](bool u) { return u; })) {
    if (!constantFill(v))
      get(v, dims);
    return;
  }
  auto op = v.getDefiningOp<linalg::GenericOp>();
  if (!op || bufferOf(v))
    return;
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  SmallVector<Dim> loops(extents.size());
  SmallVector<bool> loopUnknown(extents.size(), false);
  AffineMap outMap = op.getIndexingMapsArray().back();
  for (auto [i, e] : llvm::enumerate(outMap.getResults())) {
    loops[cast<AffineDimExpr>(e).getPosition()] = dims[i];
    loopUnknown[cast<AffineDimExpr>(e).getPosition()] = unknown[i];
  }
  bool isContraction = isRowsContraction(op);
  for (auto [i, extent] : llvm::enumerate(extents))
    if (loops[i].range.extent == 1 && extent != 1)
      loops[i] = Dim::tile({}, extent, extent, 1);
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    SmallVector<bool> u;
    for (AffineExpr e : map.getResults())
      u.push_back(loopUnknown[cast<AffineDimExpr>(e).getPosition()]);
    // The right operand of an inner contraction is loaded where it is used.
    if (isContraction && operand->getOperandNumber() == 1)
      continue;
    prefetch(operand->get(), project(map, loops), u);
  }
}

Value RowsBuilder::contraction(linalg::GenericOp op, const Dims &dims) {
  RowsContraction c = *matchRowsContraction(op);
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  SmallVector<Dim> loops(extents.size());
  AffineMap outMap = op.getIndexingMapsArray().back();
  for (auto [i, e] : llvm::enumerate(outMap.getResults()))
    loops[cast<AffineDimExpr>(e).getPosition()] = dims[i];
  int64_t depth = extents[c.k];
  Value left = op.getDpsInputs()[0], right = op.getDpsInputs()[1];
  AffineMap leftMap = op.getIndexingMapsArray()[0];
  AffineMap rightMap = op.getIndexingMapsArray()[1];
  Type resultType =
      cast<RankedTensorType>(op.getResult(0).getType()).getElementType();
  Type accType = b.getF32Type();
  auto convert = [&](Value v, Type to) -> Value {
    auto type = cast<RankedTensorType>(v.getType());
    if (type.getElementType() == to)
      return v;
    return t.elementwise(
        {v}, {{0, 1}}, type.getShape(), to,
        [&](OpBuilder &nb, ValueRange args) -> Value {
          if (to == accType)
            return arith::ExtFOp::create(nb, loc, to, args[0]);
          return arith::TruncFOp::create(nb, loc, to, args[0]);
        });
  };

  auto elementOf = [](Value v) {
    return cast<RankedTensorType>(v.getType()).getElementType();
  };
  int64_t block = depth;
  if (hasContraction(left))
    block = std::min<int64_t>(depth, shape.hiddenTile);
  else if (target.matrixUnits)
    block = shape.depthTile;
  else if (depth > 512) // row statistics of the left operand are made ahead
    block = shape.depthTile;

  // With `ragged` the tile reaches over the end of the depth.
  auto step = [&](Value offset, int64_t size, Value acc,
                  bool ragged = false) -> Value {
    SmallVector<Dim> inner(loops);
    inner[c.k] = Dim::tile(offset, size, depth, 1);
    inner[c.k].range.aligned = !ragged;
    Value a = get(left, project(leftMap, inner));
    // The right operand's axes in memory order become its tile axes.
    SmallVector<Dim> rightLoops(inner);
    int axis = 0;
    for (AffineExpr e : rightMap.getResults()) {
      unsigned d = cast<AffineDimExpr>(e).getPosition();
      if (d == c.k || d == c.n)
        rightLoops[d].axis = axis++;
    }
    bool transposed = false;
    for (AffineExpr e : rightMap.getResults()) {
      unsigned d = cast<AffineDimExpr>(e).getPosition();
      if (d == c.k || d == c.n) {
        transposed = d == c.n;
        break;
      }
    }
    Value r = get(right, project(rightMap, rightLoops));
    // A prologue may have turned the zeros of the padding into anything.
    auto zeroBeyondDepth = [&](Value v, int64_t axis) {
      auto type = cast<RankedTensorType>(v.getType());
      return t.elementwise(
          {v}, {{0, 1}}, type.getShape(), type.getElementType(),
          [&](OpBuilder &nb, ValueRange args) -> Value {
            Value k = linalg::IndexOp::create(nb, loc, axis);
            Value left = t.index(depth);
            if (offset)
              left = arith::SubIOp::create(nb, loc, left, offset);
            Value inside = arith::CmpIOp::create(
                nb, loc, arith::CmpIPredicate::slt, k, left);
            Value zero = arith::ConstantOp::create(
                nb, loc, nb.getZeroAttr(type.getElementType()));
            return arith::SelectOp::create(nb, loc, inside, args[0], zero);
          });
    };
    if (ragged && !bufferOf(left))
      a = zeroBeyondDepth(a, 1);
    if (ragged && !bufferOf(right))
      r = zeroBeyondDepth(r, transposed ? 1 : 0);
    Type operandType = elementOf(a);
    // The matrix unit takes 16 bits as they are, and both of one type.
    if (!target.matrixUnits || operandType != elementOf(r) ||
        operandType.getIntOrFloatBitWidth() != 16)
      operandType = accType;
    return t.contract(convert(a, operandType), convert(r, operandType), acc,
                      transposed);
  };

  Value init = op.getDpsInits()[0];
  std::optional<double> fill = constantFill(init);
  Value acc = fill ? t.fill(tileShape(dims), accType, *fill)
                   : convert(get(init, dims), accType);
  // Matrix units multiply 16 steps of the depth at a time.
  auto whole = [&](int64_t size) -> int64_t {
    return target.matrixUnits ? llvm::alignTo(size, 16) : size;
  };
  if (block >= depth)
    return convert(step({}, whole(depth), acc, whole(depth) != depth),
                   resultType);
  {
    Dims leftDims = project(leftMap, loops);
    SmallVector<bool> unknown;
    for (auto [i, e] : llvm::enumerate(leftMap.getResults())) {
      unsigned d = cast<AffineDimExpr>(e).getPosition();
      unknown.push_back(d == c.k);
      if (d == c.k)
        leftDims[i] = Dim::tile({}, depth, depth, 1);
    }
    prefetch(left, leftDims, unknown);
  }
  int64_t trips = depth / block, rest = depth % block;
  auto loop = scf::ForOp::create(b, loc, t.index(0), t.index(trips), t.index(1),
                                 acc);
  size_t scope = made.size();
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getBody());
    Value offset = t.mulAdd(loop.getInductionVar(), block);
    Value next = step(offset, block, loop.getRegionIterArg(0));
    scf::YieldOp::create(b, loc, next);
  }
  made.truncate(scope);
  // What is left of the depth is a block of its own size.
  Value sum = loop.getResult(0);
  if (rest)
    sum = step(t.index(trips * block), whole(rest), sum, whole(rest) != rest);
  return convert(sum, resultType);
}

void RowsBuilder::build(ArrayRef<Value> roots, const RowsShape &rowsShape) {
  shape = rowsShape;
  auto type = cast<RankedTensorType>(roots.front().getType());
  // Grid: every axis but rows and columns by single positions, then rows, then
  // columns where those are not looped over inside.
  SmallVector<OpFoldResult> grid;
  SmallVector<int64_t> gridAxis;
  int64_t numColTiles =
      shape.col >= 0 ? llvm::divideCeil(type.getDimSize(shape.col), shape.colTile)
                     : 1;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (d == shape.row || d == shape.col)
      continue;
    grid.push_back(b.getIndexAttr(type.getDimSize(d)));
    gridAxis.push_back(d);
  }
  if (shape.row >= 0) {
    grid.push_back(b.getIndexAttr(
        llvm::divideCeil(type.getDimSize(shape.row), shape.rowTile)));
    gridAxis.push_back(shape.row);
  }
  bool colsInGrid = shape.col >= 0 && !shape.colsInside;
  if (colsInGrid) {
    grid.push_back(b.getIndexAttr(numColTiles));
    gridAxis.push_back(shape.col);
  }
  if (grid.empty())
    grid.push_back(b.getIndexAttr(1));
  auto forall = scf::ForallOp::create(b, loc, grid, ValueRange{}, std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(forall.getTerminator());

  Dims dims(type.getRank());
  for (auto [i, d] : llvm::enumerate(gridAxis)) {
    Value iv = forall.getInductionVar(i);
    int64_t extent = type.getDimSize(d);
    if (d == shape.row)
      dims[d] = Dim::tile(t.mulAdd(iv, shape.rowTile), shape.rowTile, extent, 0);
    else if (d == shape.col)
      dims[d] = Dim::tile(t.mulAdd(iv, shape.colTile), shape.colTile, extent, 1);
    else
      dims[d] = Dim::point(iv, extent);
  }
  auto emit = [&](const Dims &at) {
    // All tiles are made before the first store: a result may lie over an input
    // that another one reads.
    SmallVector<Value> tiles;
    for (Value root : roots)
      tiles.push_back(get(root, at));
    SmallVector<Value> offsets;
    SmallVector<int64_t> storeDims;
    for (const Dim &d : at)
      offsets.push_back(d.range.offset ? d.range.offset : t.index(0));
    for (int axis : {0, 1})
      for (auto [i, d] : llvm::enumerate(at))
        if (d.axis == axis)
          storeDims.push_back(i);
    for (auto [root, tile] : llvm::zip(roots, tiles))
      TileStoreOp::create(b, loc, tile, destinationOf(root), offsets, storeDims,
                          /*accumulate=*/false);
  };
  if (shape.col < 0 || colsInGrid) {
    emit(dims);
  } else if (numColTiles == 1) {
    int64_t extent = type.getDimSize(shape.col);
    dims[shape.col] = Dim::tile({}, extent, extent, 1);
    emit(dims);
  } else {
    int64_t extent = type.getDimSize(shape.col);
    SmallVector<bool> unknown(type.getRank(), false);
    unknown[shape.col] = true;
    dims[shape.col] = Dim::tile({}, extent, extent, 1);
    for (Value root : roots)
      prefetch(root, dims, unknown);
    auto loop =
        scf::ForOp::create(b, loc, t.index(0), t.index(numColTiles), t.index(1));
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPoint(loop.getBody()->getTerminator());
    dims[shape.col] =
        Dim::tile(t.mulAdd(loop.getInductionVar(), shape.colTile),
                  shape.colTile, extent, 1);
    emit(dims);
  }
  if (shape.warps)
    kernel->setAttr(kKernelWarps, b.getI64IntegerAttr(shape.warps));
  if (shape.stages)
    kernel->setAttr(kKernelStages, b.getI64IntegerAttr(shape.stages));
  std::string name;
  llvm::raw_string_ostream os(name);
  if (shape.row >= 0)
    os << "r" << shape.rowTile;
  if (shape.col >= 0)
    os << "_c" << shape.colTile;
  kernel->setAttr(kKernelTile, b.getStringAttr(name));
}

LogicalResult heddle::buildRowsTile(func::FuncOp kernel,
                                    const TileTarget &target) {
  SmallVector<Value> roots;
  for (auto write :
       kernel.getOps<bufferization::MaterializeInDestinationOp>())
    roots.push_back(write.getSource());
  std::optional<RowsShape> shape = chooseRowsShape(roots.front(), target);
  if (!shape)
    return kernel.emitError()
           << "expected a kernel whose result can be made row by row";
  OpBuilder b(
      *kernel.getOps<bufferization::MaterializeInDestinationOp>().begin());
  RowsBuilder(kernel, target, b).build(roots, *shape);
  return success();
}
