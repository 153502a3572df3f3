//===- BundleTest.cpp - writing and reading bundles -----------------------===//

#include "TestPrograms.h"
#include "core/BundleFormat.h"

#include "gtest/gtest.h"

#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

using namespace heddle;
using namespace heddle::test;

namespace {

void put(std::vector<uint8_t> &bytes, size_t at, uint64_t value, int width) {
  for (int i = 0; i < width; ++i)
    bytes[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

/// Makes the checksum right again, so that what lies behind it is tested.
void reseal(std::vector<uint8_t> &bytes) {
  put(bytes, bundle::kChecksumAt, bundle::checksum(bytes.data(), bytes.size()),
      8);
}

std::vector<uint8_t> smallBundle() {
  Function f = layersFunction();
  f.objects = {std::vector<uint8_t>(100)}; // reading does not look into it
  f.images = {imageFor(f, GpuImageKind::Ptx, "sm_80"),
              imageFor(f, GpuImageKind::Cubin, "sm_90a")};
  return serializeProgram(programOf({f}));
}

std::string errorOf(const std::vector<uint8_t> &bytes) {
  Program p;
  return deserializeProgram(bytes.data(), bytes.size(), p).message;
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// A fresh empty folder, removed at the end.
struct Folder {
  Folder() {
    char name[] = "/tmp/heddle-bundle-test-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() {
    for (const std::string &f : files())
      std::remove((path + "/" + f).c_str());
    rmdir(path.c_str());
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    if (DIR *dir = opendir(path.c_str())) {
      while (dirent *entry = readdir(dir))
        if (entry->d_name[0] != '.')
          names.push_back(entry->d_name);
      closedir(dir);
    }
    return names;
  }
  std::string path;
};

} // namespace

TEST(Bundle, WritesAndReadsEveryField) {
  Function f = layersFunction();
  f.arguments[0].donated = true;
  f.arguments[1].name = "";
  f.results[0].alias = 0;
  f.commands.push_back(
      launch(1, {tableArg({buffer(Space::Arena, 0, 0, 8),
                           buffer(Space::Constants, 0, 8, 16)})}));
  Function g = layersFunction();
  g.arguments.push_back(floats("unused", 3));
  g.arguments[2].used = false;
  g.arguments[2].type.dtype = DType::I64;
  g.source.clear();
  Program p = programOf({f, g});
  p.isaFeatures = {"avx2", "fma"};

  std::vector<uint8_t> bytes = serializeProgram(p);
  Program q;
  Status s = deserializeProgram(bytes.data(), bytes.size(), q);
  ASSERT_TRUE(s.ok()) << s.message;
  EXPECT_EQ(q.target, "cpu");
  EXPECT_EQ(q.isa, p.isa);
  EXPECT_EQ(q.producer, p.producer);
  EXPECT_EQ(q.isaFeatures, p.isaFeatures);
  ASSERT_EQ(q.functions.size(), 2u);
  const Function &r = q.functions[0];
  EXPECT_EQ(r.name, "main");
  EXPECT_EQ(r.arguments[1].type, f.arguments[1].type);
  EXPECT_TRUE(r.arguments[0].donated);
  EXPECT_EQ(r.results[0].alias, 0);
  EXPECT_FALSE(q.functions[1].arguments[2].used);
  EXPECT_EQ(q.functions[1].arguments[2].type.dtype, DType::I64);
  EXPECT_EQ(q.functions[1].source, "");
  EXPECT_EQ(q.functions[1].results[0].alias, -1);
  EXPECT_EQ(r.objects, f.objects);
  EXPECT_EQ(r.constants, f.constants);
  EXPECT_EQ(r.source, f.source);
  EXPECT_EQ(r.plan.planHash, f.plan.planHash);
  EXPECT_EQ(r.plan.arenaBytes, f.plan.arenaBytes);
  EXPECT_EQ(r.kernels[0].name, "axpy");
  EXPECT_EQ(r.kernels[0].description, "block 16");
  EXPECT_EQ(r.kernels[1].scratchBytes, 64);
  ASSERT_EQ(r.commands.size(), 4u);
  EXPECT_EQ(r.commands[1].pattern, 0x3f800000u);
  EXPECT_EQ(r.commands[2].count, 3);
  ASSERT_EQ(r.commands[2].body.size(), 2u);
  EXPECT_EQ(r.commands[2].body[0].source.strides,
            f.commands[2].body[0].source.strides);
  EXPECT_EQ(r.commands[3].args[0].kind, LaunchArg::Kind::PointerTable);
  EXPECT_EQ(r.commands[3].args[0].buffers.size(), 2u);
  // What is read is what is written: the second writing is equal.
  EXPECT_EQ(serializeProgram(q), bytes);
}

TEST(Bundle, WritesAndReadsImages) {
  Function f = layersFunction();
  f.images = {imageFor(f, GpuImageKind::Ptx, "sm_80"),
              imageFor(f, GpuImageKind::Cubin, "sm_90a"),
              imageFor(f, GpuImageKind::Emulator, "sm_90a")};
  GpuKernel &k = f.images[1].kernels[1];
  k.grid = {0x7fffffff, 65535, 2};
  k.block = {1, 16, 64};
  k.registers = 255;
  k.spillBytes = 8;
  k.stackBytes = 16;
  k.staticSharedBytes = 4096;
  Function g = layersFunction();
  g.images = {imageFor(g, GpuImageKind::Ptx, "sm_90")};
  std::vector<uint8_t> bytes = serializeProgram(programOf({f, g}));
  Program q;
  Status s = deserializeProgram(bytes.data(), bytes.size(), q);
  ASSERT_TRUE(s.ok()) << s.message;
  ASSERT_EQ(q.functions[0].images.size(), 3u);
  ASSERT_EQ(q.functions[1].images.size(), 1u);
  for (size_t i = 0; i < 3; ++i) {
    const GpuImage &read = q.functions[0].images[i], &written = f.images[i];
    EXPECT_EQ(read.target, written.target);
    EXPECT_EQ(read.kind, written.kind);
    EXPECT_EQ(read.ptxVersion, written.ptxVersion);
    EXPECT_EQ(read.bytes, written.bytes);
  }
  const GpuKernel &r = q.functions[0].images[1].kernels[1];
  EXPECT_EQ(r.symbol, "through_scratch");
  EXPECT_EQ(r.grid, k.grid);
  EXPECT_EQ(r.block, k.block);
  EXPECT_EQ(r.sharedBytes, 1024);
  EXPECT_EQ(r.registers, 255);
  EXPECT_EQ(r.spillBytes, 8);
  EXPECT_EQ(r.stackBytes, 16);
  EXPECT_EQ(r.staticSharedBytes, 4096);
  EXPECT_EQ(r.tile, "tile 16");
  EXPECT_EQ(q.functions[1].images[0].bytes, g.images[0].bytes);
  EXPECT_EQ(serializeProgram(q), bytes);
}

TEST(Bundle, ImagesAndTheirSectionsBelongTogether) {
  Function f = layersFunction();
  f.images = {imageFor(f, GpuImageKind::Ptx, "sm_80")};
  f.images[0].bytes.clear(); // an empty section is left out
  EXPECT_TRUE(contains(errorOf(serializeProgram(programOf({f}))),
                       "the ptx image for 'sm_80' is empty"));

  // Turn the object's section into an image that no function lists.
  f.images.clear();
  std::vector<uint8_t> bytes = serializeProgram(programOf({f}));
  put(bytes, bundle::kHeaderBytes + bundle::kSectionEntryBytes,
      static_cast<uint64_t>(bundle::SectionKind::Image), 4);
  reseal(bytes);
  EXPECT_TRUE(contains(errorOf(bytes),
                       "section 1 is an image more than the 0 that function "
                       "'main' lists"));
}

TEST(Bundle, SectionsAreAligned) {
  std::vector<uint8_t> bytes = smallBundle();
  uint32_t n = bytes[bundle::kSectionCountAt];
  ASSERT_EQ(n, 6u);
  for (uint32_t i = 0; i < n; ++i) {
    size_t entry = bundle::kHeaderBytes + i * bundle::kSectionEntryBytes;
    EXPECT_EQ(bytes[entry + 8] % 64, 0);
  }
}

TEST(Bundle, RefusesEveryTruncation) {
  std::vector<uint8_t> bytes = smallBundle();
  for (size_t n = 0; n < bytes.size(); ++n) {
    // A copy of the exact size lets a sanitizer see a read behind the end.
    std::vector<uint8_t> part(bytes.begin(), bytes.begin() + n);
    std::string error = errorOf(part);
    ASSERT_TRUE(contains(error, "expected a heddle bundle, got")) << n;
    ASSERT_TRUE(contains(error, "recompile with heddle-compile")) << n;
  }
}

TEST(Bundle, RefusesEveryFlippedByte) {
  std::vector<uint8_t> bytes = smallBundle();
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::vector<uint8_t> altered = bytes;
    altered[i] ^= static_cast<uint8_t>(1u << (i % 8));
    ASSERT_FALSE(errorOf(altered).empty()) << "byte " << i;
  }
}

TEST(Bundle, SurvivesAlteredBytesUnderARightChecksum) {
  std::vector<uint8_t> bytes = smallBundle();
  std::mt19937 random(1);
  int accepted = 0, refused = 0;
  for (int round = 0; round < 40000; ++round) {
    std::vector<uint8_t> altered = bytes;
    int changes = 1 + static_cast<int>(random() % 3);
    for (int c = 0; c < changes; ++c) {
      // Leave magic, version and size in peace to reach the sections.
      size_t i = 64 + random() % (altered.size() - 64);
      static const uint8_t interesting[] = {0, 1, 0x7f, 0x80, 0xff};
      altered[i] = random() % 2 ? interesting[random() % 5]
                                : static_cast<uint8_t>(random());
    }
    reseal(altered);
    Program p;
    Status s = deserializeProgram(altered.data(), altered.size(), p);
    if (s.ok()) {
      ++accepted;
      // Whatever is accepted keeps to its plan.
      ASSERT_TRUE(verifyProgram(p).ok());
    } else {
      ++refused;
      ASSERT_TRUE(contains(s.message, "damaged")) << s.message;
    }
  }
  // Names and numbers of FLOPs may hold anything; structure may not.
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 1000);
}

TEST(Bundle, SurvivesRandomBytesBehindTheMagic) {
  std::mt19937 random(2);
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> bytes(random() % 400);
    for (uint8_t &b : bytes)
      b = random() % 3 ? 0 : static_cast<uint8_t>(random());
    for (size_t i = 0; i < bytes.size() && i < 8; ++i)
      bytes[i] = bundle::kMagic[i];
    if (bytes.size() >= bundle::kHeaderBytes) {
      put(bytes, bundle::kVersionAt, bundle::kVersion, 4);
      put(bytes, bundle::kFileSizeAt, bytes.size(), 8);
      put(bytes, bundle::kSectionCountAt, random() % 5, 4);
      reseal(bytes);
    }
    ASSERT_FALSE(errorOf(bytes).empty());
  }
}

