//===- Matrix.cpp - mma.sync, ldmatrix, stmatrix --------------------------===//
//
// Fragments as in the PTX ISA, "Warp Level Matrix Multiply-Accumulate
// Instructions". Products of 16-bit and tf32 operands are exact in f32. Sums
// are f32, in the order of k, starting from the accumulator; a result in f16
// is rounded once.
//
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "Functions.h"
#include "Numbers.h"

using namespace heddle;
using namespace heddle::emulator;

namespace {
float decode(MmaType type, uint32_t bits) {
  return type == MmaType::BF16 ? bf16ToFloat(bits) : f16ToFloat(bits);
}

std::string nameOf(const MmaShape &s) {
  const char *names[] = {"f16", "bf16", "tf32", "f32"};
  return "m" + std::to_string(s.m) + "n" + std::to_string(s.n) + "k" +
         std::to_string(s.k) + "." + names[static_cast<int>(s.result)] + "." +
         names[static_cast<int>(s.operand)];
}

/// Rows 0-15 of A are held by register 0, 2, ... for the upper half of m and
/// 1, 3, ... for the lower; further registers follow along k.
void completeMma(Warp &w, const Rendezvous &r) {
  MmaShape s = MmaShape::decode(r.detail);
  float a[16][16], b[16][8], c[16][8];
  bool isWide = s.operand == MmaType::TF32;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint64_t *in = w.input[lane];
    uint32_t group = lane / 4, member = lane % 4;
    for (uint32_t i = 0; i < s.wordsA(); ++i) {
      uint32_t word = static_cast<uint32_t>(*in++), row = group + 8 * (i & 1);
      if (isWide) {
        a[row][member + 4 * (i / 2)] = tf32ToFloat(word);
        continue;
      }
      uint32_t col = 2 * member + 8 * (i / 2);
      a[row][col] = decode(s.operand, word & 0xffff);
      a[row][col + 1] = decode(s.operand, word >> 16);
    }
    for (uint32_t i = 0; i < s.wordsB(); ++i) {
      uint32_t word = static_cast<uint32_t>(*in++);
      if (isWide) {
        b[member + 4 * i][group] = tf32ToFloat(word);
        continue;
      }
      uint32_t row = 2 * member + 8 * i;
      b[row][group] = decode(s.operand, word & 0xffff);
      b[row + 1][group] = decode(s.operand, word >> 16);
    }
    for (uint32_t i = 0; i < s.wordsC(); ++i) {
      uint32_t word = static_cast<uint32_t>(*in++);
      if (s.accumulator == MmaType::F32) {
        c[group + 8 * (i / 2)][2 * member + i % 2] = asFloat(word);
        continue;
      }
      c[group + 8 * i][2 * member] = f16ToFloat(word & 0xffff);
      c[group + 8 * i][2 * member + 1] = f16ToFloat(word >> 16);
    }
  }
  for (uint32_t i = 0; i < 16; ++i)
    for (uint32_t k = 0; k < s.k; ++k)
      for (uint32_t j = 0; j < 8; ++j)
        c[i][j] += a[i][k] * b[k][j];
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint32_t group = lane / 4, member = lane % 4;
    for (uint32_t i = 0; i < s.wordsD(); ++i) {
      if (s.result == MmaType::F32)
        w.output[lane][i] = asBits(c[group + 8 * (i / 2)][2 * member + i % 2]);
      else
        w.output[lane][i] = floatToF16(c[group + 8 * i][2 * member]) |
                            floatToF16(c[group + 8 * i][2 * member + 1]) << 16;
    }
  }
  EmulatorCounters &counters = w.machine->counters;
  ++counters.mmaInstructions;
  counters.mmaFlops += 2ull * s.m * s.n * s.k;
  ++w.machine->mmaCounts[r.detail];
}

/// Address of row `lane` of an ldmatrix or stmatrix, checked.
const uint8_t *rowAddress(Warp &w, uint32_t lane, uint32_t site, bool isWrite,
                          uint32_t &offset) {
  Machine &m = *w.machine;
  Thread &t = m.lane(w, lane);
  uint64_t address = w.input[lane][0];
  uint64_t at = address - reinterpret_cast<uint64_t>(m.window);
  ++m.counters.checkedAccesses;
  offset = static_cast<uint32_t>(at & (kSharedWindowBytes - 1));
  if (at > kSharedWindowBytes || at + 16 > m.plan.sharedBytes || address % 16)
    return reinterpret_cast<const uint8_t *>(
        fault(t, address, site, 16, nullptr));
  if (isWrite)
    m.shadow.writeShared(t, offset, 16, site);
  else
    m.shadow.readShared(t, offset, 16, site);
  return reinterpret_cast<const uint8_t *>(address);
}

