// HostPace: how long a thread is busy with its own code between two calls that have work for the
// machine. Only in that time can another thread get ahead with the work:
//
//   the thread:  [call][ own code ][call][ own code ][call]...
//   a worker:          [   work   ]      [   work   ]            handed over: as long as the longer
//   the thread:  [call + work][ own code ][call + work]...       kept: as long as both
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/clock.h"

namespace ofl::vm {

/// Of one thread, which alone uses it. Times are those of base/clock.h, in nanoseconds.
class HostPace {
 public:
  /// To hand work over costs about as much: the queue, the caches of another core, a thread to
  /// wake.
  static constexpr int64_t kWorthNs = 10'000;

  static HostPace& of_this_thread();

  /// Most of the time between the last calls went into own code, long enough to be worth it.
  bool is_busy() const { return between_ > kWorthNs; }

  /// A call begins, or ends; the time between an end and the next beginning is own code.
  void begin(int64_t now) {
    if (began_ != 0) return;  // inside another call
    began_ = now;
    if (ended_ == 0) return;  // the first one
    const int64_t own = now - ended_ - small_;
    between_ += (std::clamp<int64_t>(own, 0, kMostNs) - between_) / kSmoothing;
  }
  void end(int64_t now) {
    if (is_shareable_) shareable_ended_ = now;
    is_shareable_ = false;
    began_ = 0;
    ended_ = now;
    small_ = 0;
  }
  /// The call that has begun does work that a helper could share.
  void note_shareable() { is_shareable_ = true; }
  /// When the call that has begun did so.
  int64_t began() const { return began_; }
  /// When the last call before it that a helper could share ended; 0: there was none.
  int64_t shareable_ended() const { return shareable_ended_; }
  /// Small work that the thread does at once, as estimated: it is no own code either.
  void note_small(double ns) { small_ += static_cast<int64_t>(ns); }

 private:
  // One long pause alone, where the system ran another thread, does not count.
  static constexpr int64_t kMostNs = 3 * kWorthNs;
  // Calls over which the time is averaged. A stretch of small operations looks like own code. With
  // 4 calls, one stretch handed over a training step of 512 images, which took 1.11 x the time.
  static constexpr int64_t kSmoothing = 16;

  int64_t began_ = 0;  // 0: not in a call
  int64_t ended_ = 0;  // 0: before the first
  bool is_shareable_ = false;
  int64_t shareable_ended_ = 0;
  int64_t small_ = 0, between_ = 0;
};

/// From note() to its destructor: a call of the calling thread.
class PacedCall {
 public:
  PacedCall() = default;
  PacedCall(const PacedCall&) = delete;
  ~PacedCall() {
    if (pace_) pace_->end(now_ns());
  }
  /// Returns whether the thread is busy.
  bool note() {
    pace_ = &HostPace::of_this_thread();
    pace_->begin(now_ns());
    return pace_->is_busy();
  }

 private:
  HostPace* pace_ = nullptr;
};

}  // namespace ofl::vm
