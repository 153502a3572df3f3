//===- CommandList.cpp - a planned function as runtime data ---------------===//

#include "heddle/Target/CommandList.h"
#include "CommandWriter.h"
#include "GroupLaunches.h"
#include "TableLaunches.h"
#include "heddle/Dialect/Heddle/Transforms/PlanAttributes.h"

#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace heddle;

FailureOr<heddle::TensorType> heddle::runtimeType(Type type,
                                                  mlir::Location loc) {
  auto tensor = dyn_cast<ShapedType>(type);
  heddle::TensorType result;
  if (!tensor || !tensor.hasStaticShape())
    return emitError(loc) << "expected a static tensor, got " << type;
  Type e = tensor.getElementType();
  if (e.isF32())
    result.dtype = DType::F32;
  else if (e.isF64())
    result.dtype = DType::F64;
  else if (e.isF16())
    result.dtype = DType::F16;
  else if (e.isBF16())
    result.dtype = DType::BF16;
  else if (e.isInteger(1))
    result.dtype = DType::I1;
  else if (e.isInteger(8))
    result.dtype = DType::I8;
  else if (e.isInteger(16))
    result.dtype = DType::I16;
  else if (e.isInteger(32))
    result.dtype = DType::I32;
  else if (e.isInteger(64) || e.isIndex())
    result.dtype = DType::I64;
  else
    return emitError(loc)
           << "expected elements of f16, bf16, f32, f64, i1, i8, "
              "i16, i32 or i64, got "
           << type;
  result.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  return result;
}

namespace {
int64_t intAttr(Operation *op, StringRef name) {
  auto attr = op->getAttrOfType<IntegerAttr>(name);
  return attr ? attr.getInt() : 0;
}

/// A number that changes when any buffer moves.
uint64_t hashPlan(const Function &function) {
  std::vector<int64_t> words;
  auto ref = [&](const BufferRef &r) {
    words.insert(words.end(),
                 {static_cast<int64_t>(r.space), static_cast<int64_t>(r.index),
                  r.offset, r.size});
    llvm::append_range(words, r.strides);
  };
  auto list = [&](auto &&self, const std::vector<Command> &commands) -> void {
    for (const Command &c : commands) {
      words.push_back(c.kernel);
      for (const LaunchArg &a : c.args)
        for (const BufferRef &r : a.buffers)
          ref(r);
      ref(c.source);
      ref(c.dest);
      if (c.kind != Command::Kind::Repeat)
        continue;
      words.push_back(c.count);
      self(self, c.body);
    }
  };
  list(list, function.commands);
  words.push_back(function.plan.arenaBytes);
  return llvm::xxh3_64bits(
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(words.data()),
                     words.size() * sizeof(int64_t)));
}
} // namespace

LogicalResult heddle::writeCommands(func::FuncOp entry,
                                    const SymbolTable &symbols,
                                    Function &function,
                                    const CommandOptions &options) {
  auto types = [&](StringRef name) {
    return entry->getAttrOfType<ArrayAttr>(name);
  };
  ArrayAttr argTypes = types(kPlanArgumentTypes),
            resultTypes = types(kPlanResultTypes);
  if (!argTypes || !resultTypes)
    return entry.emitError("expected a planned function; run "
                           "heddle-plan-memory first");
  ArrayAttr names = types(kPlanArgumentNames), used = types(kPlanArgumentUsed),
            resultNames = types(kPlanResultNames);
  auto donated = entry->getAttrOfType<DenseBoolArrayAttr>(kPlanDonated);
  auto aliases = entry->getAttrOfType<DenseI64ArrayAttr>(kPlanAliases);
  function.name = entry.getName().str();
  if (auto name = entry->getAttrOfType<StringAttr>("heddle.bundle_name"))
    function.name = name.str();
  for (auto [i, attr] : llvm::enumerate(argTypes)) {
    FailureOr<heddle::TensorType> type =
        runtimeType(cast<TypeAttr>(attr).getValue(), entry.getLoc());
    if (failed(type))
      return failure();
    NamedTensorType named;
    named.name = cast<StringAttr>(names[i]).str();
    named.type = *type;
    named.used = cast<BoolAttr>(used[i]).getValue();
    named.donated = donated && donated[i];
    if (named.used)
      function.plan.argBytes += type->byteSize();
    function.arguments.push_back(named);
  }
  for (auto [i, attr] : llvm::enumerate(resultTypes)) {
    FailureOr<heddle::TensorType> type =
        runtimeType(cast<TypeAttr>(attr).getValue(), entry.getLoc());
    if (failed(type))
      return failure();
    NamedTensorType named;
    named.type = *type;
    if (resultNames)
      named.name = cast<StringAttr>(resultNames[i]).str();
    named.alias = aliases ? static_cast<int32_t>(aliases[i]) : -1;
    function.plan.outBytes += type->byteSize();
    if (named.alias >= 0)
      function.plan.aliasBytes += type->byteSize();
    function.results.push_back(named);
  }

  CommandWriter writer(symbols, function);
  if (failed(writer.run(entry)))
    return failure();
  function.plan.arenaBytes = intAttr(entry, kPlanArena);
  function.plan.maxLiveBytes = intAttr(entry, kPlanMaxLive);
  function.plan.workBytes = intAttr(entry, kPlanWork);
  alignBuffers(function, writer.uses, options.launchAlignment);
  std::vector<int> kinds;
  if (options.tables)
    for (const KernelInfo &kernel : function.kernels)
      kinds.push_back(options.tables->elementOf(kernel).kind);
  groupLaunches(function, writer.uses, kinds);
  if (options.tables)
    useTables(function, *options.tables, options.tableBlocks);
  function.plan.planHash = hashPlan(function);
  return success();
}
