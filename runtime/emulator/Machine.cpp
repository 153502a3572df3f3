//===- Machine.cpp - one block of GPU threads on fibres -------------------===//

#include "Machine.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

using namespace heddle;
using namespace heddle::emulator;

Machine::Machine(const Plan &plan)
    : plan(plan), siteBuffers(plan.siteBuffers.data()),
      buffers(plan.buffers.data()), shadow(*this), async(*this),
      barriers(*this), blockRuns(plan.table->blocks.size()) {}

Machine::~Machine() {
  if (mapping)
    munmap(mapping, 2 * kSharedWindowBytes);
}

Status Machine::prepare() {
  size_t count = static_cast<size_t>(plan.block.count());
  void *p = mmap(nullptr, 2 * kSharedWindowBytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED || !stacks.reserve(count))
    return Status::error("the emulator cannot map the stacks of " +
                         std::to_string(count) +
                         " threads; use smaller blocks or fewer host threads");
  mapping = p;
  uint64_t address = reinterpret_cast<uint64_t>(p);
  address = (address + kSharedWindowBytes - 1) / kSharedWindowBytes *
            kSharedWindowBytes;
  window = reinterpret_cast<uint8_t *>(address);

  threads.resize(count);
  warps.resize((count + 31) / 32);
  int64_t x = plan.block.x, y = plan.block.y;
  for (size_t i = 0; i < warps.size(); ++i) {
    warps[i].machine = this;
    warps[i].index = static_cast<uint32_t>(i);
  }
  for (size_t i = 0; i < count; ++i) {
    Thread &t = threads[i];
    t.machine = this;
    t.warp = &warps[i / 32];
    t.index = static_cast<uint32_t>(i);
    t.lane = i % 32;
    int64_t n = static_cast<int64_t>(i);
    t.tid[0] = static_cast<uint32_t>(n % x);
    t.tid[1] = static_cast<uint32_t>(n / x % y);
    t.tid[2] = static_cast<uint32_t>(n / (x * y));
  }
  shadow.prepare();
  return {};
}

/// splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
uint64_t Machine::random() {
  uint64_t z = randomState += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

//===----------------------------------------------------------------------===//
// Fibres
//===----------------------------------------------------------------------===//

void Machine::enter(FiberTransfer transfer) {
  Thread &t = *static_cast<Thread *>(transfer.data);
  Machine &m = *t.machine;
  *m.saveSlot = transfer.fctx;
  m.plan.kernel->entry(&t, m.plan.slots.data());
  m.exit(t);
}

/// The next fibre to run, or null. Lanes of a warp go on until none is ready,
/// so that their accesses to memory stay together.
Thread *Machine::pick() {
  if (!readyWarps)
    return nullptr;
  Warp *w = &warps[currentWarp];
  if (!w->ready) {
    uint32_t skip = 0;
    if (plan.options.seed)
      skip = static_cast<uint32_t>(random() % __builtin_popcount(readyWarps));
    uint32_t mask = readyWarps;
    while (skip--)
      mask &= mask - 1;
    currentWarp = __builtin_ctz(mask);
    w = &warps[currentWarp];
    w->cursor = plan.options.seed ? random() % 32 : 0;
  }
  uint32_t ahead = w->ready >> w->cursor;
  uint32_t lane =
      ahead ? w->cursor + __builtin_ctz(ahead) : __builtin_ctz(w->ready);
  w->cursor = (lane + 1) & 31;
  return &this->lane(*w, lane);
}

/// Goes from `t` to whoever is next; comes back when `t` is picked again.
void Machine::leave(Thread &t) {
  Thread *next = pick();
  while (!next && unblock())
    next = pick();
  if (next == &t)
    return;
  saveSlot = &t.context;
  FiberTransfer from = boost::context::detail::jump_fcontext(
      next ? next->context : mainContext, next);
  *saveSlot = from.fctx;
}

void Machine::wait(Thread &t, uint32_t site, uint64_t detail) {
  t.state = Thread::State::Waiting;
  t.waitSite = site;
  t.waitDetail = detail;
  t.warp->ready &= ~(1u << t.lane);
  if (!t.warp->ready)
    readyWarps &= ~(1u << t.warp->index);
  leave(t);
}

void Machine::yield(Thread &t) {
  if (t.warp->ready == 1u << t.lane)
    currentWarp = (currentWarp + 1) % warps.size();
  if (!warps[currentWarp].ready && readyWarps != 1u << t.warp->index)
    currentWarp = __builtin_ctz(readyWarps & ~(1u << t.warp->index));
  leave(t);
}

void Machine::wake(Thread &t) {
  t.state = Thread::State::Ready;
  t.warp->ready |= 1u << t.lane;
  readyWarps |= 1u << t.warp->index;
}

void Machine::exit(Thread &t) {
  Warp &w = *t.warp;
  uint32_t bit = 1u << t.lane;
  t.state = Thread::State::Done;
  w.live &= ~bit;
  w.ready &= ~bit;
  if (!w.ready)
    readyWarps &= ~(1u << w.index);
  --numLive;
  if (!w.live)
    w.counting.flush(counters);
  // Collectives do not wait for lanes that have ended.
  for (size_t i = 0; i < w.pending.size(); ++i) {
    const Rendezvous &r = w.pending[i];
    if (!r.aligned && r.arrived == (r.mask & w.live))
      completeRendezvous(w, i--);
  }
  barriers.exited();
  leave(t);
}

Status Machine::runBlock(int64_t number) {
  blockNumber = number;
  block[0] = number % plan.grid.x;
  block[1] = number / plan.grid.x % plan.grid.y;
  block[2] = number / (plan.grid.x * plan.grid.y);
  randomState =
      plan.options.seed * 0x2545f4914f6cdd1dull + static_cast<uint64_t>(number);
  failure.clear();
  readyWarps = 0;
  numLive = static_cast<uint32_t>(threads.size());
  barriers.reset();
  shadow.beginBlock();
  std::memset(window, 0xff, plan.sharedBytes);
  for (Warp &w : warps) {
    w.live = w.ready = 0;
    w.cursor = 0;
    w.pending.clear();
    w.counting.reset(2 * plan.table->sites.size());
  }
  for (Thread &t : threads) {
    t.warp->live |= 1u << t.lane;
    wake(t);
    t.context = stacks.prepare(t.index, &Machine::enter);
    t.polls = 0;
    t.openCopies.clear();
    t.copyGroups.clear();
  }
  currentWarp = 0;
  if (plan.options.seed)
    warps[0].cursor = random() % 32;

  Thread *first = pick();
  saveSlot = &mainContext;
  FiberTransfer from =
      boost::context::detail::jump_fcontext(first->context, first);
  *saveSlot = from.fctx;
  async.finish();
  return failure.empty() ? Status() : Status::error(failure);
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

void Machine::meet(Thread &t, Rendezvous r) {
  Warp &w = *t.warp;
  uint32_t bit = 1u << t.lane;
  if (!(r.mask & bit)) {
    std::string mask = std::to_string(r.mask);
    report(t, r.site, kSynccheck,
           "lane " + std::to_string(t.lane) + " is not in its own mask " +
               mask);
    r.mask |= bit;
  }
  size_t at = w.pending.size();
  for (size_t i = 0; i < w.pending.size(); ++i) {
    Rendezvous &p = w.pending[i];
    bool same = p.complete == r.complete && p.detail == r.detail &&
                (p.site == r.site || !r.aligned);
    if (same && p.mask == r.mask && !(p.arrived & bit)) {
      at = i;
      break;
    }
    // Lanes that wait for one another at different instructions will never
    // meet.
    bool sameOp = p.site == r.site && p.mask != r.mask;
    if ((p.mask & bit) && ((r.mask & p.arrived) || sameOp))
      report(t, r.site, kSynccheck,
             "mismatch: lanes of warp " + std::to_string(w.index) +
                 " wait at " + place(p.site) + " with mask " + hex(p.mask) +
                 " for lane " + std::to_string(t.lane) +
                 ", which is here with mask " + hex(r.mask));
  }
  if (at == w.pending.size())
    w.pending.push_back(r);
  w.pending[at].arrived |= bit;
  const Rendezvous &p = w.pending[at];
  uint32_t expected = r.aligned ? p.mask : p.mask & w.live;
  if (p.arrived == expected)
    completeRendezvous(w, at);
  else
    wait(t, r.site, r.mask);
}

void Machine::completeRendezvous(Warp &w, size_t index) {
  Rendezvous r = w.pending[index];
  w.pending.erase(w.pending.begin() + static_cast<ptrdiff_t>(index));
  if (r.complete)
    r.complete(w, r);
  if (r.orders)
    shadow.joinWarp(w, r.arrived);
  if (r.arrived == w.live)
    w.counting.flush(counters);
  for (uint32_t m = r.arrived; m; m &= m - 1)
    wake(lane(w, __builtin_ctz(m)));
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

std::string heddle::emulator::hex(uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof(text), "0x%llx",
                static_cast<unsigned long long>(value));
  return text;
}

std::string Machine::place(uint32_t site) const {
  const Site &s = plan.table->sites[site];
  return s.op + " at " + s.location;
}

std::string Machine::name(const Thread &t) const {
  return "(" + std::to_string(t.tid[0]) + "," + std::to_string(t.tid[1]) + "," +
         std::to_string(t.tid[2]) + ")";
}

std::string Machine::describe(uint64_t address) const {
  uint64_t offset = address - reinterpret_cast<uint64_t>(window);
  if (offset < kSharedWindowBytes)
    return "shared offset " + std::to_string(offset) + " of " +
           std::to_string(plan.sharedBytes) + " bytes";
  const Buffer *before = nullptr;
  for (const Buffer &b : plan.buffers)
    if (b.begin <= address)
      before = &b;
  if (before && address - before->begin < before->bytes)
    return "buffer '" + before->name + "' offset " +
           std::to_string(address - before->begin);
  std::string s = "address " + hex(address);
  if (before && address - before->begin < before->bytes + (1 << 20))
    s += ", " + std::to_string(address - before->begin - before->bytes) +
         " bytes past the end of buffer '" + before->name + "'";
  return s;
}

void Machine::report(const Thread &t, uint32_t site,
                     EmulatorSanitizer sanitizer, std::string message,
                     const std::string &buffer, int64_t offset) {
  if (!plan.has(sanitizer))
    return;
  // The same fault of the same op in the same memory is told once.
  uint64_t key = std::hash<std::string>()(buffer) * 31 +
                 (static_cast<uint64_t>(site) << 8 | sanitizer);
  EmulatorFinding *f = nullptr;
  if (!findings.add(key, blockNumber, f))
    return;
  const Site &s = plan.table->sites[site];
  f->sanitizer = sanitizer;
  f->message = std::move(message);
  f->kernel = plan.kernel->name;
  f->op = s.op;
  f->location = s.location;
  f->buffer = buffer;
  f->offset = offset;
  for (int i = 0; i < 3; ++i) {
    f->block[i] = block[i];
    f->thread[i] = t.tid[i];
  }
}

bool Machine::unblock() {
  if (numLive == 0)
    return false;
  failure = deadlock();
  const Thread *first = nullptr;
  for (const Thread &t : threads)
    if (!first && t.state == Thread::State::Waiting)
      first = &t;
  if (first)
    report(*first, first->waitSite, kSynccheck, failure);
  return false;
}

std::string Machine::deadlock() const {
  std::string text = "kernel '" + plan.kernel->name +
                     "' cannot go on in block (" + std::to_string(block[0]) +
                     "," + std::to_string(block[1]) + "," +
                     std::to_string(block[2]) + "): ";
  // Threads that wait for the same are told together, warp by warp.
  struct Group {
    uint32_t warp, site, lanes;
    uint64_t detail;
  };
  std::vector<Group> groups;
  for (const Thread &t : threads) {
    if (t.state != Thread::State::Waiting)
      continue;
    auto same = std::find_if(groups.begin(), groups.end(), [&](const Group &g) {
      return g.warp == t.warp->index && g.site == t.waitSite &&
             g.detail == t.waitDetail;
    });
    if (same == groups.end())
      groups.push_back({t.warp->index, t.waitSite, 1u << t.lane, t.waitDetail});
    else
      same->lanes |= 1u << t.lane;
  }
  constexpr size_t kShown = 8;
  for (size_t i = 0; i < groups.size() && i < kShown; ++i) {
    const Group &g = groups[i];
    text += (i ? "; warp " : "warp ") + std::to_string(g.warp) + " lanes " +
            hex(g.lanes) + " wait at " + place(g.site);
    const std::string &op = plan.table->sites[g.site].op;
    if (op.find("mbarrier") != std::string::npos)
      text += " (shared offset " + std::to_string(g.detail) + ")";
    else if (op.find("barrier") != std::string::npos)
      text += " (barrier " + std::to_string(g.detail) + ")";
    else
      text += " (mask " + hex(g.detail) + ")";
  }
  if (groups.size() > kShown)
    text += "; and " + std::to_string(groups.size() - kShown) + " more groups";
  size_t ended = threads.size() - numLive;
  if (ended)
    text += "; " + std::to_string(ended) + " threads have ended";
  return text;
}
