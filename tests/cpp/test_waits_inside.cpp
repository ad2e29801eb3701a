// Functions that wait for others of their pool, from several threads, in both modes.
#include <unistd.h>

#include <thread>

#include "machine_support.h"
#include "vm/pool/call_out.h"
#include "vm/pool/pool.h"

namespace ofl::vm {
namespace {

void test_functions_inside_functions(bool naive) {
  World world;
  world.machine.options().naive.store(naive);
  constexpr int kThreads = 3, kRounds = 60;
  std::atomic<int64_t> sum{0};
  const auto outer = [&world, &sum](Dependence& made) {
    Dependence inner, there, back;
    int64_t value = 0, mine = 0;
    world.run(kCpu, StreamType::host_func, {writes(inner)}, [&] { value = mine = ++sum; });
    world.run(kMock0, StreamType::compute, {reads(inner), writes(there)}, [&] { value *= 2; });
    world.run(kCpu, StreamType::compute, {reads(there), writes(back)}, [&] { value += 1; });
    world.run(kCpu, StreamType::host_func, {reads(back), writes(made)}, [&] { value += 1; });
    world.machine.wait_for_value(made, "test");
    world.machine.wait_for_access(back, "test");
    CHECK(value == 2 * mine + 2);
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        Dependence first, made[2];
        world.run(kCpu, StreamType::host_func, {writes(first)}, [&] {
          for (Dependence& each : made) outer(each);
        });
        world.machine.wait_for_value(first, "test");
        world.machine.wait_for_access(first, "test");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  world.machine.drain(std::nullopt);
  CHECK(sum == int64_t{2} * kThreads * kRounds);
}

void test_one_of_another_thread(bool naive) {
  World world;
  world.machine.options().naive.store(naive);
  world.machine.options().pool_threads.store(1);
  for (int round = 0; round < 100; ++round) {
    Dependence object;
    std::promise<void> begun, issued;
    int value = 0, seen = 0;
    std::thread other([&] {
      begun.get_future().wait();
      world.run(kCpu, StreamType::host_func, {writes(object)}, [&] { value = 5; });
      issued.set_value();
    });
    const Seq outer = world.run(kCpu, StreamType::host_func, {}, [&] {
      begun.set_value();
      issued.get_future().wait();
      world.machine.wait_for_value(object, "test");
      seen = value;
    });
    other.join();
    world.machine.wait(outer, "test");
    CHECK(seen == 5);
  }
}

void test_a_full_window() {
  World world(64);
  std::atomic<int> count{0};
  const Seq outer = world.run(kCpu, StreamType::host_func, {}, [&] {
    for (int i = 0; i < 500; ++i) {
      const Seq seq = world.run(kCpu, StreamType::host_func, {}, [&] { ++count; });
      if (i % 100 == 99) world.machine.wait(seq, "test");
    }
  });
  world.machine.wait(outer, "test");
  world.machine.drain(std::nullopt);  // of what it has issued
  CHECK(count == 500);
}

void test_what_comes_after_it_is_not_waited_for() {
  World world;
  std::promise<void> begun, issued;
  Dependence own, after;
  std::string told;
  world.run(kCpu, StreamType::host_func, {writes(own)}, [&] {
    begun.set_value();
    issued.get_future().wait();
    try {
      world.machine.wait_for_value(after, "test");
    } catch (const Error& error) {
      told = error.what();
    }
  });
  begun.get_future().wait();
  world.run(kMock1, StreamType::compute, {reads(own), writes(after)}, [] {});
  issued.set_value();
  world.machine.drain(std::nullopt);
  CHECK(told.find("cannot wait for itself") != std::string::npos);
}

// Each function issues the next one, until that is refused.
void test_an_endless_chain_ends() {
  World world;
  std::atomic<bool> refused{false};
  std::function<void()> next = [&] {
    try {
      world.run(kCpu, StreamType::host_func, {}, next);
    } catch (const Error&) {
      refused = true;
    }
  };
  world.run(kCpu, StreamType::host_func, {}, next);
  world.machine.shutdown();
  CHECK(refused);
}

/// A function on the compute stream of a device, called when its queue has run dry.
Seq call_out(World& world, Device device, const std::vector<Operand>& operands,
             std::function<void()> work) {
  const auto launch = [work = std::move(work)](LaunchContext& context) {
    const CallOut out(context);
    context.queue.sync();
    work();
  };
  return world.issue(device, StreamType::compute, operands, launch, nullptr, 0, kCallType);
}

// The threads share both streams, and each has values of its own. A function waits for what was
// issued before it, on its own stream and on another one.
void test_functions_on_streams(bool naive) {
  World world;
  world.machine.options().naive.store(naive);
  constexpr int kThreads = 3, kRounds = 100;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&world, t] {
      const Device here = t % 2 ? kMock0 : kMock1, there = t % 2 ? kMock1 : kMock0;
      for (int round = 0; round < kRounds; ++round) {
        Dependence object, near, far, host;
        int64_t value = round, beside = 0, away = 0;
        world.run(here, StreamType::compute, {writes(near)}, [&] { beside = 3; });
        world.run(there, StreamType::compute, {writes(far)}, [&] { away = 4; });
        world.run(here, StreamType::compute, {writes(object)}, [&] { value *= 2; });
        call_out(world, here, {writes(object)}, [&] {
          world.machine.wait_for_value(near, "test");
          world.machine.wait_for_value(far, "test");
          value += beside + away;
        });
        world.run(here, StreamType::d2h, {reads(object)}, [] {});
        world.run(here, StreamType::compute, {writes(object)}, [&] { value *= 2; });
        world.run(kCpu, StreamType::engine, {reads(object), writes(host)}, [&] { value += 1; });
        world.machine.wait_for_value(host, "test");
        CHECK(value == 2 * (2 * round + 7) + 1);
        for (Dependence* each : {&object, &near, &far, &host}) {
          world.machine.wait_for_access(*each, "test");
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void test_a_function_that_stops_its_stream() {
  World world;
  Dependence before, own, behind;
  std::promise<void> begun, goes_on;
  std::string told;
  world.run(kMock0, StreamType::compute, {writes(before)}, [] {});
  call_out(world, kMock0, {writes(own)}, [&] {
    begun.set_value();
    goes_on.get_future().wait();
    try {
      world.machine.wait_for_value(behind, "test");
    } catch (const Error& error) {
      told = error.what();
    }
  });
  begun.get_future().wait();
  world.machine.wait_for_value(before, "test");  // seen to by this thread
  world.run(kMock0, StreamType::compute, {writes(behind)}, [] {});
  CHECK(!world.machine.is_ready(behind));
  goes_on.set_value();
  world.machine.drain(std::nullopt);
  CHECK(told.find("cannot wait for itself") != std::string::npos);
}

#ifndef __SANITIZE_THREAD__  // which does not let a forked child start threads
/// In the child: as many functions at once as there are threads, and the pool is full.
bool runs_two_at_once(World& world, Pool& pool) {
  world.machine.fork().fail_lost_functions();
  std::promise<void> opened;
  std::shared_future<void> is_open = opened.get_future().share();
  std::atomic<int> inside{0};
  for (int i = 0; i < 2; ++i) {
    world.run(kCpu, StreamType::engine, {}, [&] {
      ++inside;
      is_open.wait();
    });
  }
  CHECK(eventually([&] { return inside == 2; }));
  CHECK(pool.is_full());
  opened.set_value();
  world.machine.drain(std::nullopt);
  CHECK(eventually([&] { return !pool.is_full(); }));  // its threads come back a moment later
  return g_failed == 0;
}

// The functions of the parent that wait make room for others in its pool, but not in the child's.
void test_the_room_of_those_that_wait_is_not_the_childs() {
  World world;
  world.machine.options().pool_threads.store(2);
  Pool& pool = static_cast<Pool&>(world.machine.stream(kCpu, StreamType::engine).runner());
  Dependence held;
  std::promise<void> opened;
  std::atomic<int> waiting{0};
  const auto gate = [&](LaunchContext& context) {
    const CallOut call(context);
    opened.get_future().wait();
  };
  const auto wait = [&](LaunchContext& context) {
    const CallOut call(context);
    ++waiting;
    world.machine.wait_for_value(held, "test");
  };
  world.issue(kCpu, StreamType::host_func, {writes(held)}, gate, nullptr, 0, kCallType);
  for (int i = 0; i < 4; ++i) {
    world.issue(kCpu, StreamType::engine, {}, wait, nullptr, 0, kCallType);
  }
  CHECK(eventually([&] { return waiting == 4 && !pool.is_full(); }));  // the last one waits, too
  const auto in_child = [&] { return runs_two_at_once(world, pool); };
  CHECK(holds_in_child(world.machine, in_child, [&] { opened.set_value(); }));
  world.machine.drain(std::nullopt);
}
#endif

}  // namespace
}  // namespace ofl::vm

int main() {
  using namespace ofl::vm;
  alarm(120);  // a hang is a failure
  test_functions_inside_functions(false);
  test_functions_inside_functions(true);
  test_one_of_another_thread(false);
  test_one_of_another_thread(true);
  test_a_full_window();
  test_what_comes_after_it_is_not_waited_for();
  test_an_endless_chain_ends();
  test_functions_on_streams(false);
  test_functions_on_streams(true);
  test_a_function_that_stops_its_stream();
#ifndef __SANITIZE_THREAD__
  test_the_room_of_those_that_wait_is_not_the_childs();
#endif
  return ofl::report();
}
