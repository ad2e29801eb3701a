// Directed tests of the bounds: a thread that issues waits for room, and for nothing else.
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "machine_support.h"

namespace ofl::vm {
namespace {

/// Says when a thread begins to wait.
class WaitHooks : public HostHooks {
 public:
  explicit WaitHooks(std::promise<void>& waits) : waits_(waits) {}
  void* release() override {
    if (!told_.exchange(true)) waits_.set_value();
    return nullptr;
  }

 private:
  std::promise<void>& waits_;
  std::atomic<bool> told_{false};
};

// The work that is issued meanwhile ends only when the thread that waits has got its room.
void test_room_is_not_waited_for_behind_later_work() {
  World world;
  std::promise<void> waits, opened, returned;
  world.machine.set_hooks(std::make_unique<WaitHooks>(waits));
  world.machine.options().max_in_flight = 4;
  const auto issue = [&world](std::function<void()> work) {
    return world.run(kCpu, StreamType::compute, {}, std::move(work));
  };
  issue([&] { opened.get_future().wait(); });
  for (int i = 0; i < 3; ++i) issue([] {});
  std::thread waiter([&] {
    issue([] {});
    returned.set_value();
  });
  waits.get_future().wait();
  world.machine.options().max_in_flight = 1000;  // for this thread: the other has read its own
  issue([&] { returned.get_future().wait(); });
  opened.set_value();
  waiter.join();
  world.machine.drain(std::nullopt);
}

void test_bounds() {
  World world;
  world.machine.options().max_in_flight = 8;
  int64_t most = 0, most_bytes = 0;
  DeviceState& state = world.machine.state(kMock0);
  const auto issue_many = [&] {
    for (int i = 0; i < 500; ++i) {
      world.issue(
          kMock0, StreamType::compute, {}, [](LaunchContext& c) { run_on_stream(c, [] {}); },
          nullptr, 100);
      most = std::max<int64_t>(most, state.in_flight());
      most_bytes = std::max<int64_t>(most_bytes, state.bytes_in_flight());
    }
    world.machine.drain(std::nullopt);
  };
  issue_many();
  CHECK(most <= 8 && most >= 1);
  world.machine.options().max_in_flight = 1000;
  world.machine.options().max_bytes = 1000;
  issue_many();
  CHECK(most_bytes < 1000 + 100);
  CHECK(state.in_flight() == 0 && state.bytes_in_flight() == 0);
}

// A full window is a wait, not a spin, whatever the numbers of the devices in use.
void test_full_window_sleeps() {
  World world(64);
  world.machine.options().max_in_flight = 1000000;
  std::promise<void> go;
  world.run(kMock1, StreamType::compute, {}, [&] { go.get_future().wait(); });
  std::thread issuer([&] {
    for (int i = 0; i < 200; ++i) world.run(kMock1, StreamType::compute, {}, [] {});
  });
  CHECK(eventually([&] { return world.machine.stats().host_waits > 0; }));
  go.set_value();
  issuer.join();
  world.machine.drain(std::nullopt);
  CHECK(world.machine.stats().retired == 201);
}

}  // namespace
}  // namespace ofl::vm

int main() {
  using namespace ofl::vm;
  alarm(300);  // a hang is a failure
  test_room_is_not_waited_for_behind_later_work();
  test_bounds();
  test_full_window_sleeps();
  return ofl::report();
}
