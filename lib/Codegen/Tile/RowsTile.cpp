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

#include "RowsBuilder.h"
#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

SmallVector<int64_t> RowsBuilder::tileShape(const TileDims &dims) {
  SmallVector<int64_t> s;
  for (int axis : {0, 1})
    for (const TileDim &d : dims)
      if (d.axis == axis)
        s.push_back(d.range.size);
  return s;
}

TileDim RowsBuilder::whole(int64_t length) const {
  int64_t size = shape.padColumns ? llvm::PowerOf2Ceil(length) : length;
  return TileDim::tile({}, size, length, 1);
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

Value RowsBuilder::leaf(Value buffer, const TileDims &dims) {
  SmallVector<AxisRange> ranges;
  SmallVector<int> order;
  for (const TileDim &d : dims) {
    ranges.push_back(d.range);
    if (d.axis >= 0)
      order.push_back(d.axis);
  }
  Value tile = t.load(buffer, ranges);
  if (order.size() == 2 && order[0] > order[1])
    tile = t.transpose(tile);
  return tile;
}

Value RowsBuilder::get(Value v, const TileDims &dims) {
  for (auto &[value, d, tile] : made)
    if (value == v &&
        llvm::equal(d, dims, [](const TileDim &x, const TileDim &y) {
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

void RowsBuilder::build(ArrayRef<Value> roots, const RowsShape &rowsShape) {
  shape = rowsShape;
  auto type = cast<RankedTensorType>(roots.front().getType());
  // Grid: every axis but rows and columns by single positions, then rows, then
  // columns where those are not looped over inside.
  SmallVector<OpFoldResult> grid;
  SmallVector<int64_t> gridAxis;
  int64_t numColTiles =
      shape.col >= 0
          ? llvm::divideCeil(type.getDimSize(shape.col), shape.colTile)
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
  // Where one tile has all columns, it is the one that reductions ask for.
  bool wholeTile =
      shape.col >= 0 && shape.padColumns && numColTiles == 1 &&
      whole(type.getDimSize(shape.col)).range.size == shape.colTile;
  bool colsInGrid = shape.col >= 0 && !shape.colsInside && !wholeTile;
  if (colsInGrid) {
    grid.push_back(b.getIndexAttr(numColTiles));
    gridAxis.push_back(shape.col);
  }
  if (grid.empty())
    grid.push_back(b.getIndexAttr(1));
  auto forall = scf::ForallOp::create(b, loc, grid, ValueRange{}, std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(forall.getTerminator());

  TileDims dims(type.getRank());
  for (auto [i, d] : llvm::enumerate(gridAxis)) {
    Value iv = forall.getInductionVar(i);
    int64_t extent = type.getDimSize(d);
    if (d == shape.row)
      dims[d] =
          TileDim::tile(t.mulAdd(iv, shape.rowTile), shape.rowTile, extent, 0);
    else if (d == shape.col)
      dims[d] =
          TileDim::tile(t.mulAdd(iv, shape.colTile), shape.colTile, extent, 1);
    else
      dims[d] = TileDim::point(iv, extent);
  }
  auto emit = [&](const TileDims &at) {
    // All tiles are made before the first store: a result may lie over an input
    // that another one reads.
    SmallVector<Value> tiles;
    for (Value root : roots)
      tiles.push_back(get(root, at));
    SmallVector<Value> offsets;
    SmallVector<int64_t> storeDims;
    for (const TileDim &d : at)
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
    dims[shape.col] = whole(extent);
    emit(dims);
  } else {
    int64_t extent = type.getDimSize(shape.col);
    SmallVector<bool> unknown(type.getRank(), false);
    unknown[shape.col] = true;
    dims[shape.col] = TileDim::tile({}, extent, extent, 1);
    for (Value root : roots)
      prefetch(root, dims, unknown);
    auto columns = scf::ForOp::create(b, loc, t.index(0), t.index(numColTiles),
                                      t.index(1));
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPoint(columns.getBody()->getTerminator());
    dims[shape.col] =
        TileDim::tile(t.mulAdd(columns.getInductionVar(), shape.colTile),
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
  for (auto write : kernel.getOps<bufferization::MaterializeInDestinationOp>())
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
