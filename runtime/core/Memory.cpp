//===- Memory.cpp - how much memory there is, and taking it ---------------===//

#include "Memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <sys/mman.h>

namespace heddle {

static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

/// The first number in a file; `otherwise` without the file or with "max".
static int64_t readNumber(const std::string &path, int64_t otherwise) {
  std::ifstream in(path);
  int64_t n;
  return in >> n ? n : otherwise;
}

/// The number behind `key` in a file of "key number" lines.
static int64_t readKey(const std::string &path, const std::string &key,
                       int64_t otherwise) {
  std::ifstream in(path);
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string word;
    int64_t n;
    if (words >> word >> n && word == key)
      return n;
  }
  return otherwise;
}

/// What the group in `folder` and those above it up to `root` leave. File cache
/// that the kernel can drop counts as free.
static int64_t groupMemory(std::string folder, const std::string &root,
                           const char *limitFile, const char *usageFile) {
  int64_t left = kUnlimited;
  while (folder.size() >= root.size()) {
    int64_t limit = readNumber(folder + '/' + limitFile, kUnlimited);
    int64_t usage = readNumber(folder + '/' + usageFile, 0);
    if (limit != kUnlimited) {
      int64_t cache = readKey(folder + "/memory.stat", "inactive_file", 0);
      left = std::min(left, std::max<int64_t>(0, limit - usage + cache));
    }
    folder.erase(folder.find_last_of('/'));
  }
  return left;
}

int64_t availableMemory() {
  int64_t kib = readKey("/proc/meminfo", "MemAvailable:", kUnlimited / 1024);
  int64_t available = kib * 1024;
  std::ifstream in("/proc/self/cgroup");
  std::string line;
  while (std::getline(in, line)) {
    // number:controllers:path
    size_t first = line.find(':');
    size_t second =
        first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (path == "/")
      path.clear();
    if (controllers.empty()) {
      const std::string root = "/sys/fs/cgroup";
      available =
          std::min(available, groupMemory(root + path, root, "memory.max",
                                          "memory.current"));
    } else if (controllers.find("memory") != std::string::npos) {
      const std::string root = "/sys/fs/cgroup/memory";
      available = std::min(available, groupMemory(root + path, root,
                                                  "memory.limit_in_bytes",
                                                  "memory.usage_in_bytes"));
    }
  }
  return available;
}

static std::string mebibytes(int64_t bytes) {
  return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB";
}

Status checkMemory(int64_t bytes, const std::string &what) {
  int64_t available = availableMemory();
  if (bytes <= available)
    return {};
  return Status::error(what + " needs " + mebibytes(bytes) + " of memory, " +
                       mebibytes(available) + " are available");
}

MappedMemory::~MappedMemory() {
  if (memory)
    munmap(memory, static_cast<size_t>(bytes));
}

Status MappedMemory::allocate(int64_t size) {
  if (size == 0)
    return {};
  void *p = mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    return Status::error("cannot map " + mebibytes(size) +
                         " of memory: " + std::strerror(errno));
  // A hint only: kernels walk the arena in tiles and miss the TLB without it.
  madvise(p, static_cast<size_t>(size), MADV_HUGEPAGE);
  memory = static_cast<uint8_t *>(p);
  bytes = size;
  return {};
}

} // namespace heddle
