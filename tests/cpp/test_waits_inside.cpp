// Functions that wait for others of their pool, from several threads, in both modes.
#include <unistd.h>

#include <thread>

#include "machine_support.h"

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
  return ofl::report();
}
