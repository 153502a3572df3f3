//===- GroupLaunches.cpp - launches that may run side by side -------------===//

#include "GroupLaunches.h"

#include <algorithm>
#include <set>

using namespace heddle;

/// Launches of less than both may change their place: what they read is in the
/// cache wherever they run.
static constexpr int64_t kLittleFlops = 1 << 21, kLittleBytes = 1 << 18;
/// Groups that a launch of little work is compared with.
static constexpr size_t kWindow = 16;

namespace {
/// Bytes that a command reads or writes.
struct Access {
  Space space;
  uint32_t index;
  int64_t begin, end;
  std::vector<int64_t> strides;
  bool writes;
};

/// Commands that run side by side: launches, or one of another kind.
struct Group {
  std::vector<Command> commands;
  std::vector<Access> accesses;
};

class Grouper {
public:
  Grouper(const Function &function, const std::vector<KernelUses> &uses,
          const std::vector<int> &kinds)
      : function(function), uses(uses), kinds(kinds) {}

  std::vector<Command> run(std::vector<Command> commands) const;

private:
  Access access(const BufferRef &buffer, bool writes) const;
  void collect(const Command &command, std::vector<Access> &accesses) const;
  bool isLittle(const Command &command,
                const std::vector<Access> &accesses) const;
  int kindOf(const Command &command) const;
  void sink(std::vector<Group> &groups, size_t target) const;
  void sinkInto(std::vector<Group> &groups, size_t target, int kind) const;

  const Function &function;
  const std::vector<KernelUses> &uses;
  const std::vector<int> &kinds;
};
} // namespace

static bool conflict(const Access &a, const Access &b) {
  if ((!a.writes && !b.writes) || a.space != b.space || a.index != b.index)
    return false;
  // Offsets of different strides drift apart: every byte may meet.
  return a.strides != b.strides || (a.begin < b.end && b.begin < a.end);
}

static bool conflict(const Group &group, const std::vector<Access> &accesses) {
  return std::any_of(
      group.accesses.begin(), group.accesses.end(), [&](const Access &a) {
        return std::any_of(accesses.begin(), accesses.end(),
                           [&](const Access &b) { return conflict(a, b); });
      });
}

Access Grouper::access(const BufferRef &buffer, bool writes) const {
  Access a{buffer.space,   buffer.index,
           buffer.offset,  buffer.offset + buffer.size,
           buffer.strides, writes};
  while (!a.strides.empty() && a.strides.back() == 0)
    a.strides.pop_back();
  // A result may lie in an argument.
  if (a.space == Space::Result && function.results[a.index].alias >= 0) {
    a.space = Space::Argument;
    a.index = static_cast<uint32_t>(function.results[a.index].alias);
  }
  return a;
}

void Grouper::collect(const Command &c, std::vector<Access> &accesses) const {
  switch (c.kind) {
  case Command::Kind::Launch:
    for (size_t i = 0; i < c.args.size(); ++i)
      for (const BufferRef &buffer : c.args[i].buffers)
        accesses.push_back(access(buffer, uses[c.kernel].writes[i]));
    break;
  case Command::Kind::Copy:
    accesses.push_back(access(c.source, false));
    accesses.push_back(access(c.dest, true));
    break;
  case Command::Kind::Fill:
    accesses.push_back(access(c.dest, true));
    break;
  case Command::Kind::Repeat:
    break;
  }
}

bool Grouper::isLittle(const Command &c,
                       const std::vector<Access> &accesses) const {
  if (function.kernels[c.kernel].flops > kLittleFlops)
    return false;
  int64_t bytes = 0;
  for (const Access &a : accesses)
    bytes += a.end - a.begin;
  return bytes <= kLittleBytes;
}

int Grouper::kindOf(const Command &c) const {
  return c.kind == Command::Kind::Launch ? kinds[c.kernel] : -1;
}

/// Moves launches of all kinds that a group has down to it.
void Grouper::sink(std::vector<Group> &groups, size_t target) const {
  std::set<int> wanted;
  for (const Command &c : groups[target].commands)
    wanted.insert(kindOf(c));
  for (int kind : wanted)
    if (kind >= 0)
      sinkInto(groups, target, kind);
}

void Grouper::sinkInto(std::vector<Group> &groups, size_t target,
                       int kind) const {
  Group &into = groups[target];
  for (size_t g = target; g-- > 0;) {
    std::vector<Command> kept;
    for (Command &c : groups[g].commands) {
      std::vector<Access> accesses;
      collect(c, accesses);
      bool moves = kindOf(c) == kind;
      for (size_t between = g + 1; moves && between <= target; ++between)
        moves = !conflict(groups[between], accesses);
      if (!moves) {
        kept.push_back(std::move(c));
        continue;
      }
      c.together = true;
      into.commands.push_back(std::move(c));
      into.accesses.insert(into.accesses.end(), accesses.begin(),
                           accesses.end());
    }
    if (!kept.empty())
      kept.front().together = false;
    groups[g].commands = std::move(kept);
    // What a repeat does is not known here.
    if (!groups[g].commands.empty() &&
        groups[g].commands.front().kind == Command::Kind::Repeat)
      break;
  }
}

std::vector<Command> Grouper::run(std::vector<Command> commands) const {
  std::vector<Group> groups;
  size_t first = 0; // behind the last repeat
  for (Command &c : commands) {
    if (c.kind == Command::Kind::Repeat) {
      c.body = run(std::move(c.body));
      groups.push_back({{std::move(c)}, {}});
      first = groups.size();
      continue;
    }
    std::vector<Access> accesses;
    collect(c, accesses);
    size_t home = groups.size();
    if (c.kind == Command::Kind::Launch) {
      bool little = isLittle(c, accesses);
      size_t lowest = std::max(
          first, groups.size() - std::min(groups.size(), little ? kWindow : 1));
      for (size_t g = groups.size(); g > lowest; --g) {
        if (conflict(groups[g - 1], accesses))
          break;
        if (groups[g - 1].commands.front().kind == Command::Kind::Launch)
          home = g - 1;
      }
    }
    if (home == groups.size())
      groups.emplace_back();
    Group &group = groups[home];
    c.together = !group.commands.empty();
    group.commands.push_back(std::move(c));
    group.accesses.insert(group.accesses.end(), accesses.begin(),
                          accesses.end());
  }
  if (!kinds.empty())
    for (size_t g = groups.size(); g > 0; --g)
      sink(groups, g - 1);
  std::vector<Command> result;
  for (Group &group : groups)
    std::move(group.commands.begin(), group.commands.end(),
              std::back_inserter(result));
  return result;
}

void heddle::groupLaunches(Function &function,
                           const std::vector<KernelUses> &uses,
                           const std::vector<int> &kinds) {
  function.commands =
      Grouper(function, uses, kinds).run(std::move(function.commands));
}
