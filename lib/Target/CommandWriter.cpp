//===- CommandWriter.cpp - commands of a planned function -----------------===//

#include "CommandWriter.h"

#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Dialect/Heddle/Transforms/PlanAttributes.h"
#include "heddle/Target/KernelCost.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace heddle;

/// Constants begin at multiples of this.
static constexpr int64_t kConstantAlignment = 64;

/// Bytes of a buffer; an index takes 64 bits.
static int64_t bufferBytes(Type type) {
  auto buffer = cast<MemRefType>(type);
  Type element = buffer.getElementType();
  int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  return buffer.getNumElements() * llvm::divideCeil(bits, 8);
}

static void appendConstant(DenseElementsAttr attr, std::vector<uint8_t> &bytes,
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

/// `bytes` of `buffer` from `offset` on.
static BufferRef part(BufferRef buffer, int64_t offset, int64_t bytes) {
  buffer.offset += offset;
  buffer.size = bytes;
  return buffer;
}

static bool samePlace(const BufferRef &a, const BufferRef &b) {
  return a.space == b.space && a.index == b.index && a.offset == b.offset &&
         a.strides == b.strides;
}

static void addCopy(const BufferRef &source, const BufferRef &dest,
                    std::vector<Command> &commands) {
  if (dest.size == 0 || samePlace(source, dest))
    return;
  Command command;
  command.kind = Command::Kind::Copy;
  command.source = source;
  command.dest = dest;
  commands.push_back(std::move(command));
}

/// Slice 0, 1, ... of a stack in the iterations of the repeat at `depth`.
static BufferRef sliceOf(BufferRef stack, int64_t bytes, const Loop &loop,
                         unsigned depth) {
  stack.strides.resize(depth, 0);
  stack.strides.push_back(loop.reverse ? -bytes : bytes);
  return part(stack, loop.reverse ? (loop.trips - 1) * bytes : 0, bytes);
}

/// Follows a view back to the function's argument.
LogicalResult CommandWriter::resolve(Value v, const Bases &bases,
                                     BufferRef &ref) const {
  auto view = v.getDefiningOp<memref::ViewOp>();
  if (!view)
    return emitError(v.getLoc(), "expected a view of a buffer");
  auto base = dyn_cast<BlockArgument>(view.getSource());
  std::optional<int64_t> shift = getConstantIntValue(view.getByteShift());
  if (!base || !shift)
    return emitError(v.getLoc(), "expected a constant offset into an argument");
  ref = part(bases[base.getArgNumber()], *shift, bufferBytes(v.getType()));
  return success();
}

int64_t CommandWriter::constantsOf(func::FuncOp body) {
  auto [it, inserted] = constants.try_emplace(body, 0);
  if (!inserted)
    return it->second;
  int64_t begin = llvm::alignTo(function.constants.size(), kConstantAlignment);
  it->second = begin;
  auto values = body->getAttrOfType<ArrayAttr>(kPlanConstants);
  if (!values)
    return begin;
  auto offsets = body->getAttrOfType<DenseI64ArrayAttr>(kPlanConstantOffsets);
  for (auto [attr, offset] : llvm::zip(values, offsets.asArrayRef()))
    appendConstant(cast<DenseElementsAttr>(attr), function.constants,
                   begin + offset);
  function.constants.resize(
      llvm::alignTo(function.constants.size(), kConstantAlignment));
  return begin;
}

uint32_t CommandWriter::kernelNumber(func::FuncOp kernel) {
  auto [it, inserted] =
      kernels.try_emplace(kernel.getName(), function.kernels.size());
  if (inserted) {
    KernelInfo info;
    info.name = kernel.getName().str();
    info.family = kernel->getAttrOfType<StringAttr>(kKernelFamily).str();
    countWork(kernel, info);
    uses.push_back(usesOf(kernel));
    function.kernels.push_back(info);
  }
  return it->second;
}

LogicalResult CommandWriter::run(func::FuncOp entry) {
  size_t numArgs = function.arguments.size(),
         numResults = function.results.size();
  Bases bases(entry.getNumArguments());
  for (auto [n, base] : llvm::enumerate(bases)) {
    if (n < numArgs) {
      base.space = Space::Argument;
      base.index = n;
    } else if (n < numArgs + numResults) {
      base.space = Space::Result;
      base.index = n - numArgs;
    } else {
      base.space = n == numArgs + numResults ? Space::Arena : Space::Constants;
    }
  }
  constantsOf(entry);
  return writeBody(entry, bases, 0, function.commands);
}

LogicalResult CommandWriter::writeBody(func::FuncOp body, const Bases &bases,
                                       unsigned depth,
                                       std::vector<Command> &commands) {
  for (Operation &op : body.getBody().front()) {
    if (auto copy = dyn_cast<memref::CopyOp>(op)) {
      BufferRef source, dest;
      if (failed(resolve(copy.getSource(), bases, source)) ||
          failed(resolve(copy.getTarget(), bases, dest)))
        return failure();
      addCopy(source, dest, commands);
      continue;
    }
    auto launch = dyn_cast<LaunchOp>(op);
    if (!launch)
      continue;
    auto callee = symbols.lookup<func::FuncOp>(launch.getKernel());
    std::optional<Loop> loop = loopOf(callee, symbols);
    if (failed(loop ? writeLoop(launch, *loop, bases, depth, commands)
                    : writeLaunch(launch, bases, commands)))
      return failure();
  }
  return success();
}

LogicalResult CommandWriter::writeLaunch(LaunchOp launch, const Bases &bases,
                                         std::vector<Command> &commands) {
  Command command;
  command.kind = Command::Kind::Launch;
  command.kernel =
      kernelNumber(symbols.lookup<func::FuncOp>(launch.getKernel()));
  for (Value v : launch.getInputs()) {
    LaunchArg arg;
    if (failed(resolve(v, bases, arg.buffers.emplace_back())))
      return failure();
    command.args.push_back(std::move(arg));
  }
  commands.push_back(std::move(command));
  return success();
}

LogicalResult CommandWriter::writeLoop(LaunchOp launch, const Loop &loop,
                                       const Bases &bases, unsigned depth,
                                       std::vector<Command> &commands) {
  SmallVector<BufferRef> buffers;
  for (Value v : launch.getInputs())
    if (failed(resolve(v, bases, buffers.emplace_back())))
      return failure();
  auto types = [&](StringRef name) {
    return loop.body->getAttrOfType<ArrayAttr>(name);
  };
  ArrayAttr argTypes = types(kPlanArgumentTypes),
            resultTypes = types(kPlanResultTypes);
  size_t numArgs = argTypes.size(), numResults = resultTypes.size();
  ArrayRef<BufferRef> inputs = ArrayRef(buffers).take_front(numArgs),
                      outputs = ArrayRef(buffers).slice(numArgs, numResults);
  const BufferRef &workspace = buffers.back();
  LoopLayout layout = layoutOf(loop);
  auto bytes = [&](unsigned argument) {
    return bufferBytes(func::FuncOp(loop.body).getArgumentTypes()[argument]);
  };

  // Carried values live in the outputs from the start.
  for (unsigned i = 0; i < loop.carried; ++i)
    addCopy(inputs[i], outputs[i], commands);
  Command repeat;
  repeat.kind = Command::Kind::Repeat;
  repeat.count = loop.trips;
  Bases inner;
  for (unsigned i = 0; i < numArgs; ++i) {
    bool stacked = i >= loop.carried && i < loop.carried + loop.stacked;
    BufferRef place = i < loop.carried ? outputs[i] : inputs[i];
    if (stacked)
      place = sliceOf(place, bytes(i), loop, depth);
    if (int64_t slot = layout.argumentSlots[i]; slot >= 0) {
      BufferRef copied = part(workspace, slot, bytes(i));
      addCopy(place, copied, repeat.body);
      place = copied;
    }
    inner.push_back(place);
  }
  std::vector<Command> after;
  for (unsigned i = 0; i < numResults; ++i) {
    int64_t size = bytes(numArgs + i);
    BufferRef place =
        i < loop.carried ? outputs[i] : sliceOf(outputs[i], size, loop, depth);
    if (int64_t slot = layout.resultSlots[i]; slot >= 0) {
      BufferRef made = part(workspace, slot, size);
      addCopy(made, place, after);
      place = made;
    }
    inner.push_back(place);
  }
  inner.push_back(workspace);
  BufferRef constant;
  constant.space = Space::Constants;
  constant.offset = constantsOf(loop.body);
  inner.push_back(constant);

  if (failed(writeBody(loop.body, inner, depth + 1, repeat.body)))
    return failure();
  llvm::append_range(repeat.body, after);
  commands.push_back(std::move(repeat));
  return success();
}
