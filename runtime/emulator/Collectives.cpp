//===- Collectives.cpp - shuffles, votes, reductions, registers -----------===//

#include "Functions.h"
#include "Machine.h"
#include "Numbers.h"

using namespace heddle;
using namespace heddle::emulator;

namespace {
/// Runs `f(lane)` for each lane of `mask`.
template <typename F>
void forEachLane(uint32_t mask, F f) {
  for (; mask; mask &= mask - 1)
    f(static_cast<uint32_t>(__builtin_ctz(mask)));
}

Rendezvous collective(Thread &t, uint32_t mask, uint32_t detail, uint32_t site,
                      void (*complete)(Warp &, const Rendezvous &)) {
  Rendezvous r;
  r.mask = mask;
  r.site = site;
  r.detail = detail;
  r.orders = t.machine->plan.options.collectivesOrderMemory;
  r.complete = complete;
  return r;
}

/// PTX ISA, "shfl.sync": the clamp operand holds a bound in bits 0-4 and a
/// segment mask in bits 8-12.
void completeShuffle(Warp &w, const Rendezvous &r) {
  ++w.machine->counters.shuffles;
  forEachLane(r.arrived, [&](uint32_t lane) {
    uint32_t b = static_cast<uint32_t>(w.input[lane][1]);
    uint32_t c = static_cast<uint32_t>(w.input[lane][2]);
    uint32_t segment = c >> 8 & 31, bound = c & 31;
    int32_t maxLane =
        static_cast<int32_t>((lane & segment) | (bound & ~segment));
    int32_t minLane = static_cast<int32_t>(lane & segment);
    int32_t from = 0;
    b &= 31;
    bool valid = false;
    switch (static_cast<Shuffle>(r.detail)) {
    case Shuffle::Up:
      from = static_cast<int32_t>(lane) - static_cast<int32_t>(b);
      valid = from >= maxLane;
      break;
    case Shuffle::Down:
      from = static_cast<int32_t>(lane + b);
      valid = from <= maxLane;
      break;
    case Shuffle::Bfly:
      from = static_cast<int32_t>(lane ^ b);
      valid = from <= maxLane;
      break;
    case Shuffle::Idx:
      from = minLane | static_cast<int32_t>(b & ~segment);
      valid = from <= maxLane;
      break;
    }
    uint32_t source = valid ? static_cast<uint32_t>(from) : lane;
    if (!(r.arrived >> source & 1)) {
      w.machine->report(w.machine->lane(w, lane), r.site, kSynccheck,
                        "shuffle from lane " + std::to_string(source) +
                            ", which does not take part");
      source = lane;
    }
    w.output[lane][0] = static_cast<uint32_t>(w.input[source][0]) |
                        static_cast<uint64_t>(valid) << 32;
  });
}

void completeVote(Warp &w, const Rendezvous &r) {
  ++w.machine->counters.votes;
  uint32_t ballot = 0;
  forEachLane(r.arrived, [&](uint32_t lane) {
    if (w.input[lane][0] & 1)
      ballot |= 1u << lane;
  });
  uint32_t result = ballot;
  switch (static_cast<Vote>(r.detail)) {
  case Vote::Any:
    result = ballot != 0;
    break;
  case Vote::All:
    result = ballot == r.arrived;
    break;
  case Vote::Uni:
    result = ballot == 0 || ballot == r.arrived;
    break;
  case Vote::Ballot:
    break;
  }
  forEachLane(r.arrived, [&](uint32_t lane) { w.output[lane][0] = result; });
}

void completeRedux(Warp &w, const Rendezvous &r) {
  ++w.machine->counters.votes;
  bool isFirst = true;
  uint32_t result = 0;
  forEachLane(r.arrived, [&](uint32_t lane) {
    uint32_t v = static_cast<uint32_t>(w.input[lane][0]);
    if (isFirst) {
      isFirst = false;
      result = v;
      return;
    }
    int32_t s = static_cast<int32_t>(result), sv = static_cast<int32_t>(v);
    switch (static_cast<Redux>(r.detail)) {
    case Redux::Add:
      result += v;
      break;
    case Redux::And:
      result &= v;
      break;
    case Redux::Or:
      result |= v;
      break;
    case Redux::Xor:
      result ^= v;
      break;
    case Redux::Max:
      result = s > sv ? result : v;
      break;
    case Redux::Min:
      result = s < sv ? result : v;
      break;
    case Redux::UMax:
      result = result > v ? result : v;
      break;
    case Redux::UMin:
      result = result < v ? result : v;
      break;
    case Redux::FMin:
      result = asBits(std::fmin(asFloat(result), asFloat(v)));
      break;
    case Redux::FMax:
      result = asBits(std::fmax(asFloat(result), asFloat(v)));
      break;
    }
  });
  forEachLane(r.arrived, [&](uint32_t lane) { w.output[lane][0] = result; });
}

void completeElect(Warp &w, const Rendezvous &r) {
  ++w.machine->counters.votes;
  uint32_t leader = static_cast<uint32_t>(__builtin_ctz(r.arrived));
  forEachLane(r.arrived,
              [&](uint32_t lane) { w.output[lane][0] = lane == leader; });
}

void completeSync(Warp &w, const Rendezvous &) {
  ++w.machine->counters.warpBarriers;
}
} // namespace

