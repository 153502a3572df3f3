//===- Compiler.cpp - what heddle-run needs of the compiler ---------------===//

#include "Compiler.h"

#include "common/GpuFacts.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"
#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Reference/Judge.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include <optional>

using namespace heddle;
using namespace heddle::run;
using namespace mlir;

namespace {

/// A parsed model with its context, which turns diagnostics into text.
class Model {
public:
  Model(const std::string &text, const std::string &name)
      : stream(diagnostics) {
    DialectRegistry registry;
    registerCompilerDialects(registry);
    context = std::make_unique<MLIRContext>(registry);
    context->printOpOnDiagnostic(false);
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, name),
                               llvm::SMLoc());
    handler = std::make_unique<SourceMgrDiagnosticHandler>(
        sources, context.get(), stream);
    module = parseSourceFile<ModuleOp>(sources, context.get());
  }

  /// Null where the text does not parse.
  ModuleOp get() { return module ? *module : ModuleOp(); }

  /// What was reported so far, as a status; `otherwise` where nothing was.
  Status error(const std::string &otherwise) {
    llvm::StringRef text = llvm::StringRef(diagnostics).rtrim();
    return Status::error(text.empty() ? otherwise : text.str());
  }

private:
  std::string diagnostics;
  llvm::raw_string_ostream stream;
  llvm::SourceMgr sources;
  std::unique_ptr<MLIRContext> context;
  std::unique_ptr<SourceMgrDiagnosticHandler> handler;
  OwningOpRef<ModuleOp> module;
};

std::optional<DType> toDType(Type type) {
  if (type.isF32())
    return DType::F32;
  if (type.isF64())
    return DType::F64;
  if (type.isF16())
    return DType::F16;
  if (type.isBF16())
    return DType::BF16;
  if (type.isInteger(1))
    return DType::I1;
  if (type.isInteger(8))
    return DType::I8;
  if (type.isInteger(16))
    return DType::I16;
  if (type.isInteger(32))
    return DType::I32;
  if (type.isInteger(64))
    return DType::I64;
  return std::nullopt;
}

/// The host form of an argument or result type; scalars have rank 0.
LogicalResult toTensorType(func::FuncOp function, Type type,
                           heddle::TensorType &result) {
  Type element = getElementTypeOrSelf(type);
  std::optional<DType> dtype = toDType(element);
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!dtype || (ranked ? !ranked.hasStaticShape() : isa<ShapedType>(type)))
    return function.emitError()
           << "expected arguments and results to be static tensors of f32, "
              "f64, f16, bf16 or an integer of 1, 8, 16, 32 or 64 bits, got "
           << type;
  result.dtype = *dtype;
  if (ranked)
    result.shape.assign(ranked.getShape().begin(), ranked.getShape().end());
  return success();
}

LogicalResult toSignature(func::FuncOp op, Function &function) {
  function.name = op.getName().str();
  for (auto [i, type] : llvm::enumerate(op.getArgumentTypes())) {
    NamedTensorType &argument = function.arguments.emplace_back();
    if (auto name = op.getArgAttrOfType<StringAttr>(i, "heddle.arg_name"))
      argument.name = name.str();
    if (failed(toTensorType(op, type, argument.type)))
      return failure();
  }
  for (auto [i, type] : llvm::enumerate(op.getResultTypes())) {
    NamedTensorType &result = function.results.emplace_back();
    if (auto name = op.getResultAttrOfType<StringAttr>(i, "heddle.result_name"))
      result.name = name.str();
    if (failed(toTensorType(op, type, result.type)))
      return failure();
  }
  return success();
}

ReferenceValues toValues(const ReferenceTensor &tensor) {
  ReferenceValues values;
  values.shape = tensor.shape;
  values.isInteger = tensor.isInteger;
  values.integer = tensor.integer;
  values.real = tensor.real;
  return values;
}

} // namespace

bool heddle::run::hasCompiler() { return true; }

Status heddle::run::compileModel(const std::string &text,
                                 const std::string &name,
                                 const CompileRequest &request,
                                 Program &program) {
  Model model(text, name);
  CompileOptions options;
  options.entry = request.entry;
  options.target = request.target;
  if (request.tf32)
    options.f32Precision = F32Precision::Tf32;
  options.tile = request.tile;
  options.scanChunks = request.scanChunks;
  options.gpu.makePtx = !request.emulator;
  options.gpu.makeEmulator = request.emulator;
  if (!model.get() ||
      failed(heddle::compileModule(model.get(), options, program)))
    return model.error("expected a model that compiles, '" + name +
                       "' does not");
  return {};
}

std::string heddle::run::targetOfArchitecture(int sm) {
  std::string name;
  for (const GpuTarget &target : GpuTarget::all())
    if (target.sm <= sm && !target.specific)
      name = target.name.str();
  return name;
}

KernelFacts heddle::run::kernelFacts(const std::string &target,
                                     const KernelInfo &info,
                                     const GpuKernel &kernel) {
  return kernelFactsOn(nullptr)(target, info, kernel);
}

Status heddle::run::importModel(const std::string &text,
                                const std::string &name, Program &program) {
  Model model(text, name);
  if (!model.get())
    return model.error("expected a model, cannot parse '" + name + "'");
  program.target = "reference";
  for (auto op : model.get().getOps<func::FuncOp>()) {
    if (!op.isPublic() || op.isExternal())
      continue;
    Function &function = program.functions.emplace_back();
    if (failed(toSignature(op, function)))
      return model.error("expected static tensors in '" + name + "'");
    function.source = text;
  }
  return {};
}

