//===- StepStream.cpp - steps over state, fed from the host ---------------===//

#include "heddle/Runtime/StepStream.h"

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

using namespace heddle;

static constexpr size_t kAlignment = 64, kSlots = 2;

namespace {
/// The streamed arguments of one step.
struct Slot {
  std::vector<void *> args;    // of the run
  std::vector<void *> outputs; // per result; null: not wanted
};

struct AlignedDelete {
  void operator()(void *p) const {
    ::operator delete(p, std::align_val_t(kAlignment));
  }
};
} // namespace

struct StepStream::Impl {
  std::vector<uint32_t> streamed;
  std::vector<size_t> sizes, resultSizes;
  std::vector<void *> results;
  Run run;
  Slot slots[kSlots];
  std::vector<std::unique_ptr<void, AlignedDelete>> memory;

  // Slots are filled and run in turn: step n is in slot n modulo kSlots.
  std::mutex mutex;
  std::condition_variable changed;
  size_t pushed = 0, done = 0;
  bool closed = false;
  Status status;
  std::thread runner;

  void loop();
};

/// Runs what is pushed until the stream is closed and empty.
void StepStream::Impl::loop() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return closed || done < pushed; });
    if (done == pushed)
      return;
    Slot &slot = slots[done % kSlots];
    bool failed = !status.ok();
    lock.unlock();
    Status ran;
    if (!failed)
      ran = run(slot.args.data(), results.data());
    if (!failed && ran.ok())
      for (size_t i = 0; i < slot.outputs.size(); ++i)
        if (slot.outputs[i] && slot.outputs[i] != results[i])
          std::memcpy(slot.outputs[i], results[i], resultSizes[i]);
    lock.lock();
    if (!ran.ok())
      status = ran;
    ++done;
    changed.notify_all();
  }
}

static Status checkStreamed(const Function &f,
                            const std::vector<uint32_t> &streamed) {
  std::vector<bool> seen(f.arguments.size(), false);
  for (uint32_t n : streamed) {
    std::string name = "argument " + std::to_string(n);
    if (n >= f.arguments.size())
      return Status::error("expected streamed arguments below " +
                           std::to_string(f.arguments.size()) + ", got " +
                           name);
    if (seen[n])
      return Status::error("expected each streamed argument once, got " + name +
                           " twice");
    seen[n] = true;
    if (f.arguments[n].donated)
      return Status::error("expected streamed arguments that are not donated, "
                           "got " +
                           name + "; state stays in place without it");
  }
  return {};
}

StepStream::StepStream() : impl(new Impl) {}

Status StepStream::create(const Function &f, Run run, void *const *args,
                          void *const *results,
                          const std::vector<uint32_t> &streamed,
                          std::unique_ptr<StepStream> &out) {
  if (Status s = checkStreamed(f, streamed); !s)
    return s;
  std::unique_ptr<StepStream> stream(new StepStream);
  Impl &impl = *stream->impl;
  impl.streamed = streamed;
  impl.run = std::move(run);
  impl.results.assign(results, results + f.results.size());
  for (size_t i = 0; i < f.results.size(); ++i) {
    impl.resultSizes.push_back(f.results[i].type.byteSize());
    if (!results[i] && impl.resultSizes[i])
      return Status::error("expected a buffer for result " + std::to_string(i) +
                           ", got null");
  }
  for (Slot &slot : impl.slots)
    slot.args.assign(args, args + f.arguments.size());
  for (uint32_t n : streamed) {
    size_t size = f.arguments[n].type.byteSize();
    impl.sizes.push_back(size);
    for (Slot &slot : impl.slots) {
      void *place = ::operator new(size ? size : 1,
                                   std::align_val_t(kAlignment), std::nothrow);
      if (!place)
        return Status::error("expected " + std::to_string(size) +
                             " bytes for an upload slot, the system refused");
      impl.memory.emplace_back(place);
      slot.args[n] = place;
    }
  }
  for (size_t i = 0; i < f.arguments.size(); ++i)
    if (!impl.slots[0].args[i] && f.arguments[i].used &&
        f.arguments[i].type.byteSize())
      return Status::error("expected a buffer for argument " +
                           std::to_string(i) + ", got null");
  try {
    impl.runner = std::thread([&impl] { impl.loop(); });
  } catch (const std::system_error &error) {
    return Status::error(std::string("cannot start the thread of a stream: ") +
                         error.what());
  }
  out = std::move(stream);
  return {};
}

StepStream::~StepStream() {
  if (!impl->runner.joinable())
    return;
  {
    std::lock_guard<std::mutex> lock(impl->mutex);
    impl->closed = true;
    impl->changed.notify_all();
  }
  impl->runner.join();
}

Status StepStream::push(const void *const *batch, void *const *outputs) {
  {
    std::unique_lock<std::mutex> lock(impl->mutex);
    impl->changed.wait(lock,
                       [&] { return impl->pushed - impl->done < kSlots; });
    if (!impl->status.ok())
      return impl->status;
  }
  // The runner does not look at a free slot.
  Slot &slot = impl->slots[impl->pushed % kSlots];
  for (size_t i = 0; i < impl->streamed.size(); ++i) {
    if (!batch[i] && impl->sizes[i])
      return Status::error("expected a batch for streamed argument " +
                           std::to_string(impl->streamed[i]) + ", got null");
    if (impl->sizes[i])
      std::memcpy(slot.args[impl->streamed[i]], batch[i], impl->sizes[i]);
  }
  slot.outputs.clear();
  if (outputs)
    slot.outputs.assign(outputs, outputs + impl->results.size());
  std::lock_guard<std::mutex> lock(impl->mutex);
  ++impl->pushed;
  impl->changed.notify_all();
  return {};
}

Status StepStream::wait() {
  std::unique_lock<std::mutex> lock(impl->mutex);
  impl->changed.wait(lock, [&] { return impl->done == impl->pushed; });
  return impl->status;
}
