//===- ObjectCodeTest.cpp - loading kernels' object code ------------------===//

#include "cpu/ObjectCode.h"
#include "TestPrograms.h"

#include "gtest/gtest.h"

#include <cmath>
#include <elf.h>
#include <fstream>
#include <random>
#include <sstream>

using namespace heddle;
using namespace heddle::test;

namespace {

Status load(const std::vector<uint8_t> &bytes,
            std::unique_ptr<ObjectCode> &code) {
  return ObjectCode::load(bytes.data(), bytes.size(), code);
}

std::string errorOf(const std::vector<uint8_t> &bytes) {
  std::unique_ptr<ObjectCode> code;
  return load(bytes, code).message;
}

template <typename Fn>
Fn *find(const ObjectCode &code, const char *name) {
  return reinterpret_cast<Fn *>(code.lookup(name));
}

/// The rights ("r-xp") of the mapping that holds `address`.
std::string rightsOf(const void *address) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    unsigned long begin, end;
    char dash;
    std::string rights;
    std::istringstream words(line);
    words >> std::hex >> begin >> dash >> end >> rights;
    unsigned long at = reinterpret_cast<unsigned long>(address);
    if (begin <= at && at < end)
      return rights;
  }
  return "";
}

} // namespace

TEST(ObjectCode, RunsCodeWithDataAndLibraryCalls) {
  std::unique_ptr<ObjectCode> code;
  Status s = load(readBytes(TEST_KERNELS_OBJECT), code);
  ASSERT_TRUE(s.ok()) << s.message;

  EXPECT_EQ(find<float(int)>(*code, "weight")(5), 32.0f);
  EXPECT_EQ(find<int(int)>(*code, "call_table")(2), 3);
  EXPECT_EQ(find<int(int)>(*code, "count")(3), 43);
  EXPECT_EQ(find<int(int)>(*code, "count")(3), 46);
  EXPECT_EQ(find<int(int)>(*code, "select_case")(1), 7);
  EXPECT_EQ(find<int(int)>(*code, "select_case")(7), 42);
  EXPECT_EQ(find<int(int)>(*code, "select_case")(-5), -1);
  EXPECT_DOUBLE_EQ(find<double(double, double)>(*code, "power")(1.5, 0.25),
                   std::pow(1.5, 0.25) + std::tanh(1.5) + std::erf(0.25f));
}

TEST(ObjectCode, HasNoWritableCode) {
  std::unique_ptr<ObjectCode> code;
  ASSERT_TRUE(load(readBytes(TEST_KERNELS_OBJECT), code).ok());
  EXPECT_EQ(rightsOf(code->lookup("axpy")), "r-xp");
}

TEST(ObjectCode, LooksUpGlobalFunctionsOnly) {
  std::unique_ptr<ObjectCode> code;
  ASSERT_TRUE(load(readBytes(TEST_KERNELS_OBJECT), code).ok());
  EXPECT_NE(code->lookup("axpy"), nullptr);
  EXPECT_EQ(code->lookup("gCounter"), nullptr);
  EXPECT_EQ(code->lookup("one"), nullptr);
  EXPECT_EQ(code->lookup("expf"), nullptr);
  EXPECT_EQ(code->lookup(""), nullptr);
}

TEST(ObjectCode, KnowsTheConversionsOfSmallFloats) {
  auto bitsOf = [](float f) {
    uint16_t bits;
    std::memcpy(&bits, &f, 2);
    return bits;
  };
  auto fn = [](const char *name) {
    return reinterpret_cast<float (*)(float)>(lookupExternalSymbol(name));
  };
  EXPECT_EQ(bitsOf(fn("__truncsfhf2")(1.5f)), 0x3e00);
  EXPECT_EQ(bitsOf(fn("__truncsfbf2")(1.5f)), 0x3fc0);
  uint32_t half = 0xabcd3e00; // the upper bits of the register are undefined
  float packed;
  std::memcpy(&packed, &half, 4);
  EXPECT_EQ(fn("__extendhfsf2")(packed), 1.5f);
}

TEST(ObjectCode, NamesForbiddenCalls) {
  EXPECT_EQ(errorOf(readBytes(TEST_UNKNOWN_CALL_OBJECT)),
            "cannot load the kernels' object code: it calls 'malloc', which "
            "kernels may not call; they may call memory and math functions of "
            "the c library only");
}

TEST(ObjectCode, RefusesThreadLocalData) {
  EXPECT_NE(errorOf(readBytes(TEST_THREAD_LOCAL_OBJECT)).find("thread local"),
            std::string::npos);
}

TEST(ObjectCode, RefusesOtherFiles) {
  EXPECT_NE(errorOf({}).find("got 0 foreign bytes"), std::string::npos);
  EXPECT_NE(errorOf(std::vector<uint8_t>(100, 'x')).find("100 foreign bytes"),
            std::string::npos);
  std::vector<uint8_t> object = readBytes(TEST_KERNELS_OBJECT);
  std::vector<uint8_t> other = object;
  other[18] = EM_AARCH64;
  EXPECT_NE(errorOf(other).find("expected x86-64 code, got elf machine 183"),
            std::string::npos);
  other = object;
  other[16] = ET_DYN;
  EXPECT_NE(errorOf(other).find("expected a relocatable"), std::string::npos);
}

TEST(ObjectCode, NamesUnknownRelocations) {
  std::vector<uint8_t> object = readBytes(TEST_KERNELS_OBJECT);
  Elf64_Ehdr header;
  std::memcpy(&header, object.data(), sizeof(header));
  int changed = 0;
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, object.data() + header.e_shoff + i * sizeof(section),
                sizeof(section));
    if (section.sh_type != SHT_RELA)
      continue;
    for (uint64_t at = 0; at < section.sh_size; at += sizeof(Elf64_Rela)) {
      Elf64_Rela rela;
      uint8_t *place = object.data() + section.sh_offset + at;
      std::memcpy(&rela, place, sizeof(rela));
      rela.r_info = ELF64_R_INFO(ELF64_R_SYM(rela.r_info), R_X86_64_SIZE32);
      std::memcpy(place, &rela, sizeof(rela));
      ++changed;
    }
  }
  ASSERT_GT(changed, 0);
  EXPECT_NE(errorOf(object).find("has the unknown type 32"), std::string::npos);
}

TEST(ObjectCode, SurvivesTruncationAndAlteredBytes) {
  std::vector<uint8_t> object = readBytes(TEST_KERNELS_OBJECT);
  for (size_t n = 0; n < object.size(); n += 7) {
    std::vector<uint8_t> part(object.begin(), object.begin() + n);
    ASSERT_FALSE(errorOf(part).empty()) << n;
  }
  std::mt19937 random(3);
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::vector<uint8_t> altered = object;
    for (int c = 0; c < 4; ++c)
      altered[random() % altered.size()] = static_cast<uint8_t>(random());
    refused += !errorOf(altered).empty(); // loading only, never run
  }
  EXPECT_GT(refused, 100);
}
