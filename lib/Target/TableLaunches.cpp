//===- TableLaunches.cpp - one launch for many buffers --------------------===//

#include "TableLaunches.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <optional>

using namespace heddle;

static constexpr int64_t kConstantAlignment = 64;

namespace {
class TableLauncher {
public:
  TableLauncher(Function &function, TableKernels &tables, int64_t blocks)
      : function(function), tables(tables), blocks(blocks) {}

  std::vector<Command> run(std::vector<Command> commands);

private:
  using Launches = std::vector<Command>;

  const TableKernels::Element &elementOf(uint32_t kernel);
  bool canShare(const Command &a, const Command &b);
  Command merge(const Launches &launches);
  void mergeGroup(Launches group, std::vector<Command> &result);

  Function &function;
  TableKernels &tables;
  int64_t blocks;
  std::map<uint32_t, TableKernels::Element> elements;
};
} // namespace

static bool samePlace(const BufferRef &a, const BufferRef &b) {
  return a.space == b.space && a.index == b.index && a.offset == b.offset &&
         a.size == b.size && a.strides == b.strides;
}

const TableKernels::Element &TableLauncher::elementOf(uint32_t kernel) {
  auto it = elements.find(kernel);
  if (it == elements.end())
    it = elements.emplace(kernel, tables.elementOf(function.kernels[kernel]))
             .first;
  return it->second;
}

bool TableLauncher::canShare(const Command &a, const Command &b) {
  const TableKernels::Element &of = elementOf(a.kernel);
  if (of.kind < 0 || of.kind != elementOf(b.kernel).kind)
    return false;
  for (auto [i, isNumber] : llvm::enumerate(of.uniform))
    if (isNumber && !samePlace(a.args[i].buffers[0], b.args[i].buffers[0]))
      return false;
  return true;
}

Command TableLauncher::merge(const Launches &launches) {
  const KernelInfo &first = function.kernels[launches[0].kernel];
  KernelInfo info;
  info.family = first.family;
  info.matrixType = first.matrixType;
  int64_t all = 0;
  for (const Command &c : launches) {
    const KernelInfo &of = function.kernels[c.kernel];
    info.flops += of.flops;
    info.specialOps += of.specialOps;
    info.minBytes += of.minBytes;
    all += elementOf(c.kernel).count;
  }
  // Parts of buffers, one to a block.
  int64_t chunk =
      std::max<int64_t>(1, llvm::divideCeil(all, kTableStep * blocks)) *
      kTableStep;
  std::vector<int64_t> parts;
  for (auto [leaf, c] : llvm::enumerate(launches))
    for (int64_t begin = 0, n = elementOf(c.kernel).count; begin < n;
         begin += chunk)
      parts.insert(parts.end(), {static_cast<int64_t>(leaf), begin,
                                 std::min(begin + chunk, n)});
  BufferRef places;
  places.space = Space::Constants;
  places.offset = llvm::alignTo(function.constants.size(), kConstantAlignment);
  places.size = static_cast<int64_t>(parts.size() * sizeof(int64_t));
  function.constants.resize(
      llvm::alignTo(places.offset + places.size, kConstantAlignment));
  std::copy_n(reinterpret_cast<const uint8_t *>(parts.data()), places.size,
              function.constants.begin() + places.offset);

  Command result;
  result.kind = Command::Kind::Launch;
  result.kernel = static_cast<uint32_t>(function.kernels.size());
  for (auto [i, isNumber] :
       llvm::enumerate(elementOf(launches[0].kernel).uniform)) {
    LaunchArg arg = launches[0].args[i];
    if (!isNumber) {
      arg.kind = LaunchArg::Kind::PointerTable;
      for (const Command &c : llvm::drop_begin(launches))
        arg.buffers.push_back(c.args[i].buffers[0]);
    }
    result.args.push_back(std::move(arg));
  }
  result.args.emplace_back().buffers.push_back(places);
  info.name = tables.make(first, static_cast<int64_t>(launches.size()),
                          static_cast<int64_t>(parts.size() / 3));
  function.kernels.push_back(std::move(info));
  return result;
}

/// One launch for each set that can share it, where the first of the set was.
void TableLauncher::mergeGroup(Launches group, std::vector<Command> &result) {
  bool first = true;
  std::vector<bool> taken(group.size());
  for (size_t i = 0; i < group.size(); ++i) {
    if (taken[i])
      continue;
    Launches shared{group[i]};
    if (group[i].kind == Command::Kind::Launch)
      for (size_t j = i + 1; j < group.size(); ++j)
        if (!taken[j] && canShare(group[i], group[j])) {
          taken[j] = true;
          shared.push_back(group[j]);
        }
    Command c = shared.size() > 1 ? merge(shared) : std::move(group[i]);
    c.together = !first;
    first = false;
    result.push_back(std::move(c));
  }
}

std::vector<Command> TableLauncher::run(std::vector<Command> commands) {
  std::vector<Command> result;
  Launches group;
  for (Command &c : commands) {
    if (!c.together) {
      mergeGroup(std::move(group), result);
      group.clear();
    }
    c.body = run(std::move(c.body));
    group.push_back(std::move(c));
  }
  mergeGroup(std::move(group), result);
  return result;
}

static void markUsed(const std::vector<Command> &commands,
                     std::vector<bool> &used) {
  for (const Command &c : commands) {
    if (c.kind == Command::Kind::Launch)
      used[c.kernel] = true;
    markUsed(c.body, used);
  }
}

static void renumber(std::vector<Command> &commands,
                     const std::vector<uint32_t> &numbers) {
  for (Command &c : commands) {
    if (c.kind == Command::Kind::Launch)
      c.kernel = numbers[c.kernel];
    renumber(c.body, numbers);
  }
}

void heddle::useTables(Function &function, TableKernels &tables,
                       int64_t blocks) {
  function.commands =
      TableLauncher(function, tables, blocks).run(std::move(function.commands));
  std::vector<bool> used(function.kernels.size());
  markUsed(function.commands, used);
  std::vector<uint32_t> numbers(used.size());
  std::vector<KernelInfo> kept;
  for (auto [i, info] : llvm::enumerate(function.kernels)) {
    numbers[i] = static_cast<uint32_t>(kept.size());
    if (used[i])
      kept.push_back(std::move(info));
  }
  function.kernels = std::move(kept);
  renumber(function.commands, numbers);
}
