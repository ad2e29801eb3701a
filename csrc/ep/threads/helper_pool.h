// HelperPool: threads that help the thread which runs a large kernel. They are made at the first
// call that wants them, and sleep when there is nothing to do. A thread that waits for the kernel
// helps in their place: it is awake.
//
//   parallel_for ──► job (on the caller's stack) ◄── helpers join, take chunks, leave
//        └── takes chunks too; returns when none is left and all that joined have left
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace ofl::ep {

class Crowding;

class HelperPool {
 public:
  /// `threads` that work at once, the caller included. `name`: of the helpers' threads, for good.
  explicit HelperPool(int threads, const char* name = "cpu helper");
  /// Ends the helpers; nobody is inside parallel_for().
  ~HelperPool();
  HelperPool(const HelperPool&) = delete;

  int threads() const { return threads_.load(std::memory_order_relaxed); }
  /// Any thread. Helpers that are too many stay asleep.
  void set_threads(int threads) { threads_.store(threads, std::memory_order_relaxed); }

  /// Calls body(chunk) once for each chunk in [0, chunks), in any order and on any of the threads,
  /// and returns when all calls have; what they wrote is visible then. When one throws, the rest is
  /// left out and what was thrown first is thrown here. Any thread; who finds the pool in use, a
  /// body among them, does everything itself. `weight`: how long a chunk takes, in chunks of the
  /// usual length, some 10 us; of those, sleeping helpers are woken after the first.
  template <typename Body>
  void parallel_for(int64_t chunks, const Body& body, int64_t weight = 1) {
    run(
        chunks, [](const void* context, int64_t i) { (*static_cast<const Body*>(context))(i); },
        &body, weight);
  }

  /// A thread that has helped waits so long for the next job before it sleeps. Between the larger
  /// loops of a training step are small ones that take 100 to 150 us.
  static constexpr int64_t kAwakeNs = 300'000;

  /// Takes chunks of the job that runs now, for a millisecond at most; false when there is none
  /// that has room for a helper. Any thread outside of parallel_for().
  bool assist();
  /// A thread is awake (or woken already) and calls assist() until it stands down, and once after
  /// that: a sleeping helper less is woken for a job.
  void stand_by();
  void stand_down();
  /// Somebody does, or a helper is awake, and would help with what runs now. A hint: either may
  /// stop at any time.
  bool is_helped() const;
  /// Wakes some helpers that sleep, for jobs that are too short to wake any. The first is to come
  /// within kAwakeNs, and each other within kAwakeNs of the one before. They count as awake from
  /// now on, until a job ends to which none has come, or all sleep, or let_go().
  void rouse();
  /// The same, if all sleep. Helpers that are awake and do not come have no core.
  void rouse_again();
  /// Helpers that are awake are not counted on any more, until the next one is woken: jobs that are
  /// too short to wake any are not shared, and the helpers sleep.
  void let_go();

  /// Whether helpers, and other threads that are woken to compute, get a core in time. While they
  /// do not, parallel_for() does everything itself.
  Crowding& crowding();

  /// In the child after fork: the helpers are gone.
  void after_fork_in_child();

  /// While one lives, helpers that have nothing to do stay awake for 2 ms: for a caller that soon
  /// has more for them. Any thread.
  class Vigil;

 private:
  using ChunkFn = void (*)(const void* context, int64_t chunk);
  struct Job;
  struct Shared;

  void run(int64_t chunks, ChunkFn body, const void* context, int64_t weight);
  void run_helped(Job* job, int helpers);
  void offer(Job* job, int helpers);
  void wake_missing(int helpers);
  void withdraw(int helpers, int64_t usual_ns);
  static void help(const std::shared_ptr<Shared>& shared);

  std::atomic<int> threads_;
  std::shared_ptr<Shared> shared_;  // with the helpers, which may outlive a forked pool
};

class HelperPool::Vigil {
 public:
  explicit Vigil(const HelperPool& pool);
  ~Vigil();
  Vigil(const Vigil&) = delete;

 private:
  const std::shared_ptr<Shared> shared_;
};

}  // namespace ofl::ep