TEST(Bundle, NamesForeignInput) {
  auto error = [](const std::string &text) {
    return errorOf(std::vector<uint8_t>(text.begin(), text.end()));
  };
  EXPECT_EQ(error(""), "expected a heddle bundle, got an empty file; "
                       "recompile with heddle-compile");
  EXPECT_EQ(error("module {\n}\n"),
            "expected a heddle bundle, got 11 bytes of text; recompile with "
            "heddle-compile");
  EXPECT_TRUE(contains(error("\x7f"
                             "ELF\x02"),
                       "got an ELF file"));
  EXPECT_TRUE(contains(error("\x93NUMPY\x01"), "got an npy file"));
  EXPECT_TRUE(contains(error("\x01\x02"), "got 2 foreign bytes"));
}

TEST(Bundle, NamesAnotherFormatVersion) {
  std::vector<uint8_t> bytes = smallBundle();
  put(bytes, bundle::kVersionAt, bundle::kVersion + 1, 4);
  reseal(bytes);
  std::string error = errorOf(bytes);
  EXPECT_TRUE(contains(error, "expected a heddle bundle of format version 4, "
                              "got version 5"))
      << error;
  EXPECT_TRUE(contains(error, "newer heddle runtime")) << error;
  put(bytes, bundle::kVersionAt, 0, 4);
  reseal(bytes);
  EXPECT_TRUE(contains(errorOf(bytes), "got version 0; recompile"));
}

