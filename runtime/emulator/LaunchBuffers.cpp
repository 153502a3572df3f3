//===- LaunchBuffers.cpp - the planned buffers of one launch --------------===//

#include "LaunchBuffers.h"

#include <algorithm>
#include <cstring>
#include <tuple>

using namespace heddle;
using namespace heddle::emulator;

std::vector<EmulatorBuffer>
emulator::disjointBuffers(std::vector<PlacedBuffer> placed) {
  std::sort(placed.begin(), placed.end(),
            [](const PlacedBuffer &a, const PlacedBuffer &b) {
              return std::tie(a.pointer, b.bytes, a.name) <
                     std::tie(b.pointer, a.bytes, b.name);
            });
  std::vector<EmulatorBuffer> buffers;
  uint8_t *end = nullptr; // of the last one
  for (PlacedBuffer &p : placed) {
    bool same = !buffers.empty() && p.pointer == buffers.back().pointer &&
                p.bytes == buffers.back().bytes;
    if (same || (!buffers.empty() && p.pointer < end)) {
      EmulatorBuffer &last = buffers.back();
      if (!same)
        last.name += " + " + p.name;
      end = std::max(end, p.pointer + p.bytes);
      last.bytes = end - static_cast<uint8_t *>(last.pointer);
      continue;
    }
    end = p.pointer + p.bytes;
    buffers.push_back({p.pointer, p.bytes, std::move(p.name),
                       /*initialised=*/true, p.written});
  }
  return buffers;
}

/// In a record: written by an earlier launch.
static constexpr uint8_t kEarlier = 2;

void emulator::beginOutputs(const std::vector<OutputBuffer> &outputs) {
  for (const OutputBuffer &o : outputs) {
    uint8_t *written = o.place.written;
    if (!written)
      continue;
    if (o.overInput) {
      std::replace(written, written + o.place.bytes, uint8_t(1), kEarlier);
      continue;
    }
    std::memset(written, 0, o.place.bytes);
    std::memset(o.place.pointer, kPoison, o.place.bytes);
  }
}

void emulator::endOutputs(const std::vector<OutputBuffer> &outputs) {
  for (const OutputBuffer &o : outputs) {
    if (!o.place.written || !o.overInput)
      continue;
    for (int64_t i = 0; i < o.place.bytes; ++i)
      if (o.place.written[i] == kEarlier) {
        o.place.written[i] = 0;
        o.place.pointer[i] = kPoison;
      }
  }
}