namespace {
/// What the arithmetic of a function rounds to, read off its source.
struct Rounding {
  bool bf16 = false, f16 = false, tf32 = false;
  bool model = false;    // several products: their roundings add up
  bool backward = false; // takes gradients, which have limits of their own
  bool narrow() const { return bf16 || f16 || tf32; }
};
} // namespace

static Rounding roundingOf(const Function &function) {
  // The source holds every function of its module; this one alone counts.
  Model model(function.source, "<source of " + function.name + ">");
  std::string text;
  int64_t products = 0;
  Rounding rounding;
  if (model.get()) {
    model.get().walk([&](ValueAndGradOp op) {
      rounding.backward |=
          op->getParentOfType<func::FuncOp>().getName() == function.name;
    });
    // Where it fails, evaluateReference says so.
    if (rounding.backward)
      (void)differentiate(model.get());
  }
  if (auto op = model.get()
                    ? model.get().lookupSymbol<func::FuncOp>(function.name)
                    : func::FuncOp()) {
    llvm::raw_string_ostream os(text);
    op->print(os);
    op->walk([&](Operation *inner) {
      auto linalgOp = dyn_cast<linalg::LinalgOp>(inner);
      products += isa<AttentionOp, AttentionGradOp>(inner) ||
                  (linalgOp && linalgOp.getNumReductionLoops() > 0 &&
                   linalgOp.getNumDpsInputs() > 1);
    });
  }
  llvm::StringRef source = text;
  rounding.bf16 = source.contains("bf16");
  rounding.tf32 = source.contains("tf32");
  rounding.model = products > 1;
  rounding.backward |= source.contains("heddle.attention_grad");
  for (size_t at = source.find("f16"); at != llvm::StringRef::npos;
       at = source.find("f16", at + 1))
    rounding.f16 |= at == 0 || source[at - 1] != 'b';
  return rounding;
}

/// A function as the reference device evaluates it, from its source.
namespace {
struct ReferenceFunction {
  explicit ReferenceFunction(const Function &function)
      : model(function.source, "<source of " + function.name + ">") {}
  Model model;
  func::FuncOp op;
};
} // namespace

static Status openReference(const Function &function,
                            std::optional<ReferenceFunction> &reference) {
  if (function.source.empty())
    return Status::error("expected the source of '" + function.name +
                         "' in the bundle for the reference device, found "
                         "none; compile again and keep it");
  Model &model = reference.emplace(function).model;
  if (model.get())
    reference->op = model.get().lookupSymbol<func::FuncOp>(function.name);
  if (!reference->op)
    return model.error("expected a function '" + function.name +
                       "' in its source, found none; compile the model again");
  // Gradients are evaluated as they are written out; central differences, in
  // the tests of the rules, judge what is written.
  if (failed(differentiate(model.get())))
    return model.error("expected gradients that can be taken");
  return {};
}

static Status notEvaluated(ReferenceFunction &reference,
                           const Function &function) {
  return reference.model.error("expected a model that the reference device can "
                               "evaluate, '" +
                               function.name + "' is not");
}

Status heddle::run::evaluateReference(const Function &function,
                                      const std::vector<HostTensor> &inputs,
                                      bool declared, int threads,
                                      std::vector<ReferenceValues> &results) {
  std::optional<ReferenceFunction> reference;
  if (Status s = openReference(function, reference); !s.ok())
    return s;
  ReferenceOptions options;
  options.mode = declared ? ReferenceMode::Declared : ReferenceMode::Exact;
  options.threads = threads;
  SmallVector<ReferenceTensor> values;
  if (failed(evaluate(reference->op, inputs, options, values)))
    return notEvaluated(*reference, function);
  results.clear();
  for (const ReferenceTensor &tensor : values)
    results.push_back(toValues(tensor));
  return {};
}

Status heddle::run::judgeByReference(const Function &function,
                                     const std::vector<HostTensor> &inputs,
                                     const std::vector<HostTensor> &actual,
                                     int threads,
                                     std::vector<ReferenceValues> &exact,
                                     std::vector<Verdict> &verdicts) {
  std::optional<ReferenceFunction> reference;
  if (Status s = openReference(function, reference); !s.ok())
    return s;
  Rounding rounding = roundingOf(function);
  CompareOptions options;
  options.tf32 = rounding.tf32;
  options.model = rounding.model;
  options.backward = rounding.backward;
  if (rounding.bf16 || rounding.f16)
    options.computeType = rounding.bf16 ? DType::BF16 : DType::F16;
  SmallVector<ReferenceTensor> values;
  SmallVector<CompareResult> results;
  if (failed(judgeResults(
          actual, options, rounding.narrow(), threads,
          [&](const ReferenceOptions &modes,
              SmallVectorImpl<ReferenceTensor> &out) {
            return evaluate(reference->op, inputs, modes, out);
          },
          values, results)))
    return notEvaluated(*reference, function);
  for (const ReferenceTensor &tensor : values)
    exact.push_back(toValues(tensor));
  for (const CompareResult &result : results)
    verdicts.push_back({result.passed, result.maxAbsError, result.relError,
                        result.rule, result.failure});
  return {};
}
