//===- ThreadBuilder.cpp - emits what one thread does ---------------------===//

#include "ThreadBuilder.h"

#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;

using Values = ThreadBuilder::Values;

void ThreadBuilder::openGrid(int64_t blocks, int64_t threads) {
  b.setInsertionPoint(kernel.getBody().front().getTerminator());
  SmallVector<OpFoldResult> bounds = {b.getIndexAttr(blocks),
                                      b.getIndexAttr(threads)};
  auto grid = scf::ForallOp::create(b, loc, bounds, ValueRange{}, std::nullopt);
  b.setInsertionPoint(grid.getTerminator());
  block = grid.getInductionVar(0);
  thread = grid.getInductionVar(1);
  kernel->setAttr(kKernelThreads, b.getUnitAttr());
  // Positions along an axis fit 31 bits; addresses are made in 64.
  kernel->setAttr(kIndexBits, b.getI64IntegerAttr(32));
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

Value ThreadBuilder::index(int64_t v) {
  return arith::ConstantIndexOp::create(b, loc, v);
}

Value ThreadBuilder::add(Value x, Value y) {
  if (isConstantIntValue(x, 0) || isConstantIntValue(y, 0))
    return isConstantIntValue(x, 0) ? y : x;
  return arith::AddIOp::create(b, loc, x, y);
}

Value ThreadBuilder::sub(Value x, Value y) {
  return arith::SubIOp::create(b, loc, x, y);
}

Value ThreadBuilder::mul(Value x, int64_t y) {
  if (y == 1)
    return x;
  return arith::MulIOp::create(b, loc, x, index(y));
}

Value ThreadBuilder::div(Value x, int64_t y) {
  if (y == 1)
    return x;
  return arith::DivUIOp::create(b, loc, x, index(y));
}

Value ThreadBuilder::rem(Value x, int64_t y) {
  if (y == 1)
    return index(0);
  return arith::RemUIOp::create(b, loc, x, index(y));
}

Value ThreadBuilder::below(Value x, Value y) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x, y);
}

Value ThreadBuilder::equal(Value x, int64_t y) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, index(y));
}

Value ThreadBuilder::both(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return arith::AndIOp::create(b, loc, x, y);
}

Value ThreadBuilder::either(Value x, Value y) {
  if (!x || !y)
    return {};
  return arith::OrIOp::create(b, loc, x, y);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value ThreadBuilder::number(double v) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(v));
}

Value ThreadBuilder::plus(Value x, Value y) {
  return arith::AddFOp::create(b, loc, x, y);
}

Value ThreadBuilder::minus(Value x, Value y) {
  return arith::SubFOp::create(b, loc, x, y);
}

Value ThreadBuilder::times(Value x, Value y) {
  return arith::MulFOp::create(b, loc, x, y);
}

Value ThreadBuilder::fma(Value x, Value y, Value z) {
  return math::FmaOp::create(b, loc, x, y, z);
}

Value ThreadBuilder::exp2(Value x) { return math::Exp2Op::create(b, loc, x); }

Value ThreadBuilder::exp(Value x) { return math::ExpOp::create(b, loc, x); }

Value ThreadBuilder::sigmoid(Value x) {
  Value e = exp(arith::NegFOp::create(b, loc, x));
  return arith::DivFOp::create(b, loc, number(1.0), plus(number(1.0), e));
}

Value ThreadBuilder::softplus(Value x) {
  // max(x, 0) + log1p(w), w = e^-|x|; log1p(w) = 2 atanh(s), s = w / (2 + w) is
  // at most 1/3, so that s^15 / 15 is below half a unit in the last place.
  Value zero = number(0.0);
  Value w = exp(arith::NegFOp::create(b, loc, math::AbsFOp::create(b, loc, x)));
  Value s = arith::DivFOp::create(b, loc, w, plus(number(2.0), w));
  Value s2 = times(s, s), sum = number(2.0 / 13);
  for (int odd = 11; odd > 0; odd -= 2)
    sum = fma(sum, s2, number(2.0 / odd));
  Value small = fma(sum, s, arith::MaximumFOp::create(b, loc, x, zero));
  Value large =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, number(20.0));
  return select(large, x, small);
}

Value ThreadBuilder::softplusSlope(Value x) {
  Value large =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, number(20.0));
  return select(large, number(1.0), sigmoid(x));
}

Value ThreadBuilder::select(Value condition, Value x, Value y) {
  if (!condition)
    return x;
  return arith::SelectOp::create(b, loc, condition, x, y);
}

Value ThreadBuilder::isZero(Value x) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x,
                               number(0.0));
}

Value ThreadBuilder::isNan(Value x) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

