//===- ElementProgram.cpp - compiles scalar ops to instructions -----------===//

#include "ElementProgram.h"
#include "Constants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace heddle::reference {

namespace {
/// How an op maps to an instruction. Casts that change nothing on the reference
/// device (extf) have no instruction.
struct OpInfo {
  bool known = false;
  bool alias = false;
  ElementOp op = ElementOp::AddF;
};
} // namespace

static OpInfo lookup(StringRef name) {
  if (name == "arith.extf")
    return {true, true, ElementOp::AddF};
  using E = ElementOp;
  std::optional<E> op = llvm::StringSwitch<std::optional<E>>(name)
                            .Case("arith.addf", E::AddF)
                            .Case("arith.subf", E::SubF)
                            .Case("arith.mulf", E::MulF)
                            .Case("arith.divf", E::DivF)
                            .Case("arith.remf", E::RemF)
                            .Case("arith.negf", E::NegF)
                            .Case("arith.maximumf", E::MaximumF)
                            .Case("arith.minimumf", E::MinimumF)
                            .Case("arith.maxnumf", E::MaxNumF)
                            .Case("arith.minnumf", E::MinNumF)
                            .Case("arith.truncf", E::Round)
                            .Case("arith.cmpf", E::CmpF)
                            .Case("arith.sitofp", E::SIToFP)
                            .Case("arith.uitofp", E::UIToFP)
                            .Case("arith.fptosi", E::FPToSI)
                            .Case("arith.fptoui", E::FPToUI)
                            .Case("arith.addi", E::AddI)
                            .Case("arith.subi", E::SubI)
                            .Case("arith.muli", E::MulI)
                            .Case("arith.divsi", E::DivSI)
                            .Case("arith.divui", E::DivUI)
                            .Case("arith.remsi", E::RemSI)
                            .Case("arith.remui", E::RemUI)
                            .Case("arith.ceildivsi", E::CeilDivSI)
                            .Case("arith.ceildivui", E::CeilDivUI)
                            .Case("arith.floordivsi", E::FloorDivSI)
                            .Case("arith.andi", E::AndI)
                            .Case("arith.ori", E::OrI)
                            .Case("arith.xori", E::XOrI)
                            .Case("arith.shli", E::ShLI)
                            .Case("arith.shrsi", E::ShRSI)
                            .Case("arith.shrui", E::ShRUI)
                            .Case("arith.maxsi", E::MaxSI)
                            .Case("arith.maxui", E::MaxUI)
                            .Case("arith.minsi", E::MinSI)
                            .Case("arith.minui", E::MinUI)
                            .Case("arith.cmpi", E::CmpI)
                            .Case("arith.extsi", E::ExtSI)
                            .Case("arith.extui", E::ExtUI)
                            .Case("arith.trunci", E::TruncI)
                            .Case("arith.index_cast", E::ExtSI)
                            .Case("arith.index_castui", E::ExtUI)
                            .Case("arith.addui_extended", E::AddUIExtended)
                            .Case("arith.mulsi_extended", E::MulSIExtended)
                            .Case("arith.mului_extended", E::MulUIExtended)
                            .Case("math.absf", E::AbsF)
                            .Case("math.absi", E::AbsI)
                            .Case("math.acos", E::Acos)
                            .Case("math.acosh", E::Acosh)
                            .Case("math.asin", E::Asin)
                            .Case("math.asinh", E::Asinh)
                            .Case("math.atan", E::Atan)
                            .Case("math.atan2", E::Atan2)
                            .Case("math.atanh", E::Atanh)
                            .Case("math.cbrt", E::Cbrt)
                            .Case("math.ceil", E::Ceil)
                            .Case("math.clampf", E::ClampF)
                            .Case("math.copysign", E::CopySign)
                            .Case("math.cos", E::Cos)
                            .Case("math.cosh", E::Cosh)
                            .Case("math.ctlz", E::CtLz)
                            .Case("math.cttz", E::CtTz)
                            .Case("math.ctpop", E::CtPop)
                            .Case("math.erf", E::Erf)
                            .Case("math.erfc", E::Erfc)
                            .Case("math.exp", E::Exp)
                            .Case("math.exp2", E::Exp2)
                            .Case("math.expm1", E::ExpM1)
                            .Case("math.floor", E::Floor)
                            .Case("math.fma", E::Fma)
                            .Case("math.fpowi", E::FPowI)
                            .Case("math.ipowi", E::IPowI)
                            .Case("math.isfinite", E::IsFinite)
                            .Case("math.isinf", E::IsInf)
                            .Case("math.isnan", E::IsNaN)
                            .Case("math.isnormal", E::IsNormal)
                            .Case("math.log", E::Log)
                            .Case("math.log10", E::Log10)
                            .Case("math.log1p", E::Log1p)
                            .Case("math.log2", E::Log2)
                            .Case("math.powf", E::PowF)
                            .Case("math.round", E::RoundAway)
                            .Case("math.roundeven", E::RoundEven)
                            .Case("math.rsqrt", E::Rsqrt)
                            .Case("math.sin", E::Sin)
                            .Case("math.sincos", E::SinCos)
                            .Case("math.sinh", E::Sinh)
                            .Case("math.sqrt", E::Sqrt)
                            .Case("math.tan", E::Tan)
                            .Case("math.tanh", E::Tanh)
                            .Case("math.trunc", E::Trunc)
                            .Default(std::nullopt);
  if (!op)
    return {};
  return {true, false, *op};
}

