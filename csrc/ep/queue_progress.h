// How far a queue has come: for memory that it was the last to use. No event is needed until
// another queue wants to know.
#pragma once

#include <cstdint>

#include "ep/event_pool.h"

namespace ofl::ep {

/// Any thread. Positions count what was put into the queue, from 1.
class QueueProgress {
 public:
  virtual ~QueueProgress() = default;

  virtual Stream& queue() = 0;
  /// The work up to there is known to be finished; `look`: events are asked first.
  virtual bool reached(uint64_t position, bool look) = 0;
  /// An event at or behind it, recorded now unless there is one; null when the work is finished
  /// (also after an event could not be had and the host has waited instead).
  virtual EventLease event_after(uint64_t position) noexcept = 0;
};

/// The last use of some memory by one queue.
struct QueueUse {
  QueueProgress* queue;
  uint64_t position;
};

}  // namespace ofl::ep
