// Pool: the threads of a stream whose functions may run at once.
//
//   asleep ── woken ──► searching ── takes a function ──► running ──┐
//      ▲                    │  ▲                                    │
//      └── found nothing ───┘  └──────── nothing is ready ──────────┘
//
// At most one thread more than needed is awake: a thread that makes work visible wakes another one
// only if none is searching. A thread that takes work while more is ready wakes the next one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "vm/runner.h"

namespace ofl::vm {

class Pool final : public Runner {
 public:
  /// At most `threads`. One that `grows` ends its threads again when they have had nothing to do.
  Pool(Work& work, std::string name, int threads, bool grows)
      : work_(work), name_(std::move(name)), asked_(threads), limit_(threads), grows_(grows) {}
  ~Pool() override { stop(); }

  void wake() override;
  void end_nap() override {}
  void stop() override;
  void after_fork_in_child() override;

  /// At most so many, apart from those whose functions wait.
  void set_threads(int threads);
  /// All that there may be are in functions.
  bool is_full() const { return running_.load() >= limit_.load(); }
  /// A function of this pool begins to wait: until unblock() with the result another one may run.
  /// Functions of the parent that wait at a fork do so no more in the child.
  const void* block();
  void unblock(const void* since);
  /// While it lives, a thread that is not of this pool retires a function of it. That can be what
  /// the end of the machine waits for, so stop() waits for this thread, too.
  class Visit {
   public:
    explicit Visit(Pool& pool) : pool_(pool) {
      pool_.visits_.fetch_add(1, std::memory_order_relaxed);  // before the function is retired
    }
    ~Visit() { pool_.visits_.fetch_sub(1, std::memory_order_release); }
    Visit(const Visit&) = delete;

   private:
    Pool& pool_;
  };

  // --- by the threads of the pool
  /// This thread is about to take functions; false: as many as there may be are in some.
  bool enter();
  /// This thread has taken a function out of the list, and has let go of the baton.
  void took();
  /// A function has run for so long, with what note_wait() was told.
  void note_duration(int64_t ns);
  /// The function of this thread has waited for a lock that only one of them can have.
  static void note_wait(int64_t ns) { waited_ns_ += ns; }
  /// The functions are so short that one thread does better than two: this one goes to sleep.
  bool steps_back();

 private:
  /// A forked child makes a new one.
  struct Threads {
    std::mutex mutex;  // guards the rest
    std::condition_variable wakeup;
    std::vector<std::thread> all;
    int alive = 0;
    int asleep = 0;  // that nobody has woken
    int woken = 0;   // that have yet to notice
    bool has_watcher = false;
    bool stopping = false;
  };

  void start() override;
  void wake_one();
  void start_locked();
  void loop(int number);
  bool search();
  bool sleep();
  bool watch(std::unique_lock<std::mutex>& lock);
  bool leave_locked();
  bool has_work() const { return work_.has_ready() && !is_full(); }
  bool is_short() const { return !grows_ && recent_ns_.load(std::memory_order_relaxed) < kShortNs; }

  static constexpr int64_t kShortNs = 4'000;
  static thread_local bool is_searching_, stepped_back_;
  static thread_local int64_t waited_ns_;

  Work& work_;
  const std::string name_;
  std::atomic<int> asked_;
  std::atomic<int> limit_;  // asked_, and one more for each function that waits
  const bool grows_;
  std::unique_ptr<Threads> threads_ = std::make_unique<Threads>();
  alignas(64) std::atomic<int> searching_{0};  // seq_cst against Work::has_ready()
  std::atomic<int> running_{0};                // seq_cst, the same
  std::atomic<bool> watched_{false};           // seq_cst, the same
  std::atomic<bool> lingers_{false};           // a thread looks for work for a while; a hint
  std::atomic<int> visits_{0};                 // no lock: the last step of a visit is its end
  std::atomic<int64_t> taken_{0};              // about how many functions have been taken
  std::atomic<int64_t> recent_ns_{1'000'000};  // about how long functions take
};

}  // namespace ofl::vm
