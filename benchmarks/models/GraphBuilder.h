//===- GraphBuilder.h - writes model graphs as contract M -------*- C++ -*-===//
//
// A thin layer over OpBuilder for the model graphs of the benchmarks: functions
// with named arguments, elementwise and reduction generics on axes named by
// letters, products with an f32 accumulator, and reshapes. No fast-math flags.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_BENCHMARKS_MODELS_GRAPHBUILDER_H
#define HEDDLE_BENCHMARKS_MODELS_GRAPHBUILDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

namespace heddle::bench {

/// An operand and one letter for each of its axes: {bias, "d"}.
struct Operand {
  mlir::Value value;
  llvm::StringRef axes;
};

/// Builds one module, function by function. Declare the arguments of a function
/// first, then call `begin`, build, and `end`; `finish` at last.
class GraphBuilder {
public:
  using Body = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location,
                                              mlir::ValueRange)>;

  /// Loads the dialects of contract M that the graphs use.
  explicit GraphBuilder(mlir::MLIRContext &context);

  /// Declares an argument of the next function. Its name goes to the
  /// `heddle.arg_name` attribute.
  void argument(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                mlir::Type element);
  /// Opens a function with the arguments declared since the last one.
  void begin(llvm::StringRef function, bool isPublic = true);
  /// The block argument of that name, and all of them in order.
  mlir::Value get(llvm::StringRef name) const;
  mlir::ValueRange arguments();
  /// Closes the function; it returns `results`.
  void end(mlir::ValueRange results);
  /// The function that is open, or was closed last.
  mlir::func::FuncOp current() { return function; }
  /// Verifies and hands the module over; null when the verifier refused it (a
  /// diagnostic was emitted).
  mlir::OwningOpRef<mlir::ModuleOp> finish();

  mlir::Type f32() { return builder.getF32Type(); }
  mlir::Location loc() { return builder.getUnknownLoc(); }
  mlir::OpBuilder &ops() { return builder; }

  /// One elementwise generic with the axes `out`, each of which some operand
  /// has.
  mlir::Value map(llvm::ArrayRef<Operand> operands, llvm::StringRef out,
                  mlir::Type element, Body body);
  /// The same on operands of one shape.
  mlir::Value mapAll(llvm::ArrayRef<mlir::Value> operands, mlir::Type element,
                     Body body);
  /// A sum, from zero, over the axes that `out` lacks, in f32. The body gets
  /// the operands' elements and returns the term.
  mlir::Value sum(llvm::ArrayRef<Operand> operands, llvm::StringRef out,
                  Body term);
  mlir::Value sum(Operand operand, llvm::StringRef out);
  /// A product of matrices in f32, whatever the operands' type is: the sum over
  /// the axes that both operands have and `out` lacks.
  mlir::Value product(Operand left, Operand right, llvm::StringRef out);
  /// Elementwise conversion between float types, of any rank; the value itself
  /// where the type is right already.
  mlir::Value cast(mlir::Value input, mlir::Type element);
  /// (..., k) x (k, n) -> (..., n) in f32.
  mlir::Value matmul(mlir::Value lhs, mlir::Value rhs);

  mlir::Value empty(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  /// A tensor of f32 zeros, of rank 0 too.
  mlir::Value zeros(llvm::ArrayRef<int64_t> shape);
  /// Splits or merges axes; the sizes say which.
  mlir::Value reshape(mlir::Value input, llvm::ArrayRef<int64_t> shape);
  /// `size` positions from `offset` on along one axis.
  mlir::Value slice(mlir::Value input, int64_t axis, int64_t offset,
                    int64_t size);
  /// Merges all axes but the last.
  mlir::Value collapseToRows(mlir::Value input);
  /// (product of all but the last axes, last...) -> `shape`; the row axis is
  /// split into the first axes, `splitLast` splits the last one in two.
  mlir::Value expandRows(mlir::Value input, llvm::ArrayRef<int64_t> shape,
                         bool splitLast);
  /// (b, t, h, d) -> (b*t, h*d).
  mlir::Value collapseHeads(mlir::Value input);

  /// A float constant in a generic's body.
  static mlir::Value constant(mlir::OpBuilder &b, mlir::Location loc,
                              double value);
  /// Scalar conversion between float types, or the value itself.
  static mlir::Value convert(mlir::OpBuilder &b, mlir::Location loc,
                             mlir::Value value, mlir::Type element);

private:
  mlir::Value generic(llvm::ArrayRef<Operand> operands, mlir::Value init,
                      llvm::StringRef out, Body body);

  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  std::vector<std::string> names;
  std::vector<mlir::Type> types;
  llvm::StringMap<unsigned> index; // of the open function
};

} // namespace heddle::bench

#endif // HEDDLE_BENCHMARKS_MODELS_GRAPHBUILDER_H
