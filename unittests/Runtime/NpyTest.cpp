//===- NpyTest.cpp - host tensors as .npy files ---------------------------===//

#include "heddle/Runtime/Npy.h"

#include "gtest/gtest.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <unistd.h>

using namespace heddle;

namespace {

TensorType type(DType dtype, std::vector<int64_t> shape) {
  TensorType t;
  t.dtype = dtype;
  t.shape = std::move(shape);
  return t;
}

/// A file of version 1 with this dictionary and these elements.
std::vector<uint8_t> fileOf(const std::string &dictionary, size_t elementBytes,
                            int version = 1) {
  std::string text =
      std::string("\x93NUMPY", 6) + static_cast<char>(version) + '\0';
  size_t n = dictionary.size();
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    text += static_cast<char>(n >> (8 * i) & 0xff);
  text += dictionary;
  std::vector<uint8_t> bytes(text.begin(), text.end());
  for (size_t i = 0; i < elementBytes; ++i)
    bytes.push_back(static_cast<uint8_t>(i));
  return bytes;
}

std::string dictionary(const std::string &descr, const std::string &shape,
                       const std::string &order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order +
         ", 'shape': " + shape + ", }\n";
}

std::string errorOf(const std::vector<uint8_t> &bytes,
                    const TensorType *wanted = nullptr) {
  HostTensor t;
  return parseNpy("f.npy", bytes.data(), bytes.size(), t, wanted).message;
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST(Npy, FilesHoldEveryTypeAndShape) {
  char path[] = "/tmp/heddle-npy-test-XXXXXX";
  int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  close(fd);
  for (int d = 0; d <= 8; ++d) {
    for (std::vector<int64_t> shape : std::vector<std::vector<int64_t>>{
             {}, {1}, {5}, {0}, {3, 0, 2}, {2, 3}, {2, 1, 3, 5}}) {
      HostTensor tensor(type(static_cast<DType>(d), shape));
      for (size_t i = 0; i < tensor.bytes.size(); ++i)
        tensor.bytes[i] = static_cast<uint8_t>(i * 37 + 1);
      Status s = writeNpyFile(path, tensor);
      ASSERT_TRUE(s.ok()) << s.message;
      HostTensor read;
      s = readNpyFile(path, read);
      ASSERT_TRUE(s.ok()) << s.message;
      EXPECT_EQ(read.type, tensor.type);
      EXPECT_EQ(read.bytes, tensor.bytes);
      s = readNpyFile(path, read, &tensor.type);
      ASSERT_TRUE(s.ok()) << s.message;
    }
  }
  std::remove(path);
}

TEST(Npy, HeaderIsNumpys) {
  // What numpy.save writes for float32 of shape (3,).
  std::string header = npyHeader(type(DType::F32, {3}));
  std::string text =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
  EXPECT_EQ(header.size(), 128u);
  EXPECT_EQ(header.substr(0, 10), std::string("\x93NUMPY\x01\0v\0", 10));
  EXPECT_EQ(header.substr(10, text.size()), text);
  EXPECT_EQ(header.back(), '\n');
  EXPECT_TRUE(contains(npyHeader(type(DType::I1, {})), "'|b1'"));
  EXPECT_TRUE(contains(npyHeader(type(DType::I8, {})), "'|i1'"));
  EXPECT_TRUE(contains(npyHeader(type(DType::BF16, {})), "'<V2'"));
  EXPECT_TRUE(contains(npyHeader(type(DType::F16, {2, 3})), "(2, 3), }"));
  EXPECT_TRUE(contains(npyHeader(type(DType::F16, {})), "(), }"));
}

TEST(Npy, ConvertsFortranOrder) {
  std::vector<uint8_t> bytes = fileOf(dictionary("|i1", "(2, 3)", "True"), 6);
  HostTensor t;
  ASSERT_TRUE(parseNpy("f.npy", bytes.data(), bytes.size(), t).ok());
  EXPECT_EQ(t.bytes, (std::vector<uint8_t>{0, 2, 4, 1, 3, 5}));
  bytes = fileOf(dictionary("|i1", "(2, 2, 2)", "True"), 8);
  ASSERT_TRUE(parseNpy("f.npy", bytes.data(), bytes.size(), t).ok());
  EXPECT_EQ(t.bytes, (std::vector<uint8_t>{0, 4, 2, 6, 1, 5, 3, 7}));
  bytes = fileOf(dictionary("<i2", "(0, 3)", "True"), 0);
  ASSERT_TRUE(parseNpy("f.npy", bytes.data(), bytes.size(), t).ok());
  EXPECT_TRUE(t.bytes.empty());
}

TEST(Npy, ReadsVersion2AndOtherSpelling) {
  std::string spelled = "{ \"shape\":(3 ,4) ,\"fortran_order\" : False,"
                        "\"descr\" :\"<f2\"}   \n";
  for (int version : {1, 2, 3}) {
    HostTensor t;
    std::vector<uint8_t> bytes = fileOf(spelled, 24, version);
    Status s = parseNpy("f.npy", bytes.data(), bytes.size(), t);
    ASSERT_TRUE(s.ok()) << s.message;
    EXPECT_EQ(t.type, type(DType::F16, {3, 4}));
  }
}

TEST(Npy, ReadsBfloat16) {
  HostTensor t;
  TensorType wanted = type(DType::BF16, {4});
  for (const char *descr : {"<V2", "|V2", "<u2"}) {
    std::vector<uint8_t> bytes = fileOf(dictionary(descr, "(4,)"), 8);
    Status s = parseNpy("f.npy", bytes.data(), bytes.size(), t, &wanted);
    ASSERT_TRUE(s.ok()) << s.message;
    EXPECT_EQ(t.type, wanted);
  }
  EXPECT_TRUE(
      contains(errorOf(fileOf(dictionary("<u2", "(4,)"), 8)), "got '<u2'"));
}

TEST(Npy, NamesWantedAndFound) {
  std::vector<uint8_t> bytes = fileOf(dictionary("<f4", "(2, 3)"), 24);
  TensorType wanted = type(DType::F32, {3, 2});
  EXPECT_EQ(errorOf(bytes, &wanted),
            "'f.npy': expected float32[3,2], got float32[2,3]");
  wanted = type(DType::BF16, {2, 3});
  EXPECT_EQ(errorOf(bytes, &wanted),
            "'f.npy': expected bfloat16[2,3], got float32[2,3]");
  EXPECT_EQ(errorOf(fileOf(dictionary("<c8", "(2,)"), 16), &wanted),
            "'f.npy': expected elements of bfloat16, got '<c8'; convert with "
            "astype");
  EXPECT_TRUE(contains(errorOf(fileOf(dictionary(">f4", "(2,)"), 8)),
                       "expected little-endian elements, got '>f4'"));
}

TEST(Npy, RefusesDamagedFiles) {
  EXPECT_EQ(errorOf({}), "'f.npy': expected an npy file, got an empty file; "
                         "write it with numpy.save");
  EXPECT_TRUE(contains(errorOf(std::vector<uint8_t>(50, 'x')),
                       "expected an npy file, got 50 foreign bytes"));
  EXPECT_TRUE(contains(errorOf(fileOf(dictionary("<f4", "(2,)"), 8, 9)),
                       "expected npy format version 1 or 2, got 9"));
  EXPECT_TRUE(contains(errorOf(fileOf(dictionary("<f4", "(2,)"), 7)),
                       "truncated: float32[2] does not fit into the 7 bytes"));
  EXPECT_TRUE(contains(errorOf(fileOf(dictionary("<f4", "(2,)"), 9)),
                       "1 bytes more than float32[2] needs"));
  EXPECT_TRUE(contains(
      errorOf(fileOf(dictionary("<f4", "(4000000000, 4000000000)"), 64)),
      "truncated"));
  // Zero elements allow any other size.
  EXPECT_EQ(errorOf(fileOf(dictionary("<f4", "(4000000000, 0)"), 0)), "");
  for (const char *shape : {"(2)", "(2 3)", "(,)", "(-1,)", "[2]", "(2,", "2",
                            "(99999999999999999999,)"})
    EXPECT_TRUE(contains(errorOf(fileOf(dictionary("<f4", shape), 8)),
                         "a tuple of at most 32 sizes"))
        << shape;
  EXPECT_TRUE(contains(errorOf(fileOf("{'descr': [('a', '<f4')]}", 8)),
                       "a plain element type"));
  EXPECT_TRUE(contains(errorOf(fileOf("{'descr': '<f4', 'shape': (2,)}", 8)),
                       "the keys descr, fortran_order and shape"));
  EXPECT_TRUE(contains(errorOf(fileOf("", 8)), "a dictionary"));
}

TEST(Npy, SurvivesTruncationAndRandomHeaders) {
  std::vector<uint8_t> bytes = fileOf(dictionary("<f4", "(2, 3)"), 24);
  for (size_t n = 0; n < bytes.size(); ++n) {
    std::vector<uint8_t> part(bytes.begin(), bytes.begin() + n);
    ASSERT_FALSE(errorOf(part).empty()) << n;
  }
  std::mt19937 random(4);
  const std::string letters = "{}()[]'\":, <f4|V2TrueFalse0123456789shapedescr";
  int refused = 0;
  for (int round = 0; round < 50000; ++round) {
    std::string text = dictionary("<f4", "(2, 3)");
    for (int c = 0; c < 3; ++c)
      text[random() % text.size()] = letters[random() % letters.size()];
    refused += !errorOf(fileOf(text, 24)).empty();
  }
  EXPECT_GT(refused, 25000);
}

TEST(Npy, NamesUnwritableOutput) {
  HostTensor t(type(DType::F32, {2}));
  EXPECT_TRUE(contains(writeNpyFile("/no/such/folder/f.npy", t).message,
                       "cannot write '/no/such/folder/f.npy': no such file"));
  HostTensor read;
  EXPECT_TRUE(contains(readNpyFile("/no/such.npy", read).message,
                       "cannot read '/no/such.npy'"));
  EXPECT_TRUE(contains(readNpyFile("/tmp", read).message, "is a directory"));
}
