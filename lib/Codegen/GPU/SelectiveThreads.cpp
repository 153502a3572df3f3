//===- SelectiveThreads.cpp - who holds what in a selective scan ----------===//

#include "SelectiveThreads.h"

using namespace mlir;
using namespace heddle;

static constexpr double kLog2e = 1.4426950408889634;

//===----------------------------------------------------------------------===//
// The shape of a block
//===----------------------------------------------------------------------===//

std::string SelectiveShape::name() const {
  return ("c" + Twine(channels) + "_l" + Twine(lanes) + "_t" + Twine(steps))
      .str();
}

void SelectiveShape::split(int64_t states, int64_t over) {
  lanes = over;
  int64_t runs = llvm::divideCeil(states, width);
  perLane = width * std::max<int64_t>(1, llvm::divideCeil(runs, lanes));
  padded = perLane * lanes;
}

void SelectiveShape::splitInto(int64_t states, int64_t most, int64_t maxLanes) {
  split(states, 1);
  while (perLane > most && lanes < maxLanes)
    split(states, 2 * lanes);
}

void SelectiveShape::count(const SelectiveOperands &in) {
  tilesPerGroup = llvm::divideCeil(in.groupSize, channels);
  tiles = std::max<int64_t>(1, in.channels / in.groupSize * tilesPerGroup);
}

SelectiveShape heddle::selectiveShape(const SelectiveOperands &in,
                                      const TileTarget &target) {
  constexpr int64_t kMaxThreads = 512;
  SelectiveShape s{};
  s.width = in.states == 1 ? 1 : in.states == 2 ? 2 : 4;
  // Registers of a thread: the state and its rate.
  s.splitInto(in.states, 16);
  s.channels = std::min<int64_t>(128, llvm::PowerOf2Ceil(in.groupSize));
  if (s.threads() > kMaxThreads)
    s.splitInto(in.states, 32);
  // 128 registers do not hold that many with a chunk that takes many more.
  int64_t maxThreads =
      s.perLane > 16 && in.states > 128 ? kMaxThreads / 2 : kMaxThreads;
  while (s.threads() > maxThreads && s.channels > 1)
    s.channels /= 2;
  auto tiles = [&](int64_t channels) {
    return in.channels / in.groupSize *
           static_cast<int64_t>(llvm::divideCeil(in.groupSize, channels));
  };
  // Fewer channels to a block where the device is not full; each block reads
  // the rows of b and c, which may cost a quarter of the least traffic, or more
  // where that fills the device.
  auto traffic = [&](int64_t tiles) {
    return 3.0 * in.channels + 2.0 * in.states * tiles;
  };
  double most = 1.2 * traffic(in.channels / in.groupSize);
  bool fills = in.batch * tiles(32) >= target.threads;
  while (s.channels > 8 && in.batch * tiles(s.channels) < target.threads) {
    int64_t next = s.channels / 2;
    if (traffic(tiles(next)) > most && !(fills && next >= 32))
      break;
    s.channels = next;
  }
  // More lanes to a channel for the same reason, and for whole warps.
  while (s.lanes < 32 &&
         (s.threads() < 32 || (s.perLane > s.width && s.threads() < 256 &&
                               in.batch * tiles(s.channels) * s.threads() <
                                   256 * target.threads)))
    s.split(in.states, 2 * s.lanes);
  s.channels = std::max(s.channels, 32 / s.lanes);
  s.count(in);
  // A thread keeps what 4 steps of a chunk read in registers.
  s.steps = std::min<int64_t>(s.perLane > 16 ? 8 : 16, 4 * s.lanes);
  s.steps = std::min<int64_t>(
      s.steps, llvm::PowerOf2Ceil(std::max<int64_t>(1, in.length)));
  return s;
}

//===----------------------------------------------------------------------===//
// The block
//===----------------------------------------------------------------------===//

void SelectiveThreads::open() {
  openBlocks(shape.tiles);
  openTile(div(tile, shape.tilesPerGroup), rem(tile, shape.tilesPerGroup));
}

void SelectiveThreads::openBlocks(int64_t blocksOfBatch) {
  openGrid(std::max<int64_t>(1, in.batch * walked * blocksOfBatch),
           shape.threads());
  kernel->setAttr(kKernelTile, b.getStringAttr(shape.name()));
  openStretch(div(block, blocksOfBatch));
  tile = rem(block, blocksOfBatch);
  owner = div(thread, shape.lanes);
  part = rem(thread, shape.lanes);
  column = rem(thread, shape.channels);
  row = div(thread, shape.channels);
}

void SelectiveThreads::openTile(Value group, Value number) {
  Value inGroup = mul(number, shape.channels);
  base = add(mul(group, in.groupSize), inGroup);
  int64_t size = std::min(in.groupSize, in.channels);
  if (size != 0 && size % shape.channels == 0)
    return;
  isOwner = below(add(inGroup, owner), size);
  isColumn = below(add(inGroup, column), size);
}

void SelectiveThreads::loadConstants() {
  rate = loadStates(in.a, /*batched=*/false);
  for (Value &r : rate)
    r = times(r, number(kLog2e));
  auto ofColumn = [&](Value buffer) {
    return buffer ? load(buffer, add(base, column), isColumn) : Value();
  };
  bias = ofColumn(in.deltaBias);
  skip = ofColumn(in.d);
}

