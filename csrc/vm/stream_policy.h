// StreamPolicy: how a stream runs its instructions, tells that they are done, and waits for another
// stream. All methods are called with the stream's baton, unless said otherwise.
#pragma once

#include <cstdint>

#include "ep/queue_progress.h"
#include "vm/instruction.h"

namespace ofl::vm {

/// How much the thread that has the baton may run.
struct Turn {
  double max_cost;
  Seq last;      // of a group, nothing that was issued after it
  bool lingers;  // it may wait a little for more
};

class StreamPolicy {
 public:
  virtual ~StreamPolicy() = default;

  /// Runs the next ready instruction and those that can run as one with it; false: there is none,
  /// or the turn does not allow it.
  virtual bool run_next(const Turn& turn) = 0;
  /// Launches one instruction, whose predecessors are where they must be.
  virtual void run(Slot* slot) = 0;
  /// Retires finished instructions; true: there was something. `close`: makes sure that everything
  /// launched will be found finished one day, although more is ready to be launched.
  virtual bool poll(bool close) = 0;
  /// Something is launched, or held back, and not yet retired.
  virtual bool busy() const = 0;
  /// Blocks until everything that is launched has retired.
  virtual void drain() = 0;

  struct Counters {
    uint64_t waits = 0;                // stream waits that were enqueued
    uint64_t waits_elided = 0;         // stream waits that were found to be implied already
    uint64_t events = 0;               // events that were recorded
    uint64_t groups = 0, grouped = 0;  // groups, and the instructions in them
    uint64_t saved_results = 0, saved_bytes = 0;  // of the groups: results never in memory
  };
  /// Any thread.
  virtual Counters counters() const = 0;
  /// What is launched gets on only while it is polled, and now it does.
  virtual bool moves() const { return false; }
  /// Those that are pending fail. Takes the baton.
  virtual void abandon_pending(const Error&) {}
  /// In the child of a fork: ends an instruction whose code another thread ran in the parent. It
  /// has a failure. Takes the baton.
  virtual void end_lost(Slot* slot) = 0;
  /// How far the device queue is; null: the stream has none. Any thread.
  virtual ep::QueueProgress* progress() { return nullptr; }
};

}  // namespace ofl::vm
