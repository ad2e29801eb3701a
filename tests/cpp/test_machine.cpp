// Directed tests of the machine: one for each way in which linking, dispatch, retirement, waiting
// or the window could go wrong. Order is proven with promises, never with times.
#include <unistd.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "machine_support.h"
#include "vm/pool/call_out.h"
#include "vm/waiting/memory.h"

namespace ofl::vm {
namespace {

using namespace std::chrono_literals;

std::string error_of(World& world, const Dependence& object) {
  try {
    world.machine.wait_for_value(object, "test");
    return "";
  } catch (const OperationError& error) {
    return error.what();
  }
}

// Each of two readers ends only when the other has begun.
void test_readers_are_not_ordered() {
  for (Device other : {kCpu, kMock0, kMock1}) {
    World world;
    Dependence shared;
    std::promise<void> here, there;
    world.run(kCpu, StreamType::host_func, {reads(shared)}, [&] {
      here.set_value();
      there.get_future().wait();
    });
    world.run(other, StreamType::compute, {reads(shared)}, [&] {
      there.set_value();
      here.get_future().wait();
    });
    world.machine.drain(std::nullopt);
    CHECK(world.machine.stats().in_flight == 0);
  }
}

// On a queue, a read that is issued earlier may be dispatched later: many later reads of the same
// queue must not stand for it when a write comes.
void test_write_waits_for_a_read_that_is_late(StreamType late, StreamType others) {
  World world;
  Gate gate(world);
  Dependence shared, slow, copied;
  int value = 1, seen = 0;
  world.run(kMock0, StreamType::h2d, {reads(gate.object), writes(copied)}, [] {});
  world.run(kMock0, late, {reads(shared), reads(copied), writes(slow)}, [&] { seen = value; });
  for (int i = 0; i < 40; ++i) world.run(kMock0, others, {reads(shared)}, [] {});
  world.run(kMock0, StreamType::compute, {writes(shared)}, [&] { value = 2; });
  Dependence unrelated;
  world.run(kMock0, StreamType::compute, {writes(unrelated)}, [] {});
  world.machine.wait_for_value(unrelated, "test");  // the queue has had every chance to go wrong
  gate.open();
  world.machine.drain(std::nullopt);
  CHECK(seen == 1 && value == 2);
}

// Two queues of one device: the second kernel is launched at once and starts after the first has
// ended.
void test_queue_waits_for_queue(StreamType first, StreamType second) {
  World world;
  Dependence object, copy;
  std::promise<void> go;
  std::atomic<bool> began{false};
  bool written = false, seen = false;
  world.run(kMock0, first, {writes(object)}, [&] {
    go.get_future().wait();
    written = true;
  });
  world.run(kMock0, second, {reads(object), writes(copy)}, [&] {
    began = true;
    seen = written;
  });
  const auto give_up = std::chrono::steady_clock::now() + 50ms;  // time to go wrong in
  while (!began && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  CHECK(!began);
  go.set_value();
  world.machine.drain(std::nullopt);
  CHECK(seen);
}

void test_failed_launch_is_known_to_what_follows(StreamType next) {
  World world;
  Gate gate(world);
  Dependence first, second, third;
  std::atomic<bool> launched{false};
  world.issue(kMock0, StreamType::compute, {reads(gate.object), writes(first)},
              [](LaunchContext&) { fail(ErrorKind::value, "original"); });
  world.issue(kMock0, next, {reads(first), writes(second)},
              [&](LaunchContext&) { launched = true; });
  world.issue(kMock1, StreamType::compute, {reads(second), writes(third)},
              [&](LaunchContext&) { launched = true; });
  gate.open();
  CHECK(error_of(world, third) == "original");
  CHECK(error_of(world, second) == "original");
  CHECK(error_of(world, first) == "original");
  CHECK(!launched);
  world.machine.drain(std::nullopt);  // before its objects go
}

// The same when the write is skipped because of a failure that is older than the read.
void test_earlier_reader_of_a_skipped_write() {
  World world;
  std::promise<void> go;
  Dependence failed, object, copy, unrelated;
  int value = 7, copied = 0;
  world.issue(kMock0, StreamType::compute, {writes(failed)},
              [](LaunchContext&) { fail(ErrorKind::value, "older"); });
  world.run(kMock0, StreamType::d2h, {reads(object), writes(copy)}, [&] {
    go.get_future().wait();
    copied = value;
  });
  world.run(kMock0, StreamType::compute, {reads(failed), writes(object)}, [&] { value = 8; });
  world.run(kMock0, StreamType::compute, {reads(failed), writes(unrelated)}, [] {});
  CHECK(error_of(world, failed) == "older");
  const auto give_up = std::chrono::steady_clock::now() + 50ms;  // time to go wrong in
  while (std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  go.set_value();
  CHECK(error_of(world, copy).empty() && copied == 7);
  CHECK(error_of(world, object) == "older");
  world.machine.drain(std::nullopt);  // before its objects go
}

// A failure poisons what comes later, not a read that was issued before and runs slowly.
void test_earlier_reader_of_a_failed_write() {
  World world;
  std::promise<void> go;
  Dependence object, copy;
  int value = 7, copied = 0;
  world.run(kMock0, StreamType::compute, {writes(object)}, [&] { value = 8; });
  world.run(kMock0, StreamType::d2h, {reads(object), writes(copy)}, [&] {
    go.get_future().wait();
    copied = value;
  });
  world.issue(kMock0, StreamType::compute, {writes(object)},
              [](LaunchContext&) { fail(ErrorKind::value, "late write"); });
  go.set_value();
  CHECK(error_of(world, copy).empty() && copied == 8);
  CHECK(error_of(world, object) == "late write");
  CHECK_ERROR(value, "late write", world.machine.synchronize(std::nullopt));
  world.machine.synchronize(std::nullopt);  // once only
  world.machine.drain(std::nullopt);        // before its objects go
}

// A successor on another queue is done on the device before the worker of the first queue, held up
// by its next launch, has said that the predecessor failed: it must not pass as sound.
void test_late_failure_is_waited_for() {
  World world;
  Dependence first, second;
  std::promise<void> failing, go;
  std::atomic<bool> held{false}, ran{false};
  world.run(kMock0, StreamType::compute, {writes(first)}, [&] {
    failing.get_future().wait();
    fail(ErrorKind::value, "on the device");
  });
  world.run(kMock0, StreamType::d2h, {reads(first), writes(second)}, [&] { ran = true; });
  world.issue(kMock0, StreamType::compute, {}, [&](LaunchContext&) {
    held = true;
    go.get_future().wait();
  });
  CHECK(eventually([&] { return held.load(); }));
  failing.set_value();
  CHECK(eventually([&] { return ran.load(); }));
  const auto give_up = std::chrono::steady_clock::now() + 50ms;  // time to go wrong in
  while (!world.machine.is_ready(second) && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::yield();
  }
  CHECK(!world.machine.is_ready(second));
  go.set_value();
  CHECK(error_of(world, second) == "on the device");
  world.machine.drain(std::nullopt);  // before its objects go
}

// Memory is refused while instructions before it are launched and others are ready behind it.
void test_starving_in_the_middle_of_a_queue() {
  World world;
  Gate gate(world);
  std::vector<Dependence> outputs(12);
  bool came_back = false;
  for (int i = 0; i < 12; ++i) {
    world.issue(kMock0, StreamType::compute, {reads(gate.object), writes(outputs[i])},
                [&, i](LaunchContext& context) {
                  if (i == 5) came_back = wait_for_memory(context, retired_count(context));
                  if (i == 6)
                    while (wait_for_memory(context, retired_count(context))) {
                    }
                });
  }
  gate.open();
  world.machine.drain(std::nullopt);
  CHECK(came_back);  // what was launched before has retired
}

// Few units of memory for many streams: every request is served, as each holder gives back.
void test_starving_streams_feed_each_other() {
  World world;
  std::atomic<int> units{2};
  const auto take = [&](LaunchContext& context) {
    for (;;) {
      const int64_t before = retired_count(context);
      int left = units;
      while (left > 0) {
        if (units.compare_exchange_weak(left, left - 1)) return;
      }
      if (!wait_for_memory(context, before)) fail(ErrorKind::out_of_memory, "refused");
    }
  };
  const auto give = [&](const FailurePtr& failure) {
    if (!failure) ++units;
  };
  const std::pair<Device, StreamType> lanes[] = {
      {kCpu, StreamType::compute},  {kCpu, StreamType::host_func}, {kMock0, StreamType::compute},
      {kMock0, StreamType::h2d},    {kMock0, StreamType::d2h},     {kMock1, StreamType::compute},
      {kMock1, StreamType::compute}};
  std::vector<Dependence> objects(5);
  for (int i = 0; i < 3000; ++i) {
    const auto& [device, type] = lanes[i % 7];
    world.issue(
        device, type, {writes(objects[i % 5])},
        [&](LaunchContext& context) {
          take(context);
          run_on_stream(context, [] {});
        },
        give);
  }
  world.machine.drain(std::nullopt);
  CHECK(world.machine.stats().failures == 0);
  CHECK(units == 2);
}

// Naive mode is switched on while another thread's instructions are ready on the same queue.
void test_naive_caller_beside_a_full_queue() {
  World world;
  for (int round = 0; round < 50; ++round) {
    world.machine.options().naive = false;
    std::thread other([&] {
      for (int i = 0; i < 200; ++i) world.run(kMock0, StreamType::compute, {}, [] {});
    });
    world.machine.options().naive = true;
    for (int i = 0; i < 50; ++i) world.run(kMock0, StreamType::compute, {}, [] {});
    other.join();
    world.machine.drain(std::nullopt);
  }
  CHECK(world.machine.stats().in_flight == 0);
}

// A naive instruction has no turn on the queue: it does not stand for the reads that wait there.
void test_a_naive_read_stands_for_no_other() {
  World world;
  Dependence shared;
  int value = 1, seen = 0;
  std::promise<void> begun, opened;
  world.issue(
      kMock0, StreamType::compute, {},
      [&](LaunchContext& context) {
        CallOut call(context);
        begun.set_value();
        opened.get_future().wait();
      },
      nullptr, 0, kCallType);
  begun.get_future().wait();
  for (int i = 0; i < 8; ++i) {
    world.run(kMock0, StreamType::compute, {reads(shared)}, [&] { seen += value; });
  }
  world.machine.options().naive = true;
  world.run(kMock0, StreamType::compute, {reads(shared)}, [&] { seen += value; });
  std::thread other([&] { opened.set_value(); });
  world.run(kMock0, StreamType::compute, {writes(shared)}, [&] { value = 100; });
  other.join();
  world.machine.drain(std::nullopt);
  CHECK(seen == 9 && value == 100);
}

void test_barrier() {
  World world;
  std::atomic<bool> before{false};
  bool order = false;
  {
    Gate gate(world);
    world.run(kMock0, StreamType::compute, {reads(gate.object)}, [&] { before = true; });
    world.machine.barrier(0);
    CHECK(!InlineScope(world.machine.window(), nullptr, 0));
    world.run(kMock1, StreamType::compute, {}, [&] { order = before; });
  }
  world.machine.drain(std::nullopt);
  CHECK(order);
  CHECK(static_cast<bool>(InlineScope(world.machine.window(), nullptr, 0)));
}

// Thousands of instructions of one queue, each after the one before, released at once.
void test_long_chain() {
  World world;
  world.machine.options().max_in_flight = 4000;
  Dependence chained;
  int64_t sum = 0;
  {
    Gate gate(world);
    world.run(kMock0, StreamType::compute, {reads(gate.object), writes(chained)}, [] {});
    for (int i = 0; i < 3900; ++i) {
      world.run(kMock0, StreamType::compute, {writes(chained)},
                [&, i] { sum = sum * 3 % 1000003 + i; });
    }
  }
  world.machine.wait_for_value(chained, "test");
  int64_t expected = 0;
  for (int i = 0; i < 3900; ++i) expected = expected * 3 % 1000003 + i;
  CHECK(sum == expected);
  world.machine.drain(std::nullopt);  // before its objects go
}

class InterruptHooks final : public HostHooks {
 public:
  explicit InterruptHooks(std::atomic<bool>& wanted) : wanted_(wanted) {}
  std::optional<Error> interrupt(void*) override {
    if (!wanted_.exchange(false)) return std::nullopt;
    return Error(ErrorKind::interrupted, "stop");
  }

 private:
  std::atomic<bool>& wanted_;
};

void test_interrupted_waits() {
  std::atomic<bool> wanted{false};
  World world;
  world.machine.set_hooks(std::make_unique<InterruptHooks>(wanted));
  world.machine.options().max_in_flight = 4;
  int ran = 0;
  Dependence counted;
  {
    Gate gate(world);
    wanted = true;
    CHECK_ERROR(interrupted, "stop", world.machine.wait_for_value(gate.object, "test"));
    wanted = true;
    CHECK_ERROR(interrupted, "stop", world.machine.synchronize(std::nullopt));
    world.run(kMock0, StreamType::compute, {reads(gate.object)}, [] {});
    for (int i = 0; i < 3; ++i) {
      world.run(kMock0, StreamType::compute, {reads(gate.object), writes(counted)}, [&] { ++ran; });
    }
    wanted = true;
    CHECK_ERROR(interrupted, "stop",
                world.run(kMock0, StreamType::compute, {writes(counted)}, [&] { ran += 100; }));
  }
  world.run(kMock0, StreamType::compute, {writes(counted)}, [&] { ran += 10; });
  world.machine.wait_for_value(counted, "test");
  CHECK(ran == 13);
  world.machine.drain(std::nullopt);  // before its objects go
}

// The failure of device work that was accepted reaches the host, and what another queue made of it.
void test_late_failure_across_queues() {
  World world;
  Dependence first, second, healthy;
  world.run(kMock0, StreamType::compute, {writes(first)},
            [] { fail(ErrorKind::value, "on the device"); });
  world.run(kMock0, StreamType::d2h, {reads(first), writes(second)}, [] {});
  world.run(kMock0, StreamType::compute, {writes(healthy)}, [] {});
  CHECK(error_of(world, second) == "on the device");
  CHECK(error_of(world, second) == "on the device");
  CHECK(error_of(world, healthy).empty());
  world.machine.drain(std::nullopt);  // before its objects go
}

// Sleeping workers are woken for each of many single instructions.
void test_wake_ups() {
  World world;
  Dependence object;
  int count = 0;
  for (int i = 0; i < 2000; ++i) {
    const Device device = i % 3 == 0 ? kCpu : i % 3 == 1 ? kMock0 : kMock1;
    world.run(device, StreamType::compute, {writes(object)}, [&] { ++count; });
    if (i % 5 == 0) world.machine.wait_for_value(object, "test");
    if (i % 500 == 0) std::this_thread::sleep_for(2ms);  // past the spin: they sleep
  }
  world.machine.wait_for_value(object, "test");
  CHECK(count == 2000);
  world.machine.drain(std::nullopt);  // before its objects go
}

void test_shutdown_beside_an_issuer() {
  for (int round = 0; round < 20; ++round) {
    World world;
    std::atomic<bool> stop{false};
    std::thread issuer([&] {
      while (!stop) world.run(kMock0, StreamType::compute, {}, [] {});
    });
    eventually([&] { return world.machine.stats().retired > 20; });
    world.machine.shutdown();
    stop = true;
    issuer.join();
    world.machine.drain(std::nullopt);
    CHECK(world.machine.stats().in_flight == 0);
  }
}

#ifndef __SANITIZE_THREAD__
bool runs_in_child(World& world) {
  Dependence object;
  int sum = 0;
  for (int i = 0; i < 100; ++i) {
    world.run(i % 2 ? kCpu : kMock0, StreamType::compute, {writes(object)}, [&, i] { sum += i; });
  }
  world.machine.wait_for_value(object, "child");
  return sum == 4950;
}

void test_fork() {
  World world;
  Dependence object;
  for (int i = 0; i < 300; ++i) {
    world.run(i % 2 ? kCpu : kMock0, StreamType::compute, {writes(object)}, [] {});
  }
  world.machine.drain(std::nullopt);
  for (int round = 0; round < 10; ++round) {
    world.run(kMock0, StreamType::compute, {writes(object)}, [] {});
    world.machine.drain(std::nullopt);
    CHECK(holds_in_child(world.machine, [&] { return runs_in_child(world); }));
  }
  world.machine.drain(std::nullopt);  // before its objects go
}
#endif

}  // namespace
}  // namespace ofl::vm

int main() {
  using namespace ofl::vm;
  alarm(300);  // a hang is a failure
  test_readers_are_not_ordered();
  test_write_waits_for_a_read_that_is_late(StreamType::compute, StreamType::compute);
  test_write_waits_for_a_read_that_is_late(StreamType::d2h, StreamType::d2h);
  test_write_waits_for_a_read_that_is_late(StreamType::d2h, StreamType::compute);
  test_queue_waits_for_queue(StreamType::h2d, StreamType::compute);
  test_queue_waits_for_queue(StreamType::compute, StreamType::d2h);
  test_failed_launch_is_known_to_what_follows(StreamType::compute);
  test_failed_launch_is_known_to_what_follows(StreamType::d2h);
  test_earlier_reader_of_a_failed_write();
  test_earlier_reader_of_a_skipped_write();
  test_late_failure_across_queues();
  test_late_failure_is_waited_for();
  test_barrier();
  test_long_chain();
  test_interrupted_waits();
  test_wake_ups();
  test_starving_streams_feed_each_other();
  test_starving_in_the_middle_of_a_queue();
  test_naive_caller_beside_a_full_queue();
  test_a_naive_read_stands_for_no_other();
  test_shutdown_beside_an_issuer();
#ifndef __SANITIZE_THREAD__
  test_fork();
#endif
  return ofl::report();
}