TEST(Bundle, FileIsWholeOrAbsent) {
  Folder folder;
  Program p = programOf({layersFunction()});
  std::string path = folder.path + "/model.heddle";
  Status s = writeProgramFile(path, p);
  ASSERT_TRUE(s.ok()) << s.message;
  EXPECT_EQ(folder.files(), std::vector<std::string>{"model.heddle"});
  Program q;
  s = readProgramFile(path, q);
  ASSERT_TRUE(s.ok()) << s.message;
  EXPECT_EQ(serializeProgram(q), serializeProgram(p));

  s = writeProgramFile(folder.path + "/no/such/model.heddle", p);
  EXPECT_TRUE(contains(s.message, "cannot write '")) << s.message;
  EXPECT_TRUE(contains(s.message, "no such file or directory")) << s.message;
  s = writeProgramFile(folder.path, p);
  EXPECT_TRUE(contains(s.message, "is a directory")) << s.message;
  EXPECT_EQ(folder.files().size(), 1u);
  s = readProgramFile(folder.path + "/other.heddle", q);
  EXPECT_TRUE(contains(s.message, "cannot read '")) << s.message;
}

TEST(Bundle, WritingKeepsLinksAndDevices) {
  Folder folder;
  Program p = programOf({layersFunction()});
  std::string real = folder.path + "/real", link = folder.path + "/link";
  ASSERT_TRUE(writeProgramFile(real, p).ok());
  ASSERT_EQ(symlink("real", link.c_str()), 0);
  ASSERT_TRUE(writeProgramFile(link, p).ok());
  struct stat info;
  ASSERT_EQ(lstat(link.c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
  ASSERT_TRUE(writeProgramFile("/dev/null", p).ok());
  ASSERT_EQ(stat("/dev/null", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
}

TEST(Bundle, InputLargerThanMemoryIsRefused) {
  Folder folder;
  std::string path = folder.path + "/sparse";
  ASSERT_TRUE(writeProgramFile(path, programOf({})).ok());
  ASSERT_EQ(truncate(path.c_str(), off_t(1) << 42), 0); // 4 TiB, no blocks
  Program p;
  std::string error = readProgramFile(path, p).message;
  EXPECT_TRUE(contains(error, "/sparse' needs 4194304 MiB of memory, "))
      << error;
}
