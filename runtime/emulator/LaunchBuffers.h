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

/// A buffer that a launch fills: writes and, through this parameter, never
/// reads. Whatever was there before is no part of its value, even where memory of
/// another buffer is used again.
struct OutputBuffer {
  PlacedBuffer place;
  bool overInput = false; // lies where the kernel reads another buffer
};

/// Makes the bytes of outputs unwritten and poisoned: before the launch, or,
/// where inputs lie there, those that it has not written after it.
void beginOutputs(const std::vector<OutputBuffer> &outputs);
void endOutputs(const std::vector<OutputBuffer> &outputs);

/// All bits set: a NaN in every float type, -1 in every integer type.
constexpr uint8_t kPoison = 0xff;

/// Turns the buffers that a launch names into disjoint ones, which is what a
/// launch takes: equal places are one buffer, places that overlap become their
/// union.
std::vector<EmulatorBuffer> disjointBuffers(std::vector<PlacedBuffer> placed);

} // namespace heddle::emulator

#endif // HEDDLE_RUNTIME_EMULATOR_LAUNCHBUFFERS_H