static Rounding::Format formatOf(Type type) {
  type = elementTypeOf(type);
  if (type.isF32())
    return Rounding::F32;
  if (type.isBF16())
    return Rounding::BF16;
  return type.isF16() ? Rounding::F16 : Rounding::None;
}

std::string ElementProgram::whyUnsupported(Operation *op) {
  if (isa<arith::ConstantOp, arith::SelectOp, arith::BitcastOp, linalg::IndexOp,
          tensor::ExtractOp>(op))
    return "";
  if (!lookup(op->getName().getStringRef()).known)
    return "the reference device has no such scalar op";
  if (auto trunc = dyn_cast<arith::TruncFOp>(op))
    if (trunc.getRoundingmode() &&
        *trunc.getRoundingmode() != arith::RoundingMode::to_nearest_even)
      return "only rounding to nearest even is supported";
  return "";
}

//===----------------------------------------------------------------------===//
// Builder
//===----------------------------------------------------------------------===//

struct ElementProgram::Builder {
  ElementProgram program;
  const ReferenceOptions &options;
  Capture capture;
  llvm::DenseMap<Value, Register> registers;

  Builder(const ReferenceOptions &options, Capture capture)
      : options(options), capture(capture) {}

  Register fresh(bool isInteger) {
    return {isInteger, isInteger ? program.numInteger++ : program.numReal++};
  }
  Register define(Value value) {
    Register r = fresh(isIntegerElement(elementTypeOf(value.getType())));
    registers[value] = r;
    return r;
  }

  /// The register of an operand; a scalar from outside becomes a constant.
  FailureOr<int> use(Operation *user, Value value) {
    auto it = registers.find(value);
    if (it != registers.end())
      return it->second.index;
    const TensorValue *outer = capture(value);
    if (!outer || !outer->shape.empty())
      return user->emitError()
             << "expected operands defined in the region or scalars from "
                "outside, found a value of type "
             << value.getType() << "; pass it as an operand";
    Register r = define(value);
    if (r.isInteger)
      program.integerConstants.emplace_back(r.index, outer->integerAt(0));
    else
      program.realConstants.emplace_back(r.index, outer->realAt(0));
    return r.index;
  }

  LogicalResult addConstant(arith::ConstantOp op) {
    FailureOr<TensorValue> value = evaluateConstant(op);
    if (failed(value))
      return failure();
    if (!value->shape.empty())
      return op.emitError("expected a scalar constant in a region, found a "
                          "tensor; move it outside");
    Register r = define(op.getResult());
    if (r.isInteger)
      program.integerConstants.emplace_back(r.index, value->integerAt(0));
    else
      program.realConstants.emplace_back(r.index, value->realAt(0));
    return success();
  }

  LogicalResult addExtract(tensor::ExtractOp op) {
    const TensorValue *tensor = capture(op.getTensor());
    if (!tensor)
      return op.emitError("expected a tensor from outside the region, found "
                          "one without a value; pass it as an operand");
    Instruction instruction(ElementOp::Extract);
    instruction.tensor = program.tensors.size();
    program.tensors.push_back(*tensor);
    for (Value index : op.getIndices()) {
      FailureOr<int> r = use(op, index);
      if (failed(r))
        return failure();
      instruction.indices.push_back(*r);
    }
    instruction.dst = define(op.getResult()).index;
    program.instructions.push_back(std::move(instruction));
    return success();
  }

