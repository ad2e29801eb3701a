// Pools: functions at once, priorities, functions that complete later, and the threads that sleep,
// step back, watch and leave.
#include <sched.h>
#include <unistd.h>

#include <array>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "base/recycled.h"
#include "machine_support.h"
#include "vm/pool/pending.h"
#include "vm/pool/pool_policy.h"

namespace ofl::vm {
namespace {

void test_independent_functions_run_at_once() {
  World world;
  world.machine.options().pool_threads.store(3);
  std::atomic<int> inside{0};
  for (int i = 0; i < 3; ++i) {
    world.run(kCpu, StreamType::engine, {}, [&] {
      ++inside;
      CHECK(eventually([&] { return inside == 3; }));
    });
  }
  world.machine.drain(std::nullopt);
  CHECK(inside == 3);
}

void test_no_more_at_once_than_threads() {
  World world;
  world.machine.options().pool_threads.store(2);
  std::atomic<int> inside{0}, most{0};
  for (int i = 0; i < 200; ++i) {
    world.run(kCpu, StreamType::engine, {}, [&, i] {
      const int now = ++inside;
      for (int known = most; known < now && !most.compare_exchange_weak(known, now);) {
      }
      for (volatile int spin = 0; spin < (i % 7) * 3000; spin = spin + 1) {
      }
      --inside;
    });
  }
  world.machine.drain(std::nullopt);
  CHECK(most >= 1 && most <= 2);
}

void test_functions_that_wait_have_threads_for_all() {
  World world;
  constexpr int kMany = 40;
  std::atomic<int> inside{0};
  for (int i = 0; i < kMany; ++i) {
    world.run(kCpu, StreamType::blocking, {}, [&] {
      ++inside;
      CHECK(eventually([&] { return inside == kMany; }));
    });
  }
  world.machine.drain(std::nullopt);
  CHECK(inside == kMany);
}

// The thread of the short ones is expected to be back at once, and is not.
void test_a_long_function_among_short_ones_holds_up_nobody() {
  World world;
  world.machine.options().pool_threads.store(2);
  std::atomic<int> short_ones{0};
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 2000; ++i) {
      world.run(kCpu, StreamType::engine, {}, [&] { ++short_ones; });
    }
    std::promise<void> go_on;
    std::shared_future<void> allowed = go_on.get_future().share();
    world.run(kCpu, StreamType::engine, {}, [allowed] { allowed.wait(); });
    const Seq behind = world.run(kCpu, StreamType::engine, {}, [&] { ++short_ones; });
    world.machine.wait(behind, "test");
    go_on.set_value();
  }
  world.machine.drain(std::nullopt);
  CHECK(short_ones == 20 * 2001);
}

void test_priorities() {
  for (unsigned seed = 0; seed < 20; ++seed) {
    World world;
    world.machine.options().pool_threads.store(1);
    std::mt19937 random(seed);
    std::vector<std::pair<int, int>> order;
    {
      std::promise<void> begun, go_on;
      world.run(kCpu, StreamType::engine, {}, [&] {
        begun.set_value();
        go_on.get_future().wait();
      });
      begun.get_future().wait();
      for (int i = 0; i < 60; ++i) {
        const int priority = static_cast<int>(random() % 5) - 2;
        Instruction header;
        header.type = &kFunctionType;
        header.name = "work";
        header.stream = &world.machine.stream(kCpu, StreamType::engine);
        header.priority = priority;
        const auto note = [&order, priority, i](LaunchContext&) {
          order.push_back({-priority, i});
        };
        world.machine.issue(header, nullptr, 0, FunctionBody{note, nullptr});
      }
      go_on.set_value();
      world.machine.drain(std::nullopt);
    }
    CHECK(order.size() == 60 && std::is_sorted(order.begin(), order.end()));
  }
}

struct LaterBody {
  std::shared_ptr<Pending> pending;
  std::function<void(const std::shared_ptr<Pending>&)> call;
};

const InstructionType kLaterType = [] {
  InstructionType type = {
      "later",
      [](void* body, LaunchContext&) {
        auto* own = static_cast<LaterBody*>(body);
        own->call(own->pending);
      },
      [](void*, Stream&, uint64_t) {},
      [](void* body, const FailurePtr&) { static_cast<LaterBody*>(body)->~LaterBody(); },
      [](const void*, Description*) {},
  };
  type.pending = [](void* body) { return static_cast<LaterBody*>(body)->pending; };
  return type;
}();

Seq issue_later(World& world, const std::vector<Operand>& operands,
                std::function<void(const std::shared_ptr<Pending>&)> call,
                StreamType type = StreamType::engine) {
  Instruction header;
  header.type = &kLaterType;
  header.name = "later";
  header.stream = &world.machine.stream(kCpu, type);
  return world.machine.issue(header, operands.data(), static_cast<int>(operands.size()),
                             LaterBody{std::make_shared<Pending>(), std::move(call)});
}

