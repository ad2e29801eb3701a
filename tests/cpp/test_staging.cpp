// Properties of transfers between pageable and pinned memory: the bytes, how many helpers there
// are, when they are awake. Run under ThreadSanitizer and AddressSanitizer.
#include "ep/memory/staging_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "ep/threads/crowding.h"
#include "ep_support.h"

namespace ofl::ep {
namespace {

using namespace std::chrono_literals;
using Transfer = StagingPool::Transfer;

/// Of the threads of this process whose name begins so: how often each has gone to sleep by itself.
std::vector<int64_t> sleeps_of(const std::string& name) {
  std::vector<int64_t> sleeps;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string own_name, line;
    std::getline(std::ifstream(task.path() / "comm"), own_name);
    if (own_name.rfind(name, 0) != 0) continue;
    std::ifstream status(task.path() / "status");
    const std::string key = "voluntary_ctxt_switches:";
    while (std::getline(status, line)) {
      if (line.rfind(key, 0) == 0) sleeps.push_back(std::stoll(line.substr(key.size())));
    }
  }
  return sleeps;
}

int64_t sum_of(const std::vector<int64_t>& values) {
  int64_t sum = 0;
  for (int64_t value : values) sum += value;
  return sum;
}

/// A device whose pool believes in so many cores.
struct Staged {
  explicit Staged(int cores) : host(cores) { device->staging().set_helpers(&host); }
  StagingPool& pool() { return device->staging(); }

  HelperPool host;
  std::unique_ptr<Device> device = make_mock_device(0);
};

void test_no_more_threads_than_cores() {
  for (int cores = 1; cores <= 256; ++cores) {
    const int helpers = StagingPool::helpers_for(cores);
    CHECK(helpers >= 0 && helpers <= 5);
    CHECK(helpers == 0 || 2 * (helpers + 1) <= cores);
  }
  CHECK(StagingPool::helpers_for(2) == 0 && StagingPool::helpers_for(4) == 1);
  CHECK(StagingPool::helpers_for(8) == 3 && StagingPool::helpers_for(16) == 5);
}

/// Plain memory, so that a sanitizer sees what is not ordered.
void copy_often(StagingPool& pool, CopyKind direction, uint32_t seed, std::atomic<int>& wrong) {
  std::mt19937 random(seed);
  std::vector<char> from(3 * kMiB + 12345), to(from.size());
  for (int round = 0; round < 20; ++round) {
    const Transfer transfer(pool, direction);
    for (size_t bytes : {size_t{0}, size_t{7}, kMiB, from.size()}) {
      from[random() % from.size()] = static_cast<char>(random());
      from[bytes ? bytes - 1 : 0] = static_cast<char>(round);
      transfer.copy(to.data(), from.data(), bytes);
      wrong += std::memcmp(from.data(), to.data(), bytes) != 0;
    }
  }
}

void test_both_directions_at_once() {
  Staged staged(8), second(8);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (StagingPool* pool : {&staged.pool(), &second.pool()}) {
    threads.emplace_back(copy_often, std::ref(*pool), CopyKind::h2d, 1, std::ref(wrong));
    threads.emplace_back(copy_often, std::ref(*pool), CopyKind::d2h, 2, std::ref(wrong));
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  // Two devices share what eight cores leave to them.
  CHECK(sleeps_of("h2d helper").size() <= 6 && sleeps_of("d2h helper").size() <= 6);
}

void test_helpers_are_shared_by_all_devices() {
  Staged staged(8), second(8);
  std::vector<char> from(4 * kMiB), to(from.size());
  const Transfer h2d(staged.pool(), CopyKind::h2d), d2h(staged.pool(), CopyKind::d2h);
  const Transfer other(second.pool(), CopyKind::h2d);
  for (const Transfer* transfer : {&h2d, &d2h, &other}) {
    for (int i = 0; i < 20; ++i) transfer->copy(to.data(), from.data(), from.size());
  }
  CHECK(sleeps_of("h2d helper").size() <= 3 && sleeps_of("d2h helper").size() <= 3);
  Staged small(2);
  const Transfer alone(small.pool(), CopyKind::h2d);
  alone.copy(to.data(), from.data(), from.size());
}

void wait_for(std::chrono::microseconds length) {
  const auto end = std::chrono::steady_clock::now() + length;
  while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

/// How often the helper of a pool has gone to sleep in the pauses between two calls, for each
/// pause. Those in which another process has had the core of the caller for long do not count.
double sleeps_in_pauses(HelperPool& pool, const char* name) {
  pool.crowding().set_watched(false);
  int64_t before = 0, slept = 0, counted = 0;
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 400 || (counted < 50 && i < 4000); ++i) {
    pool.parallel_for(40, [](int64_t) { wait_for(4us); });
    wait_for(300us);
    const int64_t after = sum_of(sleeps_of(name));
    const auto end = std::chrono::steady_clock::now();
    if (i > 0 && end < begin + 1500us) {
      slept += after - before;
      ++counted;
    }
    before = after;
    begin = end;
  }
  return static_cast<double>(slept) / static_cast<double>(std::max<int64_t>(counted, 1));
}

void test_helpers_stay_awake_for_a_caller_that_comes_back() {
  HelperPool pool(2, "awake helper");
  const HelperPool::Vigil vigil(pool);
  CHECK(sleeps_in_pauses(pool, "awake helper") < 0.2);  // without: 1
}

void test_helpers_sleep_after_a_transfer() {
  Staged staged(4);
  std::vector<char> from(4 * kMiB), to(from.size());
  {
    const Transfer transfer(staged.pool(), CopyKind::h2d);
    for (int i = 0; i < 10; ++i) transfer.copy(to.data(), from.data(), from.size());
  }
  const auto is_quiet = [] {
    const int64_t before = sum_of(sleeps_of("h2d helper"));
    std::this_thread::sleep_for(20ms);
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name, stat;
      std::getline(std::ifstream(task.path() / "comm"), name);
      std::getline(std::ifstream(task.path() / "stat"), stat);
      if (name == "h2d helper" && stat[stat.rfind(')') + 2] != 'S') return false;
    }
    return sum_of(sleeps_of("h2d helper")) == before;
  };
  bool quiet = false;
  for (int i = 0; i < 100 && !quiet; ++i) quiet = is_quiet();
  CHECK(quiet);
}

}  // namespace
}  // namespace ofl::ep

int main() {
  using namespace ofl::ep;
  test_no_more_threads_than_cores();
  test_helpers_stay_awake_for_a_caller_that_comes_back();
  test_helpers_sleep_after_a_transfer();
  test_both_directions_at_once();
  test_helpers_are_shared_by_all_devices();
  return ofl::report();
}
