//===- TableKernel.cpp - one kernel for buffers of many lengths -----------===//

#include "heddle/Codegen/Tile/TableKernel.h"
#include "LoopsBody.h"
#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"
#include "heddle/Target/CommandList.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;

/// Threads of a block; each takes this many elements at once, so that as many
/// loads of a buffer are under way.
static constexpr int64_t kThreads = 256;
static constexpr int64_t kElements = kTableStep / kThreads;

namespace {
/// Emits what a kernel does to single elements.
class TableBuilder {
public:
  explicit TableBuilder(func::FuncOp kernel)
      : kernel(kernel), uniform(uniformArguments(kernel)),
        b(kernel.getContext()), loc(kernel.getLoc()) {}

  /// Null where the kernel does not treat elements alike and alone.
  func::FuncOp build(ModuleOp module, StringRef name, int64_t leaves,
                     int64_t blocks);

private:
  /// By argument of the kernel; null: none.
  using Scalars = SmallVector<Value>;

  bool isElementwise();
  bool isElementwise(linalg::GenericOp generic, ArrayRef<int64_t> shape) const;
  Value index(int64_t v) { return arith::ConstantIndexOp::create(b, loc, v); }
  void emitGrid(func::FuncOp f, int64_t blocks);
  std::pair<Value, Value> loadPart(func::FuncOp f);
  Scalars load(Value position);
  FailureOr<Scalars> compute(const Scalars &loaded);
  LogicalResult emitElements(Value first, int64_t count);

  func::FuncOp kernel;
  UniformArguments uniform;
  OpBuilder b;
  mlir::Location loc;
  Value block, thread;
  Scalars buffers, numbers; // of the block's part; uniform arguments
};
} // namespace

UniformArguments heddle::uniformArguments(func::FuncOp kernel) {
  return llvm::map_to_vector(kernel.getArgumentTypes(), [](Type type) {
    return cast<MemRefType>(type).getRank() == 0;
  });
}

/// All operands that are tensors of `shape` are read at the element that is
/// made, all others are numbers.
bool TableBuilder::isElementwise(linalg::GenericOp generic,
                                 ArrayRef<int64_t> shape) const {
  if (generic.getNumParallelLoops() != generic.getNumLoops())
    return false;
  bool reads = generic.getBody()
                   ->walk([](Operation *op) {
                     return isa<linalg::IndexOp, tensor::ExtractOp>(op)
                                ? WalkResult::interrupt()
                                : WalkResult::advance();
                   })
                   .wasInterrupted();
  if (reads)
    return false;
  ArrayRef<int64_t> result =
      cast<RankedTensorType>(generic.getResult(0).getType()).getShape();
  if (!result.empty() && result != shape)
    return false;
  return llvm::all_of(generic->getOpOperands(), [&](OpOperand &operand) {
    AffineMap map = generic.getMatchingIndexingMap(&operand);
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    return type && (generic.isDpsInit(&operand) ? map.isIdentity()
                    : type.getRank() == 0       ? map.getNumResults() == 0
                                                : map.isIdentity());
  });
}

bool TableBuilder::isElementwise() {
  std::optional<ArrayRef<int64_t>> shape;
  for (auto [type, isNumber] : llvm::zip(kernel.getArgumentTypes(), uniform)) {
    auto buffer = cast<MemRefType>(type);
    if (!buffer.getLayout().isIdentity() || !buffer.hasStaticShape())
      return false;
    if (isNumber)
      continue;
    if (shape && *shape != buffer.getShape())
      return false;
    shape = buffer.getShape();
  }
  if (!shape)
    return false;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (isa<bufferization::ToTensorOp, tensor::EmptyOp, linalg::FillOp>(op) ||
        op.hasTrait<OpTrait::ConstantLike>())
      continue;
    if (auto write = dyn_cast<bufferization::MaterializeInDestinationOp>(op)) {
      auto dest = dyn_cast<BlockArgument>(write.getDest());
      if (!dest || uniform[dest.getArgNumber()])
        return false;
      continue;
    }
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic || !isElementwise(generic, *shape))
      return false;
  }
  return true;
}