// Completed by the function itself, by another thread before it returns, and after.
void test_completions_in_any_order() {
  World world;
  constexpr int kVariables = 8;
  Dependence variables[kVariables];
  std::vector<unsigned> values(kVariables), expected(kVariables);
  std::vector<std::thread> completers;
  std::mt19937 random(7);
  for (int i = 0; i < 600; ++i) {
    const int target = static_cast<int>(random() % kVariables);
    expected[target] = expected[target] * 3 + static_cast<unsigned>(i);
    const auto work = [&values, target, i] {
      values[target] = values[target] * 3 + static_cast<unsigned>(i);
    };
    const int kind = static_cast<int>(random() % 3);
    issue_later(world, {writes(variables[target])},
                [work, kind](const std::shared_ptr<Pending>& pending) {
                  if (kind == 0) {
                    work();
                    pending->complete(std::nullopt);
                  } else {
                    std::thread other([work, pending] {
                      work();
                      CHECK(pending->complete(std::nullopt));
                      CHECK(!pending->complete(std::nullopt));
                    });
                    kind == 1 ? other.join() : other.detach();
                  }
                });
  }
  for (Dependence& each : variables) world.machine.wait_for_value(each, "test");
  CHECK(values == expected);
  world.machine.drain(std::nullopt);
}

void test_an_error_of_a_completion() {
  World world;
  Dependence bad, behind;
  bool ran = false;
  issue_later(world, {writes(bad)}, [](const std::shared_ptr<Pending>& pending) {
    pending->complete(Error(ErrorKind::value, "too late"));
  });
  world.run(kCpu, StreamType::compute, {reads(bad), writes(behind)}, [&] { ran = true; });
  bool told = false;
  try {
    world.machine.wait_for_value(behind, "test");
  } catch (const OperationError& error) {
    told = std::string(error.what()).find("too late") != std::string::npos;
  }
  CHECK(told && !ran);
}

void test_what_never_completes_ends_with_the_machine() {
  World world;
  Dependence never, behind;
  std::vector<std::shared_ptr<Pending>> kept;
  bool ran = false;
  issue_later(world, {writes(never)},
              [&](const std::shared_ptr<Pending>& pending) { kept.push_back(pending); });
  world.run(kCpu, StreamType::engine, {reads(never), writes(behind)}, [&] { ran = true; });
  world.machine.shutdown();
  CHECK(!ran && behind.failure());
  CHECK(!kept[0]->complete(std::nullopt));  // it comes after the end
}

// The machine may be gone at once when its last function is retired, by a thread it does not know.
// On one processor, that thread is stopped in the midst of it: it has woken one that comes first.
void test_the_machine_ends_while_a_function_completes() {
  cpu_set_t before, one;
  CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
  for (int round = 0; round < 100; ++round) {
    std::thread completer;
    {
      World world;
      issue_later(world, {}, [&](const std::shared_ptr<Pending>& pending) {
        completer = std::thread([pending] {
          const sched_param lowest{};
          CHECK(pthread_setschedparam(pthread_self(), SCHED_IDLE, &lowest) == 0);
          CHECK(pending->complete(std::nullopt));
        });
      });
      world.machine.drain(std::nullopt);
    }
    completer.join();
  }
  CHECK(sched_setaffinity(0, sizeof before, &before) == 0);
}

// Both wait for what comes after the other one. The one that waits last is told.
void test_a_ring_of_waits() {
  World world;
  world.machine.options().pool_threads.store(2);
  for (int round = 0; round < 50; ++round) {
    Dependence own[2], after[2];
    std::promise<void> issued;
    std::shared_future<void> go_on = issued.get_future().share();
    std::atomic<int> told{0}, waited{0};
    for (int i = 0; i < 2; ++i) {
      world.run(kCpu, StreamType::engine, {writes(own[i])}, [&, i] {
        go_on.wait();
        try {
          world.machine.wait_for_value(after[1 - i], "test");
          ++waited;
        } catch (const OperationError&) {
          ++waited;
        } catch (const Error&) {
          ++told;
        }
      });
    }
    for (int i = 0; i < 2; ++i) {
      world.run(kCpu, StreamType::compute, {reads(own[i]), writes(after[i])}, [] {});
    }
    issued.set_value();
    world.machine.drain(std::nullopt);
    CHECK(told == 1 && waited == 1);
  }
}

// More functions wait than the pool has threads; others run meanwhile.
void test_pools_whose_functions_all_wait() {
  World world;
  world.machine.options().pool_threads.store(2);
  Gate gate(world);
  std::atomic<int> done{0};
  Dependence far;
  std::promise<void> opened;
  std::shared_future<void> open = opened.get_future().share();
  world.run(kMock0, StreamType::compute, {writes(far)}, [open] { open.wait(); });
  for (int i = 0; i < 4; ++i) {
    world.run(kCpu, StreamType::engine, {}, [&] {
      world.machine.wait_for_value(far, "test");
      ++done;
    });
  }
  std::atomic<bool> ran{false};
  const Seq other = world.run(kCpu, StreamType::engine, {}, [&] { ran = true; });
  world.machine.wait(other, "test");
  CHECK(ran && done == 0);
  opened.set_value();
  gate.open();
  world.machine.drain(std::nullopt);
  CHECK(done == 4);
}

