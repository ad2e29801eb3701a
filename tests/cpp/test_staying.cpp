// What the machine lets run in the thread that issues it.
#include <filesystem>
#include <future>
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
    return world.machine.is_tiny(cost) || world.machine.stays_here(cost, company, call, by_parts);
  }
  ep::Crowding& crowding() { return world.machine.state(kCpu).device.helpers()->crowding(); }

  World world;
};

void test_small_work_always_stays() {
  Staying machine;
  for (int i = 0; i < 10; ++i) CHECK(machine.stays(0.2, Company::divisible));
  for (int i = 0; i < 20; ++i) CHECK(machine.stays(0.15, Company::joinable));
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
  for (int i = 0; i < 10; ++i) {  // one or several operations, up to 1.5 times the limit in all
    CHECK(machine.stays(1.4));
    look();
    CHECK(machine.stays(0.7) && machine.stays(0.4) && machine.stays(0.35));
    look();
  }
  CHECK(machine.stays(0.7) && machine.stays(0.7));
  CHECK(!machine.stays(0.7));  // more work than that before a look
  look();
  CHECK(!machine.stays(0.7));  // as likely the first of as much
  look();
  look();  // nothing was issued
  CHECK(machine.stays(0.7));
  look();
  CHECK(!machine.stays(1.6));
  look();
  CHECK(!machine.stays(0.5));
}

void test_small_work_goes_with_what_is_handed_over() {
  Staying machine;
  const auto look = [&] { machine.world.machine.note_look(); };
  for (int i = 0; i < 6; ++i) CHECK(machine.stays(0.25));  // 1.5 in all
  CHECK(machine.stays(0.25) && !machine.stays(0.25));
  CHECK(machine.stays(0.25, Company::divisible) && machine.stays(0.15));
  look();
  CHECK(!machine.stays(0.25));
  look();
  CHECK(machine.stays(0.25));
}

/// Operands in the cache: it takes less than its cost.
void test_what_is_in_the_cache_stays_for_longer() {
  Staying machine;
  const auto stays = [&] {
    PacedCall call;
    return machine.world.machine.stays_here({0.8, 0.2}, Company::joinable, call);
  };
  for (int i = 0; i < 7; ++i) CHECK(stays());
  CHECK(!stays());
}

