//===- BundleReader.cpp - a program from the bytes of a bundle ------------===//
//
// Nothing in the file is trusted: every length is compared with the bytes that
// are left before it is used, and the program is verified at the end.
//
//===----------------------------------------------------------------------===//

#include "BundleFormat.h"
#include "heddle/Runtime/Program.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace heddle {
using namespace bundle;

static uint64_t readLittleEndian(const uint8_t *p, int width) {
  uint64_t v = 0;
  for (int i = 0; i < width; ++i)
    v |= static_cast<uint64_t>(p[i]) << (8 * i);
  return v;
}

namespace {

/// Reads little-endian fields. After a failure every read gives zero or empty
/// and `error` says what was expected first.
class ByteReader {
public:
  ByteReader(const uint8_t *data, size_t size) : data(data), size(size) {}

  uint8_t u8(const char *what) {
    return static_cast<uint8_t>(integer(1, what));
  }
  uint32_t u32(const char *what) {
    return static_cast<uint32_t>(integer(4, what));
  }
  uint64_t u64(const char *what) { return integer(8, what); }
  int64_t i64(const char *what) {
    return static_cast<int64_t>(integer(8, what));
  }
  bool boolean(const char *what) { return choice(1, what) != 0; }

  /// An enumerator up to `last`.
  uint8_t choice(uint8_t last, const char *what) {
    uint8_t v = u8(what);
    if (v <= last)
      return v;
    fail(std::string("unknown ") + what + ' ' + std::to_string(v));
    return 0;
  }
  /// A number of entries of at least `minBytes` each.
  uint32_t count(size_t minBytes, const char *what) {
    uint32_t n = u32(what);
    if (n <= (size - position) / minBytes)
      return n;
    fail(std::to_string(n) + ' ' + what + " do not fit into the " +
         std::to_string(size - position) + " bytes that are left");
    return 0;
  }
  std::string string(const char *what) {
    uint32_t n = count(1, what);
    std::string s(reinterpret_cast<const char *>(data) + position, n);
    position += n;
    return s;
  }

  void fail(std::string message) {
    if (error.empty())
      error = std::move(message);
    position = size;
  }
  bool ok() const { return error.empty(); }
  bool atEnd() const { return position == size; }
  const std::string &message() const { return error; }

private:
  uint64_t integer(int width, const char *what) {
    if (size - position < static_cast<size_t>(width)) {
      fail(std::string("no bytes are left for ") + what);
      return 0;
    }
    uint64_t v = readLittleEndian(data + position, width);
    position += width;
    return v;
  }

  const uint8_t *data;
  size_t size;
  size_t position = 0;
  std::string error;
};

struct Section {
  SectionKind kind;
  uint32_t function;
  const uint8_t *data;
  size_t size;
};

} // namespace

static BufferRef getBuffer(ByteReader &r) {
  BufferRef b;
  b.space = static_cast<Space>(r.choice(3, "buffer space"));
  b.index = r.u32("buffer index");
  b.offset = r.i64("buffer offset");
  b.size = r.i64("buffer size");
  uint32_t n = r.count(8, "buffer strides");
  for (uint32_t i = 0; i < n && r.ok(); ++i)
    b.strides.push_back(r.i64("buffer stride"));
  return b;
}

static LaunchArg getLaunchArg(ByteReader &r) {
  LaunchArg arg;
  arg.kind = static_cast<LaunchArg::Kind>(r.choice(2, "launch argument kind"));
  arg.scalar = r.i64("scalar");
  uint32_t n = r.count(25, "launch buffers");
  for (uint32_t i = 0; i < n && r.ok(); ++i)
    arg.buffers.push_back(getBuffer(r));
  return arg;
}

static std::vector<Command> getCommands(ByteReader &r, unsigned depth) {
  std::vector<Command> commands;
  uint32_t n = r.count(9, "commands");
  for (uint32_t i = 0; i < n && r.ok(); ++i) {
    Command c;
    c.kind = static_cast<Command::Kind>(r.choice(3, "command kind"));
    switch (c.kind) {
    case Command::Kind::Launch: {
      c.kernel = r.u32("kernel number");
      c.together = r.boolean("mark of a launch");
      uint32_t numArgs = r.count(13, "launch arguments");
      for (uint32_t a = 0; a < numArgs && r.ok(); ++a)
        c.args.push_back(getLaunchArg(r));
      break;
    }
    case Command::Kind::Copy:
      c.source = getBuffer(r);
      c.dest = getBuffer(r);
      break;
    case Command::Kind::Fill:
      c.dest = getBuffer(r);
      c.pattern = r.u64("fill pattern");
      c.patternSize = r.u32("fill pattern size");
      break;
    case Command::Kind::Repeat:
      c.count = r.i64("repeat count");
      if (depth == kMaxRepeatDepth)
        r.fail("repeats nest deeper than " + std::to_string(kMaxRepeatDepth));
      else
        c.body = getCommands(r, depth + 1);
      break;
    }
    if (r.ok())
      commands.push_back(std::move(c));
  }
  return commands;
}