void completeLoadMatrix(Warp &w, const Rendezvous &r) {
  uint32_t num = r.detail & 255, isTransposed = r.detail >> 8;
  uint32_t offsets[32] = {}, least = 0;
  uint16_t element[4][8][8];
  for (uint32_t lane = 0; lane < num * 8; ++lane)
    std::memcpy(element[lane / 8][lane % 8],
                rowAddress(w, lane, r.site, false, offsets[lane]), 16);
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t i = 0; i < num; ++i) {
      uint32_t row = lane / 4, col = 2 * (lane % 4);
      uint32_t low = isTransposed ? element[i][col][row] : element[i][row][col];
      uint32_t high =
          isTransposed ? element[i][col + 1][row] : element[i][row][col + 1];
      w.output[lane][i] = low | high << 16;
    }
  uint32_t mask = num == 4 ? ~0u : (1u << num * 8) - 1;
  EmulatorCounters &c = w.machine->counters;
  uint32_t wavefronts = sharedWavefronts(mask, offsets, 16, least);
  ++c.matrixLoadRequests;
  c.matrixLoadWavefronts += wavefronts;
  c.matrixLoadBankConflicts += wavefronts - least;
}

void completeStoreMatrix(Warp &w, const Rendezvous &r) {
  uint32_t num = r.detail & 255, isTransposed = r.detail >> 8;
  uint32_t offsets[32] = {}, least = 0;
  uint16_t element[4][8][8];
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t i = 0; i < num; ++i) {
      uint32_t row = lane / 4, col = 2 * (lane % 4);
      uint32_t word = static_cast<uint32_t>(w.input[lane][1 + i]);
      (isTransposed ? element[i][col][row] : element[i][row][col]) =
          static_cast<uint16_t>(word);
      (isTransposed ? element[i][col + 1][row] : element[i][row][col + 1]) =
          static_cast<uint16_t>(word >> 16);
    }
  for (uint32_t lane = 0; lane < num * 8; ++lane)
    std::memcpy(
        const_cast<uint8_t *>(rowAddress(w, lane, r.site, true, offsets[lane])),
        element[lane / 8][lane % 8], 16);
  uint32_t mask = num == 4 ? ~0u : (1u << num * 8) - 1;
  EmulatorCounters &c = w.machine->counters;
  uint32_t wavefronts = sharedWavefronts(mask, offsets, 16, least);
  ++c.matrixStoreRequests;
  c.matrixStoreWavefronts += wavefronts;
  c.matrixStoreBankConflicts += wavefronts - least;
}

/// All lanes of the warp, at one instruction.
Rendezvous aligned(uint32_t detail, uint32_t site,
                   void (*complete)(Warp &, const Rendezvous &)) {
  Rendezvous r;
  r.mask = ~0u;
  r.site = site;
  r.detail = detail;
  r.aligned = true;
  r.complete = complete;
  return r;
}
} // namespace

std::string heddle::emulator::mmaName(uint32_t code) {
  return nameOf(MmaShape::decode(code));
}

extern "C" {
void heddle_emu_mma(Thread *t, uint32_t shape, const uint32_t *in,
                    uint32_t *out, uint32_t site) {
  MmaShape s = MmaShape::decode(shape);
  uint64_t *slots = t->warp->input[t->lane];
  uint32_t words = s.wordsA() + s.wordsB() + s.wordsC();
  for (uint32_t i = 0; i < words; ++i)
    slots[i] = in[i];
  t->machine->meet(*t, aligned(shape, site, completeMma));
  for (uint32_t i = 0; i < s.wordsD(); ++i)
    out[i] = static_cast<uint32_t>(t->warp->output[t->lane][i]);
}

void heddle_emu_ldmatrix(Thread *t, uint64_t address, uint32_t kind,
                         uint32_t *out, uint32_t site) {
  t->warp->input[t->lane][0] = address;
  t->machine->meet(*t, aligned(kind, site, completeLoadMatrix));
  for (uint32_t i = 0; i < (kind & 255); ++i)
    out[i] = static_cast<uint32_t>(t->warp->output[t->lane][i]);
}

void heddle_emu_stmatrix(Thread *t, uint64_t address, uint32_t kind,
                         const uint32_t *in, uint32_t site) {
  t->warp->input[t->lane][0] = address;
  for (uint32_t i = 0; i < (kind & 255); ++i)
    t->warp->input[t->lane][1 + i] = in[i];
  t->machine->meet(*t, aligned(kind, site, completeStoreMatrix));
}
}
