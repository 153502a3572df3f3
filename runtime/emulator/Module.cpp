//===- Module.cpp - loads kernels and launches them -----------------------===//

#include "Machine.h"

#include "../cpu/ObjectCode.h"
#include "../cpu/ThreadPool.h"

#include "heddle/Runtime/CpuDevice.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <sstream>

using namespace heddle;
using namespace heddle::emulator;

bool Table::parse(const char *text, Table &out) {
  std::istringstream in(text);
  std::string line, word;
  int version = 0;
  if (!std::getline(in, line) ||
      !(std::istringstream(line) >> word >> version) ||
      word != "heddle-emulator" || version != kAbiVersion)
    return false;
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    fields >> word;
    if (word == "shared") {
      fields >> out.sharedBytes;
    } else if (word == "kernel") {
      Kernel k;
      fields >> k.required.x >> k.required.y >> k.required.z >> k.name;
      out.kernels.push_back(k);
    } else if (word == "param") {
      char kind = 0;
      fields >> kind;
      if (out.kernels.empty())
        return false;
      out.kernels.back().params += kind;
    } else if (word == "block") {
      for (uint32_t &count : out.blocks.emplace_back())
        fields >> count;
    } else if (word == "site") {
      Site s;
      uint32_t kind = 0;
      fields >> s.kernel >> kind >> s.param >> s.bytes >> s.op;
      s.kind = static_cast<SiteKind>(kind);
      std::getline(fields >> std::ws, s.location);
      out.sites.push_back(s);
      fields.clear();
    }
    if (fields.fail())
      return false;
  }
  return true;
}

struct EmulatorModule::Impl {
  std::unique_ptr<ObjectCode> code;
  Table table;
};

EmulatorModule::EmulatorModule() : impl(std::make_unique<Impl>()) {}
EmulatorModule::~EmulatorModule() = default;

/// Kernels may call the emulator and what CPU kernels may.
static void *resolve(const std::string &name) {
  void *own = lookupEmulatorSymbol(name);
  return own ? own : lookupExternalSymbol(name);
}

Status EmulatorModule::load(const uint8_t *object, size_t size,
                            std::unique_ptr<EmulatorModule> &out) {
  std::unique_ptr<EmulatorModule> module(new EmulatorModule());
  Impl &impl = *module->impl;
  if (Status s = ObjectCode::load(object, size, impl.code, resolve); !s)
    return s;
  void *table = impl.code->lookup("heddle_emu_table");
  if (!table ||
      !Table::parse(reinterpret_cast<const char *(*)()>(table)(), impl.table))
    return Status::error(
        "expected an object for the emulator, version " +
        std::to_string(kAbiVersion) +
        ", found none of its tables; compile the kernels again");
  for (Kernel &k : impl.table.kernels) {
    void *entry = impl.code->lookup("heddle_emu_entry_" + k.name);
    if (!entry)
      return Status::error("the object names kernel '" + k.name +
                           "' and does not hold it; compile the kernels again");
    k.entry = reinterpret_cast<decltype(k.entry)>(entry);
  }
  out = std::move(module);
  return {};
}

std::vector<std::string> EmulatorModule::kernels() const {
  std::vector<std::string> names;
  for (const Kernel &k : impl->table.kernels)
    names.push_back(k.name);
  return names;
}

std::vector<EmulatorParameterUse>
EmulatorModule::parameterUses(const std::string &kernel) const {
  const Table &table = impl->table;
  std::vector<EmulatorParameterUse> uses;
  int32_t number = -1;
  for (size_t i = 0; i < table.kernels.size(); ++i)
    if (table.kernels[i].name == kernel) {
      number = static_cast<int32_t>(i);
      uses.resize(table.kernels[i].params.size());
    }
  if (number < 0)
    return uses;
  for (const Site &s : table.sites) {
    if (s.param == -2 || (s.kernel != number && s.kernel >= 0))
      continue;
    bool reads = s.kind == SiteKind::Load || s.kind == SiteKind::Atomic ||
                 s.kind == SiteKind::AsyncCopy;
    bool writes = s.kind == SiteKind::Store || s.kind == SiteKind::Atomic;
    for (size_t i = 0; i < uses.size(); ++i)
      if (s.kernel < 0 || s.param < 0 || s.param == static_cast<int32_t>(i)) {
        uses[i].read |= reads;
        uses[i].written |= writes;
      }
  }
  return uses;
}

