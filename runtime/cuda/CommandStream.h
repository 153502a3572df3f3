//===- CommandStream.h - a command list as calls of the driver --*- C++ -*-===//
//
// The list is walked once per capture or direct run; repeats are unrolled. The
// pointer tables of all launches lie one after the other in one block of device
// memory, in the order of execution.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_CUDA_COMMANDSTREAM_H
#define HEDDLE_RUNTIME_CUDA_COMMANDSTREAM_H

#include "../core/BundleFormat.h"
#include "DriverApi.h"

namespace heddle::cuda {

/// Commands and table entries of a list with its repeats unrolled.
struct CommandTotals {
  int64_t commands = 0;
  int64_t tableEntries = 0;
};
CommandTotals countCommands(const std::vector<Command> &commands);

/// The number of entries of the base table: arguments, results, arena,
/// constants.
inline size_t numBases(const Function &f) {
  return f.arguments.size() + f.results.size() + 2;
}

/// Adds a function's commands to a stream.
class CommandStream {
public:
  /// `bases` has numBases addresses; `kernels` one handle and `image` one entry
  /// per kernel (null if there are none); `tables` is the block of pointer
  /// tables. `waitForEach` waits after every command and names it where that
  /// fails.
  CommandStream(const Driver &driver, const Function &function,
                const std::vector<Address> &bases,
                const std::vector<Kernel> &kernels, const GpuImage *image,
                Address tables, Stream stream, bool waitForEach)
      : driver(driver), f(function), bases(bases), kernels(kernels),
        image(image), tables(tables), stream(stream), waitForEach(waitForEach) {
  }

  Status enqueue() { return commands(f.commands); }
  /// The contents of the block of pointer tables.
  std::vector<Address> tableContents();

private:
  Status commands(const std::vector<Command> &list);
  Status launch(const Command &c);
  Status copy(const Command &c);
  Status fill(const Command &c);
  Status wait(const Command &c);
  void appendTables(const std::vector<Command> &list,
                    std::vector<Address> &contents);
  Address resolve(const BufferRef &b) const;
  /// " of kernel 'k' (command 2.1)".
  std::string place(const Command &c) const;

  const Driver &driver;
  const Function &f;
  const std::vector<Address> &bases;
  const std::vector<Kernel> &kernels;
  const GpuImage *image;
  Address tables;
  Stream stream;
  bool waitForEach;

  unsigned depth = 0;
  int64_t iterations[bundle::kMaxRepeatDepth] = {};
  size_t path[bundle::kMaxRepeatDepth + 1] = {};
  std::vector<uint64_t> values; // of the launch that is added
  std::vector<void *> params;
};

/// Fills `size` bytes at `dest` with `pattern` of 1, 2, 4 or 8 bytes. `what` is
/// for the error.
Status enqueueFill(const Driver &driver, Address dest, int64_t size,
                   uint64_t pattern, uint32_t patternSize, Stream stream,
                   const std::string &what);

} // namespace heddle::cuda

#endif // HEDDLE_RUNTIME_CUDA_COMMANDSTREAM_H