static std::vector<NamedTensorType> getSignature(ByteReader &r,
                                                 const char *what) {
  std::vector<NamedTensorType> values;
  uint32_t n = r.count(15, what);
  for (uint32_t i = 0; i < n && r.ok(); ++i) {
    NamedTensorType v;
    v.name = r.string("name");
    v.type.dtype = static_cast<DType>(r.choice(8, "element type"));
    uint32_t rank = r.count(8, "dimensions");
    for (uint32_t d = 0; d < rank && r.ok(); ++d)
      v.type.shape.push_back(r.i64("dimension"));
    v.used = r.boolean("used flag");
    v.donated = r.boolean("donated flag");
    v.alias = static_cast<int32_t>(r.u32("alias"));
    values.push_back(std::move(v));
  }
  return values;
}

static KernelInfo getKernel(ByteReader &r) {
  KernelInfo k;
  k.name = r.string("kernel name");
  k.family = r.string("kernel family");
  k.description = r.string("kernel description");
  k.numBlocks = r.i64("number of blocks");
  k.scratchBytes = r.i64("scratch bytes");
  k.flops = r.i64("flops");
  k.matrixFlops = r.i64("matrix flops");
  k.matrixType = r.string("matrix type");
  k.specialOps = r.i64("special operations");
  k.minBytes = r.i64("minimal bytes");
  return k;
}

static GpuKernel getGpuKernel(ByteReader &r) {
  GpuKernel k;
  k.symbol = r.string("kernel symbol");
  for (uint32_t &n : k.grid)
    n = r.u32("grid size");
  for (uint32_t &n : k.block)
    n = r.u32("block size");
  k.sharedBytes = r.i64("shared memory bytes");
  for (int64_t *v :
       {&k.registers, &k.spillBytes, &k.stackBytes, &k.staticSharedBytes,
        &k.globalBytes})
    *v = r.i64("kernel figure");
  k.tile = r.string("tile");
  return k;
}

static GpuImage getImage(ByteReader &r) {
  GpuImage image;
  image.kind = static_cast<GpuImageKind>(r.choice(2, "image kind"));
  image.target = r.string("image target");
  image.ptxVersion = r.u32("PTX version");
  uint32_t n = r.count(80, "image kernels");
  for (uint32_t i = 0; i < n && r.ok(); ++i)
    image.kernels.push_back(getGpuKernel(r));
  return image;
}

static MemoryPlan getPlan(ByteReader &r) {
  MemoryPlan p;
  for (int64_t *v : {&p.argBytes, &p.outBytes, &p.aliasBytes, &p.arenaBytes,
                     &p.scratchBytesPerThread, &p.maxLiveBytes, &p.workBytes})
    *v = r.i64("plan figure");
  p.planHash = r.u64("plan hash");
  return p;
}

static void decodeProgram(ByteReader &r, Program &program) {
  program.target = r.string("target");
  program.isa = r.string("isa");
  program.producer = r.string("producer");
  uint32_t numFeatures = r.count(4, "isa features");
  for (uint32_t i = 0; i < numFeatures && r.ok(); ++i)
    program.isaFeatures.push_back(r.string("isa feature"));
  uint32_t numFunctions = r.count(84, "functions");
  for (uint32_t i = 0; i < numFunctions && r.ok(); ++i) {
    Function f;
    f.name = r.string("function name");
    f.arguments = getSignature(r, "arguments");
    f.results = getSignature(r, "results");
    uint32_t numKernels = r.count(64, "kernels");
    for (uint32_t k = 0; k < numKernels && r.ok(); ++k)
      f.kernels.push_back(getKernel(r));
    uint32_t numImages = r.count(13, "images");
    for (uint32_t k = 0; k < numImages && r.ok(); ++k)
      f.images.push_back(getImage(r));
    f.plan = getPlan(r);
    f.commands = getCommands(r, 0);
    program.functions.push_back(std::move(f));
  }
  if (r.ok() && !r.atEnd())
    r.fail("bytes are left after the last function");
}

/// What foreign bytes look like, for the error message.
static std::string describe(const uint8_t *data, size_t size) {
  auto startsWith = [&](const char *prefix, size_t n) {
    return size >= n && !std::memcmp(data, prefix, n);
  };
  if (size == 0)
    return "an empty file";
  if (startsWith("\x7f"
                 "ELF",
                 4))
    return "an ELF file";
  if (startsWith("\x93NUMPY", 6))
    return "an npy file";
  if (startsWith("ML\xefR", 4))
    return "MLIR bytecode";
  bool text = true;
  for (size_t i = 0; i < size && i < 256 && text; ++i)
    text = data[i] == '\n' || data[i] == '\t' || data[i] == '\r' ||
           (data[i] >= 0x20 && data[i] < 0x7f);
  return std::to_string(size) + (text ? " bytes of text" : " foreign bytes");
}

static Status corrupt(const std::string &why) {
  return Status::error("expected a heddle bundle, got a damaged one: " + why +
                       "; recompile with heddle-compile");
}

