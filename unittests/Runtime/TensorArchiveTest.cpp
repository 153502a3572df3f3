//===- TensorArchiveTest.cpp - .npz and .safetensors files ----------------===//

#include "heddle/Runtime/TensorArchive.h"

#include "gtest/gtest.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace heddle;

namespace {

/// Deflated entries "w" (f32, 2 x 3: 0 to 5) and "count" (i32, rank 0: 7), as
/// Python's zipfile writes them.
constexpr uint8_t kDeflated[] = {
    0x50, 0x4b, 0x03, 0x04, 0x14, 0x00, 0x00, 0x00, 0x08, 0x00, 0xe4, 0x59,
    0x7e, 0x5d, 0x4f, 0xe9, 0x00, 0x2a, 0x55, 0x00, 0x00, 0x00, 0x98, 0x00,
    0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x77, 0x2e, 0x6e, 0x70, 0x79, 0x9b,
    0xec, 0x17, 0xea, 0x1b, 0x10, 0xc9, 0xc8, 0x50, 0xc6, 0x50, 0xad, 0x9e,
    0x92, 0x5a, 0x9c, 0x5c, 0xa4, 0x6e, 0xa5, 0xa0, 0x6e, 0x93, 0x66, 0xa2,
    0xae, 0xa3, 0xa0, 0x9e, 0x96, 0x5f, 0x54, 0x52, 0x94, 0x98, 0x17, 0x9f,
    0x5f, 0x94, 0x92, 0x0a, 0x12, 0x77, 0x4b, 0xcc, 0x29, 0x4e, 0x05, 0x8a,
    0x17, 0x67, 0x24, 0x16, 0xa4, 0x02, 0xf9, 0x1a, 0x46, 0x3a, 0x0a, 0xc6,
    0x9a, 0x3a, 0x0a, 0xb5, 0x0a, 0x64, 0x03, 0x2e, 0x06, 0x30, 0x68, 0xb0,
    0x07, 0x12, 0x0e, 0x40, 0x04, 0xc4, 0x0d, 0x40, 0xbc, 0xc0, 0x01, 0x00,
    0x50, 0x4b, 0x03, 0x04, 0x14, 0x00, 0x00, 0x00, 0x08, 0x00, 0xe4, 0x59,
    0x7e, 0x5d, 0x0c, 0x2d, 0xb1, 0xb4, 0x46, 0x00, 0x00, 0x00, 0x84, 0x00,
    0x00, 0x00, 0x09, 0x00, 0x00, 0x00, 0x63, 0x6f, 0x75, 0x6e, 0x74, 0x2e,
    0x6e, 0x70, 0x79, 0x9b, 0xec, 0x17, 0xea, 0x1b, 0x10, 0xc9, 0xc8, 0x50,
    0xc6, 0x50, 0xad, 0x9e, 0x92, 0x5a, 0x9c, 0x5c, 0xa4, 0x6e, 0xa5, 0xa0,
    0x6e, 0x93, 0x69, 0xa2, 0xae, 0xa3, 0xa0, 0x9e, 0x96, 0x5f, 0x54, 0x52,
    0x94, 0x98, 0x17, 0x9f, 0x5f, 0x94, 0x92, 0x0a, 0x12, 0x77, 0x4b, 0xcc,
    0x29, 0x4e, 0x05, 0x8a, 0x17, 0x67, 0x24, 0x16, 0xa4, 0x02, 0xf9, 0x1a,
    0x9a, 0x3a, 0x0a, 0xb5, 0x0a, 0x14, 0x01, 0x2e, 0x76, 0x06, 0x06, 0x06,
    0x00, 0x50, 0x4b, 0x01, 0x02, 0x14, 0x03, 0x14, 0x00, 0x00, 0x00, 0x08,
    0x00, 0xe4, 0x59, 0x7e, 0x5d, 0x4f, 0xe9, 0x00, 0x2a, 0x55, 0x00, 0x00,
    0x00, 0x98, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x77,
    0x2e, 0x6e, 0x70, 0x79, 0x50, 0x4b, 0x01, 0x02, 0x14, 0x03, 0x14, 0x00,
    0x00, 0x00, 0x08, 0x00, 0xe4, 0x59, 0x7e, 0x5d, 0x0c, 0x2d, 0xb1, 0xb4,
    0x46, 0x00, 0x00, 0x00, 0x84, 0x00, 0x00, 0x00, 0x09, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x01, 0x78, 0x00,
    0x00, 0x00, 0x63, 0x6f, 0x75, 0x6e, 0x74, 0x2e, 0x6e, 0x70, 0x79, 0x50,
    0x4b, 0x05, 0x06, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x02, 0x00, 0x6a,
    0x00, 0x00, 0x00, 0xe5, 0x00, 0x00, 0x00, 0x00, 0x00,
};

TensorType type(DType dtype, std::vector<int64_t> shape) {
  TensorType t;
  t.dtype = dtype;
  t.shape = std::move(shape);
  return t;
}

HostTensor counting(DType dtype, std::vector<int64_t> shape) {
  HostTensor tensor(type(dtype, std::move(shape)));
  for (size_t i = 0; i < tensor.bytes.size(); ++i)
    tensor.bytes[i] = static_cast<uint8_t>(dtype == DType::I1 ? i % 2 : i);
  return tensor;
}

/// A path in a fresh folder, removed at the end.
class TemporaryFile {
public:
  explicit TemporaryFile(const std::string &name) {
    char text[] = "/tmp/heddle-archive-XXXXXX";
    folder = mkdtemp(text);
    path = folder + "/" + name;
  }
  ~TemporaryFile() {
    std::remove(path.c_str());
    rmdir(folder.c_str());
  }
  std::string folder, path;
};

std::vector<uint8_t> contents(const std::string &path) {
  std::vector<uint8_t> bytes;
  FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    return bytes;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
    bytes.push_back(static_cast<uint8_t>(c));
  std::fclose(file);
  return bytes;
}

TEST(TensorArchive, every_type_and_shape_comes_back) {
  for (const char *name : {"a.npz", "a.safetensors"}) {
    SCOPED_TRACE(name);
    TemporaryFile file(name);
    std::vector<HostTensor> tensors;
    for (DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16,
                        DType::I1, DType::I8, DType::I16, DType::I32,
                        DType::I64})
      for (std::vector<int64_t> shape :
           {std::vector<int64_t>{}, {3}, {2, 0, 4}, {2, 3, 5}})
        tensors.push_back(counting(dtype, shape));
    std::vector<ArchivedTensor> named;
    for (size_t i = 0; i < tensors.size(); ++i)
      named.push_back({"layers." + std::to_string(i) + ".w\u00e9", &tensors[i]});
    ASSERT_TRUE(writeTensorArchive(file.path, named).ok());
    TensorArchive archive;
    Status status = TensorArchive::open(file.path, archive);
    ASSERT_TRUE(status.ok()) << status.message;
    EXPECT_EQ(archive.names().size(), tensors.size());
    for (const ArchivedTensor &t : named) {
      HostTensor back;
      status = archive.read(t.name, back, &t.tensor->type);
      ASSERT_TRUE(status.ok()) << status.message;
      EXPECT_TRUE(back.type == t.tensor->type);
      EXPECT_EQ(back.bytes, t.tensor->bytes);
    }
  }
}

