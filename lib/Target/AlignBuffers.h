//===- AlignBuffers.h - launches on aligned buffers -------------*- C++ -*-===//

#ifndef HEDDLE_LIB_TARGET_ALIGNBUFFERS_H
#define HEDDLE_LIB_TARGET_ALIGNBUFFERS_H

#include "heddle/Runtime/Program.h"

namespace heddle {

/// How a kernel uses each of its arguments.
struct KernelUses {
  std::vector<bool> reads, writes;
};

/// Gives every launch buffers that begin at multiples of `alignment` within
/// their space: others (slices of arguments and results) are copied to a place
/// behind the arena, which grows by what one launch needs, and back. `uses` is
/// by kernel. An alignment of 1 changes nothing.
void alignBuffers(Function &function, const std::vector<KernelUses> &uses,
                  int64_t alignment);

} // namespace heddle

#endif // HEDDLE_LIB_TARGET_ALIGNBUFFERS_H