/// Checks header and checksum.
static Status readHeader(const uint8_t *data, size_t size) {
  size_t magic = std::min(size, sizeof(kMagic));
  if (size == 0 || std::memcmp(data, kMagic, magic) != 0)
    return Status::error("expected a heddle bundle, got " +
                         describe(data, size) +
                         "; recompile with heddle-compile");
  if (size < kHeaderBytes)
    return corrupt("it ends after " + std::to_string(size) +
                   " bytes, inside the header");
  uint64_t version = readLittleEndian(data + kVersionAt, 4);
  if (version != kVersion)
    return Status::error(
        "expected a heddle bundle of format version " +
        std::to_string(kVersion) + ", got version " + std::to_string(version) +
        (version > kVersion ? "; use a newer heddle runtime or recompile with "
                              "the heddle-compile of this one"
                            : "; recompile with heddle-compile"));
  uint64_t fileSize = readLittleEndian(data + kFileSizeAt, 8);
  if (fileSize != size)
    return corrupt("its header says " + std::to_string(fileSize) +
                   " bytes and there are " + std::to_string(size));
  uint64_t stored = readLittleEndian(data + kChecksumAt, 8);
  uint64_t actual = checksum(data, size);
  if (stored != actual) {
    char text[96];
    std::snprintf(text, sizeof(text), "checksum %016llx instead of %016llx",
                  static_cast<unsigned long long>(actual),
                  static_cast<unsigned long long>(stored));
    return corrupt(text);
  }
  return {};
}

static Status readSections(const uint8_t *data, size_t size,
                           std::vector<Section> &sections) {
  uint64_t n = readLittleEndian(data + kSectionCountAt, 4);
  if (n > (size - kHeaderBytes) / kSectionEntryBytes)
    return corrupt(std::to_string(n) + " sections do not fit into it");
  // Sections are stored in order without overlap, so that together they hold
  // no more than the file.
  uint64_t end = kHeaderBytes + n * kSectionEntryBytes;
  for (uint64_t i = 0; i < n; ++i) {
    const uint8_t *entry = data + kHeaderBytes + i * kSectionEntryBytes;
    Section s;
    s.kind = static_cast<SectionKind>(readLittleEndian(entry, 4));
    s.function = static_cast<uint32_t>(readLittleEndian(entry + 4, 4));
    uint64_t offset = readLittleEndian(entry + 8, 8);
    uint64_t length = readLittleEndian(entry + 16, 8);
    if (offset > size || length > size - offset)
      return corrupt("section " + std::to_string(i) +
                     " lies outside of the file");
    if (offset < end || offset % kSectionAlignment != 0)
      return corrupt("section " + std::to_string(i) +
                     " is misaligned or overlaps the one before");
    end = offset + length;
    s.data = data + offset;
    s.size = length;
    sections.push_back(s);
  }
  return {};
}

/// The bulk data of the functions; their images are filled in order.
static Status readBulk(const std::vector<Section> &sections, Program &program) {
  std::vector<size_t> numImages(program.functions.size());
  for (size_t i = 1; i < sections.size(); ++i) {
    const Section &s = sections[i];
    if (s.function >= program.functions.size())
      return corrupt("section " + std::to_string(i) + " belongs to function " +
                     std::to_string(s.function) + " of " +
                     std::to_string(program.functions.size()));
    Function &f = program.functions[s.function];
    switch (s.kind) {
    case SectionKind::Object:
      f.objects.emplace_back(s.data, s.data + s.size);
      continue;
    case SectionKind::Image:
      if (numImages[s.function] == f.images.size())
        return corrupt("section " + std::to_string(i) + " is an image more " +
                       "than the " + std::to_string(f.images.size()) +
                       " that function '" + f.name + "' lists");
      f.images[numImages[s.function]++].bytes.assign(s.data, s.data + s.size);
      continue;
    case SectionKind::Constants:
      f.constants.assign(s.data, s.data + s.size);
      continue;
    case SectionKind::Source:
      f.source.assign(reinterpret_cast<const char *>(s.data), s.size);
      continue;
    case SectionKind::Program:
      break;
    }
    return corrupt("section " + std::to_string(i) + " has the unknown kind " +
                   std::to_string(static_cast<uint32_t>(s.kind)));
  }
  return {};
}

Status deserializeProgram(const uint8_t *data, size_t size, Program &program) {
  if (Status s = readHeader(data, size); !s)
    return s;
  std::vector<Section> sections;
  if (Status s = readSections(data, size, sections); !s)
    return s;
  if (sections.empty() || sections[0].kind != SectionKind::Program)
    return corrupt("its first section is not the program");
  Program result;
  ByteReader reader(sections[0].data, sections[0].size);
  decodeProgram(reader, result);
  if (!reader.ok())
    return corrupt(reader.message());
  if (Status s = readBulk(sections, result); !s)
    return s;
  if (Status s = verifyProgram(result); !s)
    return corrupt(s.message);
  program = std::move(result);
  return {};
}

} // namespace heddle