int64_t EmulatorModule::staticSharedBytes() const {
  return impl->table.sharedBytes;
}

static std::string text(const EmulatorDim &d) {
  return std::to_string(d.x) + "x" + std::to_string(d.y) + "x" +
         std::to_string(d.z);
}

/// Checks the launch against the kernel and fills what its blocks share.
static Status makePlan(const Table &table, const EmulatorLaunch &launch,
                       Plan &plan) {
  auto kernel =
      std::find_if(table.kernels.begin(), table.kernels.end(),
                   [&](const Kernel &k) { return k.name == launch.kernel; });
  if (kernel == table.kernels.end()) {
    std::string known;
    for (const Kernel &k : table.kernels)
      known += (known.empty() ? "'" : ", '") + k.name + "'";
    return Status::error("expected a kernel of the module, which has " + known +
                         ", got '" + launch.kernel + "'");
  }
  std::string who = "kernel '" + launch.kernel + "': ";
  const EmulatorDim &g = launch.grid, &b = launch.block;
  if (b.x < 1 || b.y < 1 || b.z < 1 || b.x > 1024 || b.y > 1024 || b.z > 64 ||
      b.count() > 1024)
    return Status::error(who + "expected a block of 1 to 1024 threads, got " +
                         text(b));
  const EmulatorDim &need = kernel->required;
  if (need.x && (need.x != b.x || need.y != b.y || need.z != b.z))
    return Status::error(who + "expected a block of " + text(need) +
                         " threads, as its reqntid says, got " + text(b));
  constexpr int64_t kMaxX = (int64_t(1) << 31) - 1, kMaxYZ = 65535;
  if (g.x < 1 || g.y < 1 || g.z < 1 || g.x > kMaxX || g.y > kMaxYZ ||
      g.z > kMaxYZ)
    return Status::error(who +
                         "expected a grid of at most 2147483647x65535x65535"
                         " blocks, got " +
                         text(g));
  // One kibibyte of a window is the hardware's.
  int64_t shared = table.sharedBytes + launch.dynamicSharedBytes;
  if (launch.dynamicSharedBytes < 0 ||
      shared > static_cast<int64_t>(kSharedWindowBytes) - 1024)
    return Status::error(
        who + "expected at most " + std::to_string(kSharedWindowBytes - 1024) +
        " bytes of shared memory, got " + std::to_string(table.sharedBytes) +
        " static and " + std::to_string(launch.dynamicSharedBytes) +
        " dynamic");
  if (launch.args.size() != kernel->params.size())
    return Status::error(
        who + "expected " + std::to_string(kernel->params.size()) +
        " arguments, got " + std::to_string(launch.args.size()));

  plan.table = &table;
  plan.kernel = &*kernel;
  plan.kernelIndex = static_cast<int32_t>(kernel - table.kernels.begin());
  plan.grid = g;
  plan.block = b;
  plan.sharedBytes = static_cast<uint32_t>(shared);
  plan.options = launch.options;
  for (const EmulatorArgument &a : launch.args)
    plan.slots.push_back(a.bits);
  for (const EmulatorBuffer &buffer : launch.buffers) {
    if (reinterpret_cast<uint64_t>(buffer.pointer) % 16 != 0 ||
        buffer.bytes < 0)
      return Status::error(
          who + "expected buffer '" + buffer.name +
          "' to be aligned to 16 bytes, as wide accesses need");
    Buffer out;
    out.begin = reinterpret_cast<uint64_t>(buffer.pointer);
    out.bytes = static_cast<uint64_t>(buffer.bytes);
    out.name = buffer.name;
    if (plan.has(kInitcheck)) {
      out.initialised = buffer.written;
      if (!buffer.written && !buffer.initialised) {
        out.record.assign(out.bytes, 0);
        out.initialised = out.record.data();
      }
    }
    plan.buffers.push_back(std::move(out));
  }
  std::sort(plan.buffers.begin(), plan.buffers.end(),
            [](const Buffer &x, const Buffer &y) { return x.begin < y.begin; });
  for (size_t i = 1; i < plan.buffers.size(); ++i)
    if (plan.buffers[i - 1].begin + plan.buffers[i - 1].bytes >
        plan.buffers[i].begin)
      return Status::error(who + "buffers '" + plan.buffers[i - 1].name +
                           "' and '" + plan.buffers[i].name + "' overlap");

  // Parameters to buffers, then sites to buffers.
  std::vector<int32_t> paramBuffers(plan.slots.size(), -1);
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    if (kernel->params[i] != kParamPointer || plan.slots[i] == 0)
      continue;
    for (size_t j = 0; j < plan.buffers.size(); ++j)
      if (plan.slots[i] - plan.buffers[j].begin < plan.buffers[j].bytes ||
          plan.slots[i] == plan.buffers[j].begin)
        paramBuffers[i] = static_cast<int32_t>(j);
    if (paramBuffers[i] < 0)
      return Status::error(who + "argument " + std::to_string(i) +
                           " points into none of the " +
                           std::to_string(plan.buffers.size()) + " buffers");
  }
  for (const Site &s : table.sites) {
    bool ours = s.kernel == plan.kernelIndex;
    int32_t buffer = -1;
    if (ours && s.param >= 0)
      buffer = paramBuffers[static_cast<size_t>(s.param)];
    plan.siteBuffers.push_back(buffer);
    if (s.kind != SiteKind::Store && s.kind != SiteKind::Atomic)
      continue;
    if (buffer >= 0)
      plan.buffers[static_cast<size_t>(buffer)].written = true;
    else if (s.param != -2 && (ours || s.kernel < 0))
      for (Buffer &b : plan.buffers)
        b.written = true;
  }
  return {};
}

