// StreamPolicy: how a stream runs an instruction, tells that it is done, and waits for another
// stream. All methods are called with the stream's baton, unless said otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <vector>

#include "ep/queue_progress.h"
#include "vm/instruction.h"

namespace ofl::vm {

/// The earliest failure among the objects that an instruction touches; null: none has failed.
FailurePtr operand_failure(const Slot* slot);

FailurePtr make_failure(const Slot* slot, ErrorKind kind, const char* message,
                        std::shared_ptr<void> payload);

/// Calls `step`; what it throws becomes the slot's failure.
template <typename Step>
FailurePtr attempt(const Slot* slot, const Step& step) {
  try {
    step();
    return nullptr;
  } catch (const Error& error) {
    return make_failure(slot, error.kind(), error.what(), error.payload());
  } catch (const std::bad_alloc&) {
    return make_failure(slot, ErrorKind::out_of_memory, "out of host memory", nullptr);
  } catch (const std::exception& error) {
    return make_failure(slot, ErrorKind::runtime, error.what(), nullptr);
  }
}

class StreamPolicy {
 public:
  virtual ~StreamPolicy() = default;

  /// What is dispatched later also runs later. Any thread.
  virtual bool in_order() const = 0;
  /// Its queue can wait for, and be waited for by, another queue without the host. Any thread.
  virtual bool can_wait() const = 0;

  /// Launches one instruction (all predecessors are where they must be).
  virtual void run(Slot* slot) = 0;
  /// Retires what has finished; true when there was something. `close`: see to it that all that is
  /// launched will be found finished one day, though more is ready to be launched.
  virtual bool poll(bool close) = 0;
  /// Something is launched and not yet retired.
  virtual bool busy() const = 0;
  /// Blocks until all that is launched is retired.
  virtual void drain() = 0;

  struct Counters {
    uint64_t waits = 0;         // stream waits enqueued
    uint64_t waits_elided = 0;  // found to be implied already
    uint64_t events = 0;        // events recorded
  };
  /// Any thread.
  virtual Counters counters() const { return {}; }
};

/// Runs instructions in the calling thread; done at return. Order is that of readiness.
class HostPolicy final : public StreamPolicy {
 public:
  explicit HostPolicy(Stream& stream) : stream_(stream) {}
  bool in_order() const override { return false; }
  bool can_wait() const override { return false; }
  void run(Slot* slot) override;
  bool poll(bool) override { return false; }
  bool busy() const override { return false; }
  void drain() override {}

 private:
  Stream& stream_;
};

/// Launches into an in-order device queue; completion by pooled events.
///
///   launch ─► position p in the queue ─► event recorded at q ≥ p ─► event done ─► retire all ≤ q
///
/// An event is recorded where the StreamType asks for one after each instruction, when the queue of
/// ready instructions runs dry, after every 32 launches, and where another stream must wait.
class QueuePolicy final : public StreamPolicy, public ep::QueueProgress {
 public:
  explicit QueuePolicy(Stream& stream);
  bool in_order() const override { return true; }
  bool can_wait() const override { return true; }
  void run(Slot* slot) override;
  bool poll(bool close) override;
  bool busy() const override { return !launched_.empty(); }
  void drain() override;
  /// Launches instructions as one; false: not as one, and nothing is launched.
  bool run_group(const std::vector<Slot*>& members, Group& group);
  /// Parts of the queue, each ending with an event, that are not known to be finished.
  size_t unfinished() const;
  Counters counters() const override;

  ep::Stream& queue() override;
  bool reached(uint64_t position, bool look) override;
  ep::EventLease event_after(uint64_t position) noexcept override;

 private:
  struct Recorded {
    uint64_t position;
    ep::EventLease event;
    std::vector<uint64_t> clock;  // clock_ at that time
  };

  void launch(Slot* slot);
  void begin_observed(Slot* slot);
  void wait_for_predecessors(Slot* slot);
  void wait_for(const Edge& edge, Slot* slot);
  std::optional<Recorded> recorded_after(uint64_t position);
  void record(const std::unique_lock<std::mutex>& queue_lock);
  void close_queue(std::unique_lock<std::mutex>& queue_lock);
  void note_completed();
  bool retire_front();
  FailurePtr outcome(Slot* slot);

  Stream& stream_;
  std::deque<Slot*> launched_;  // launched and not retired, in queue order

  mutable std::mutex queue_mutex_;  // guards the fields below and the order of records in the queue
  uint64_t position_ = 0;           // launches so far
  uint64_t completed_ = 0;          // positions known to be finished
  std::deque<Recorded> recorded_;   // events not known to be done, by position
  /// clock_[s]: this queue runs after position clock_[s] of stream s (a vector clock: a wait for an
  /// event also inherits what that event's queue had waited for).
  std::vector<uint64_t> clock_;
  Counters counters_;
};

}  // namespace ofl::vm
