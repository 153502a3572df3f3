//===- GraphCache.h - captured command lists by base pointers ---*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_CUDA_GRAPHCACHE_H
#define HEDDLE_RUNTIME_CUDA_GRAPHCACHE_H

#include "DriverApi.h"

#include <functional>

namespace heddle::cuda {

/// A few graphs of one command list, each for one set of base addresses. When
/// all places are taken the graph that was used longest ago is updated to the
/// new addresses, which is cheaper than a new one: only parameters differ.
class GraphCache {
public:
  explicit GraphCache(const Driver &driver) : driver(driver) {}
  ~GraphCache();
  GraphCache(const GraphCache &) = delete;
  GraphCache &operator=(const GraphCache &) = delete;

  /// The graph for `bases`, or null.
  GraphExec find(const std::vector<Address> &bases);
  /// Captures what `enqueue` adds to `stream` (which no one else uses) as the
  /// graph for `bases`.
  Status capture(const std::vector<Address> &bases, Stream stream,
                 const std::function<Status()> &enqueue, GraphExec &out);

  int64_t numCaptured = 0, numUpdated = 0;

private:
  static constexpr size_t kCapacity = 4;
  struct Entry {
    std::vector<Address> bases;
    GraphExec exec = nullptr;
    int64_t lastUse = 0;
  };
  Status instantiate(Graph graph, const std::vector<Address> &bases,
                     GraphExec &out);

  const Driver &driver;
  std::vector<Entry> entries;
  int64_t clock = 0;
};

} // namespace heddle::cuda

#endif // HEDDLE_RUNTIME_CUDA_GRAPHCACHE_H