  LogicalResult add(Operation *op) {
    std::string why = whyUnsupported(op);
    if (!why.empty())
      return op->emitError() << "unsupported op: " << why;
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return addConstant(constant);
    if (auto extract = dyn_cast<tensor::ExtractOp>(op))
      return addExtract(extract);
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      program.loopIndices.emplace_back(define(index.getResult()).index,
                                       index.getDim());
      return success();
    }
    SmallVector<int, 3> operands;
    for (Value operand : op->getOperands()) {
      FailureOr<int> r = use(op, operand);
      if (failed(r))
        return failure();
      operands.push_back(*r);
    }
    return addArithmetic(op, operands);
  }

  /// An input that is yielded unchanged gets a register of its own, so that
  /// two accumulators can trade places.
  void addResult(Register result) {
    bool isInput = llvm::any_of(program.inputs, [&](Register r) {
      return r.isInteger == result.isInteger && r.index == result.index;
    });
    if (isInput) {
      Instruction copy(result.isInteger ? ElementOp::AndI : ElementOp::Round);
      copy.a = copy.b = result.index;
      result = fresh(result.isInteger);
      copy.dst = result.index;
      program.instructions.push_back(std::move(copy));
    }
    program.results.push_back(result);
  }

  LogicalResult addArithmetic(Operation *op, ArrayRef<int> operands) {
    Value result = op->getResult(0);
    Type resultType = elementTypeOf(result.getType());
    Type operandType = elementTypeOf(op->getOperand(0).getType());
    bool integerResult = isIntegerElement(resultType);
    bool integerOperand = isIntegerElement(operandType);
    OpInfo info;
    if (isa<arith::SelectOp>(op)) {
      info = {true, false,
              integerResult ? ElementOp::SelectI : ElementOp::SelectF};
    } else if (isa<arith::BitcastOp>(op)) {
      info = {true, integerResult == integerOperand,
              integerResult ? ElementOp::BitcastFI : ElementOp::BitcastIF};
    } else {
      info = lookup(op->getName().getStringRef());
    }
    Instruction instruction(info.op);
    if (info.op == ElementOp::Round && !info.alias) {
      if (options.mode == ReferenceMode::Declared)
        instruction.rounding = {formatOf(resultType), options.draw};
      if (instruction.rounding.isNone())
        info.alias = true;
    }
    if (info.alias) {
      registers[result] = {integerResult, operands[0]};
      return success();
    }
    if (integerOperand)
      instruction.fromWidth = integerWidth(operandType);
    instruction.width =
        integerResult ? integerWidth(resultType) : instruction.fromWidth;
    if (isa<arith::BitcastOp>(op))
      instruction.bits = *hostTypeOf(integerResult ? operandType : resultType);
    if (auto cmp = dyn_cast<arith::CmpFOp>(op))
      instruction.predicate = static_cast<int>(cmp.getPredicate());
    if (auto cmp = dyn_cast<arith::CmpIOp>(op))
      instruction.predicate = static_cast<int>(cmp.getPredicate());
    int *slots[] = {&instruction.a, &instruction.b, &instruction.c};
    for (auto [i, r] : llvm::enumerate(operands))
      *slots[i] = r;
    instruction.dst = define(result).index;
    if (op->getNumResults() > 1)
      instruction.dst2 = define(op->getResult(1)).index;
    program.instructions.push_back(std::move(instruction));
    return success();
  }
};

FailureOr<ElementProgram>
ElementProgram::compileBlock(Block &block, const ReferenceOptions &options,
                             Capture capture, Value wanted, Operation *skip) {
  Builder builder(options, capture);
  for (BlockArgument argument : block.getArguments())
    builder.program.inputs.push_back(builder.define(argument));
  for (Operation &op : block.without_terminator())
    if (&op != skip && failed(builder.add(&op)))
      return failure();
  SmallVector<Value> results;
  if (wanted)
    results.push_back(wanted);
  else
    llvm::append_range(results, block.getTerminator()->getOperands());
  for (Value result : results) {
    FailureOr<int> r = builder.use(block.getTerminator(), result);
    if (failed(r))
      return failure();
    builder.addResult(builder.registers[result]);
  }
  return std::move(builder.program);
}

FailureOr<ElementProgram>
ElementProgram::compileOp(Operation *op, const ReferenceOptions &options) {
  auto noCapture = [](Value) -> const TensorValue * { return nullptr; };
  Builder builder(options, noCapture);
  for (Value operand : op->getOperands()) {
    auto it = builder.registers.find(operand);
    builder.program.inputs.push_back(
        it != builder.registers.end() ? it->second : builder.define(operand));
  }
  if (failed(builder.add(op)))
    return failure();
  for (Value result : op->getResults())
    builder.addResult(builder.registers[result]);
  return std::move(builder.program);
}

bool ElementProgram::isUsed(Register reg) const {
  auto same = [&](Register r) {
    return r.isInteger == reg.isInteger && r.index == reg.index;
  };
  if (llvm::any_of(results, same))
    return true;
  for (const Instruction &i : instructions) {
    // Register files are told apart by the op; being generous is safe here.
    if (i.a == reg.index || i.b == reg.index || i.c == reg.index ||
        llvm::is_contained(i.indices, reg.index))
      return true;
  }
  return false;
}

} // namespace heddle::reference