void test_work_is_counted_once() {
  Staying machine;
  for (int i = 0; i < 3; ++i) {  // two times in a row: the second one is more than stays
    CHECK(machine.stays(1.4, Company::joinable, true));
    CHECK(!machine.stays(1.4, Company::joinable, true) && !machine.stays(1.4));
    machine.world.machine.note_look();
    CHECK(!machine.stays(1.4, Company::joinable, true) && !machine.stays(1.4));
    machine.world.machine.note_look();  // of 1.4, counted once
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

using Advice = StretchGuess::Advice;

/// A program of one thread, by the clock of this test: operations that cost 1, each looked at, with
/// 1 us between them.
struct Program {
  /// Operations until they were a stretch, or `most`. Each takes `alone_ns`, or `helped_ns` where
  /// helpers are woken for the first one, and then for each other one. Returns what the first one
  /// was advised.
  Advice stretch(int64_t alone_ns, int64_t helped_ns, int most = 1000) {
    const Advice advice = guess.note_operation(now, now - pause, 1);
    const int64_t each_ns = advice == Advice::wake_helpers ? helped_ns : alone_ns;
    pause = 1'000;
    for (int i = 1;; ++i) {
      CHECK(guess.has_begun());
      now += each_ns;
      guess.note_look(now);
      now += pause;
      if (!guess.has_begun() || i == most) return advice;
      CHECK(guess.note_operation(now, now - pause, 1) == of_others(advice));
    }
  }
  /// A helper may sleep by then, and those that are let go are so once.
  static Advice of_others(Advice first) {
    return first == Advice::wake_helpers ? Advice::wake_them_again : Advice::none;
  }
  /// The thread has other work.
  void rest(int64_t ns) {
    pause += ns;
    now += ns;
  }
  /// The number of stretches alone, before one for which helpers are woken.
  int tries(int64_t alone_ns, int64_t helped_ns) {
    for (int alone = 0; alone < 1000; ++alone) {
      if (stretch(alone_ns, helped_ns) == Advice::wake_helpers) return alone;
    }
    return -1;
  }

  StretchGuess guess;
  int64_t now = 1'000'000, pause = 1'000;
};

void test_helpers_are_woken_for_a_long_stretch() {
  Program program;
  CHECK(program.tries(40'000, 25'000) == 2);  // the first one of a kind may be slow
  for (int round = 0; round < 3; ++round) {
    for (int i = 1; i < 64; ++i) {
      CHECK(program.stretch(40'000, 25'000) == Advice::wake_helpers);
    }
    CHECK(program.stretch(40'000, 25'000) == Advice::let_helpers_go);  // as a check
    CHECK(program.stretch(40'000, 25'000) == Advice::wake_helpers);
  }
}

/// The operations may be others by now: what they take alone is measured anew.
void test_helpers_pay_for_slower_operations() {
  Program program;
  CHECK(program.tries(40'000, 25'000) == 2);
  for (int i = 1; i < 64; ++i) program.stretch(40'000, 25'000);
  CHECK(program.stretch(80'000, 50'000) == Advice::let_helpers_go);
  for (int i = 0; i < 64; ++i) {
    CHECK(program.stretch(80'000, 50'000) == Advice::wake_helpers);
  }
  CHECK(program.stretch(80'000, 50'000) == Advice::let_helpers_go);
}

/// Twice as many go alone before the next try, and so on.
void test_helpers_that_do_not_pay_are_let_go() {
  Program program;
  for (const int alone : {2, 4, 8, 16, 32, 64, 64}) {
    CHECK(program.tries(40'000, 37'000) == alone);  // in the first one they wake
    for (int i = 0; i < 2; ++i) CHECK(program.stretch(40'000, 37'000) == Advice::wake_helpers);
  }
  CHECK(program.stretch(40'000, 25'000) == Advice::let_helpers_go);
  CHECK(program.stretch(40'000, 25'000) == Advice::none);
  CHECK(program.tries(40'000, 25'000) == 62);
  for (int i = 0; i < 10; ++i) program.stretch(40'000, 25'000);  // they pay now
  for (int i = 0; i < 5; ++i) {  // one that is disturbed between others does not count
    CHECK(program.stretch(40'000, 50'000) == Advice::wake_helpers);
    CHECK(program.stretch(40'000, 25'000) == Advice::wake_helpers);
  }
  for (int i = 0; i < 2; ++i) CHECK(program.stretch(40'000, 50'000) == Advice::wake_helpers);
  CHECK(program.tries(40'000, 25'000) == 4);
}

/// A pause ends a stretch: helpers sleep in it.
void test_pauses_end_a_stretch() {
  Program program;
  for (int i = 0; i < 100; ++i) {
    CHECK(program.stretch(40'000, 25'000, 3) == Advice::none);  // 122 us
    program.rest(60'000);
  }
  for (int i = 0; i < 2; ++i) {
    CHECK(program.stretch(40'000, 25'000) == Advice::none);  // 163 us
    program.rest(60'000);
  }
  for (int i = 0; i < 10; ++i) {
    CHECK(program.stretch(40'000, 25'000) == Advice::wake_helpers);
    program.rest(60'000);
  }
  for (const Advice wanted : {Advice::wake_helpers, Advice::wake_helpers, Advice::let_helpers_go}) {
    CHECK(program.stretch(40'000, 25'000, 1) == wanted);  // too short ones, as the next one shows
    program.rest(60'000);
  }
}

/// An operation that goes to a worker takes its stretch along.
void test_work_that_is_handed_over_tells_nothing() {
  Program program;
  for (int i = 0; i < 10; ++i) {
    CHECK(program.stretch(40'000, 25'000, 3) == Advice::none);
    program.guess.note_handed_over(program.now);
    CHECK(!program.guess.has_begun());
  }
  CHECK(program.tries(40'000, 25'000) == 2);
  for (int i = 0; i < 2; ++i) {
    CHECK(program.stretch(40'000, 25'000, 1) == Advice::wake_helpers);
    program.guess.note_handed_over(program.now);  // helpers were woken for nothing
  }
  CHECK(program.stretch(40'000, 25'000) == Advice::let_helpers_go);
  CHECK(program.tries(40'000, 25'000) == 3);
}

/// The first operation of another thread, much later.
void test_another_thread_begins_a_stretch() {
  Program program;
  for (int i = 0; i < 10; ++i) {
    CHECK(program.stretch(40'000, 25'000, 1) == Advice::none);
    program.now += 1'000'000'000;
    program.pause = program.now;
  }
}

/// A stretch that was long before that counts.
void test_a_long_stretch_before_work_that_is_handed_over() {
  StretchGuess guess;
  int64_t now = 1'000'000;
  for (int round = 0; round < 3; ++round) {
    const Advice wanted = round < 2 ? Advice::none : Advice::wake_helpers;
    CHECK(guess.note_operation(now, now - 1'000, 1) == wanted);
    for (int i = 0; i < 4; ++i) {
      now += 41'000;
      CHECK(guess.note_operation(now, now - 1'000, 1) == Program::of_others(wanted));
    }
    guess.note_handed_over(now += 40'000);
    CHECK(!guess.has_begun());
    now += 5'000'000;  // the worker's
  }
}

/// A stretch without a look counts as several of 2 ms.
void test_a_stretch_without_looks() {
  StretchGuess guess;
  int64_t now = 1'000'000;
  Advice advice = guess.note_operation(now, now - 1'000, 1);
  const auto operations_with = [&](Advice wanted, int64_t ns) {
    int count = 0;
    for (; advice == wanted && count < 10'000; ++count) {
      now += ns + 1'000;
      advice = guess.note_operation(now, now - 1'000, 1);
    }
    return count;
  };
  CHECK(operations_with(Advice::none, 40'000) == 2 * 49);  // 49 take 2.008 ms
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 64; ++i) {
      CHECK(operations_with(Advice::wake_helpers, 25'000) == 1);
      CHECK(operations_with(Advice::wake_them_again, 25'000) == 76);
    }
    CHECK(operations_with(Advice::let_helpers_go, 40'000) == 1);
    CHECK(operations_with(Advice::none, 40'000) == 48);  // as a check
  }
}

/// Of the process.
int64_t count_threads() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::distance(begin(threads), end(threads));
}

/// Those of a process whose own threads have all ended: the main one, and ThreadSanitizer's, which
/// begins with the first other thread.
int64_t threads_that_stay() {
  std::promise<void> counted;
  std::thread other([&] { counted.get_future().wait(); });
  const int64_t count = count_threads() - 1;
  counted.set_value();
  other.join();
  return count;
}

/// Two long stretches alone, and a helper is woken, here made, for the third.
void test_a_helper_is_woken_for_a_long_stretch(int64_t staying) {
  for (const Company company : {Company::divisible, Company::joinable, Company::alone}) {
    // A thread that was joined is counted until the kernel has taken it off its list.
    while (count_threads() != staying) std::this_thread::yield();
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
    for (int i = 0; i < 2; ++i) stretch(1.4);
    CHECK(count_threads() == threads);
    stretch(1.4);
    CHECK(count_threads() == threads + (company == Company::alone ? 0 : 1));
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
  const int64_t staying = threads_that_stay();  // before any other thread
  test_small_work_always_stays();
  test_what_runs_alone_stays_where_the_thread_has_nothing_else_to_do();
  test_the_pace_of_a_thread();
  test_what_may_be_shared_stays_where_a_look_comes_after_little();
  test_small_work_goes_with_what_is_handed_over();
  test_what_is_in_the_cache_stays_for_longer();
  test_work_is_counted_once();
  test_most_work_stays_where_threads_come_late();
  test_the_guess_of_a_look();
  test_helpers_are_woken_for_a_long_stretch();
  test_helpers_pay_for_slower_operations();
  test_helpers_that_do_not_pay_are_let_go();
  test_pauses_end_a_stretch();
  test_work_that_is_handed_over_tells_nothing();
  test_a_long_stretch_before_work_that_is_handed_over();
  test_another_thread_begins_a_stretch();
  test_a_stretch_without_looks();
  test_a_helper_is_woken_for_a_long_stretch(staying);
  return ofl::report();
}
