// Properties of the helper pool: every chunk once, errors, several callers, resizing, ends. Run
// under ThreadSanitizer and AddressSanitizer.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "check.h"
#include "ep/threads/crowding.h"
#include "ep/threads/helper_pool.h"
#include "ops/product/gemm_plan.h"

namespace ofl::ep {
namespace {

constexpr int64_t kChunks = 200;

/// A pool whose helpers are called however late they come.
struct TestedPool : HelperPool {
  explicit TestedPool(int threads) : HelperPool(threads) { crowding().set_watched(false); }
};

/// Plain memory, so that a sanitizer sees what is not ordered.
bool every_chunk_once(HelperPool& pool, int64_t chunks) {
  std::vector<int> seen(chunks, 0);
  pool.parallel_for(chunks, [&](int64_t i) { ++seen[i]; });
  for (int count : seen) {
    if (count != 1) return false;
  }
  return true;
}

void test_every_chunk_once() {
  for (int threads : {1, 2, 3, 7}) {
    TestedPool pool(threads);
    bool ok = true;
    for (int round = 0; round < 300; ++round) ok = ok && every_chunk_once(pool, round % 17);
    CHECK(ok);
    CHECK(every_chunk_once(pool, 10'000));
  }
}

/// The caller sleeps for helpers that need longer for their last chunks, and wakes on a core of its
/// own. After that it may run where it could before.
void test_the_caller_sleeps_for_the_last_chunk() {
  cpu_set_t before, after;
  CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
  HelperPool pool(3);
  const std::thread::id caller = std::this_thread::get_id();
  for (int round = 0; round < 20; ++round) {
    std::vector<int> seen(kChunks, 0);
    pool.parallel_for(kChunks, [&](int64_t i) {
      const auto longer = std::chrono::microseconds(i == kChunks - 1 ? 5'000 : 100);
      std::this_thread::sleep_for(std::this_thread::get_id() == caller ? longer / 10 : longer);
      ++seen[i];
    });
    CHECK(seen == std::vector<int>(kChunks, 1));
    CHECK(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&before, &after));
  }
}

/// Helpers take several parts at once; null: there are none.
void test_every_part_once() {
  for (int threads : {0, 1, 2, 7}) {
    TestedPool pool(std::max(threads, 1));
    for (int64_t count : {0, 1, 2, 15, 16, 17, 1000}) {
      for (double total : {0.0, 1.0, 3e4, 1e6, 1e12}) {
        std::vector<int> seen(static_cast<size_t>(count), 0);
        ops::share(threads == 0 ? nullptr : &pool, count, total, [&](int64_t i) { ++seen[i]; });
        CHECK(seen == std::vector<int>(static_cast<size_t>(count), 1));
      }
    }
  }
}

void test_results_are_visible() {
  TestedPool pool(4);
  std::vector<int64_t> values(kChunks);
  int64_t wrong = 0;
  for (int64_t round = 0; round < 200; ++round) {
    pool.parallel_for(kChunks, [&](int64_t i) { values[i] = round + i; });
    const int64_t sum = std::accumulate(values.begin(), values.end(), int64_t{0});
    wrong += sum != kChunks * round + kChunks * (kChunks - 1) / 2;
  }
  CHECK(wrong == 0);
}

void test_sizes_change() {
  TestedPool pool(1);
  bool ok = true;
  for (int round = 0; round < 100; ++round) {
    pool.set_threads(1 + round % 5);
    ok = ok && every_chunk_once(pool, kChunks);
  }
  CHECK(ok && pool.threads() == 5);
}

void test_errors() {
  TestedPool pool(3);
  const auto fails = [](int64_t i) {
    if (i % 7 == 3) fail(ErrorKind::value, "chunk ", i);
  };
  for (int round = 0; round < 100; ++round) {
    CHECK_ERROR(value, "chunk ", pool.parallel_for(kChunks, fails));
  }
  CHECK(every_chunk_once(pool, kChunks));
}

void test_nested_and_concurrent_callers() {
  TestedPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        std::vector<int> sums(8, 0);
        pool.parallel_for(8, [&](int64_t i) {
          pool.parallel_for(10, [&](int64_t j) { sums[i] += static_cast<int>(j); });
        });
        for (int sum : sums) wrong += sum != 45;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

/// Some threads that assist until it ends.
class Assistants {
 public:
  Assistants(HelperPool& pool, int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this, &pool] {
        while (!ended_) {
          if (pool.assist()) ++helped_;
          std::this_thread::yield();
        }
      });
    }
  }
  ~Assistants() {
    ended_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  int helped() const { return helped_; }

 private:
  std::atomic<bool> ended_{false};
  std::atomic<int> helped_{0};
  std::vector<std::thread> threads_;
};

void test_assistants_take_each_chunk_once() {
  TestedPool pool(3);
  CHECK(!pool.assist());
  Assistants assistants(pool, 3);
  bool ok = true;
  for (int round = 0; round < 300; ++round) ok = ok && every_chunk_once(pool, 2 + round % 200);
  CHECK(ok);
}

/// A job that two threads must run, and that is too short for a helper to be made.
void test_a_short_job_is_assisted() {
  TestedPool pool(3);
  Assistants assistants(pool, 1);
  std::atomic<int> inside{0};
  pool.parallel_for(2, [&](int64_t) {
    ++inside;
    while (inside < 2) std::this_thread::yield();
  });
  while (assistants.helped() == 0) std::this_thread::yield();  // it says so after the job
  CHECK(assistants.helped() == 1);
}

void test_one_thread_is_not_assisted() {
  TestedPool pool(1);
  Assistants assistants(pool, 2);
  for (int round = 0; round < 50; ++round) CHECK(every_chunk_once(pool, kChunks));
  CHECK(assistants.helped() == 0);
}

void test_errors_of_assistants() {
  TestedPool pool(3);
  Assistants assistants(pool, 2);
  const auto fails = [](int64_t i) {
    if (i % 3 == 1) fail(ErrorKind::value, "chunk ", i);
  };
  for (int round = 0; round < 200; ++round) {
    CHECK_ERROR(value, "chunk ", pool.parallel_for(2 + round % 40, fails));
  }
  CHECK(every_chunk_once(pool, kChunks));
}

/// What an assistant runs may use the pool.
void test_assistants_nest() {
  TestedPool pool(3);
  Assistants assistants(pool, 2);
  int wrong = 0;
  for (int round = 0; round < 100; ++round) {
    std::vector<int> sums(20, 0);
    pool.parallel_for(20, [&](int64_t i) {
      pool.parallel_for(10, [&](int64_t j) { sums[i] += static_cast<int>(j); });
    });
    for (int sum : sums) wrong += sum != 45;
  }
  CHECK(wrong == 0);
}

/// Runs a job in which every chunk but the first, after which helpers are woken, waits until chunks
/// of two threads run; false where none comes for a minute.
bool meets_another(HelperPool& pool) {
  std::atomic<int> inside{0}, met{0};
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  pool.parallel_for(kChunks, [&](int64_t chunk) {
    if (chunk == 0) return;
    ++inside;
    while (!met && inside < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    if (inside >= 2) met = 1;
    --inside;
  });
  return met == 1;
}

void test_who_stands_by_keeps_helpers_asleep() {
  TestedPool pool(2);
  pool.stand_by();
  std::atomic<int> others{0};
  const auto caller = std::this_thread::get_id();
  for (int round = 0; round < 50; ++round) {
    pool.parallel_for(kChunks, [&](int64_t) { others += std::this_thread::get_id() != caller; });
  }
  CHECK(others == 0);
  pool.stand_down();
  CHECK(meets_another(pool));
}

void test_who_stands_down_leaves_its_place_to_a_helper() {
  TestedPool pool(2);
  CHECK(meets_another(pool));  // there is a helper now
  for (int round = 0; round < 20; ++round) {
    pool.stand_by();
    std::atomic<bool> running{false};
    std::thread leaver([&] {
      while (!running) std::this_thread::yield();
      pool.stand_down();
    });
    std::atomic<int> inside{0};
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    pool.parallel_for(kChunks, [&](int64_t chunk) {
      running = true;
      ++inside;
      while (chunk == 0 && inside < 2 && std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
      }
    });
    leaver.join();
    CHECK(std::chrono::steady_clock::now() < end);
  }
}

/// Whether another thread than the caller takes a chunk; each takes `each`.
bool is_shared(HelperPool& pool, std::chrono::microseconds each) {
  std::atomic<int> others{0};
  const auto caller = std::this_thread::get_id();
  pool.parallel_for(kChunks, [&](int64_t) {
    const auto end = std::chrono::steady_clock::now() + each;
    while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
    others += std::this_thread::get_id() != caller;
  });
  return others > 0;
}

void test_the_caller_begins_at_the_front() {
  TestedPool pool(3);
  const auto caller = std::this_thread::get_id();
  for (int round = 0; round < 200; ++round) {
    std::vector<std::thread::id> takers(kChunks);
    int64_t own = 0;
    bool in_order = true;
    pool.parallel_for(kChunks, [&](int64_t chunk) {
      takers[static_cast<size_t>(chunk)] = std::this_thread::get_id();
      if (std::this_thread::get_id() == caller) in_order = in_order && chunk == own++;
    });
    CHECK(in_order);
    for (int64_t chunk = 0; chunk < kChunks; ++chunk) {
      CHECK((takers[static_cast<size_t>(chunk)] == caller) == (chunk < own));
    }
  }
}

/// Too few chunks to wake anybody; true: a helper has taken one.
bool is_shared_by_a_helper(HelperPool& pool) {
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> shared{false};
  pool.parallel_for(8, [&](int64_t) {
    if (std::this_thread::get_id() != caller) shared = true;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  });
  return shared;
}

void test_who_is_roused_helps_and_goes_back_to_sleep() {
  TestedPool pool(2);
  CHECK(!pool.is_helped() && !is_shared_by_a_helper(pool));
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  const auto in_time = [&] { return std::chrono::steady_clock::now() < end; };
  for (int round = 0; round < 20; ++round) {
    do {
      round % 2 == 0 ? pool.rouse() : pool.rouse_again();
    } while (!is_shared_by_a_helper(pool) && in_time());
    while (pool.is_helped() && in_time()) std::this_thread::yield();  // without another job
  }
  CHECK(in_time());
}

/// A helper that is awake and does not come is not counted on again by rouse_again().
void test_helpers_that_are_let_go_are_not_called_while_they_are_awake() {
  TestedPool pool(2);
  const HelperPool::Vigil vigil(pool);  // awake for longer
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  const auto in_time = [&] { return std::chrono::steady_clock::now() < end; };
  bool seen = false;
  while (!seen && in_time()) {
    do {
      pool.rouse();
    } while (!is_shared_by_a_helper(pool) && in_time());
    pool.let_go();
    pool.rouse_again();
    seen = !pool.is_helped();
  }
  CHECK(seen);
}

void test_nobody_is_roused_for_one_thread_or_where_threads_come_late() {
  TestedPool single(1);
  HelperPool crowded(2);
  crowded.crowding().note_late(now_ns() + 1'000'000'000'000);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  while (std::chrono::steady_clock::now() < end) {
    single.rouse();
    single.rouse_again();
    crowded.rouse();
    crowded.rouse_again();
    CHECK(!single.is_helped() && !crowded.is_helped());
  }
}

/// Until it has lasted for kLongestNs.
void test_one_late_thread_keeps_work_alone() {
  Crowding crowding;
  CHECK(!crowding.is_crowded(0) && !crowding.is_crowded());
  int64_t now = 1'000'000'000'000;
  for (int64_t alone = Crowding::kShortestNs; alone <= Crowding::kLongestNs; alone *= 2) {
    crowding.note_late(now);
    crowding.note_late(now + 1);  // of the same disturbance
    CHECK(crowding.is_crowded(now + alone - 1) && !crowding.is_crowded(now + alone));
    now += alone;
  }
  crowding.note_late(now);
  CHECK(crowding.is_crowded(now + Crowding::kLongestNs - 1));
  CHECK(!crowding.is_crowded(now + Crowding::kLongestNs));
}

void test_work_in_time_is_forgiven_slowly() {
  Crowding crowding;
  int64_t now = 1'000'000'000'000;
  crowding.note_late(now);
  now += Crowding::kShortestNs;
  crowding.note_late(now);
  now += 2 * Crowding::kShortestNs;
  crowding.note_in_time(now + 1);  // too soon
  now += 2 * Crowding::kShortestNs;
  crowding.note_in_time(now);  // for as long as it was alone
  crowding.note_late(now + 1);
  CHECK(crowding.is_crowded(now + 2 * Crowding::kShortestNs));
  CHECK(!crowding.is_crowded(now + 2 * Crowding::kShortestNs + 1));
}

/// For less than a time slice, another thread of the process may have kept it from its core.
void test_a_helper_that_is_replaced_may_come_later() {
  constexpr int64_t kNow = 1'000'000'000'000;
  const auto is_noted = [&](int64_t taken, bool is_replaced) {
    Crowding crowding;
    crowding.note_wake(taken, kNow, is_replaced);
    return crowding.is_crowded(kNow + 1);
  };
  CHECK(!is_noted(Crowding::kLateNs, false) && is_noted(Crowding::kLateNs + 1, false));
  CHECK(!is_noted(Crowding::kShortestNs, true) && is_noted(Crowding::kShortestNs + 1, true));
}

void test_what_is_not_watched_is_never_crowded() {
  Crowding crowding;
  crowding.set_watched(false);
  crowding.note_late(1'000'000'000'000);
  CHECK(!crowding.is_crowded(1'000'000'000'001));
}

/// A helper that keeps a chunk for far longer than the others take has lost its core.
void test_a_helper_that_is_late_is_left_out() {
  HelperPool pool(2);
  std::atomic<bool> held{false};
  const auto caller = std::this_thread::get_id();
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!held && std::chrono::steady_clock::now() < give_up) {
    pool.parallel_for(kChunks, [&](int64_t) {
      const bool helps = std::this_thread::get_id() != caller;
      if (helps && !held.exchange(true)) {
        std::this_thread::sleep_for(100 * std::chrono::nanoseconds(Crowding::kLateNs));
      } else if (!helps) {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    });
  }
  CHECK(held);
  CHECK(pool.crowding().is_crowded(now_ns()));
  for (;;) {
    const bool shared = is_shared(pool, std::chrono::microseconds(1));
    if (!pool.crowding().is_crowded()) break;  // perhaps not when that began either
    CHECK(!shared);
  }
}

void test_ends_at_any_time() {
  for (int round = 0; round < 100; ++round) {
    TestedPool pool(4);
    if (round % 3 > 0) pool.parallel_for(round % 5, [](int64_t) {});
  }
  CHECK(true);
}

[[maybe_unused]] void test_fork() {
  TestedPool pool(3);
  CHECK(every_chunk_once(pool, kChunks));
  pool.crowding().set_watched(false);
  CHECK(holds_in_child([&] {
    pool.after_fork_in_child();
    return every_chunk_once(pool, kChunks) && !pool.crowding().is_watched();
  }));
  CHECK(every_chunk_once(pool, kChunks));
}

}  // namespace
}  // namespace ofl::ep

int main() {
  using namespace ofl::ep;
  test_every_chunk_once();
  test_every_part_once();
  test_the_caller_sleeps_for_the_last_chunk();
  test_results_are_visible();
  test_sizes_change();
  test_errors();
  test_nested_and_concurrent_callers();
  test_assistants_take_each_chunk_once();
  test_a_short_job_is_assisted();
  test_one_thread_is_not_assisted();
  test_errors_of_assistants();
  test_assistants_nest();
  test_who_stands_by_keeps_helpers_asleep();
  test_who_stands_down_leaves_its_place_to_a_helper();
  test_the_caller_begins_at_the_front();
  test_who_is_roused_helps_and_goes_back_to_sleep();
  test_helpers_that_are_let_go_are_not_called_while_they_are_awake();
  test_nobody_is_roused_for_one_thread_or_where_threads_come_late();
  test_one_late_thread_keeps_work_alone();
  test_work_in_time_is_forgiven_slowly();
  test_a_helper_that_is_replaced_may_come_later();
  test_what_is_not_watched_is_never_crowded();
  test_a_helper_that_is_late_is_left_out();
  test_ends_at_any_time();
#if !defined(__SANITIZE_THREAD__)  // which does not let a forked child start threads
  test_fork();
#endif
  return ofl::report();
}
