//===- ModelGradients.cpp - judges the gradients of a function ------------===//

#include "ModelGradients.h"

#include "heddle/Dialect/Heddle/Differentiation/Differentiation.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"
#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Reference/Compare.h"
#include "heddle/Runtime/CpuDevice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "gtest/gtest.h"

#include <cmath>
#include <numeric>
#include <random>

using namespace mlir;

namespace heddle::test {

/// Steps of differences: powers of two, so that x + h is exact in f32.
static constexpr double kStep = 0x1p-9;
/// The error of extrapolated differences is of the order of kStep^4 times a
/// fifth derivative, about 1e-10.
static constexpr double kTolerance = 1e-6;

/// The sum of all elements of `v`, a tensor of f32.
static Value sumOf(OpBuilder &b, Location loc, Value v) {
  auto type = cast<RankedTensorType>(v.getType());
  if (type.getRank() == 0)
    return v;
  Value zero = zeros(b, loc, RankedTensorType::get({}, b.getF32Type()));
  AffineMap maps[] = {b.getMultiDimIdentityMap(type.getRank()),
                      AffineMap::get(type.getRank(), 0, b.getContext())};
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::reduction);
  return linalg::GenericOp::create(
             b, loc, zero.getType(), v, zero, maps, iterators,
             [](OpBuilder &b, Location loc, ValueRange args) {
               Value sum = arith::AddFOp::create(b, loc, args[1], args[0]);
               linalg::YieldOp::create(b, loc, sum);
             })
      .getResult(0);
}

/// sum over values and elements of value * weight, in f32.
static Value weightedSum(OpBuilder &b, Location loc, ValueRange values,
                         ValueRange weights) {
  Value sum;
  for (auto [v, w] : llvm::zip(values, weights)) {
    Value wide = castElements(b, loc, v, b.getF32Type());
    Value part = sumOf(b, loc, arith::MulFOp::create(b, loc, wide, w));
    sum = sum ? Value(arith::AddFOp::create(b, loc, sum, part)) : part;
  }
  return sum;
}

static SmallVector<Value> floatsOf(ValueRange values) {
  SmallVector<Value> floats;
  for (Value v : values)
    if (isa<FloatType>(getElementTypeOrSelf(v.getType())))
      floats.push_back(v);
  return floats;
}

/// A function of the arguments of `like` and one f32 weight per value of
/// `weighted`.
static func::FuncOp addFunction(OpBuilder &b, func::FuncOp like, StringRef name,
                                TypeRange weighted) {
  SmallVector<Type> types(like.getArgumentTypes());
  for (Type t : weighted)
    types.push_back(withElement(t, b.getF32Type()));
  Type result = RankedTensorType::get({}, b.getF32Type());
  auto f = func::FuncOp::create(b, like.getLoc(), name,
                                b.getFunctionType(types, result));
  f.addEntryBlock();
  return f;
}

func::FuncOp ModelGradients::addLoss(func::FuncOp model) {
  OpBuilder b(model);
  Location loc = model.getLoc();
  Block &body = model.getBody().front();
  auto f = addFunction(
      b, model, "loss",
      TypeRange(ValueRange(floatsOf(body.getTerminator()->getOperands()))));
  b.setInsertionPointToEnd(&f.getBody().front());
  IRMapping mapping;
  mapping.map(body.getArguments(),
              f.getArguments().take_front(body.getNumArguments()));
  for (Operation &op : body.without_terminator())
    b.clone(op, mapping);
  SmallVector<Value> results;
  for (Value v : body.getTerminator()->getOperands())
    results.push_back(mapping.lookup(v));
  Value sum = weightedSum(b, loc, floatsOf(results),
                          f.getArguments().drop_front(body.getNumArguments()));
  func::ReturnOp::create(b, loc, sum);
  return f;
}

static SmallVector<Type> gradientTypes(func::FuncOp loss,
                                       ArrayRef<int64_t> wrt) {
  SmallVector<Type> types;
  for (int64_t i : wrt)
    types.push_back(loss.getArgumentTypes()[i]);
  return types;
}

func::FuncOp ModelGradients::addStep(func::FuncOp loss, StringRef name) {
  OpBuilder b(loss);
  SmallVector<Type> types(loss.getResultTypes());
  llvm::append_range(types, gradientTypes(loss, wrt));
  auto f =
      func::FuncOp::create(b, loss.getLoc(), name,
                           b.getFunctionType(loss.getArgumentTypes(), types));
  b.setInsertionPointToEnd(f.addEntryBlock());
  auto op = ValueAndGradOp::create(b, loss.getLoc(), types, loss.getName(),
                                   f.getArguments(), wrt);
  func::ReturnOp::create(b, loss.getLoc(), op.getResults());
  return f;
}

