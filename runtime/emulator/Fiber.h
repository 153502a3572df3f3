//===- Fiber.h - stacks and switches ----------------------------*- C++ -*-===//
//
// Boost.Context's assembly, without the objects around it: those unwind the
// stack of an unfinished fibre when they die, and kernels have no unwind
// tables. A fibre that will never run again is simply left.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_EMULATOR_FIBER_H
#define HEDDLE_RUNTIME_EMULATOR_FIBER_H

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <cstdint>

namespace heddle::emulator {

using FiberContext = boost::context::detail::fcontext_t;
using FiberTransfer = boost::context::detail::transfer_t;

/// Stacks of equal size in one mapping, each above a page that traps.
class FiberStacks {
public:
  FiberStacks() = default;
  ~FiberStacks();
  FiberStacks(const FiberStacks &) = delete;
  FiberStacks &operator=(const FiberStacks &) = delete;

  /// Makes room for `count` stacks; false where memory is short.
  bool reserve(size_t count);
  /// A fresh context on stack `index` that enters `entry` when switched to.
  FiberContext prepare(size_t index, void (*entry)(FiberTransfer)) const;
  /// Whether `address` lies in stack `index`: local memory of that thread.
  bool contains(size_t index, uint64_t address) const {
    return address - (reinterpret_cast<uint64_t>(memory) + index * kStride) <
           kStride;
  }

private:
  static constexpr size_t kPage = 4096;
  static constexpr size_t kStride = 128 * 1024;
  uint8_t *memory = nullptr;
  size_t numStacks = 0;
};

} // namespace heddle::emulator

#endif // HEDDLE_RUNTIME_EMULATOR_FIBER_H
