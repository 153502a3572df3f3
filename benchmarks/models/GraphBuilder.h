//===- GraphBuilder.h - writes model graphs as contract M -------*- C++ -*-===//
//
// A thin layer over OpBuilder for the model graphs of the benchmarks: named
// arguments, elementwise and row-reduction generics on (rows, cols) tensors,
// linear layers with an f32 accumulator, and reshapes. No fast-math flags.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_BENCHMARKS_MODELS_GRAPHBUILDER_H
#define HEDDLE_BENCHMARKS_MODELS_GRAPHBUILDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

namespace heddle::bench {

/// Which axes of the (rows, cols) iteration space an operand has.
enum class Axes { Both, Rows, Cols };

/// An operand of `GraphBuilder::map`.
struct Operand {
  mlir::Value value;
  Axes axes = Axes::Both;
};

/// Builds one module with one function. Declare the arguments first, then call
/// `begin`, build, and `finish`.
class GraphBuilder {
public:
  using Body = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location,
                                              mlir::ValueRange)>;

  /// Loads the dialects of contract M that the graphs use.
  explicit GraphBuilder(mlir::MLIRContext &context);

  /// Declares an argument. Its name goes to the `heddle.arg_name` attribute.
  void argument(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                mlir::Type element);
  /// Opens the function with the arguments declared so far.
  void begin(llvm::StringRef function);
  /// The block argument of that name.
  mlir::Value get(llvm::StringRef name) const;
  /// Returns `results`, verifies and hands the module over; null when the
  /// verifier refused it (a diagnostic was emitted).
  mlir::OwningOpRef<mlir::ModuleOp> finish(mlir::ValueRange results);

  mlir::Type f32() { return builder.getF32Type(); }
  mlir::Location loc() { return builder.getUnknownLoc(); }
  mlir::OpBuilder &ops() { return builder; }

  /// One elementwise generic over (rows, cols); an operand may lack one axis.
  mlir::Value map(llvm::ArrayRef<Operand> operands, mlir::Type element,
                  Body body);
  /// One elementwise generic over the rows of vectors of equal length.
  mlir::Value mapRows(llvm::ArrayRef<mlir::Value> operands, mlir::Type element,
                      Body body);
  /// (rows, cols) -> (rows): a reduction over cols that starts at zero; the
  /// body gets (element, accumulator).
  mlir::Value reduceCols(mlir::Value input, Body body);
  /// Elementwise conversion between float types, of any rank; the value itself
  /// where the type is right already.
  mlir::Value cast(mlir::Value input, mlir::Type element);
  /// (m, k) x (k, n) -> (m, n) in f32, whatever the operands' type is.
  mlir::Value matmul(mlir::Value lhs, mlir::Value rhs);

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
  mlir::Value generic(llvm::ArrayRef<mlir::Value> inputs,
                      llvm::ArrayRef<mlir::AffineMap> maps, mlir::Value init,
                      mlir::AffineMap outMap,
                      llvm::ArrayRef<bool> reductionDims, Body body);
  mlir::Value empty(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  mlir::Value zeros(llvm::ArrayRef<int64_t> shape);

  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  std::vector<std::string> names;
  std::vector<mlir::Type> types;
  llvm::StringMap<unsigned> index;
};

} // namespace heddle::bench

#endif // HEDDLE_BENCHMARKS_MODELS_GRAPHBUILDER_H
