// QueuePolicy: a stream with an in-order device queue. Instructions are launched into the queue and
// retire when an event behind them is done (queue/queue_positions.h).
//
// An event is recorded after each instruction if the stream type asks for it, when the list of
// ready instructions runs dry, after every 32 launches, and when another stream must wait.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "vm/fusion/open_group.h"
#include "vm/queue/queue_positions.h"
#include "vm/stream.h"

namespace ofl::vm {

class QueuePolicy final : public StreamPolicy {
 public:
  QueuePolicy(Stream& stream, const Window& window)
      : stream_(stream),
        grouping_(stream.board(), window),
        positions_(stream.device(), stream.queue()) {}
  bool run_next(const Turn& turn) override;
  void run(Slot* slot) override;
  bool poll(bool close) override;
  bool busy() const override { return open_ || !launched_.empty(); }
  void drain() override;
  Counters counters() const override;
  void end_lost(Slot* slot) override;
  ep::QueueProgress* progress() override { return &positions_; }

 private:
  bool run_open(bool lingers);
  bool launch(Slot* const* slots, size_t count, Group* group);
  void end_launch(Slot* const* slots, size_t count, const Group* group, FailurePtr failure);
  void begin_observed(Slot* slot);
  void wait_for_predecessors(Slot* slot);
  bool retire_front();
  FailurePtr outcome(Slot* slot);

  Stream& stream_;
  Grouping grouping_;
  QueuePositions positions_;
  // With the baton.
  std::unique_ptr<OpenGroup> open_;
  std::deque<Slot*> launched_;  // launched and not retired, in queue order
};

}  // namespace ofl::vm
