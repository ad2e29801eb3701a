// Objects over the same addresses have one order: what overlaps, what has lain apart until now,
// what fails, what has gone. The stress program is for ThreadSanitizer.
#include <unistd.h>

#include <array>
#include <random>
#include <thread>

#include "machine_support.h"

namespace ofl::vm {
namespace {

char memory[1000];

/// An object of the machine over memory[begin, end).
struct Over {
  Over(World& world, int begin, int end)
      : range(std::make_unique<SharedRange>(world.machine.shared_ranges(), object, memory + begin,
                                            static_cast<size_t>(end - begin))) {}

  Dependence object;
  std::unique_ptr<SharedRange> range;
};

bool is_ready(World& world, const Over& over) { return world.machine.is_ready(over.object); }

/// Holds an object back: it is being written until the gate is opened.
void hold(World& world, Gate& gate, Over& over) {
  world.run(kMock0, StreamType::compute, {reads(gate.object), writes(over.object)}, [] {});
}

void test_what_overlaps_has_one_order() {
  World world;
  Over whole(world, 100, 200), part(world, 150, 160), edge(world, 190, 250), apart(world, 250, 260);
  CHECK(!whole.object.is_alone() && !part.object.is_alone() && !edge.object.is_alone());
  CHECK(apart.object.is_alone());
  Gate gate(world);
  int value = 0, seen = 0;
  world.run(kCpu, StreamType::compute, {reads(gate.object), writes(part.object)},
            [&] { value = 1; });
  CHECK(!is_ready(world, whole) && !is_ready(world, edge) && is_ready(world, apart));
  world.run(kMock0, StreamType::compute, {reads(edge.object)}, [&] { seen = value; });
  world.run(kCpu, StreamType::compute, {writes(whole.object)}, [&] { value = 2; });
  gate.open();
  world.machine.wait_for_access(part.object, "test");
  CHECK(seen == 1 && value == 2);
}

// What is in flight when an object gets its range stays in its place.
void test_an_object_brings_what_is_in_flight() {
  World world;
  Dependence object;
  Gate gate(world);
  int value = 0, seen = 0, also_seen = 0;
  world.run(kMock0, StreamType::compute, {reads(gate.object), writes(object)}, [&] { value = 1; });
  world.run(kMock0, StreamType::d2h, {reads(object)}, [&] { seen = value; });
  SharedRange range(world.machine.shared_ranges(), object, memory, 10);
  Over other(world, 5, 15);
  CHECK(!is_ready(world, other));
  world.run(kCpu, StreamType::compute, {reads(other.object)}, [&] { also_seen = value; });
  world.run(kMock1, StreamType::compute, {writes(other.object)}, [&] { value = 2; });
  gate.open();
  world.machine.drain(std::nullopt);
  CHECK(seen == 1 && also_seen == 1 && value == 2);
}

// One of two groups that come together is at rest: nobody waits. Both are in use: one is waited
// for.
void test_groups_come_together() {
  for (int held : {0, 1}) {
    World world;
    Gate gate(world);
    Over left(world, 0, 40), right(world, 60, 100);
    hold(world, gate, held ? right : left);
    CHECK(is_ready(world, held ? left : right));
    Over whole(world, 0, 100);
    CHECK(!is_ready(world, left) && !is_ready(world, right) && !is_ready(world, whole));
    gate.open();
    world.machine.drain(std::nullopt);  // before its objects go
  }
  World world;
  Gate gate(world);
  std::promise<void> second;
  Over left(world, 0, 40), right(world, 60, 100);
  hold(world, gate, left);
  world.run(kMock1, StreamType::compute, {writes(right.object)},
            [&] { second.get_future().wait(); });
  std::thread opener([&] {
    while (world.machine.stats().host_waits == 0) std::this_thread::yield();
    second.set_value();
  });
  Over bridge(world, 39, 61);
  opener.join();
  CHECK(!is_ready(world, right) && !is_ready(world, bridge));
  gate.open();
  world.machine.wait_for_value(bridge.object, "test");
  CHECK(is_ready(world, left) && is_ready(world, right));
}

void test_failures_are_those_of_all() {
  World world;
  Over left(world, 0, 40), right(world, 60, 100);
  Dependence early;
  const auto fails = [](LaunchContext&) { fail(ErrorKind::value, "original"); };
  world.issue(kCpu, StreamType::compute, {writes(left.object)}, fails);
  world.issue(kCpu, StreamType::compute, {writes(early)}, fails);
  world.machine.drain(std::nullopt);
  CHECK(!right.object.failure());
  Over whole(world, 0, 100);
  SharedRange late(world.machine.shared_ranges(), early, memory + 200, 10);
  Over with_early(world, 200, 201);
  for (Over* over : {&left, &right, &whole, &with_early}) CHECK(over->object.failure() != nullptr);
  Over after(world, 300, 310);
  CHECK(!after.object.failure());
}

// A range goes with its memory, whatever is still in flight on its object.
void test_what_comes_later_is_something_else() {
  World world;
  Gate gate(world);
  Over former(world, 0, 10);
  hold(world, gate, former);
  former.range->leave();
  former.range->leave();
  Over next(world, 0, 10);
  CHECK(next.object.is_alone() && is_ready(world, next) && !is_ready(world, former));
  Over kept(world, 20, 30);
  Over(world, 25, 40).range->leave();
  CHECK(kept.object.is_alone());
  Over extended(world, 35, 40);  // in the bounds of what hung together with `kept`
  CHECK(!extended.object.is_alone());
  kept.range->leave();
  extended.range->leave();
  CHECK(Over(world, 20, 40).object.is_alone());
  gate.open();
  world.machine.drain(std::nullopt);
}

// Threads make objects over random ranges and count up what lies in them, on all kinds of streams.
void test_threads() {
  constexpr int kThreads = 3, kRounds = 60, kCells = 48, kKept = 4;
  World world;
  std::array<int, kCells> cells = {}, expected = {};
  std::mutex mutex;  // guards expected
  const auto run = [&](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::unique_ptr<Dependence>> objects;
    std::vector<std::unique_ptr<SharedRange>> ranges;
    const auto drop_first = [&] {
      world.machine.wait_for_access(*objects.front(), "test");
      ranges.erase(ranges.begin());
      objects.erase(objects.begin());
    };
    for (int round = 0; round < kRounds; ++round) {
      const int begin = static_cast<int>(random() % kCells);
      const int end = begin + 1 + static_cast<int>(random() % std::min(8, kCells - begin));
      objects.push_back(std::make_unique<Dependence>());
      ranges.push_back(std::make_unique<SharedRange>(world.machine.shared_ranges(), *objects.back(),
                                                     &cells[begin], sizeof(int) * (end - begin)));
      const std::pair<Device, StreamType> kStreams[] = {{kCpu, StreamType::compute},
                                                        {kCpu, StreamType::host_func},
                                                        {kMock0, StreamType::compute},
                                                        {kMock0, StreamType::d2h},
                                                        {kMock1, StreamType::compute}};
      for (int i = 0; i < 3; ++i) {
        const auto& [device, type] = kStreams[random() % std::size(kStreams)];
        world.run(device, type, {writes(*objects.back())}, [&cells, begin, end] {
          for (int cell = begin; cell < end; ++cell) ++cells[cell];
        });
      }
      {
        std::lock_guard<std::mutex> lock(mutex);
        for (int cell = begin; cell < end; ++cell) expected[cell] += 3;
      }
      if (objects.size() > kKept) drop_first();
    }
    while (!objects.empty()) drop_first();
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= kThreads; ++seed) threads.emplace_back(run, seed);
  for (std::thread& thread : threads) thread.join();
  CHECK(cells == expected);
}

}  // namespace
}  // namespace ofl::vm

int main() {
  using namespace ofl::vm;
  alarm(300);  // a hang is a failure
  test_what_overlaps_has_one_order();
  test_an_object_brings_what_is_in_flight();
  test_groups_come_together();
  test_failures_are_those_of_all();
  test_what_comes_later_is_something_else();
  test_threads();
  return ofl::report();
}
