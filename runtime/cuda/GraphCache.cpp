//===- GraphCache.cpp - captured command lists by base pointers -----------===//

#include "GraphCache.h"

#include <algorithm>

namespace heddle::cuda {

GraphCache::~GraphCache() {
  for (Entry &entry : entries)
    if (entry.exec)
      driver.cuGraphExecDestroy(entry.exec);
}

GraphExec GraphCache::find(const std::vector<Address> &bases) {
  for (Entry &entry : entries)
    if (entry.exec && entry.bases == bases) {
      entry.lastUse = ++clock;
      return entry.exec;
    }
  return nullptr;
}

Status GraphCache::instantiate(Graph graph, const std::vector<Address> &bases,
                               GraphExec &out) {
  if (entries.size() < kCapacity)
    entries.emplace_back();
  Entry &entry = *std::min_element(
      entries.begin(), entries.end(),
      [](const Entry &x, const Entry &y) { return x.lastUse < y.lastUse; });
  // Runs of a graph that are under way are not touched by an update and outlive
  // its destruction (manual: cuGraphExecUpdate, cuGraphExecDestroy).
  if (entry.exec && driver.cuGraphExecUpdate) {
    GraphUpdateInfo info = {};
    if (driver.cuGraphExecUpdate(entry.exec, graph, &info) == kSuccess &&
        info.result == kSuccess) {
      ++numUpdated;
      entry.bases = bases;
      entry.lastUse = ++clock;
      out = entry.exec;
      return {};
    }
  }
  if (entry.exec)
    driver.cuGraphExecDestroy(entry.exec);
  entry.exec = nullptr;
  if (Status s = driver.check(
          driver.cuGraphInstantiateWithFlags(&entry.exec, graph, 0),
          "cuGraphInstantiateWithFlags");
      !s) {
    entry.exec = nullptr;
    return s;
  }
  entry.bases = bases;
  entry.lastUse = ++clock;
  out = entry.exec;
  return {};
}

Status GraphCache::capture(const std::vector<Address> &bases, Stream stream,
                           const std::function<Status()> &enqueue,
                           GraphExec &out) {
  if (Status s =
          driver.check(driver.cuStreamBeginCapture(stream, kCaptureThreadLocal),
                       "cuStreamBeginCapture");
      !s)
    return s;
  Status added = enqueue();
  // Ends the capture after a failure too, so that the stream is usable again.
  Graph graph = nullptr;
  Status ended = driver.check(driver.cuStreamEndCapture(stream, &graph),
                              "cuStreamEndCapture");
  Status s = added.ok() ? ended : added;
  if (s.ok()) {
    s = instantiate(graph, bases, out);
    numCaptured += s.ok();
  }
  if (graph)
    driver.cuGraphDestroy(graph);
  return s;
}

} // namespace heddle::cuda