// Chains, diamonds and independent ones from several threads, equal to the serial run.
void test_random_functions(unsigned seed) {
  World world;
  std::mt19937 setup(seed);
  world.machine.options().pool_threads.store(1 + static_cast<int>(seed % 4));
  constexpr int kThreads = 3, kVariables = 16, kFunctions = 1000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&world, thread_seed = setup()] {
      std::mt19937 random(thread_seed);
      std::vector<Dependence> objects(kVariables);
      std::vector<uint64_t> values(kVariables), expected(kVariables);
      for (uint64_t i = 0; i < kFunctions; ++i) {
        const int from = static_cast<int>(random() % kVariables);
        const int to = static_cast<int>(random() % kVariables);
        const int spin = random() % 50 == 0 ? 20000 : 0;
        expected[to] = expected[to] * 31 + expected[from] + i;
        const auto work = [&values, from, to, i, spin] {
          for (volatile int s = 0; s < spin; s = s + 1) {
          }
          values[to] = values[to] * 31 + values[from] + i;
        };
        std::vector<Operand> operands{writes(objects[to])};
        if (from != to) operands.push_back(reads(objects[from]));
        const StreamType type = random() % 8 ? StreamType::engine : StreamType::blocking;
        if (random() % 6 == 0) {
          const bool elsewhere = random() % 2;
          issue_later(
              world, operands,
              [work, elsewhere](const std::shared_ptr<Pending>& pending) {
                const auto finish = [work, pending] {
                  work();
                  pending->complete(std::nullopt);
                };
                elsewhere ? std::thread(finish).detach() : finish();
              },
              type);
        } else {
          world.run(kCpu, random() % 10 ? type : StreamType::compute, operands, work);
        }
      }
      for (Dependence& each : objects) world.machine.wait_for_access(each, "test");
      CHECK(values == expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
  world.machine.drain(std::nullopt);
}

// --- memory of what is pushed

struct Marked {
  explicit Marked(int64_t mark) : marks{mark, ~mark} { ++alive; }
  ~Marked() {
    CHECK(marks[0] == ~marks[1]);
    marks = {0, 0};
    --alive;
  }
  std::array<int64_t, 2> marks;
  static inline std::atomic<int64_t> alive{0};
};

std::shared_ptr<Marked> marked(int64_t mark) {
  return std::allocate_shared<Marked>(Recycled<Marked>{}, mark);
}

[[maybe_unused]] void test_memory_is_used_again_by_the_thread_that_let_it_go() {
  std::thread([] {
    const void* first = marked(1).get();
    CHECK(marked(2).get() == first);
  }).join();
}

// More objects than are kept, made by some threads and let go by others, which end meanwhile.
void test_memory_of_objects_that_other_threads_let_go() {
  constexpr int kThreads = 4, kRounds = 6, kObjects = 6000;
  for (int round = 0; round < kRounds; ++round) {
    std::mutex mutex;
    std::vector<std::shared_ptr<Marked>> shared;
    std::vector<std::thread> threads;
    for (int number = 0; number < kThreads; ++number) {
      threads.emplace_back([&, number] {
        std::mt19937 random(number);
        std::vector<std::shared_ptr<Marked>> own;
        for (int i = 0; i < kObjects; ++i) {
          own.push_back(marked(number * kObjects + i));
          CHECK(own.back()->marks[0] == number * kObjects + i);
          if (random() % 64) continue;
          std::lock_guard<std::mutex> lock(mutex);
          if (number % 2) own.swap(shared);
          std::move(own.begin(), own.end(), std::back_inserter(shared));
          own.clear();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  CHECK(Marked::alive == 0);
}

}  // namespace
}  // namespace ofl::vm

int main() {
  using namespace ofl::vm;
  alarm(180);  // a hang is a failure
  test_independent_functions_run_at_once();
  test_no_more_at_once_than_threads();
  test_functions_that_wait_have_threads_for_all();
  test_a_long_function_among_short_ones_holds_up_nobody();
  test_priorities();
  test_completions_in_any_order();
  test_an_error_of_a_completion();
  test_what_never_completes_ends_with_the_machine();
  test_the_machine_ends_while_a_function_completes();
  test_a_ring_of_waits();
  test_pools_whose_functions_all_wait();
  for (unsigned seed = 0; seed < 4; ++seed) test_random_functions(seed);
#if !defined(__SANITIZE_ADDRESS__)
  test_memory_is_used_again_by_the_thread_that_let_it_go();
#endif
  test_memory_of_objects_that_other_threads_let_go();
  return ofl::report();
}
