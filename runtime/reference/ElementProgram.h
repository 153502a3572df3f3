//===- ElementProgram.h - scalar code run over vectors of elements -*- C++
//-*-===//
//
// The body of a linalg op, a score region or a single arith/math op, compiled
// once to a flat list of instructions on registers. Each register holds
// kVectorLength elements, so the dispatch on the instruction is paid once per
// few hundred elements.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_REFERENCE_ELEMENTPROGRAM_H
#define HEDDLE_RUNTIME_REFERENCE_ELEMENTPROGRAM_H

#include "TensorValue.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle::reference {

constexpr int64_t kVectorLength = 256;

// clang-format off
enum class ElementOp : uint8_t {
  // Real operands, real result.
  AddF, SubF, MulF, DivF, RemF, NegF, MaximumF, MinimumF, MaxNumF, MinNumF,
  Round, AbsF, Acos, Acosh, Asin, Asinh, Atan, Atan2, Atanh, Cbrt, Ceil, ClampF,
  CopySign, Cos, Cosh, Erf, Erfc, Exp, Exp2, ExpM1, Floor, Fma, Log, Log10,
  Log1p, Log2, PowF, RoundAway, RoundEven, Rsqrt, Sin, SinCos, Sinh, Sqrt, Tan,
  Tanh, Trunc,
  // Real and integer mixed.
  CmpF, IsFinite, IsInf, IsNaN, IsNormal, SelectF, FPowI, SIToFP, UIToFP,
  FPToSI, FPToUI, BitcastFI, BitcastIF,
  // Integer operands, integer result.
  AddI, SubI, MulI, DivSI, DivUI, RemSI, RemUI, CeilDivSI, CeilDivUI,
  FloorDivSI, AndI, OrI, XOrI, ShLI, ShRSI, ShRUI, MaxSI, MaxUI, MinSI, MinUI,
  CmpI, SelectI, ExtSI, ExtUI, TruncI, AbsI, IPowI, CtLz, CtTz, CtPop,
  AddUIExtended, MulSIExtended, MulUIExtended,
  // Element of a captured tensor.
  Extract,
};
// clang-format on

/// One instruction. Registers of reals and of integers are numbered apart.
struct Instruction {
  explicit Instruction(ElementOp op) : op(op) {}
  ElementOp op;
  uint8_t width = 64;     // bits of the integer result, or of compared operands
  uint8_t fromWidth = 64; // bits of the integer operand
  Rounding rounding = Rounding::None;
  DType bits = DType::F64; // float type whose encoding a bitcast sees
  int predicate = 0;
  int dst = -1, dst2 = -1; // second result of extended and sincos ops
  int a = -1, b = -1, c = -1;
  int tensor = -1;                   // Extract: captured tensor
  llvm::SmallVector<int, 4> indices; // Extract: integer registers
};

/// A register: its file and number.
struct Register {
  bool isInteger = false;
  int index = -1;
};

class ElementProgram {
public:
  /// Finds the value of something defined outside the block, or null.
  using Capture = llvm::function_ref<const TensorValue *(mlir::Value)>;

  /// Compiles `block` up to its terminator; `inputs` are its arguments in
  /// order. `results` are the terminator's operands, or `wanted` if given, in
  /// which case `skip` is left out. Emits an error at an op it does not know.
  static llvm::FailureOr<ElementProgram>
  compileBlock(mlir::Block &block, const ReferenceOptions &options,
               Capture capture, mlir::Value wanted = {},
               mlir::Operation *skip = nullptr);
  /// Compiles one op; `inputs` are its operands.
  static llvm::FailureOr<ElementProgram>
  compileOp(mlir::Operation *op, const ReferenceOptions &options);
  /// Empty if `op` can be part of a program, else why not.
  static std::string whyUnsupported(mlir::Operation *op);

  llvm::SmallVector<Register, 8> inputs;
  llvm::SmallVector<Register, 4> results;
  /// Results of linalg.index ops: (register, loop dim).
  llvm::SmallVector<std::pair<int, int64_t>, 4> loopIndices;
  llvm::SmallVector<Instruction, 16> instructions;
  llvm::SmallVector<std::pair<int, double>, 4> realConstants;
  llvm::SmallVector<std::pair<int, int64_t>, 4> integerConstants;
  std::vector<TensorValue> tensors; // captured, read by Extract
  int numReal = 0, numInteger = 0;

  /// Whether a register is read by an instruction or is a result.
  bool isUsed(Register reg) const;

private:
  struct Builder;
};

/// The registers of one thread.
class ElementFrame {
public:
  explicit ElementFrame(const ElementProgram &program);
  /// Runs the program on the first `n` <= kVectorLength elements. Returns false
  /// if an Extract read outside its tensor.
  bool run(int64_t n);
  double *real(Register r) { return reals.get() + r.index * kVectorLength; }
  int64_t *integer(Register r) {
    return integers.get() + r.index * kVectorLength;
  }
  int64_t *integer(int index) { return integers.get() + index * kVectorLength; }

private:
  const ElementProgram &program;
  std::unique_ptr<double[]> reals;
  std::unique_ptr<int64_t[]> integers;
};

} // namespace heddle::reference

#endif // HEDDLE_RUNTIME_REFERENCE_ELEMENTPROGRAM_H