Status EmulatorModule::launch(const EmulatorLaunch &launch,
                              LaunchReport &report) const {
  Plan plan;
  report = {};
  if (Status s = makePlan(impl->table, launch, plan); !s)
    return s;
  int64_t numBlocks = plan.grid.count();
  int64_t numThreads =
      launch.options.threads > 0 ? launch.options.threads : cpuThreads();
  numThreads = std::max<int64_t>(1, std::min(numThreads, numBlocks));

  std::vector<std::unique_ptr<Machine>> machines;
  for (int64_t i = 0; i < numThreads; ++i) {
    machines.push_back(std::make_unique<Machine>(plan));
    if (Status s = machines.back()->prepare(); !s)
      return s;
  }
  std::unique_ptr<ThreadPool> pool;
  if (Status s = ThreadPool::create(static_cast<int>(numThreads), pool); !s)
    return s;
  // The first block that fails is the one named: those before it still run.
  std::atomic<int64_t> failedBlock{numBlocks};
  std::mutex mutex;
  Status failure;
  pool->parallelFor(numBlocks, [&](int64_t block, int thread) {
    if (block > failedBlock)
      return;
    Status s = machines[static_cast<size_t>(thread)]->runBlock(block);
    if (s)
      return;
    std::lock_guard<std::mutex> lock(mutex);
    if (block < failedBlock) {
      failedBlock = block;
      failure = s;
    }
  });

  std::vector<FindingLog *> logs;
  for (auto &m : machines) {
    m->addBlockRuns();
    for (const auto &[code, count] : m->mmaCounts)
      m->counters.mmaByShape[mmaName(code)] += count;
    report.counters.add(m->counters);
    logs.push_back(&m->findings);
  }
  mergeFindings(std::move(logs), launch.options.maxFindings, report);
  return failure;
}
