//===- LaunchBuffers.cpp - the planned buffers of one launch --------------===//

#include "LaunchBuffers.h"

#include <algorithm>
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
