//===- ThreadBuilder.h - emits what one thread does -------------*- C++ -*-===//
//
// Private to lib/Codegen/GPU. Positions are index values, numbers f32 whatever
// a buffer holds; a condition is an i1 or null, which stands for true.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CODEGEN_GPU_THREADBUILDER_H
#define HEDDLE_LIB_CODEGEN_GPU_THREADBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle {

class ThreadBuilder {
public:
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;
  using Values = llvm::SmallVector<mlir::Value>;

  ThreadBuilder(mlir::func::FuncOp kernel, mlir::Location loc)
      : kernel(kernel), b(kernel.getContext()), loc(loc) {}

  /// Opens the grid at the end of the kernel and leaves the builder in it.
  void openGrid(int64_t blocks, int64_t threads);

  //===--- positions ------------------------------------------------------===//
  Value index(int64_t v);
  Value add(Value x, Value y);
  Value add(Value x, int64_t y) { return y == 0 ? x : add(x, index(y)); }
  Value sub(Value x, Value y);
  Value mul(Value x, int64_t y);
  Value div(Value x, int64_t y); // of a position, at least 0
  Value rem(Value x, int64_t y);
  Value below(Value x, Value y); // i1
  Value below(Value x, int64_t y) { return below(x, index(y)); }
  Value equal(Value x, int64_t y);
  Value both(Value x, Value y); // of conditions
  Value either(Value x, Value y);

  //===--- numbers --------------------------------------------------------===//
  Value number(double v);
  Value plus(Value x, Value y);
  Value minus(Value x, Value y);
  Value times(Value x, Value y);
  Value fma(Value x, Value y, Value z); // x * y + z
  Value exp2(Value x);
  Value exp(Value x);
  Value sigmoid(Value x);
  /// log(1 + e^x), x itself above 20, and its derivative. The first has a
  /// relative error of a few units in the last place, also for small results.
  Value softplus(Value x);
  Value softplusSlope(Value x);
  Value select(Value condition, Value x, Value y);
  Value isZero(Value x);
  Value isNan(Value x);

  //===--- control --------------------------------------------------------===//
  /// A loop over begin <= i < end that carries values.
  Values loop(Value begin, Value end, ValueRange carried,
              llvm::function_ref<Values(Value, ValueRange)> body);
  /// `body` where the condition holds; else `otherwise`.
  Values when(Value condition, llvm::function_ref<Values()> body,
              llvm::function_ref<Values()> otherwise);
  void when(Value condition, llvm::function_ref<void()> body);

  //===--- memory ---------------------------------------------------------===//
  /// An element of a buffer as f32, `otherwise` where the condition fails.
  Value load(Value buffer, ValueRange at, Value condition = {},
             double otherwise = 0.0);
  Value loadInt(Value buffer, ValueRange at);
  void store(Value number, Value buffer, ValueRange at, Value condition = {});
  /// A shared buffer of f32.
  Value shared(int64_t elements);
  Value get(Value shared, Value at);
  /// `width` neighbours, `at` divisible by it.
  Values get(Value shared, Value at, int64_t width);
  void put(Value number, Value shared, Value at);
  void put(ValueRange numbers, Value shared, Value at);
  void barrier();
  /// The number of the lane whose place in the warp differs in a bit.
  Value exchange(Value x, int64_t bit);
  /// The sum over lanes that differ in bits of `lanes` - 1, a power of two, in
  /// each of them; the order of additions is that of a butterfly.
  Value sumLanes(Value x, int64_t lanes, int64_t first = 1);

  /// The same for several terms at once. While there are terms to share, lanes
  /// that differ in a bit keep one half of them each, those with the bit set
  /// the upper one; returns what this lane keeps.
  Values shareSums(Values terms, int64_t lanes, int64_t first = 1);

  mlir::func::FuncOp kernel;
  mlir::OpBuilder b;
  mlir::Location loc;
  Value block, thread;
};

} // namespace heddle

#endif // HEDDLE_LIB_CODEGEN_GPU_THREADBUILDER_H