void TableBuilder::emitGrid(func::FuncOp f, int64_t blocks) {
  b.setInsertionPointToStart(f.addEntryBlock());
  auto grid = scf::ForallOp::create(
      b, loc,
      getAsIndexOpFoldResult(b.getContext(),
                             ArrayRef<int64_t>{blocks, kThreads}),
      ValueRange(), std::nullopt);
  func::ReturnOp::create(b, loc);
  b.setInsertionPointToStart(grid.getBody());
  block = grid.getInductionVar(0);
  thread = grid.getInductionVar(1);
}

TableBuilder::Scalars TableBuilder::load(Value position) {
  Scalars loaded = numbers;
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    bool isRead = llvm::any_of(kernel.getArgument(i).getUsers(),
                               llvm::IsaPred<bufferization::ToTensorOp>);
    if (buffer && isRead)
      loaded[i] = loadScalar(b, loc, buffer, position);
  }
  return loaded;
}

/// What the kernel writes, by the argument that it writes to.
FailureOr<TableBuilder::Scalars> TableBuilder::compute(const Scalars &loaded) {
  llvm::DenseMap<Value, Value> values;
  Scalars results(buffers.size());
  auto get = [&](Value v) -> Value {
    if (Value known = values.lookup(v))
      return known;
    return splatElement(b, loc, v);
  };
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (auto read = dyn_cast<bufferization::ToTensorOp>(op)) {
      auto from = cast<BlockArgument>(read.getBuffer());
      values[read.getResult()] = loaded[from.getArgNumber()];
    } else if (auto write =
                   dyn_cast<bufferization::MaterializeInDestinationOp>(op)) {
      auto to = cast<BlockArgument>(write.getDest());
      Value v = get(write.getSource());
      if (!v)
        return failure();
      results[to.getArgNumber()] = v;
    } else if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      SmallVector<Value> args;
      for (Value operand : generic->getOperands())
        args.push_back(get(operand));
      FailureOr<SmallVector<Value>> made = emitScalarBody(
          b, *generic.getBody(), args, [](unsigned) { return Value(); });
      if (failed(made))
        return failure();
      for (auto [result, v] : llvm::zip(generic.getResults(), *made))
        values[result] = v;
    }
  }
  return results;
}

/// Elements `first`, `first` + kThreads, ...: all are read before one is
/// written, as the code generator cannot tell the buffers of a table apart.
LogicalResult TableBuilder::emitElements(Value first, int64_t count) {
  SmallVector<Value> positions;
  SmallVector<Scalars> loaded, results;
  for (int64_t i = 0; i < count; ++i) {
    positions.push_back(
        i == 0 ? first
               : arith::AddIOp::create(b, loc, first, index(i * kThreads)));
    loaded.push_back(load(positions.back()));
  }
  for (const Scalars &values : loaded) {
    FailureOr<Scalars> made = compute(values);
    if (failed(made))
      return failure();
    results.push_back(*made);
  }
  for (auto [position, values] : llvm::zip(positions, results))
    for (auto [buffer, v] : llvm::zip(buffers, values))
      if (v)
        storeScalar(b, loc, v, buffer, position);
  return success();
}

