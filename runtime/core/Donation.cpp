//===- Donation.cpp - memory that a run may overwrite ---------------------===//

#include "Donation.h"

#include <algorithm>

using namespace heddle;

namespace {
struct Range {
  uint64_t begin, end;
  size_t value; // argument, or numArgs + result
};
} // namespace

static std::string valueName(const Function &f, size_t value) {
  bool isArgument = value < f.arguments.size();
  const NamedTensorType &v = isArgument
                                 ? f.arguments[value]
                                 : f.results[value - f.arguments.size()];
  std::string name =
      isArgument ? "argument " + std::to_string(value)
                 : "result " + std::to_string(value - f.arguments.size());
  return v.name.empty() ? name : name + " '" + v.name + "'";
}

Status heddle::checkDonatedMemory(const Function &f,
                                  const std::vector<uint64_t> &addresses) {
  size_t numArgs = f.arguments.size();
  if (std::none_of(f.arguments.begin(), f.arguments.end(),
                   [](const NamedTensorType &a) { return a.donated; }))
    return {};
  std::vector<Range> ranges;
  for (size_t i = 0; i < addresses.size(); ++i) {
    bool isArgument = i < numArgs;
    const NamedTensorType &v =
        isArgument ? f.arguments[i] : f.results[i - numArgs];
    int64_t size = v.type.byteSize();
    bool counts = isArgument ? v.used || v.donated : v.alias < 0;
    if (counts && addresses[i] && size)
      ranges.push_back({addresses[i], addresses[i] + size, i});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range &x, const Range &y) {
    return x.begin != y.begin ? x.begin < y.begin : x.value < y.value;
  });
  auto donated = [&](const Range &r) {
    return r.value < numArgs && f.arguments[r.value].donated;
  };
  // The range so far that reaches furthest, of all and of donated arguments.
  const Range *furthest = nullptr, *furthestDonated = nullptr;
  for (const Range &r : ranges) {
    const Range *other = donated(r) ? furthest : furthestDonated;
    if (other && r.begin < other->end) {
      const Range &owner = donated(r) ? r : *other;
      const Range &second = donated(r) ? *other : r;
      return Status::error("donated " + valueName(f, owner.value) +
                           " shares memory with " +
                           valueName(f, second.value) +
                           "; pass a buffer of its own for each");
    }
    if (!furthest || r.end > furthest->end)
      furthest = &r;
    if (donated(r) && (!furthestDonated || r.end > furthestDonated->end))
      furthestDonated = &r;
  }
  return {};
}
