// CallOut: code of the user that an instruction runs on its stream. The code may wait for anything,
// also for a lock that a thread has which wants the baton. So nobody has the baton meanwhile.
//
//   with the baton: launch ──► without it: the user's code ──► with it: launched
//
// Only the worker of a device's stream launches what has been queued there. So what comes behind
// the instruction is launched behind it, although the baton is free. In naive mode several threads
// may be in their calls; each has waited for its predecessors.
#pragma once

#include "vm/board/running_scope.h"
#include "vm/stream.h"

namespace ofl::vm {

/// While it lives, the calling thread runs code of the user for the slot. By a body that launches.
class CallOut {
 public:
  explicit CallOut(LaunchContext& context) : slot_(context.slot), stream_(context.stream) {
    slot_.state.store(SlotState::calling, std::memory_order_release);
    if (stream_.is_pool()) return;  // a PoolPolicy has let go of the baton, and has noted the slot
    scope_.emplace(slot_);
    stream_.begin_call(slot_.name());
    stream_.baton().unlock();
  }
  ~CallOut() {
    if (stream_.is_pool()) return;
    stream_.baton().lock();
    stream_.end_call();
    slot_.state.store(SlotState::running, std::memory_order_release);
  }
  CallOut(const CallOut&) = delete;

 private:
  Slot& slot_;
  Stream& stream_;
  std::optional<RunningScope> scope_;
};

}  // namespace ofl::vm
