//===- TestPrograms.h - small programs that the runtime tests run ---------===//

#ifndef HEDDLE_UNITTESTS_RUNTIME_TESTPROGRAMS_H
#define HEDDLE_UNITTESTS_RUNTIME_TESTPROGRAMS_H

#include "heddle/Runtime/Program.h"

#include <cstring>
#include <fstream>
#include <iterator>

namespace heddle::test {

inline std::vector<uint8_t> readBytes(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline NamedTensorType floats(const std::string &name, int64_t n) {
  NamedTensorType t;
  t.name = name;
  t.type.shape = {n};
  return t;
}

inline BufferRef buffer(Space space, uint32_t index, int64_t offset,
                        int64_t size, std::vector<int64_t> strides = {}) {
  BufferRef b;
  b.space = space;
  b.index = index;
  b.offset = offset;
  b.size = size;
  b.strides = std::move(strides);
  return b;
}

inline LaunchArg bufferArg(BufferRef b) {
  LaunchArg arg;
  arg.buffers.push_back(std::move(b));
  return arg;
}

inline LaunchArg scalarArg(int64_t value) {
  LaunchArg arg;
  arg.kind = LaunchArg::Kind::Scalar;
  arg.scalar = value;
  return arg;
}

inline LaunchArg scalarArg(double value) {
  int64_t bits;
  std::memcpy(&bits, &value, 8);
  return scalarArg(bits);
}

inline LaunchArg tableArg(std::vector<BufferRef> buffers) {
  LaunchArg arg;
  arg.kind = LaunchArg::Kind::PointerTable;
  arg.buffers = std::move(buffers);
  return arg;
}

inline Command launch(uint32_t kernel, std::vector<LaunchArg> args) {
  Command c;
  c.kernel = kernel;
  c.args = std::move(args);
  return c;
}

inline Command copy(BufferRef source, BufferRef dest) {
  Command c;
  c.kind = Command::Kind::Copy;
  c.source = std::move(source);
  c.dest = std::move(dest);
  return c;
}

inline Command fill(BufferRef dest, uint64_t pattern, uint32_t patternSize) {
  Command c;
  c.kind = Command::Kind::Fill;
  c.dest = std::move(dest);
  c.pattern = pattern;
  c.patternSize = patternSize;
  return c;
}

inline Command repeat(int64_t count, std::vector<Command> body) {
  Command c;
  c.kind = Command::Kind::Repeat;
  c.count = count;
  c.body = std::move(body);
  return c;
}

inline KernelInfo kernel(const std::string &name, int64_t blocks,
                         int64_t scratch = 0) {
  KernelInfo k;
  k.name = name;
  k.family = "elementwise";
  k.numBlocks = blocks;
  k.scratchBytes = scratch;
  k.flops = 2 * blocks;
  k.matrixFlops = blocks;
  k.matrixType = "bf16";
  k.specialOps = 3 * blocks;
  k.minBytes = 12 * blocks;
  k.description = "block 16";
  return k;
}

/// Layers on a carried vector of 40 floats: result = x, then three times
/// result = 2 * weights[layer] + result in REVERSED layer order through the
/// arena, with weights (3, 40).
inline Function layersFunction() {
  const int64_t n = 40, bytes = n * 4;
  Function f;
  f.name = "main";
  f.arguments = {floats("x", n), floats("weights", n)};
  f.arguments[1].type.shape = {3, n};
  f.results = {floats("y", n)};
  f.kernels = {kernel("axpy", 3), kernel("through_scratch", 2, 64)};
  f.plan.argBytes = 4 * bytes;
  f.plan.outBytes = bytes;
  f.plan.arenaBytes = 4 * bytes;
  f.plan.scratchBytesPerThread = 64;
  f.plan.maxLiveBytes = 4 * bytes;
  f.plan.workBytes = 4 * bytes;
  f.plan.planHash = 0x1234567890abcdefull;
  f.commands = {
      copy(buffer(Space::Argument, 0, 0, bytes),
           buffer(Space::Result, 0, 0, bytes)),
      fill(buffer(Space::Arena, 0, 0, 4 * bytes), 0x3f800000, 4),
      repeat(
          3,
          {copy(buffer(Space::Argument, 1, 2 * bytes, bytes, {-bytes}),
                buffer(Space::Arena, 0, bytes, bytes, {bytes})),
           launch(0, {scalarArg(2.0), scalarArg(n),
                      bufferArg(buffer(Space::Arena, 0, bytes, bytes, {bytes})),
                      bufferArg(buffer(Space::Result, 0, 0, bytes))})}),
  };
  f.source = "func.func @main() { return }";
  f.constants.resize(96);
  for (size_t i = 0; i < f.constants.size(); ++i)
    f.constants[i] = static_cast<uint8_t>(i * 7);
  f.objects = {readBytes(TEST_KERNELS_OBJECT)};
  return f;
}

/// An image whose kernels fit those of `f`; the bytes are not code.
inline GpuImage imageFor(const Function &f, GpuImageKind kind,
                         const std::string &target) {
  GpuImage image;
  image.kind = kind;
  image.target = target;
  image.ptxVersion = kind == GpuImageKind::Ptx ? 80 : 0;
  std::string text = std::string(gpuImageKindName(kind)) + " for " + target;
  image.bytes.assign(text.begin(), text.end());
  for (const KernelInfo &k : f.kernels) {
    GpuKernel g;
    g.symbol = k.name;
    g.grid = {static_cast<uint32_t>(k.numBlocks), 1, 1};
    g.block = {128, 2, 1};
    g.sharedBytes = 1024;
    g.globalBytes = 4096;
    g.tile = "tile 16";
    image.kernels.push_back(g);
  }
  return image;
}

inline Program programOf(std::vector<Function> functions) {
  Program p;
  p.target = "cpu";
  p.isa = "x86-64";
  p.isaFeatures = {"sse2"};
  p.producer = "heddle test";
  p.functions = std::move(functions);
  return p;
}

} // namespace heddle::test

#endif // HEDDLE_UNITTESTS_RUNTIME_TESTPROGRAMS_H
