// QueuePositions: how far a device queue is, and which positions of other queues it runs after.
// Each launch gets the next position; completion is known by pooled events.
//
//   launch ─► position p ─► event recorded at q ≥ p ─► event done ─► all positions ≤ q completed
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "ep/device.h"
#include "ep/queue_progress.h"

namespace ofl::vm {

/// Any thread; only the thread that launches calls the first four.
class QueuePositions final : public ep::QueueProgress {
 public:
  QueuePositions(ep::Device& device, ep::Stream& queue) : device_(device), queue_(queue) {}

  /// Something has been launched; its position.
  uint64_t launched();
  /// Records an event behind the last launch, unless there is one; without `now`, only after every
  /// 32 launches. If the device has no event, the host waits for the queue and the error is thrown.
  void record(bool now);
  /// This queue, number `id`, waits for `position` of another one; false: that was implied already.
  bool wait_for(QueuePositions& other, int other_id, uint64_t position);
  /// The last event that is not known to be done, or null.
  ep::EventLease last_event() const;

  /// The highest position that is known to be finished, after a look at the events.
  uint64_t completed();
  /// Parts of the queue, each of which ends with an event, that are not known to be finished.
  size_t unfinished() const;

  struct Counters {
    uint64_t waits = 0, waits_elided = 0, events = 0;
  };
  Counters counters() const;

  ep::Stream& queue() override { return queue_; }
  bool reached(uint64_t position, bool look) override;
  ep::EventLease event_after(uint64_t position) noexcept override;

 private:
  struct Recorded {
    uint64_t position;
    ep::EventLease event;
    std::vector<uint64_t> clock;  // clock_ at that time
  };

  std::optional<Recorded> recorded_after(uint64_t position);
  void record_locked();
  void look_locked();
  uint64_t covered_locked() const {
    return recorded_.empty() ? completed_ : recorded_.back().position;
  }

  ep::Device& device_;
  ep::Stream& queue_;
  mutable std::mutex mutex_;       // guards the fields below and the order of records in the queue
  uint64_t position_ = 0;          // launches so far
  uint64_t completed_ = 0;         // positions known to be finished
  std::deque<Recorded> recorded_;  // events not known to be done, by position
  /// clock_[s]: this queue runs after position clock_[s] of stream s (a vector clock: a wait for an
  /// event also inherits the waits of that event's queue).
  std::vector<uint64_t> clock_;
  Counters counters_;
};

}  // namespace ofl::vm
