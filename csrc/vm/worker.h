// Worker: the thread of a stream. Made at first use, spins for some tens of microseconds, then
// sleeps.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "ep/threads/crowding.h"
#include "ep/threads/helper_pool.h"
#include "ep/threads/placement.h"

namespace ofl::vm {

class Stream;

/// Some 0.5 us between two looks: each takes the issuer's cache line away.
void pause_briefly();

class Worker {
 public:
  explicit Worker(Stream& stream) : stream_(stream) {}
  ~Worker() { stop(); }

  /// Any thread, after making work visible (seq_cst): starts the thread or wakes it if it sleeps.
  void wake();
  /// A host thread has begun to wait: ends a nap between two looks at a busy device queue.
  void end_nap();
  /// Runs what is queued, then ends the thread. Not from the worker itself.
  void stop();
  /// True in the threads of workers. A host function there issues to the queues even in naive mode.
  static bool is_current_thread();

  /// In the child after fork, when nothing was in flight: the thread is gone and so is its state.
  void after_fork_in_child();

 private:
  struct Parking {
    // Guards sleeping (held between the last look at the predicate and the wait) and the rest.
    std::mutex mutex;
    ep::Placement placement;
    std::condition_variable wakeup;
    bool called = false;  // by wake(), since it fell asleep
    int64_t called_at = 0;
  };

  void start();
  void start_locked();
  void loop();
  bool work(bool stopping);
  void idle(int64_t* idle_since_ns);
  int64_t waited_ns(int64_t idle_ns) const;
  void stand_by();
  void stand_down();
  ep::Crowding* crowding() const;
  void watch_core();

  Stream& stream_;
  std::unique_ptr<Parking> parking_ = std::make_unique<Parking>();
  std::mutex start_mutex_;  // guards thread_
  std::thread thread_;
  std::atomic<bool> started_{false};
  std::atomic<bool> asleep_{false};  // seq_cst against Stream::ready_
  std::atomic<bool> napping_{
      false};  // asleep for a bounded time; seq_cst against VirtualMachine::waited_since_ns()
  std::atomic<bool> stopping_{false};
  // Where it stands by for others' kernels, or null. The worker's own, but while it sleeps its
  // waker's, with the parking mutex.
  ep::HelperPool* stands_by_ = nullptr;
  ep::Stretch stretch_;  // of the worker's own
};

}  // namespace ofl::vm
