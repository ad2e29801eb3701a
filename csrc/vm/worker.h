// Worker: one thread for one stream. It is made at first use, spins for about 80 us without work,
// and then sleeps.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "ep/device.h"
#include "ep/threads/crowding.h"
#include "ep/threads/placement.h"
#include "vm/board/board.h"
#include "vm/runner.h"

namespace ofl::vm {

/// How long a thread that needs the end of a device's work looks for it without a pause, because a
/// thread that sleeps needs 50 us to wake up. Zero where the device itself needs the cores.
inline int64_t awaited_spin_ns(const ep::Device& device) {
  return device.runs_host_kernels() ? 0 : 2'000'000;
}

class Worker final : public Runner {
 public:
  /// `has_helpers`: the stream's kernels may be divided among the device's helpers.
  Worker(Work& work, Board& board, ep::Device& device, const std::string& name, bool has_helpers)
      : work_(work), board_(board), device_(device), name_(name), has_helpers_(has_helpers) {}
  ~Worker() override { stop(); }

  void wake() override;
  void end_nap() override;
  void stop() override;
  void after_fork_in_child() override;

 private:
  struct Parking {
    // Guards sleeping (held between the last look at the predicate and the wait) and the rest.
    std::mutex mutex;
    ep::Placement placement;
    std::condition_variable wakeup;
    bool called = false;  // by wake(), since it fell asleep
    int64_t called_at = 0;
  };

  void start() override;
  void run_here();
  void loop();
  bool run_round(bool stopping);
  void idle(int64_t* idle_since_ns);
  void sleep(bool busy, int64_t* idle_since_ns);
  int64_t waited_ns(int64_t idle_ns) const;
  ep::HelperPool* helpers() const { return has_helpers_ ? device_.helpers() : nullptr; }
  ep::Crowding* crowding() const;
  void stand_by();
  void stand_down();

  Work& work_;
  Board& board_;
  ep::Device& device_;
  const std::string& name_;
  const bool has_helpers_;
  std::unique_ptr<Parking> parking_ = std::make_unique<Parking>();
  // Guards thread_. Another one in a forked child: a thread may start the worker during the fork.
  std::unique_ptr<std::mutex> start_mutex_ = std::make_unique<std::mutex>();
  std::thread thread_;
  std::atomic<bool> asleep_{false};  // seq_cst against Work::has_ready()
  std::atomic<bool> napping_{
      false};  // asleep for a bounded time; seq_cst against waited_since_ns()
  std::atomic<bool> stopping_{false};
  // The helpers among which this thread is on standby, or null. The worker's own; but while it
  // sleeps the waker's, with the parking mutex.
  ep::HelperPool* stands_by_ = nullptr;
  ep::Stretch stretch_;  // the worker's own
};

}  // namespace ofl::vm
