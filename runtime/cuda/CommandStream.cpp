//===- CommandStream.cpp - a command list as calls of the driver ----------===//

#include "CommandStream.h"

#include <algorithm>

namespace heddle::cuda {

/// Pieces into which a copy between overlapping places may be cut.
static constexpr int64_t kMaxPieces = 256;

CommandTotals countCommands(const std::vector<Command> &commands) {
  // The verifier keeps the product of nested counts below 2^31; a list is
  // shorter than a file. Saturation is for lists that come close to both.
  static constexpr int64_t kMany = int64_t(1) << 60;
  auto add = [](int64_t &sum, int64_t n) { sum = std::min(kMany, sum + n); };
  auto times = [](int64_t n, int64_t count) {
    return count && n > kMany / count ? kMany : n * count;
  };
  CommandTotals totals;
  for (const Command &c : commands) {
    if (c.kind == Command::Kind::Repeat) {
      CommandTotals body = countCommands(c.body);
      add(totals.commands, times(body.commands, c.count));
      add(totals.tableEntries, times(body.tableEntries, c.count));
      continue;
    }
    add(totals.commands, 1);
    for (const LaunchArg &arg : c.args)
      if (arg.kind == LaunchArg::Kind::PointerTable)
        add(totals.tableEntries, static_cast<int64_t>(arg.buffers.size()));
  }
  return totals;
}

Address CommandStream::resolve(const BufferRef &b) const {
  size_t base = 0;
  switch (b.space) {
  case Space::Argument:
    base = b.index;
    break;
  case Space::Result:
    base = f.arguments.size() + b.index;
    break;
  case Space::Arena:
    base = f.arguments.size() + f.results.size();
    break;
  case Space::Constants:
    base = f.arguments.size() + f.results.size() + 1;
    break;
  }
  int64_t offset = b.offset;
  for (size_t i = 0; i < b.strides.size(); ++i)
    offset += b.strides[i] * iterations[i];
  return bases[base] + static_cast<Address>(offset);
}

std::string CommandStream::place(const Command &c) const {
  std::string text;
  if (c.kind == Command::Kind::Launch)
    text = "of kernel '" + f.kernels[c.kernel].name + "' ";
  text += "(function '" + f.name + "', command ";
  for (unsigned i = 0; i <= depth; ++i)
    text += (i ? "." : "") + std::to_string(path[i]);
  return text + ")";
}

void CommandStream::appendTables(const std::vector<Command> &list,
                                 std::vector<Address> &contents) {
  for (const Command &c : list) {
    for (const LaunchArg &arg : c.args)
      if (arg.kind == LaunchArg::Kind::PointerTable)
        for (const BufferRef &b : arg.buffers)
          contents.push_back(resolve(b));
    if (c.kind != Command::Kind::Repeat)
      continue;
    for (int64_t i = 0; i < c.count; ++i) {
      iterations[depth++] = i;
      appendTables(c.body, contents);
      --depth;
    }
  }
}

std::vector<Address> CommandStream::tableContents() {
  std::vector<Address> contents;
  appendTables(f.commands, contents);
  return contents;
}

Status CommandStream::launch(const Command &c) {
  const GpuKernel &k = image->kernels[c.kernel];
  values.clear();
  for (const LaunchArg &arg : c.args) {
    switch (arg.kind) {
    case LaunchArg::Kind::Buffer:
      values.push_back(resolve(arg.buffers.front()));
      break;
    case LaunchArg::Kind::Scalar:
      values.push_back(static_cast<uint64_t>(arg.scalar));
      break;
    case LaunchArg::Kind::PointerTable:
      values.push_back(tables);
      tables += 8 * arg.buffers.size();
      break;
    }
  }
  if (k.grid[0] == 0 || k.grid[1] == 0 || k.grid[2] == 0)
    return {};
  params.clear();
  for (uint64_t &value : values)
    params.push_back(&value);
  Result result = driver.cuLaunchKernel(
      kernels[c.kernel], k.grid[0], k.grid[1], k.grid[2], k.block[0],
      k.block[1], k.block[2], static_cast<unsigned>(k.sharedBytes), stream,
      params.data(), nullptr);
  if (result == kSuccess)
    return {};
  return driver.check(result, "cuLaunchKernel", place(c));
}

Status CommandStream::copy(const Command &c) {
  Address source = resolve(c.source), dest = resolve(c.dest);
  Address size = static_cast<Address>(c.dest.size);
  if (size == 0 || source == dest)
    return {};
  // Overlapping places keep the order of memmove: pieces no longer than the
  // distance, from the end that is not overwritten first.
  Address distance = source > dest ? source - dest : dest - source;
  Address piece = std::min(size, distance);
  Address pieces = (size + piece - 1) / piece;
  if (pieces > kMaxPieces)
    return Status::error("expected a copy of " + std::to_string(size) +
                         " bytes to places that are further apart than " +
                         std::to_string(distance) + " bytes " + place(c) +
                         "; recompile with heddle-compile");
  for (Address i = 0; i < pieces; ++i) {
    Address at = piece * (source > dest ? i : pieces - 1 - i);
    Result result = driver.cuMemcpyDtoDAsync(
        dest + at, source + at, std::min(piece, size - at), stream);
    if (result != kSuccess)
      return driver.check(result, "cuMemcpyDtoDAsync", place(c));
  }
  return {};
}

Status enqueueFill(const Driver &driver, Address dest, int64_t size,
                   uint64_t pattern, uint32_t patternSize, Stream stream,
                   const std::string &what) {
  if (size == 0)
    return {};
  // The shortest equal pattern: zeros need no alignment.
  while (patternSize > 1) {
    uint32_t half = patternSize / 2;
    uint64_t mask = (uint64_t(1) << (8 * half)) - 1;
    if ((pattern & mask) != ((pattern >> (8 * half)) & mask))
      break;
    pattern &= mask;
    patternSize = half;
  }
  uint32_t alignment = std::min<uint32_t>(patternSize, 4);
  if (dest % alignment != 0)
    return Status::error(
        "expected a fill with a pattern of " + std::to_string(patternSize) +
        " bytes at a multiple of " + std::to_string(alignment) +
        ", got address " + std::to_string(dest) + " " + what +
        "; pass an aligned buffer");
  size_t n = static_cast<size_t>(size) / patternSize;
  switch (patternSize) {
  case 1:
    return driver.check(
        driver.cuMemsetD8Async(dest, static_cast<unsigned char>(pattern), n,
                               stream),
        "cuMemsetD8Async", what);
  case 2:
    return driver.check(
        driver.cuMemsetD16Async(dest, static_cast<unsigned short>(pattern), n,
                                stream),
        "cuMemsetD16Async", what);
  case 4:
    return driver.check(driver.cuMemsetD32Async(
                            dest, static_cast<unsigned>(pattern), n, stream),
                        "cuMemsetD32Async", what);
  default:
    // Two columns of 32 bits, 8 bytes apart.
    for (int half = 0; half < 2; ++half)
      if (Status s = driver.check(
              driver.cuMemsetD2D32Async(
                  dest + 4 * half, 8,
                  static_cast<unsigned>(pattern >> (32 * half)), 1, n, stream),
              "cuMemsetD2D32Async", what);
          !s)
        return s;
    return {};
  }
}

Status CommandStream::fill(const Command &c) {
  return enqueueFill(driver, resolve(c.dest), c.dest.size, c.pattern,
                     c.patternSize, stream, place(c));
}

Status CommandStream::wait(const Command &c) {
  Result result = driver.cuStreamSynchronize(stream);
  if (result == kSuccess)
    return {};
  return driver.check(result, "cuStreamSynchronize after a run", place(c));
}

Status CommandStream::commands(const std::vector<Command> &list) {
  for (size_t i = 0; i < list.size(); ++i) {
    const Command &c = list[i];
    path[depth] = i;
    Status s;
    switch (c.kind) {
    case Command::Kind::Launch:
      s = launch(c);
      break;
    case Command::Kind::Copy:
      s = copy(c);
      break;
    case Command::Kind::Fill:
      s = fill(c);
      break;
    case Command::Kind::Repeat:
      for (int64_t n = 0; n < c.count && s.ok(); ++n) {
        iterations[depth++] = n;
        s = commands(c.body);
        --depth;
      }
      break;
    }
    if (s.ok() && waitForEach && c.kind != Command::Kind::Repeat)
      s = wait(c);
    if (!s)
      return s;
  }
  return {};
}

} // namespace heddle::cuda
