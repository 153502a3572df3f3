//===- CpuInfo.cpp - name, cores and instruction sets of this CPU ---------===//

#include "CpuInfo.h"

#include <cpuid.h>
#include <cstring>
#include <sched.h>
#include <thread>

namespace heddle {

namespace {

enum Register { EAX, EBX, ECX, EDX };

/// The state that the operating system must save for a feature to be usable.
enum class State { None, Avx, Avx512 };

struct Feature {
  const char *name; // LLVM's name
  uint32_t leaf, subleaf;
  Register reg;
  int bit;
  State state;
};

// From the CPUID tables of the Intel SDM (volume 2A) and the AMD APM (volume 3,
// appendix E).
const Feature kFeatures[] = {
    {"cx8", 1, 0, EDX, 8, State::None},
    {"cmov", 1, 0, EDX, 15, State::None},
    {"mmx", 1, 0, EDX, 23, State::None},
    {"fxsr", 1, 0, EDX, 24, State::None},
    {"sse", 1, 0, EDX, 25, State::None},
    {"sse2", 1, 0, EDX, 26, State::None},
    {"sse3", 1, 0, ECX, 0, State::None},
    {"pclmul", 1, 0, ECX, 1, State::None},
    {"ssse3", 1, 0, ECX, 9, State::None},
    {"fma", 1, 0, ECX, 12, State::Avx},
    {"cx16", 1, 0, ECX, 13, State::None},
    {"sse4.1", 1, 0, ECX, 19, State::None},
    {"sse4.2", 1, 0, ECX, 20, State::None},
    {"crc32", 1, 0, ECX, 20, State::None},
    {"movbe", 1, 0, ECX, 22, State::None},
    {"popcnt", 1, 0, ECX, 23, State::None},
    {"aes", 1, 0, ECX, 25, State::None},
    {"xsave", 1, 0, ECX, 27, State::None},
    {"avx", 1, 0, ECX, 28, State::Avx},
    {"f16c", 1, 0, ECX, 29, State::Avx},
    {"rdrnd", 1, 0, ECX, 30, State::None},
    {"fsgsbase", 7, 0, EBX, 0, State::None},
    {"bmi", 7, 0, EBX, 3, State::None},
    {"avx2", 7, 0, EBX, 5, State::Avx},
    {"bmi2", 7, 0, EBX, 8, State::None},
    {"invpcid", 7, 0, EBX, 10, State::None},
    {"avx512f", 7, 0, EBX, 16, State::Avx512},
    {"evex512", 7, 0, EBX, 16, State::Avx512},
    {"avx512dq", 7, 0, EBX, 17, State::Avx512},
    {"rdseed", 7, 0, EBX, 18, State::None},
    {"adx", 7, 0, EBX, 19, State::None},
    {"avx512ifma", 7, 0, EBX, 21, State::Avx512},
    {"clflushopt", 7, 0, EBX, 23, State::None},
    {"clwb", 7, 0, EBX, 24, State::None},
    {"avx512cd", 7, 0, EBX, 28, State::Avx512},
    {"sha", 7, 0, EBX, 29, State::None},
    {"avx512bw", 7, 0, EBX, 30, State::Avx512},
    {"avx512vl", 7, 0, EBX, 31, State::Avx512},
    {"avx512vbmi", 7, 0, ECX, 1, State::Avx512},
    {"pku", 7, 0, ECX, 4, State::None},
    {"avx512vbmi2", 7, 0, ECX, 6, State::Avx512},
    {"shstk", 7, 0, ECX, 7, State::None},
    {"gfni", 7, 0, ECX, 8, State::None},
    {"vaes", 7, 0, ECX, 9, State::Avx},
    {"vpclmulqdq", 7, 0, ECX, 10, State::Avx},
    {"avx512vnni", 7, 0, ECX, 11, State::Avx512},
    {"avx512bitalg", 7, 0, ECX, 12, State::Avx512},
    {"avx512vpopcntdq", 7, 0, ECX, 14, State::Avx512},
    {"rdpid", 7, 0, ECX, 22, State::None},
    {"movdiri", 7, 0, ECX, 27, State::None},
    {"movdir64b", 7, 0, ECX, 28, State::None},
    {"avx512vp2intersect", 7, 0, EDX, 8, State::Avx512},
    {"serialize", 7, 0, EDX, 14, State::None},
    {"avx512fp16", 7, 0, EDX, 23, State::Avx512},
    {"avxvnni", 7, 1, EAX, 4, State::Avx},
    {"avx512bf16", 7, 1, EAX, 5, State::Avx512},
    {"avxifma", 7, 1, EAX, 23, State::Avx},
    {"avxvnniint8", 7, 1, EDX, 4, State::Avx},
    {"avxneconvert", 7, 1, EDX, 5, State::Avx},
    {"avxvnniint16", 7, 1, EDX, 10, State::Avx},
    {"prefetchi", 7, 1, EDX, 14, State::None},
    {"xsaveopt", 13, 1, EAX, 0, State::None},
    {"xsavec", 13, 1, EAX, 1, State::None},
    {"xsaves", 13, 1, EAX, 3, State::None},
    {"sahf", 0x80000001, 0, ECX, 0, State::None},
    {"lzcnt", 0x80000001, 0, ECX, 5, State::None},
    {"sse4a", 0x80000001, 0, ECX, 6, State::None},
    {"prfchw", 0x80000001, 0, ECX, 8, State::None},
    {"mwaitx", 0x80000001, 0, ECX, 29, State::None},
    {"64bit", 0x80000001, 0, EDX, 29, State::None},
    {"clzero", 0x80000008, 0, EBX, 0, State::None},
    {"wbnoinvd", 0x80000008, 0, EBX, 9, State::None},
};

const char *const kLevel2[] = {"cx16",  "sahf",   "popcnt", "sse3",
                               "ssse3", "sse4.1", "sse4.2"};
const char *const kLevel3[] = {"avx", "avx2",  "bmi",   "bmi2", "f16c",
                               "fma", "lzcnt", "movbe", "xsave"};
const char *const kLevel4[] = {"avx512f", "avx512bw", "avx512cd", "avx512dq",
                               "avx512vl"};

/// One CPUID leaf; all zero where the CPU has no such leaf.
void queryLeaf(uint32_t leaf, uint32_t subleaf, uint32_t out[4]) {
  std::memset(out, 0, 4 * sizeof(uint32_t));
  __get_cpuid_count(leaf, subleaf, &out[EAX], &out[EBX], &out[ECX], &out[EDX]);
}

/// Whether the operating system saves the registers that `state` needs.
bool stateEnabled(State state) {
  if (state == State::None)
    return true;
  uint32_t leaf1[4];
  queryLeaf(1, 0, leaf1);
  if (!(leaf1[ECX] & (1u << 27))) // OSXSAVE
    return false;
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  uint32_t needed = state == State::Avx ? 0x6 : 0xe6;
  return (low & needed) == needed;
}

} // namespace

static const Feature *findFeature(const std::string &name) {
  for (const Feature &f : kFeatures)
    if (name == f.name)
      return &f;
  return nullptr;
}

bool cpuHasFeature(const std::string &name) {
  const Feature *f = findFeature(name);
  if (!f)
    return false;
  uint32_t leaf[4];
  queryLeaf(f->leaf, f->subleaf, leaf);
  return (leaf[f->reg] >> f->bit & 1) && stateEnabled(f->state);
}

template <size_t N>
static bool hasAll(const char *const (&names)[N]) {
  for (const char *name : names)
    if (!cpuHasFeature(name))
      return false;
  return true;
}

static int cpuLevel() {
  if (!hasAll(kLevel2))
    return 1;
  if (!hasAll(kLevel3))
    return 2;
  return hasAll(kLevel4) ? 4 : 3;
}

std::string cpuName() {
  uint32_t words[12] = {};
  for (uint32_t i = 0; i < 3; ++i)
    queryLeaf(0x80000002 + i, 0, words + size_t(4) * i);
  char text[sizeof(words) + 1] = {};
  std::memcpy(text, words, sizeof(words));
  std::string name = text;
  name.erase(0, name.find_first_not_of(' '));
  name.erase(name.find_last_not_of(' ') + 1);
  if (name.empty())
    name = "x86-64 CPU";
  int level = cpuLevel();
  return name + " (x86-64" + (level > 1 ? "-v" + std::to_string(level) : "") +
         ")";
}

int cpuThreads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
    return CPU_COUNT(&set);
  unsigned n = std::thread::hardware_concurrency();
  return n ? static_cast<int>(n) : 1;
}

Status checkInstructionSet(const Program &program) {
  static const std::string prefix = "x86-64";
  const std::string &isa = program.isa;
  int needed = 0;
  if (isa == prefix)
    needed = 1;
  else if (isa.size() == prefix.size() + 3 && !isa.rfind(prefix + "-v", 0))
    needed = isa.back() - '0';
  if (needed > cpuLevel())
    return Status::error("the bundle needs a CPU of level " + isa +
                         ", this is " + cpuName() +
                         "; recompile with --cpu=native here");
  std::string missing;
  for (const std::string &feature : program.isaFeatures)
    if (!cpuHasFeature(feature))
      missing += (missing.empty() ? "" : ", ") + feature;
  if (!missing.empty())
    return Status::error("the bundle needs the CPU features " + missing +
                         ", which " + cpuName() +
                         " lacks; recompile with --cpu=native here");
  return {};
}

} // namespace heddle