TEST(TensorArchive, deflated_entries_are_inflated) {
  TensorArchive archive;
  std::vector<uint8_t> bytes(std::begin(kDeflated), std::end(kDeflated));
  Status status = TensorArchive::parse("a.npz", bytes, archive);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(archive.names(), (std::vector<std::string>{"count", "w"}));
  HostTensor w, count;
  ASSERT_TRUE(archive.read("w", w).ok());
  EXPECT_TRUE(w.type == type(DType::F32, {2, 3}));
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(loadElement(w.bytes.data(), DType::F32, i), i);
  ASSERT_TRUE(archive.read("count", count).ok());
  EXPECT_TRUE(count.type == type(DType::I32, {}));
  EXPECT_EQ(loadElement(count.bytes.data(), DType::I32, 0), 7);
}

TEST(TensorArchive, says_what_was_wanted) {
  TensorArchive archive;
  std::vector<uint8_t> bytes(std::begin(kDeflated), std::end(kDeflated));
  ASSERT_TRUE(TensorArchive::parse("a.npz", bytes, archive).ok());
  HostTensor tensor;
  EXPECT_EQ(archive.read("v", tensor).message,
            "'a.npz': expected a tensor 'v', found none");
  TensorType wanted = type(DType::F32, {3, 2});
  EXPECT_NE(archive.read("w", tensor, &wanted)
                .message.find("expected float32[3,2], got float32[2,3]"),
            std::string::npos);
  EXPECT_EQ(TensorArchive::parse("x", {'n', 'o', 'n', 'e'}, archive).message,
            "'x': expected a .npz or .safetensors file, found neither");
  EXPECT_EQ(writeTensorArchive("a.npy", {}).message,
            "expected a path that ends with .npz or .safetensors, got 'a.npy'");
}

/// Whatever a byte is changed to and wherever a file ends, reading it is an
/// error or gives tensors, and never more than the file can hold.
TEST(TensorArchive, damaged_files_are_errors) {
  TemporaryFile file("a.safetensors"), zipped("a.npz");
  HostTensor a = counting(DType::F32, {2, 3}), b = counting(DType::I64, {4});
  std::vector<ArchivedTensor> named = {{"a", &a}, {"b", &b}};
  ASSERT_TRUE(writeTensorArchive(file.path, named).ok());
  ASSERT_TRUE(writeTensorArchive(zipped.path, named).ok());
  std::vector<std::vector<uint8_t>> files = {
      contents(file.path), contents(zipped.path),
      {std::begin(kDeflated), std::end(kDeflated)}};
  auto readAll = [](std::vector<uint8_t> bytes) {
    TensorArchive archive;
    bool good = TensorArchive::parse("x", std::move(bytes), archive).ok();
    for (const std::string &name : archive.names()) {
      HostTensor tensor;
      good &= archive.read(name, tensor).ok();
    }
    return good;
  };
  for (const std::vector<uint8_t> &bytes : files) {
    ASSERT_TRUE(readAll(bytes));
    for (size_t n = 0; n < bytes.size(); ++n)
      EXPECT_FALSE(readAll({bytes.begin(), bytes.begin() + n})) << n;
    for (size_t at = 0; at < bytes.size(); ++at)
      for (int value : {0x00, 0x7f, 0xff}) {
        std::vector<uint8_t> changed = bytes;
        changed[at] = static_cast<uint8_t>(value);
        (void)readAll(std::move(changed));
      }
  }
  // A changed element of a zip entry is found by its checksum.
  std::vector<uint8_t> changed = files[1];
  changed[150] ^= 1;
  EXPECT_FALSE(readAll(changed));
}

} // namespace
