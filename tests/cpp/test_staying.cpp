// What the machine lets run in the thread that issues it.
#include "base/clock.h"
#include "ep/crowding.h"
#include "machine_support.h"

namespace ofl::vm {
namespace {

/// A machine whose options are as if they were set to 1, so that costs are parts of inline_cost.
struct Staying {
  Staying() {
    world.machine.options().inline_cost = 1;
    world.machine.state(kCpu);
  }
  bool stays(double cost, bool is_whole = false) {
    return world.machine.stays_here(cost, is_whole);
  }
  ep::Crowding& crowding() { return world.machine.state(kCpu).device.helpers()->crowding(); }

  World world;
};

void test_small_work_always_stays() {
  Staying machine;
  for (int i = 0; i < 10; ++i) CHECK(machine.stays(0.2));
}

void test_whole_operations_stay_where_nobody_looks() {
  Staying machine;
  for (int i = 0; i < 10; ++i) CHECK(machine.stays(0.9, true));
  CHECK(!machine.stays(1.1, true));
}

void test_what_may_be_shared_stays_where_each_is_looked_at() {
  Staying machine;
  for (int i = 0; i < 10; ++i) {
    CHECK(machine.stays(0.9));
    machine.world.machine.note_look();
  }
  CHECK(machine.stays(0.9));
  CHECK(!machine.stays(0.9));  // the second one since the look
  machine.world.machine.note_look();
  CHECK(!machine.stays(0.9));  // as likely one of several
}

void test_most_work_stays_where_threads_come_late() {
  Staying machine;
  CHECK(!machine.stays(50));
  machine.crowding().note_late(now_ns() + 1'000'000'000);  // so that it lasts
  CHECK(machine.stays(50) && machine.stays(50) && machine.stays(50, true));
  CHECK(!machine.stays(1000));
  machine.crowding().set_watched(false);
  CHECK(!machine.stays(50));
}

}  // namespace
}  // namespace ofl::vm

int main() {
  using namespace ofl::vm;
  test_small_work_always_stays();
  test_whole_operations_stay_where_nobody_looks();
  test_what_may_be_shared_stays_where_each_is_looked_at();
  test_most_work_stays_where_threads_come_late();
  return ofl::report();
}