extern "C" {
uint64_t heddle_emu_shfl(Thread *t, uint32_t mask, uint32_t value,
                         uint32_t offset, uint32_t clamp, uint32_t kind,
                         uint32_t site) {
  uint64_t *in = t->warp->input[t->lane];
  in[0] = value;
  in[1] = offset;
  in[2] = clamp;
  t->machine->meet(*t, collective(*t, mask, kind, site, completeShuffle));
  return t->warp->output[t->lane][0];
}

uint32_t heddle_emu_vote(Thread *t, uint32_t mask, uint32_t predicate,
                         uint32_t kind, uint32_t site) {
  t->warp->input[t->lane][0] = predicate;
  t->machine->meet(*t, collective(*t, mask, kind, site, completeVote));
  return static_cast<uint32_t>(t->warp->output[t->lane][0]);
}

uint32_t heddle_emu_redux(Thread *t, uint32_t mask, uint32_t value,
                          uint32_t kind, uint32_t site) {
  t->warp->input[t->lane][0] = value;
  t->machine->meet(*t, collective(*t, mask, kind, site, completeRedux));
  return static_cast<uint32_t>(t->warp->output[t->lane][0]);
}

uint32_t heddle_emu_elect(Thread *t, uint32_t mask, uint32_t site) {
  t->machine->meet(*t, collective(*t, mask, 0, site, completeElect));
  return static_cast<uint32_t>(t->warp->output[t->lane][0]);
}

void heddle_emu_syncwarp(Thread *t, uint32_t mask, uint32_t site) {
  Rendezvous r = collective(*t, mask, 0, site, completeSync);
  r.orders = true;
  t->machine->meet(*t, r);
}

uint32_t heddle_emu_register(Thread *t, uint32_t which) {
  const Machine &m = *t->machine;
  const EmulatorDim &n = m.plan.block, &g = m.plan.grid;
  uint32_t bit = 1u << t->lane;
  switch (static_cast<Register>(which)) {
  case Register::TidX:
    return t->tid[0];
  case Register::TidY:
    return t->tid[1];
  case Register::TidZ:
    return t->tid[2];
  case Register::NtidX:
    return static_cast<uint32_t>(n.x);
  case Register::NtidY:
    return static_cast<uint32_t>(n.y);
  case Register::NtidZ:
    return static_cast<uint32_t>(n.z);
  case Register::CtaidX:
    return static_cast<uint32_t>(m.block[0]);
  case Register::CtaidY:
    return static_cast<uint32_t>(m.block[1]);
  case Register::CtaidZ:
    return static_cast<uint32_t>(m.block[2]);
  case Register::NctaidX:
    return static_cast<uint32_t>(g.x);
  case Register::NctaidY:
    return static_cast<uint32_t>(g.y);
  case Register::NctaidZ:
    return static_cast<uint32_t>(g.z);
  case Register::LaneId:
    return t->lane;
  case Register::WarpId:
    return t->warp->index;
  case Register::WarpCount:
    return static_cast<uint32_t>(m.warps.size());
  case Register::WarpSize:
    return 32;
  case Register::LaneMaskEq:
    return bit;
  case Register::LaneMaskLe:
    return bit | (bit - 1);
  case Register::LaneMaskLt:
    return bit - 1;
  case Register::LaneMaskGe:
    return ~(bit - 1);
  case Register::LaneMaskGt:
    return ~(bit | (bit - 1));
  case Register::SmCount:
    return 1;
  case Register::SmId:
  case Register::GridId:
    return 0;
  case Register::Clock:
  case Register::GlobalTimer:
    // A time that every run repeats.
    return static_cast<uint32_t>(m.counters.checkedAccesses);
  }
  return 0;
}
}
