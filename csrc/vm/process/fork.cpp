#include "vm/process/fork.h"

#include <algorithm>
#include <thread>

#include "vm/board/running_scope.h"
#include "vm/failure/poison_mutex.h"
#include "vm/pool/pool_policy.h"

namespace ofl::vm {

namespace {

/// In the child: ends the functions that are in this state.
void end_lost(Window& window, SlotState state) {
  std::vector<Slot*> lost;
  {
    std::lock_guard<std::mutex> lock(window.issue_mutex());
    for (Seq seq : window.all_in_flight()) {
      Slot& slot = window.slot_of(seq);
      if (slot.state.load(std::memory_order_relaxed) == state) lost.push_back(&slot);
    }
  }
  for (Slot* slot : lost) slot->header.stream->policy().end_lost(slot);
}

}  // namespace

// No thread issues meanwhile, and no function of a pool begins or retires, as we have the batons of
// the pools. So an instruction becomes active only by the retirement of another. Nothing is active
// if no retirement was counted between two looks at the counters, and if no instruction in flight
// between them was active. For a predecessor that released an instruction behind our back was
// either active, and still in flight at its own turn, or counted before.
//
// A thread that runs code of the user tells nobody when it comes to that code, and may have stopped
// a device's stream. So we do not sleep then, and see to such streams ourselves.
void Fork::settle() {
  for (;;) {
    const int64_t retired = devices_.retired_count();
    Seq moving = 0;
    bool calls_out = false;
    {
      std::lock_guard<std::mutex> lock(window_.issue_mutex());
      if (Slot* slot = waiting_.find_moving(true)) moving = slot->name();
      calls_out = this->calls_out();
    }
    if (moving && calls_out) {
      waiting_.retire_on_stopped();
      std::this_thread::yield();
    } else if (moving) {
      waiting_.wait(moving, "fork");
    } else if (devices_.retired_count() == retired) {
      return;
    }
  }
}

/// With the issue mutex: code of the user runs, or will.
bool Fork::calls_out() {
  const Seqs in_flight = window_.all_in_flight();
  return std::any_of(in_flight.begin(), in_flight.end(),
                     [&](Seq seq) { return window_.slot_of(seq).header.type->calls_out; });
}

// At rest, a lock can still be held only by an idle worker or a waiting thread, for a moment. With
// all of them in our hands the child starts from a consistent state. The thread of a function in
// its call has none of them, and needs the baton of its pool to get out of it.
void Fork::before() {
  lock_batons(true);
  for (;;) {
    settle();
    lock();
    if (!waiting_.find_moving(true)) break;
    unlock();
  }
  prepared_ = true;
}

void Fork::lock_batons(bool of_pools) {
  for (Stream* stream : devices_.streams()) {
    if (stream->is_pool() == of_pools) stream->baton().lock();
  }
}

void Fork::unlock_batons(bool of_pools) {
  for (Stream* stream : devices_.streams()) {
    if (stream->is_pool() == of_pools) stream->baton().unlock();
  }
}

void Fork::lock() {
  lock_batons(false);
  shared_ranges_.mutex().lock();
  window_.issue_mutex().lock();
  board_.failures.mutex().lock();
  poison_mutex.lock();
  devices_.lock();
}

void Fork::unlock() {
  devices_.unlock();
  poison_mutex.unlock();
  board_.failures.mutex().unlock();
  window_.issue_mutex().unlock();
  shared_ranges_.mutex().unlock();
  unlock_batons(false);
}

void Fork::after_in_parent() {
  if (!prepared_) return;
  prepared_ = false;
  unlock();
  unlock_batons(true);
}

void Fork::after_in_child() {
  if (!prepared_) return;
  after_in_parent();
  RunningScope::forget();
  Runner::forget_thread();
  board_.after_fork_in_child();
  devices_.after_fork_in_child();
  for (Stream* stream : devices_.streams()) stream->after_fork_in_child();
}

// All are marked before the first ends, which may release others and wake workers. Those of pools
// that are ready are run, that is skipped, here; those of a device's stream by its worker. They are
// retired with batons, so without the lock of the layer above, whose objects are let go later.
void Fork::fail_lost_functions() {
  const Error error(ErrorKind::runtime, "was in flight in another thread when the process forked");
  {
    std::lock_guard<std::mutex> lock(window_.issue_mutex());
    for (Seq seq : window_.all_in_flight()) {
      Slot& slot = window_.slot_of(seq);
      const InstructionType& type = *slot.header.type;
      if (!type.calls_out && !type.joining && !slot.header.stream->is_pool()) continue;
      Failure failure = *make_failure(&slot, error);
      failure.seq = 0;  // synchronize() does not raise it
      slot.failure = std::make_shared<const Failure>(failure);
    }
  }
  void* token = waiting_.hooks().release();
  for (Stream* stream : devices_.streams()) stream->forget_calls();
  end_lost(window_, SlotState::calling);
  for (Stream* stream : devices_.streams()) stream->policy().abandon_pending(error);
  end_lost(window_, SlotState::pending);  // another thread was about to retire them
  for (Stream* stream : devices_.streams()) {
    if (stream->is_pool()) static_cast<PoolPolicy&>(stream->policy()).run_ready_here();
  }
  waiting_.hooks().acquire(token);
}

}  // namespace ofl::vm