Values ThreadBuilder::loop(Value begin, Value end, ValueRange carried,
                           function_ref<Values(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, loc, begin, end, index(1), carried);
  OpBuilder::InsertionGuard guard(b);
  if (carried.empty())
    b.setInsertionPoint(loop.getBody()->getTerminator());
  else
    b.setInsertionPointToEnd(loop.getBody());
  Values next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(b, loc, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

Values ThreadBuilder::when(Value condition, function_ref<Values()> body,
                           function_ref<Values()> otherwise) {
  if (!condition)
    return body();
  // The types of the results are known once one side is there.
  Block *taken = new Block;
  Values results;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(taken);
    results = body();
    scf::YieldOp::create(b, loc, results);
  }
  auto branch = scf::IfOp::create(b, loc, ValueRange(results).getTypes(),
                                  condition, /*addThenBlock=*/false,
                                  /*addElseBlock=*/false);
  branch.getThenRegion().push_back(taken);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&branch.getElseRegion().emplaceBlock());
  scf::YieldOp::create(b, loc, otherwise());
  return llvm::to_vector_of<Value>(branch.getResults());
}

void ThreadBuilder::when(Value condition, function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value ThreadBuilder::load(Value buffer, ValueRange at, Value condition,
                          double otherwise) {
  return when(
      condition,
      [&]() -> Values {
        Value v = memref::LoadOp::create(b, loc, buffer, at);
        if (!v.getType().isF32())
          v = arith::ExtFOp::create(b, loc, b.getF32Type(), v);
        return {v};
      },
      [&]() -> Values { return {number(otherwise)}; })[0];
}

Value ThreadBuilder::loadInt(Value buffer, ValueRange at) {
  return memref::LoadOp::create(b, loc, buffer, at);
}

void ThreadBuilder::store(Value number, Value buffer, ValueRange at,
                          Value condition) {
  when(condition, [&] {
    Type element = cast<MemRefType>(buffer.getType()).getElementType();
    Value v = number;
    if (!element.isF32())
      v = arith::TruncFOp::create(b, loc, element, v);
    memref::StoreOp::create(b, loc, v, buffer, at);
  });
}

Value ThreadBuilder::shared(int64_t elements) {
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  return memref::AllocOp::create(b, loc,
                                 MemRefType::get({elements}, b.getF32Type(),
                                                 MemRefLayoutAttrInterface(),
                                                 space));
}

Value ThreadBuilder::get(Value shared, Value at) {
  return memref::LoadOp::create(b, loc, shared, at);
}

Values ThreadBuilder::get(Value shared, Value at, int64_t width) {
  if (width == 1)
    return {get(shared, at)};
  Value v = vector::LoadOp::create(
      b, loc, VectorType::get({width}, b.getF32Type()), shared, at);
  Values all;
  for (int64_t i = 0; i < width; ++i)
    all.push_back(vector::ExtractOp::create(b, loc, v, i));
  return all;
}

void ThreadBuilder::put(Value number, Value shared, Value at) {
  memref::StoreOp::create(b, loc, number, shared, at);
}

void ThreadBuilder::put(ValueRange numbers, Value shared, Value at) {
  if (numbers.size() == 1)
    return put(numbers[0], shared, at);
  int64_t width = numbers.size();
  Value v = vector::FromElementsOp::create(
      b, loc, VectorType::get({width}, b.getF32Type()), numbers);
  vector::StoreOp::create(b, loc, v, shared, at);
}

void ThreadBuilder::barrier() { gpu::BarrierOp::create(b, loc); }

Value ThreadBuilder::exchange(Value x, int64_t bit) {
  return gpu::ShuffleOp::create(b, loc, x, bit, 32, gpu::ShuffleMode::XOR)
      .getShuffleResult();
}

Value ThreadBuilder::sumLanes(Value x, int64_t lanes, int64_t first) {
  for (int64_t bit = first; bit < lanes * first; bit *= 2)
    x = plus(x, exchange(x, bit));
  return x;
}

Values ThreadBuilder::shareSums(Values terms, int64_t lanes, int64_t first) {
  for (int64_t bit = first; bit < lanes * first; bit *= 2) {
    if (terms.size() % 2 != 0) {
      for (Value &v : terms)
        v = plus(v, exchange(v, bit));
      continue;
    }
    size_t half = terms.size() / 2;
    Value upper = equal(rem(div(thread, bit), 2), 1);
    Values next;
    for (size_t j = 0; j < half; ++j) {
      Value mine = select(upper, terms[j + half], terms[j]);
      Value other = select(upper, terms[j], terms[j + half]);
      next.push_back(plus(mine, exchange(other, bit)));
    }
    terms = std::move(next);
  }
  return terms;
}
