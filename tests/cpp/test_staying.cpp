// What the machine lets run in the thread that issues it.
#include <filesystem>
#include <iterator>
#include <thread>

#include "base/clock.h"
#include "ep/threads/crowding.h"
#include "machine_support.h"

namespace ofl::vm {
namespace {

/// A machine whose options are as if they were set to 1, so that costs are parts of inline_cost.
struct Staying {
  Staying() {
    world.machine.options().inline_cost = 1;
    world.machine.state(kCpu);
  }
  bool stays(double cost, Company company = Company::joinable, bool by_parts = false) {
    PacedCall call;
    return world.machine.is_small(cost) || world.machine.stays_here(cost, company, call, by_parts);
  }
  ep::Crowding& crowding() { return world.machine.state(kCpu).device.helpers()->crowding(); }

  World world;
};

void test_small_work_always_stays() {
  Staying machine;
  for (int i = 0; i < 10; ++i) CHECK(machine.stays(0.2));
}

/// Calls with so much own code of the thread between them.
void call_often(HostPace& pace, int64_t own_ns) {
  int64_t now = 1'000'000;
  for (int i = 0; i < 20; ++i) {
    pace.end(now);
    pace.begin(now += own_ns);
  }
  pace.end(now_ns());
}

void test_what_runs_alone_stays_where_the_thread_has_nothing_else_to_do() {
  Staying machine;
  call_often(HostPace::of_this_thread(), 1'000);
  for (int i = 0; i < 3; ++i) CHECK(machine.stays(1.9, Company::alone));
  for (int i = 0; i < 3; ++i) CHECK(machine.stays(5.9, Company::awaited));
  CHECK(!machine.stays(2.1, Company::alone));
  CHECK(!machine.stays(6.1, Company::awaited));
  call_often(HostPace::of_this_thread(), 50'000);
  CHECK(!machine.stays(1.9, Company::alone));
  CHECK(machine.stays(5.9, Company::awaited));
  CHECK(machine.stays(0.2, Company::alone));
  call_often(HostPace::of_this_thread(), 1'000);
}

void test_the_pace_of_a_thread() {
  HostPace pace;
  pace.begin(50'000'000);  // the first call: nothing is known
  CHECK(!pace.is_busy());
  pace.end(1'000);
  pace.begin(1'000'000'000);  // one long pause alone
  CHECK(!pace.is_busy());
  pace.begin(2'000'000'000);  // inside that call
  pace.begin(3'000'000'000);
  CHECK(!pace.is_busy());
  call_often(pace, 15'000);
  CHECK(pace.is_busy());
  call_often(pace, 5'000);
  CHECK(!pace.is_busy());
  for (int i = 0; i < 80; ++i) {  // a step of 8 large operations, and a stretch of small ones
    pace.end(1'000);
    pace.begin(i % 8 == 7 ? 36'000 : 5'000);
    CHECK(!pace.is_busy());
  }
  for (int i = 0; i < 20; ++i) {  // small work between the calls is no own code
    pace.end(1'000);
    pace.note_small(49'000);
    pace.begin(51'000);
  }
  CHECK(!pace.is_busy());
}

void test_what_may_be_shared_stays_where_a_look_comes_after_little() {
  Staying machine;
  const auto look = [&] { machine.world.machine.note_look(); };
  for (int i = 0; i < 10; ++i) {  // one or several operations, up to twice the limit in all
    CHECK(machine.stays(1.9));
    look();
    CHECK(machine.stays(0.9) && machine.stays(0.5) && machine.stays(0.5));
    look();
  }
  CHECK(machine.stays(0.9) && machine.stays(0.9));
  CHECK(!machine.stays(0.9));  // more work than that before a look
  look();
  CHECK(!machine.stays(0.9));  // as likely the first of as much
  look();
  look();  // nothing was issued
  CHECK(machine.stays(0.9));
  look();
  CHECK(!machine.stays(2.1));
  look();
  CHECK(!machine.stays(0.5));
}

void test_work_is_counted_once() {
  Staying machine;
  for (int i = 0; i < 3; ++i) {  // two times in a row: the second one is more than stays
    CHECK(machine.stays(1.8, Company::joinable, true));
    CHECK(!machine.stays(1.8, Company::joinable, true) && !machine.stays(1.8));
    machine.world.machine.note_look();
    CHECK(!machine.stays(1.8, Company::joinable, true) && !machine.stays(1.8));
    machine.world.machine.note_look();  // of 1.8, counted once
  }
}

void test_most_work_stays_where_threads_come_late() {
  Staying machine;
  CHECK(!machine.stays(50));
  machine.crowding().note_late(now_ns() + 1'000'000'000);  // so that it lasts
  CHECK(machine.stays(50) && machine.stays(50) && machine.stays(50, Company::alone));
  CHECK(!machine.stays(1000));
  machine.crowding().set_watched(false);
  CHECK(!machine.stays(50));
}

void test_the_guess_of_a_stretch() {
  constexpr int64_t kLong = 200'000, kShort = 100'000, kPays = 150'000;
  StretchGuess stretch;
  const auto look_after = [&](int64_t inside_ns) {
    const bool is_long = stretch.begins_long();
    CHECK(!stretch.begins_long() && stretch.has_begun());  // once a stretch
    stretch.note_look(inside_ns);
    CHECK(!stretch.has_begun());
    return is_long;
  };
  // The number of long ones without a helper, until one is woken for the next.
  const auto tries_after = [&] {
    int alone = 0;
    for (; !stretch.begins_long(); ++alone) stretch.note_look(kLong);
    return alone;
  };
  CHECK(!look_after(kLong) && !look_after(kShort));  // the first one of a kind is slow
  CHECK(!look_after(kLong) && !look_after(kLong));
  for (int i = 0; i < 5; ++i) CHECK(look_after(kPays));
  CHECK(look_after(kLong));  // it does not pay: twice as many before the next try, and so on
  for (const int alone : {4, 8, 16, 16}) {
    CHECK(tries_after() == alone);
    stretch.note_look(kLong);
  }
  CHECK(tries_after() == 16);
  for (int i = 0; i < 5; ++i) stretch.note_look(kPays);
  stretch.note_look(10'000);  // short ones follow
  CHECK(tries_after() == 4);
}

/// Of the process.
int64_t count_threads() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::distance(begin(threads), end(threads));
}

/// Two long stretches without a look, and a helper is woken, here made, for the third.
void test_a_helper_is_woken_for_a_long_stretch() {
  for (const Company company : {Company::divisible, Company::alone}) {
    // A thread that was joined is counted until the kernel has taken it off its list.
    while (count_threads() != 1) std::this_thread::yield();
    Staying machine;
    machine.crowding().set_watched(false);
    machine.world.machine.state(kCpu).device.helpers()->set_threads(2);
    call_often(HostPace::of_this_thread(), 1'000);
    const int64_t threads = count_threads();
    const auto stretch = [&](double cost) {
      machine.world.machine.note_look();
      PacedCall call;
      CHECK(machine.world.machine.stays_here(cost, company, call));
      for (const int64_t end = now_ns() + 200'000; now_ns() < end;) {
      }
    };
    for (int i = 0; i < 4; ++i) stretch(0.35);  // too short to be shared
    for (int i = 0; i < 2; ++i) stretch(1.5);
    CHECK(count_threads() == threads);
    stretch(1.5);
    CHECK(count_threads() == threads + (company == Company::divisible ? 1 : 0));
  }
}

/// A look that comes soon after the first collective since the last look makes the next one
/// likely. The time in which the thread has seen to collectives does not count.
void test_the_guess_of_a_look() {
  LookGuess looks;
  const int64_t long_ago = now_ns() - 1'000'000'000;
  CHECK(!looks.note_collective(now_ns()));
  looks.note_look();
  CHECK(looks.note_collective(long_ago));
  looks.note_attended(now_ns() - long_ago);
  looks.note_look();
  CHECK(looks.note_collective(long_ago));
  CHECK(!looks.note_collective(now_ns()));  // one more, long after the first, and no look
  looks.note_look();
  CHECK(!looks.note_collective(now_ns()));
  looks.note_look();
  looks.note_look();  // nothing was issued
  CHECK(looks.note_collective(now_ns()));
}

}  // namespace
}  // namespace ofl::vm

int main() {
  using namespace ofl::vm;
  test_small_work_always_stays();
  test_what_runs_alone_stays_where_the_thread_has_nothing_else_to_do();
  test_the_pace_of_a_thread();
  test_what_may_be_shared_stays_where_a_look_comes_after_little();
  test_work_is_counted_once();
  test_most_work_stays_where_threads_come_late();
  test_the_guess_of_a_look();
  test_the_guess_of_a_stretch();
  test_a_helper_is_woken_for_a_long_stretch();
  return ofl::report();
}