func::FuncOp ModelGradients::addDirectional(func::FuncOp loss) {
  OpBuilder b(loss);
  Location loc = loss.getLoc();
  SmallVector<Type> gradients = gradientTypes(loss, wrt);
  auto f = addFunction(b, loss, "directional", gradients);
  unsigned numArguments = loss.getNumArguments();
  b.setInsertionPointToEnd(&f.getBody().front());
  SmallVector<Type> types(loss.getResultTypes());
  llvm::append_range(types, gradients);
  auto op =
      ValueAndGradOp::create(b, loc, types, loss.getName(),
                             f.getArguments().take_front(numArguments), wrt);
  Value sum = weightedSum(b, loc, op.getGradients(),
                          f.getArguments().drop_front(numArguments));
  func::ReturnOp::create(b, loc, sum);
  return f;
}

static double attributeOf(func::FuncOp f, unsigned i, StringRef name,
                          double otherwise) {
  if (i < f.getNumArguments())
    if (auto attr = f.getArgAttrOfType<FloatAttr>(i, name))
      return attr.getValueAsDouble();
  return otherwise;
}

/// Distinct values, evenly spread, so that no kink lies within a step.
void ModelGradients::drawInputs(func::FuncOp of) {
  inputs.clear();
  for (auto [i, type] : llvm::enumerate(of.getArgumentTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    std::vector<int64_t> shape(tensor.getShape().begin(),
                               tensor.getShape().end());
    Type element = tensor.getElementType();
    DType dtype = element.isF32()         ? DType::F32
                  : element.isF64()       ? DType::F64
                  : element.isBF16()      ? DType::BF16
                  : element.isF16()       ? DType::F16
                  : element.isInteger(1)  ? DType::I1
                  : element.isInteger(64) ? DType::I64
                                          : DType::I32;
    HostTensor &input = inputs.emplace_back(heddle::TensorType{dtype, shape});
    int64_t count = tensor.getNumElements();
    if (!isa<FloatType>(element)) {
      auto values = model.getArgAttrOfType<ArrayAttr>(i, "test.values");
      for (int64_t e = 0; e < count; ++e)
        storeElement(input.bytes.data(), dtype, e,
                     cast<IntegerAttr>(values[e % values.size()]).getInt());
      continue;
    }
    double low = attributeOf(model, i, "test.low", -1.0),
           high = attributeOf(model, i, "test.high", 1.0);
    std::vector<int64_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::mt19937 random(i + 1);
    std::shuffle(order.begin(), order.end(), random);
    double shift = 0.25 + 0.5 * (i % 7) / 7;
    for (int64_t e = 0; e < count; ++e) {
      double x = low + (high - low) * (order[e] + shift) / count;
      storeElement(input.bytes.data(), dtype, e, std::round(x * 4096) / 4096);
    }
  }
}

ModelGradients::ModelGradients(func::FuncOp function) {
  function.getContext()
      ->loadDialect<arith::ArithDialect, func::FuncDialect, HeddleDialect,
                    linalg::LinalgDialect>();
  module = ModuleOp::create(function.getLoc());
  model = cast<func::FuncOp>(function->clone());
  module->push_back(model);
  for (auto [i, type] : llvm::enumerate(model.getArgumentTypes()))
    if (isa<FloatType>(getElementTypeOrSelf(type)) &&
        !model.getArgAttr(i, "test.constant"))
      wrt.push_back(i);
  loss = addLoss(model);
  step = addStep(loss, "step");
}

/// The first result of one evaluation.
static double evaluateLoss(func::FuncOp f, ArrayRef<HostTensor> inputs) {
  SmallVector<ReferenceTensor> results;
  ReferenceOptions options;
  options.threads = 1;
  if (failed(evaluate(f, inputs, options, results)))
    return std::nan("");
  return results[0].real[0];
}

void ModelGradients::check(func::FuncOp loss, func::FuncOp step,
                           size_t most) {
  drawInputs(loss);
  OwningOpRef<ModuleOp> expanded = module->clone();
  ASSERT_TRUE(succeeded(differentiate(*expanded)));
  auto value = expanded->lookupSymbol<func::FuncOp>(loss.getName());
  auto gradients = expanded->lookupSymbol<func::FuncOp>(step.getName());
  SmallVector<ReferenceTensor> found;
  ASSERT_TRUE(succeeded(evaluate(gradients, inputs, {}, found)));
  for (size_t g = 0; g < wrt.size(); ++g) {
    const int64_t i = wrt[g];
    const std::vector<double> &gradient = found[g + 1].real;
    ASSERT_EQ(inputs[i].type.dtype, DType::F32) << "cast f32 arguments";
    double largest = 0;
    for (double x : gradient)
      largest = std::max(largest, std::abs(x));
    bool isZero = bool(model.getArgAttr(i, "test.zero"));
    // Second derivatives may vanish; first ones have to be there.
    if (loss == this->loss && !gradient.empty())
      EXPECT_EQ(largest == 0, isZero) << "gradient of argument " << i;
    const size_t stride =
        gradient.size() <= most ? 1 : (gradient.size() + most - 1) / most;
    for (size_t e = 0; e < gradient.size(); e += stride) {
      const double x = loadElement(inputs[i].bytes.data(), DType::F32, e);
      auto at = [&](double offset) {
        storeElement(inputs[i].bytes.data(), DType::F32, e, x + offset);
        return evaluateLoss(value, inputs);
      };
      double near = (at(kStep) - at(-kStep)) / (2 * kStep),
             far = (at(2 * kStep) - at(-2 * kStep)) / (4 * kStep);
      at(0);
      storeElement(inputs[i].bytes.data(), DType::F32, e, x);
      double expected = (4 * near - far) / 3;
      EXPECT_NEAR(gradient[e], expected, kTolerance * std::max(largest, 1e-3))
          << "argument " << i << ", element " << e;
    }
  }
}

void ModelGradients::checkAgainstDifferences(size_t most) {
  check(loss, step, most);
}

void ModelGradients::checkSecondOrder() {
  func::FuncOp directional = addDirectional(loss);
  func::FuncOp second = addStep(directional, "second");
  check(directional, second, SIZE_MAX);
}

void ModelGradients::checkOnCpu() {
  drawInputs(loss);
  OwningOpRef<ModuleOp> expanded = module->clone();
  OwningOpRef<ModuleOp> compiled = module->clone();
  ASSERT_TRUE(succeeded(differentiate(*expanded)));
  SmallVector<ReferenceTensor> expected;
  ASSERT_TRUE(succeeded(evaluate(expanded->lookupSymbol<func::FuncOp>("step"),
                                 inputs, {}, expected)));
  // 16-bit values: no further from exact than rounding where the model rounds.
  bool narrow = false;
  expanded->walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      narrow |= getElementTypeOrSelf(type).isBF16();
  });
  SmallVector<ReferenceTensor> declared;
  ReferenceOptions rounding;
  rounding.mode = ReferenceMode::Declared;
  if (narrow)
    ASSERT_TRUE(succeeded(evaluate(expanded->lookupSymbol<func::FuncOp>("step"),
                                   inputs, rounding, declared)));
  Program program;
  CompileOptions options;
  options.entry = "step";
  ASSERT_TRUE(succeeded(compileModule(*compiled, options, program)));
  ASSERT_EQ(program.functions.size(), 1u);
  const heddle::Function &function = program.functions.front();
  CpuOptions cpu;
  cpu.threads = 2;
  cpu.poison = true;
  std::unique_ptr<CpuExecutable> executable;
  Status status = CpuExecutable::load(function, program, cpu, executable);
  ASSERT_TRUE(status.ok()) << status.message;
  std::vector<HostTensor> results;
  std::vector<void *> in, out;
  for (HostTensor &t : inputs)
    in.push_back(t.bytes.data());
  for (const NamedTensorType &type : function.results)
    results.emplace_back(type.type);
  for (HostTensor &t : results)
    out.push_back(t.bytes.data());
  status = executable->run(in.data(), out.data());
  ASSERT_TRUE(status.ok()) << status.message;
  double largest = 1;
  for (const ReferenceTensor &t : expected)
    for (double x : t.real)
      largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < results.size(); ++i) {
    CompareOptions compare;
    compare.backward = true;
    compare.allowZeroReference = true;
    compare.model = narrow;
    if (narrow)
      compare.computeType = DType::BF16;
    CompareResult result = compareWithReference(
        results[i], expected[i], narrow ? &declared[i] : nullptr, compare);
    // A gradient that is zero but for rounding, as that of a shift that a
    // softmax takes away, has no relative error: terms as large as the other
    // gradients' cancel.
    if (!narrow && result.maxAbsReference < 1e-12)
      EXPECT_LE(result.maxAbsError, 1e-6 * largest) << "result " << i;
    else
      EXPECT_TRUE(result.passed) << "result " << i << ": " << result.failure;
  }
}

} // namespace heddle::test
