//===- Philox.h - Philox4x32-10 ---------------------------------*- C++ -*-===//
//
// The counter-based generator of Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3" (SC11), with ten rounds.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_REFERENCE_PHILOX_H
#define HEDDLE_REFERENCE_PHILOX_H

#include <array>
#include <cstdint>

namespace heddle {

/// Four random words for a 128-bit counter and a 64-bit key; the low halves
/// come first in both.
inline std::array<uint32_t, 4> philox4x32(uint64_t key, uint64_t counterLow,
                                          uint64_t counterHigh) {
  std::array<uint32_t, 4> c = {static_cast<uint32_t>(counterLow),
                               static_cast<uint32_t>(counterLow >> 32),
                               static_cast<uint32_t>(counterHigh),
                               static_cast<uint32_t>(counterHigh >> 32)};
  uint32_t k0 = static_cast<uint32_t>(key);
  uint32_t k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(0xD2511F53) * c[0];
    uint64_t p1 = uint64_t(0xCD9E8D57) * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1,
         static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9; // golden ratio
    k1 += 0xBB67AE85; // sqrt(3) - 1
  }
  return c;
}

} // namespace heddle

#endif // HEDDLE_REFERENCE_PHILOX_H
