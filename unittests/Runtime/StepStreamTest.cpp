//===- StepStreamTest.cpp - steps over state, fed from the host -----------===//

#include "heddle/Runtime/StepStream.h"

#include "TestPrograms.h"

#include "gtest/gtest.h"

#include <condition_variable>
#include <mutex>

using namespace heddle;
using namespace heddle::test;

namespace {

/// (state donated, batch, factor) -> (state, loss).
Function stepFunction() {
  Function f;
  f.arguments = {floats("state", 4), floats("batch", 4), floats("factor", 1)};
  f.arguments[0].donated = true;
  f.results = {floats("new", 4), floats("loss", 1)};
  f.results[0].alias = 0;
  return f;
}

/// state = factor state + batch; loss = state[0].
Status step(void *const *args, void *const *results) {
  auto *state = static_cast<float *>(args[0]);
  auto *batch = static_cast<const float *>(args[1]);
  float factor = *static_cast<const float *>(args[2]);
  for (int i = 0; i < 4; ++i)
    state[i] = factor * state[i] + batch[i];
  *static_cast<float *>(results[1]) = state[0];
  return {};
}

struct Buffers {
  float state[4] = {1, 2, 3, 4}, factor = 0.5f, loss = 0;
  void *args[3] = {state, nullptr, &factor};
  void *results[2] = {state, &loss};
};

std::string createError(const Function &f, void *const *args,
                        void *const *results,
                        const std::vector<uint32_t> &streamed) {
  std::unique_ptr<StepStream> stream;
  return StepStream::create(f, step, args, results, streamed, stream).message;
}

/// Holds steps back until they are let go.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  int open = 0, entered = 0;
  void pass() {
    std::unique_lock<std::mutex> lock(mutex);
    ++entered;
    changed.notify_all();
    changed.wait(lock, [&] { return open > 0; });
    --open;
  }
  void let(int steps) {
    std::lock_guard<std::mutex> lock(mutex);
    open += steps;
    changed.notify_all();
  }
  void awaitEntry(int step) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return entered >= step; });
  }
};

} // namespace

TEST(StepStream, steps_run_in_order_on_state_in_place) {
  Buffers b;
  std::unique_ptr<StepStream> stream;
  ASSERT_TRUE(
      StepStream::create(stepFunction(), step, b.args, b.results, {1}, stream)
          .ok());
  float expected[4] = {1, 2, 3, 4};
  std::vector<float> losses(50), wanted(50);
  for (int n = 0; n < 50; ++n) {
    // The batch is the caller's again when push returns.
    float batch[4];
    for (int i = 0; i < 4; ++i) {
      batch[i] = static_cast<float>(n + i);
      expected[i] = b.factor * expected[i] + batch[i];
    }
    wanted[n] = expected[0];
    const void *pointer = batch;
    void *outputs[] = {nullptr, &losses[n]};
    ASSERT_TRUE(stream->push(&pointer, outputs).ok());
    std::fill(batch, batch + 4, -1.0f);
  }
  ASSERT_TRUE(stream->wait().ok());
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(b.state[i], expected[i]);
  EXPECT_EQ(losses, wanted);
  EXPECT_EQ(b.loss, wanted.back());
  EXPECT_TRUE(stream->wait().ok());
}

TEST(StepStream, the_next_batch_is_taken_while_a_step_runs) {
  Buffers b;
  Gate gate;
  std::unique_ptr<StepStream> stream;
  auto run = [&](void *const *args, void *const *results) {
    gate.pass();
    return step(args, results);
  };
  ASSERT_TRUE(
      StepStream::create(stepFunction(), run, b.args, b.results, {1}, stream)
          .ok());
  float first[4] = {1, 1, 1, 1}, second[4] = {2, 2, 2, 2};
  const void *batches[] = {first, second};
  ASSERT_TRUE(stream->push(&batches[0]).ok());
  gate.awaitEntry(1);
  // The first step has not run, and the second batch has a slot already.
  ASSERT_TRUE(stream->push(&batches[1]).ok());
  EXPECT_EQ(b.state[0], 1);
  gate.let(2);
  ASSERT_TRUE(stream->wait().ok());
  EXPECT_EQ(b.state[0], 0.5f * (0.5f * 1 + 1) + 2);
}

TEST(StepStream, the_end_waits_for_what_was_pushed) {
  Buffers b;
  float batch[4] = {1, 1, 1, 1};
  const void *pointer = batch;
  {
    std::unique_ptr<StepStream> stream;
    ASSERT_TRUE(
        StepStream::create(stepFunction(), step, b.args, b.results, {1}, stream)
            .ok());
    ASSERT_TRUE(stream->push(&pointer).ok());
  }
  EXPECT_EQ(b.state[3], 3);
}

TEST(StepStream, an_error_ends_the_stream) {
  Buffers b;
  std::unique_ptr<StepStream> stream;
  int runs = 0;
  auto run = [&](void *const *args, void *const *results) {
    return ++runs == 2 ? Status::error("no more") : step(args, results);
  };
  ASSERT_TRUE(
      StepStream::create(stepFunction(), run, b.args, b.results, {1}, stream)
          .ok());
  float batch[4] = {1, 1, 1, 1};
  const void *pointer = batch;
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(stream->push(&pointer).ok());
  EXPECT_EQ(stream->wait().message, "no more");
  EXPECT_EQ(stream->push(&pointer).message, "no more");
  EXPECT_EQ(stream->wait().message, "no more");
  EXPECT_EQ(runs, 2);
}

TEST(StepStream, refuses_what_cannot_be_streamed) {
  Buffers b;
  Function f = stepFunction();
  EXPECT_EQ(createError(f, b.args, b.results, {3}),
            "expected streamed arguments below 3, got argument 3");
  EXPECT_EQ(createError(f, b.args, b.results, {1, 1}),
            "expected each streamed argument once, got argument 1 twice");
  EXPECT_EQ(createError(f, b.args, b.results, {0}),
            "expected streamed arguments that are not donated, got argument "
            "0; state stays in place without it");
  b.args[2] = nullptr;
  EXPECT_EQ(createError(f, b.args, b.results, {1}),
            "expected a buffer for argument 2, got null");
  b.results[1] = nullptr;
  EXPECT_EQ(createError(f, b.args, b.results, {1}),
            "expected a buffer for result 1, got null");
}

TEST(StepStream, refuses_a_batch_that_is_null) {
  Buffers b;
  std::unique_ptr<StepStream> stream;
  ASSERT_TRUE(
      StepStream::create(stepFunction(), step, b.args, b.results, {1}, stream)
          .ok());
  const void *pointer = nullptr;
  EXPECT_EQ(stream->push(&pointer).message,
            "expected a batch for streamed argument 1, got null");
}
