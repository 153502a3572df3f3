//===- Fiber.cpp - stacks and switches ------------------------------------===//

#include "Fiber.h"

#include <sys/mman.h>

using namespace heddle::emulator;

FiberStacks::~FiberStacks() {
  if (memory)
    munmap(memory, numStacks * kStride);
}

bool FiberStacks::reserve(size_t count) {
  if (count <= numStacks)
    return true;
  if (memory)
    munmap(memory, numStacks * kStride);
  memory = nullptr;
  numStacks = 0;
  void *p = mmap(nullptr, count * kStride, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return false;
  memory = static_cast<uint8_t *>(p);
  numStacks = count;
  for (size_t i = 0; i < count; ++i)
    if (mprotect(memory + i * kStride, kPage, PROT_NONE) != 0)
      return false;
  return true;
}

FiberContext FiberStacks::prepare(size_t index,
                                  void (*entry)(FiberTransfer)) const {
  // Equal offsets of all stacks would share cache sets: spread their tops.
  size_t spread = index % 32 * 192;
  return boost::context::detail::make_fcontext(
      memory + (index + 1) * kStride - spread, kStride - kPage - spread, entry);
}