/// Where the block's part begins and ends. One thread reads that, and from the
/// tables what buffer it is a part of, for all.
std::pair<Value, Value> TableBuilder::loadPart(func::FuncOp f) {
  int64_t tables = llvm::count(uniform, false);
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  Value part = memref::AllocOp::create(
      b, loc,
      MemRefType::get({2 + tables}, b.getI64Type(), MemRefLayoutAttrInterface(),
                      space));
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, thread, index(0));
  auto reads = scf::IfOp::create(b, loc, isFirst, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(reads.thenBlock());
    auto placeOf = [&](int64_t column) -> Value {
      return memref::LoadOp::create(b, loc, f.getArguments().back(),
                                    ValueRange{block, index(column)});
    };
    SmallVector<Value> values = {placeOf(1), placeOf(2)};
    Value leaf =
        arith::IndexCastOp::create(b, loc, b.getIndexType(), placeOf(0));
    for (auto [i, isNumber] : llvm::enumerate(uniform))
      if (!isNumber)
        values.push_back(
            memref::LoadOp::create(b, loc, f.getArgument(i), leaf));
    for (auto [i, v] : llvm::enumerate(values))
      memref::StoreOp::create(b, loc, v, part, index(i));
  }
  gpu::BarrierOp::create(b, loc);
  int64_t next = 2;
  for (auto [i, isNumber] : llvm::enumerate(uniform)) {
    auto type = cast<MemRefType>(kernel.getArgumentTypes()[i]);
    numbers.push_back(isNumber ? loadScalar(b, loc, f.getArgument(i), {})
                               : Value());
    buffers.push_back(isNumber ? Value()
                               : heddle_gpu::TableEntryOp::create(
                                     b, loc,
                                     MemRefType::get({ShapedType::kDynamic},
                                                     type.getElementType()),
                                     part, index(next++)));
  }
  auto position = [&](int64_t i) -> Value {
    return arith::IndexCastOp::create(
        b, loc, b.getIndexType(),
        memref::LoadOp::create(b, loc, part, index(i)));
  };
  Value begin = position(0);
  return {begin, position(1)};
}

func::FuncOp TableBuilder::build(ModuleOp module, StringRef name,
                                 int64_t leaves, int64_t blocks) {
  if (!isElementwise())
    return {};
  SmallVector<Type> types;
  Type i64 = b.getI64Type();
  for (auto [type, isNumber] : llvm::zip(kernel.getArgumentTypes(), uniform))
    types.push_back(isNumber ? type : MemRefType::get({leaves}, i64));
  types.push_back(MemRefType::get({blocks, 3}, i64));
  auto f = func::FuncOp::create(loc, name, b.getFunctionType(types, {}));
  f.setPrivate();
  f->setAttr(kKernelFamily, b.getStringAttr("elementwise"));
  f->setAttr(kKernelThreads, b.getUnitAttr());
  f->setAttr(kKernelTile, b.getStringAttr("t" + Twine(kThreads)));
  module.push_back(f);
  emitGrid(f, blocks);

  auto [begin, end] = loadPart(f);
  // Whole steps, then what is left.
  Value length = arith::SubIOp::create(b, loc, end, begin);
  Value rest = arith::RemUIOp::create(b, loc, length, index(kTableStep));
  Value whole = arith::SubIOp::create(b, loc, end, rest);
  bool failedBody = false;
  auto loop = [&](Value from, Value to, int64_t step, int64_t count) {
    Value first = arith::AddIOp::create(b, loc, from, thread);
    auto loop = scf::ForOp::create(b, loc, first, to, index(step));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    failedBody |= failed(emitElements(loop.getInductionVar(), count));
  };
  loop(begin, whole, kTableStep, kElements);
  loop(whole, end, kThreads, 1);
  if (!failedBody)
    return f;
  f.erase();
  return {};
}

std::string heddle::elementwiseText(func::FuncOp kernel) {
  // What is refused says why, which nobody asked for.
  ScopedDiagnosticHandler quiet(kernel.getContext(),
                                [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  func::FuncOp f = TableBuilder(kernel).build(*module, "kernel", 1, 1);
  std::string text;
  if (f)
    llvm::raw_string_ostream(text) << f;
  return text;
}

func::FuncOp heddle::buildTableKernel(ModuleOp module, StringRef name,
                                      func::FuncOp kernel, int64_t leaves,
                                      int64_t blocks) {
  return TableBuilder(kernel).build(module, name, leaves, blocks);
}