ThreadBuilder::Values SelectiveThreads::loadStates(Value buffer, bool batched) {
  Values states;
  for (int64_t k = 0; k < shape.perLane; ++k) {
    Values at;
    if (batched)
      at.push_back(batch);
    if (batched && cast<MemRefType>(buffer.getType()).getRank() == 4)
      at.push_back(slot(stretch));
    at.append({add(base, owner), state(k)});
    states.push_back(load(buffer, at, both(isOwner, isState(k))));
  }
  return states;
}

ThreadBuilder::Values SelectiveThreads::initialStates() {
  if (in.initialState)
    return loadStates(in.initialState, /*batched=*/true);
  return Values(shape.perLane, number(0.0));
}

void SelectiveThreads::storeStates(ValueRange states, Value buffer,
                                   ValueRange leading, Value where) {
  for (int64_t k = 0; k < shape.perLane; ++k) {
    Values at(leading.begin(), leading.end());
    at.append({add(base, owner), state(k)});
    store(states[k], buffer, at, both(where, both(isOwner, isState(k))));
  }
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

ThreadBuilder::Values
SelectiveThreads::loadChunk(Value first,
                            function_ref<void(bool, Values &)> body) {
  auto form = [&](bool whole) {
    Values values;
    body(whole, values);
    return values;
  };
  Value last = add(first, shape.steps - 1);
  return when(
      isStep(last), [&] { return form(true); },
      [&] { return form(false); });
}

void SelectiveThreads::loadColumns(Value buffer, Value first, bool whole,
                                   Values &values) {
  for (int64_t i = 0; i < columnsPerThread(); ++i) {
    Value step = add(first, columnStep(i));
    Value exists = both(isColumn, hasColumn(i));
    if (!whole)
      exists = both(exists, isStep(step));
    values.push_back(
        load(buffer, {batch, position(step), add(base, column)}, exists));
  }
}

void SelectiveThreads::storeColumn(Value number, Value buffer, Value first,
                                   int64_t i) {
  Value step = add(first, columnStep(i));
  Value exists = both(isColumn, hasStep(first, i));
  store(number, buffer, {batch, position(step), add(base, column)}, exists);
}

void SelectiveThreads::loadRows(Value buffer, Value first, bool whole,
                                Values &values) {
  Value group;
  if (auto type = cast<MemRefType>(buffer.getType()); type.getRank() == 4)
    group = div(base, std::max<int64_t>(1, in.channels / type.getDimSize(2)));
  int64_t elements = shape.steps * shape.padded;
  for (int64_t i = 0; i < rowsPerThread(); ++i) {
    Value at = add(thread, i * shape.threads());
    Value step = add(first, div(at, shape.padded)), n = rem(at, shape.padded);
    Value exists;
    if (elements % shape.threads() != 0)
      exists = below(at, elements);
    if (in.states != shape.padded)
      exists = both(exists, below(n, in.states));
    if (!whole)
      exists = both(exists, isStep(step));
    Values place = {batch, position(step)};
    if (group)
      place.push_back(group);
    place.push_back(n);
    values.push_back(load(buffer, place, exists));
  }
}

void SelectiveThreads::putRows(ValueRange values, Value shared,
                               Value firstRow) {
  int64_t elements = shape.steps * shape.padded;
  for (auto [i, v] : llvm::enumerate(values)) {
    Value at = add(thread, i * shape.threads()), number = v;
    Value exists;
    if (elements % shape.threads() != 0)
      exists = below(at, elements);
    Value to = firstRow ? add(at, mul(firstRow, shape.padded)) : at;
    when(exists, [&] { put(number, shared, to); });
  }
}

void SelectiveThreads::putResets(Value first, Value firstPlace, bool backward) {
  if (!resetIds)
    return;
  if (!resets)
    resets = shared(shape.steps);
  auto putOne = [&](Value at) {
    Value step = add(first, at);
    Value starts = startsSegment(step, isStep(step), backward);
    put(select(starts, number(1.0), number(0.0)), resets,
        firstPlace ? add(at, firstPlace) : at);
  };
  for (int64_t at = 0; at < shape.steps; at += shape.threads()) {
    Value mine = add(thread, at);
    bool some = at + shape.threads() > shape.steps;
    when(some ? below(mine, shape.steps) : Value(), [&] { putOne(mine); });
  }
}

ThreadBuilder::Values SelectiveThreads::rowOf(Value shared, Value step) {
  Values row;
  Value begin = add(mul(step, shape.padded), mul(part, shape.width));
  for (int64_t k = 0; k < shape.perLane; k += shape.width)
    llvm::append_range(row,
                       get(shared, add(begin, k * shape.lanes), shape.width));
  return row;
}

std::pair<Value, Value> SelectiveThreads::sizes(Value u, Value delta) {
  Value raw = rawSize(delta);
  Value dt = in.softplus ? softplus(raw) : raw;
  return {dt, times(dt, u)};
}

Value SelectiveThreads::stepsOf(Value first) {
  if (!isRagged(shape.steps))
    return index(shape.steps);
  Value left = sub(count ? count : index(span), first);
  return arith::MinSIOp::create(b, loc, left, index(shape.steps));
}
