//===- LaunchBuffers.h - the planned buffers of one launch ------*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_EMULATOR_LAUNCHBUFFERS_H
#define HEDDLE_RUNTIME_EMULATOR_LAUNCHBUFFERS_H

#include "heddle/Runtime/Emulator.h"

namespace heddle::emulator {

/// Bytes of the memory plan at their place in host memory.
struct PlacedBuffer {
  uint8_t *pointer = nullptr;
  int64_t bytes = 0;
  uint8_t *written = nullptr; // record of its bytes, null where all hold values
  std::string name;
};

/// Turns the buffers that a launch names into disjoint ones, which is what a
/// launch takes: equal places are one buffer, places that overlap become their
/// union.
std::vector<EmulatorBuffer> disjointBuffers(std::vector<PlacedBuffer> placed);

} // namespace heddle::emulator

#endif // HEDDLE_RUNTIME_EMULATOR_LAUNCHBUFFERS_H
