// What a stream does with its work: a thread that runs operations one after the other, in simulated
// time.
//
//   push ──► waiting ──► one operation at a time ──► completed (counted)
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>

namespace simcuda {

using Clock = std::chrono::steady_clock;

/// A place in a stream's order, recorded by an event; reached once.
class Point {
 public:
  void reach();
  void wait();
  bool is_reached();
  Clock::time_point reached_at();

 private:
  std::mutex mutex_;  // guards the two fields below
  std::condition_variable changed_;
  bool is_reached_ = false;
  Clock::time_point reached_at_;
};

class Queue : public std::enable_shared_from_this<Queue> {
 public:
  explicit Queue(uint64_t seed) : random_(seed) {}
  /// The thread owns the queue as well and ends when `finish` was called and the work is done.
  void start();
  void finish();

  /// Waits while the queue is full (knob `queue`), as a launch does.
  void push(std::function<void()> operation);
  /// Only behind work that has not run: a queue that was told to finish may have ended. False:
  /// there is none.
  bool push_behind_work(const std::function<void()>& operation);
  /// Waits for what was pushed before the call.
  void synchronize();
  bool is_idle();

 private:
  void work();

  std::mutex mutex_;  // guards the fields below, but for random_
  std::condition_variable pushed_, completed_;
  std::deque<std::shared_ptr<std::function<void()>>> waiting_;
  uint64_t pushed_count_ = 0;
  uint64_t completed_count_ = 0;
  bool is_finishing_ = false;
  std::mt19937_64 random_;  // the thread's
};

}  // namespace simcuda
