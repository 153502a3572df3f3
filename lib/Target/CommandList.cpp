//===- CommandList.cpp - a planned function as runtime data ---------------===//

#include "heddle/Target/CommandList.h"
#include "AlignBuffers.h"
#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/Heddle/Transforms/PlanAttributes.h"
#include "heddle/Target/KernelCost.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
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

/// Bytes of a buffer; an index takes 64 bits.
int64_t bufferBytes(MemRefType type) {
  Type element = type.getElementType();
  int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  return type.getNumElements() * llvm::divideCeil(bits, 8);
}

/// Follows a view back to the entry function's argument.
LogicalResult resolve(Value v, unsigned numArgs, unsigned numResults,
                      BufferRef &ref) {
  auto view = v.getDefiningOp<memref::ViewOp>();
  if (!view)
    return emitError(v.getLoc(), "expected a view of a buffer");
  auto base = dyn_cast<BlockArgument>(view.getSource());
  std::optional<int64_t> shift = getConstantIntValue(view.getByteShift());
  if (!base || !shift)
    return emitError(v.getLoc(), "expected a constant offset into an argument");
  auto type = cast<MemRefType>(v.getType());
  unsigned n = base.getArgNumber();
  ref.offset = *shift;
  ref.size = bufferBytes(type);
  if (n < numArgs) {
    ref.space = Space::Argument;
    ref.index = n;
  } else if (n < numArgs + numResults) {
    ref.space = Space::Result;
    ref.index = n - numArgs;
  } else {
    ref.space = n == numArgs + numResults ? Space::Arena : Space::Constants;
  }
  return success();
}

void appendConstant(DenseElementsAttr attr, std::vector<uint8_t> &bytes,
                    size_t at) {
  Type element = attr.getElementType();
  size_t width = llvm::divideCeil(
      element.isIndex() ? 64 : element.getIntOrFloatBitWidth(), 8);
  bytes.resize(std::max(bytes.size(), at + attr.getNumElements() * width));
  auto put = [&](const APInt &v) {
    uint64_t raw = v.getZExtValue();
    std::memcpy(bytes.data() + at, &raw, width);
    at += width;
  };
  if (isa<FloatType>(element))
    for (const APFloat &v : attr.getValues<APFloat>())
      put(v.bitcastToAPInt());
  else
    for (const APInt &v : attr.getValues<APInt>())
      put(v);
}

/// A number that changes when any buffer moves.
uint64_t hashPlan(const Function &function) {
  std::vector<int64_t> words;
  auto ref = [&](const BufferRef &r) {
    words.insert(words.end(),
                 {static_cast<int64_t>(r.space), static_cast<int64_t>(r.index),
                  r.offset, r.size});
  };
  for (const Command &c : function.commands) {
    words.push_back(c.kernel);
    for (const LaunchArg &a : c.args)
      for (const BufferRef &r : a.buffers)
        ref(r);
    ref(c.source);
    ref(c.dest);
  }
  words.push_back(function.plan.arenaBytes);
  return llvm::xxh3_64bits(
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(words.data()),
                     words.size() * sizeof(int64_t)));
}
} // namespace

/// Which buffers a kernel takes values from and which it writes.
static KernelUses usesOf(func::FuncOp kernel) {
  KernelUses uses;
  for (BlockArgument argument : kernel.getArguments()) {
    bool writes = llvm::any_of(argument.getUsers(), [&](Operation *user) {
      auto write = dyn_cast<bufferization::MaterializeInDestinationOp>(user);
      return write && write.getDest() == argument;
    });
    bool other = llvm::any_of(argument.getUsers(), [](Operation *user) {
      return !isa<bufferization::MaterializeInDestinationOp>(user);
    });
    uses.writes.push_back(writes);
    uses.reads.push_back(other);
  }
  return uses;
}

LogicalResult heddle::writeCommands(func::FuncOp entry,
                                    const SymbolTable &symbols,
                                    Function &function,
                                    int64_t launchAlignment) {
  auto types = [&](StringRef name) {
    return entry->getAttrOfType<ArrayAttr>(name);
  };
  ArrayAttr argTypes = types(kPlanArgumentTypes),
            resultTypes = types(kPlanResultTypes);
  if (!argTypes || !resultTypes)
    return entry.emitError("expected a planned function; run "
                           "heddle-plan-memory first");
  ArrayAttr names = types(kPlanArgumentNames), used = types(kPlanArgumentUsed);
  unsigned numArgs = argTypes.size(), numResults = resultTypes.size();
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
    named.alias = aliases ? static_cast<int32_t>(aliases[i]) : -1;
    function.plan.outBytes += type->byteSize();
    if (named.alias >= 0)
      function.plan.aliasBytes += type->byteSize();
    function.results.push_back(named);
  }

  llvm::StringMap<uint32_t> kernelIndex;
  std::vector<KernelUses> uses;
  for (Operation &op : entry.getBody().front()) {
    if (auto copy = dyn_cast<memref::CopyOp>(op)) {
      Command command;
      command.kind = Command::Kind::Copy;
      if (failed(
              resolve(copy.getSource(), numArgs, numResults, command.source)) ||
          failed(resolve(copy.getTarget(), numArgs, numResults, command.dest)))
        return failure();
      function.commands.push_back(command);
      continue;
    }
    auto launch = dyn_cast<LaunchOp>(op);
    if (!launch)
      continue;
    auto [it, inserted] =
        kernelIndex.try_emplace(launch.getKernel(), function.kernels.size());
    if (inserted) {
      auto kernel = symbols.lookup<func::FuncOp>(launch.getKernel());
      KernelInfo info;
      info.name = launch.getKernel().str();
      info.family = kernel->getAttrOfType<StringAttr>(kKernelFamily).str();
      countWork(kernel, info);
      uses.push_back(usesOf(kernel));
      function.kernels.push_back(info);
    }
    Command command;
    command.kind = Command::Kind::Launch;
    command.kernel = it->second;
    for (Value v : launch.getInputs()) {
      LaunchArg arg;
      arg.buffers.emplace_back();
      if (failed(resolve(v, numArgs, numResults, arg.buffers.back())))
        return failure();
      command.args.push_back(arg);
    }
    function.commands.push_back(command);
  }

  if (auto constants = types(kPlanConstants)) {
    auto offsets =
        entry->getAttrOfType<DenseI64ArrayAttr>(kPlanConstantOffsets);
    for (auto [attr, offset] : llvm::zip(constants, offsets.asArrayRef()))
      appendConstant(cast<DenseElementsAttr>(attr), function.constants, offset);
    function.constants.resize(llvm::alignTo(function.constants.size(), 64));
  }
  function.plan.arenaBytes = intAttr(entry, kPlanArena);
  function.plan.maxLiveBytes = intAttr(entry, kPlanMaxLive);
  function.plan.workBytes = intAttr(entry, kPlanWork);
  alignBuffers(function, uses, launchAlignment);
  function.plan.planHash = hashPlan(function);
  return success();
}
