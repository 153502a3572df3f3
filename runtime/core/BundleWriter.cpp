//===- BundleWriter.cpp - a program as the bytes of a bundle --------------===//

#include "BundleFormat.h"
#include "heddle/Runtime/Program.h"

// Header-only use: no shared library at run time.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

namespace heddle {
using namespace bundle;

uint64_t bundle::checksum(const uint8_t *data, size_t size) {
  const uint8_t zeros[8] = {};
  XXH64_state_t state;
  XXH64_reset(&state, 0);
  XXH64_update(&state, data, kChecksumAt);
  XXH64_update(&state, zeros, sizeof(zeros));
  XXH64_update(&state, data + kChecksumAt + 8, size - kChecksumAt - 8);
  return XXH64_digest(&state);
}

namespace {

/// Appends little-endian fields.
class ByteWriter {
public:
  explicit ByteWriter(std::vector<uint8_t> &bytes) : bytes(bytes) {}

  void u8(uint8_t v) { bytes.push_back(v); }
  void u32(uint32_t v) { integer(v, 4); }
  void u64(uint64_t v) { integer(v, 8); }
  void i64(int64_t v) { u64(static_cast<uint64_t>(v)); }
  void count(size_t n) { u32(static_cast<uint32_t>(n)); }
  void string(const std::string &s) {
    count(s.size());
    bytes.insert(bytes.end(), s.begin(), s.end());
  }

private:
  void integer(uint64_t v, int width) {
    for (int i = 0; i < width; ++i)
      bytes.push_back(static_cast<uint8_t>(v >> (8 * i)));
  }
  std::vector<uint8_t> &bytes;
};

struct Section {
  SectionKind kind;
  uint32_t function;
  const uint8_t *data;
  size_t size;
};

} // namespace

static void putBuffer(ByteWriter &w, const BufferRef &b) {
  w.u8(static_cast<uint8_t>(b.space));
  w.u32(b.index);
  w.i64(b.offset);
  w.i64(b.size);
  w.count(b.strides.size());
  for (int64_t stride : b.strides)
    w.i64(stride);
}

static void putLaunchArg(ByteWriter &w, const LaunchArg &arg) {
  w.u8(static_cast<uint8_t>(arg.kind));
  w.i64(arg.scalar);
  w.count(arg.buffers.size());
  for (const BufferRef &b : arg.buffers)
    putBuffer(w, b);
}

static void putCommands(ByteWriter &w, const std::vector<Command> &commands) {
  w.count(commands.size());
  for (const Command &c : commands) {
    w.u8(static_cast<uint8_t>(c.kind));
    switch (c.kind) {
    case Command::Kind::Launch:
      w.u32(c.kernel);
      w.u8(c.together);
      w.count(c.args.size());
      for (const LaunchArg &arg : c.args)
        putLaunchArg(w, arg);
      break;
    case Command::Kind::Copy:
      putBuffer(w, c.source);
      putBuffer(w, c.dest);
      break;
    case Command::Kind::Fill:
      putBuffer(w, c.dest);
      w.u64(c.pattern);
      w.u32(c.patternSize);
      break;
    case Command::Kind::Repeat:
      w.i64(c.count);
      putCommands(w, c.body);
      break;
    }
  }
}

static void putSignature(ByteWriter &w,
                         const std::vector<NamedTensorType> &values) {
  w.count(values.size());
  for (const NamedTensorType &v : values) {
    w.string(v.name);
    w.u8(static_cast<uint8_t>(v.type.dtype));
    w.count(v.type.shape.size());
    for (int64_t d : v.type.shape)
      w.i64(d);
    w.u8(v.used);
    w.u8(v.donated);
    w.u32(static_cast<uint32_t>(v.alias));
  }
}

static void putKernel(ByteWriter &w, const KernelInfo &k) {
  w.string(k.name);
  w.string(k.family);
  w.string(k.description);
  w.i64(k.numBlocks);
  w.i64(k.scratchBytes);
  w.i64(k.flops);
  w.i64(k.matrixFlops);
  w.string(k.matrixType);
  w.i64(k.specialOps);
  w.i64(k.minBytes);
}

static void putImage(ByteWriter &w, const GpuImage &image) {
  w.u8(static_cast<uint8_t>(image.kind));
  w.string(image.target);
  w.u32(image.ptxVersion);
  w.count(image.kernels.size());
  for (const GpuKernel &k : image.kernels) {
    w.string(k.symbol);
    for (uint32_t n : k.grid)
      w.u32(n);
    for (uint32_t n : k.block)
      w.u32(n);
    for (int64_t v : {k.sharedBytes, k.registers, k.spillBytes, k.stackBytes,
                      k.staticSharedBytes, k.globalBytes})
      w.i64(v);
    w.string(k.tile);
  }
}

static void putPlan(ByteWriter &w, const MemoryPlan &p) {
  for (int64_t v : {p.argBytes, p.outBytes, p.aliasBytes, p.arenaBytes,
                    p.scratchBytesPerThread, p.maxLiveBytes, p.workBytes})
    w.i64(v);
  w.u64(p.planHash);
}

/// The program section: everything but the bulk data.
static std::vector<uint8_t> encodeProgram(const Program &program) {
  std::vector<uint8_t> bytes;
  ByteWriter w(bytes);
  w.string(program.target);
  w.string(program.isa);
  w.string(program.producer);
  w.count(program.isaFeatures.size());
  for (const std::string &feature : program.isaFeatures)
    w.string(feature);
  w.count(program.functions.size());
  for (const Function &f : program.functions) {
    w.string(f.name);
    putSignature(w, f.arguments);
    putSignature(w, f.results);
    w.count(f.kernels.size());
    for (const KernelInfo &k : f.kernels)
      putKernel(w, k);
    w.count(f.images.size());
    for (const GpuImage &image : f.images)
      putImage(w, image);
    putPlan(w, f.plan);
    putCommands(w, f.commands);
  }
  return bytes;
}

static size_t alignUp(size_t n) {
  return (n + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment;
}

std::vector<uint8_t> serializeProgram(const Program &program) {
  std::vector<uint8_t> meta = encodeProgram(program);
  std::vector<Section> sections;
  sections.push_back({SectionKind::Program, 0, meta.data(), meta.size()});
  for (size_t i = 0; i < program.functions.size(); ++i) {
    const Function &f = program.functions[i];
    auto add = [&](SectionKind kind, const void *data, size_t size) {
      if (size)
        sections.push_back({kind, static_cast<uint32_t>(i),
                            static_cast<const uint8_t *>(data), size});
    };
    for (const std::vector<uint8_t> &object : f.objects)
      add(SectionKind::Object, object.data(), object.size());
    for (const GpuImage &image : f.images)
      add(SectionKind::Image, image.bytes.data(), image.bytes.size());
    add(SectionKind::Constants, f.constants.data(), f.constants.size());
    add(SectionKind::Source, f.source.data(), f.source.size());
  }

  std::vector<size_t> offsets;
  size_t end = kHeaderBytes + sections.size() * kSectionEntryBytes;
  for (const Section &s : sections) {
    offsets.push_back(alignUp(end));
    end = offsets.back() + s.size;
  }

  std::vector<uint8_t> out;
  out.reserve(end);
  ByteWriter w(out);
  out.insert(out.end(), kMagic, kMagic + sizeof(kMagic));
  w.u32(kVersion);
  w.count(sections.size());
  w.u64(end);
  w.u64(0); // checksum, below
  out.resize(kHeaderBytes);
  for (size_t i = 0; i < sections.size(); ++i) {
    w.u32(static_cast<uint32_t>(sections[i].kind));
    w.u32(sections[i].function);
    w.u64(offsets[i]);
    w.u64(sections[i].size);
    w.u64(0);
  }
  for (size_t i = 0; i < sections.size(); ++i) {
    out.resize(offsets[i]);
    out.insert(out.end(), sections[i].data,
               sections[i].data + sections[i].size);
  }
  uint64_t sum = checksum(out.data(), out.size());
  for (int i = 0; i < 8; ++i)
    out[kChecksumAt + i] = static_cast<uint8_t>(sum >> (8 * i));
  return out;
}

} // namespace heddle
