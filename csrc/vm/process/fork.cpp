#include "vm/process/fork.h"

#include <algorithm>
#include <thread>

namespace ofl::vm {

// No thread issues meanwhile, so an instruction becomes active only by the retirement of another.
// Nothing is active if no retirement was counted between two looks at the counters, and if no
// instruction in flight between them was active. For a predecessor that released an instruction
// behind our back was either active, and still in flight at its own turn, or counted before.
std::vector<Stream*> Fork::settle() {
  std::vector<Stream*> calling;
  for (;;) {
    const int64_t retired = devices_.retired_count();
    Seq moving = 0;
    bool host_function = false;
    {
      std::lock_guard<std::mutex> lock(window_.issue_mutex());
      if (Slot* slot = waiting_.find_moving(&calling)) {
        moving = slot->name();
        host_function = slot->header.stream->type() == StreamType::host_func;
      }
    }
    if (host_function) {
      std::this_thread::yield();  // it ends, or comes to the call, of which no thread is told
    } else if (moving) {
      waiting_.wait(moving, "fork");
    } else if (devices_.retired_count() == retired) {
      return calling;
    }
  }
}

// At rest, a lock can still be held only by an idle worker or a waiting thread, for a moment. With
// all of them in our hands the child starts from a consistent state. The baton of a host function
// in its call is with its thread. That thread touches the stream only where it runs an instruction
// that it waits for (Waiting::run_awaited), which it begins with the issue mutex. So the last look
// is one with all locks.
void Fork::before() {
  std::vector<Stream*> calling;
  for (;;) {
    calling_ = settle();
    lock();
    if (!waiting_.find_moving(&calling)) break;
    unlock();
  }
  prepared_ = true;
}

void Fork::lock() {
  for (Stream* stream : devices_.streams()) {
    if (!is_calling(stream)) stream->baton().lock();
  }
  shared_ranges_.mutex().lock();
  window_.issue_mutex().lock();
  board_.failures.mutex().lock();
  devices_.lock();
}

void Fork::unlock() {
  devices_.unlock();
  board_.failures.mutex().unlock();
  window_.issue_mutex().unlock();
  shared_ranges_.mutex().unlock();
  for (Stream* stream : devices_.streams()) {
    if (!is_calling(stream)) stream->baton().unlock();
  }
}

void Fork::after_in_parent() {
  if (!prepared_) return;
  prepared_ = false;
  unlock();
}

void Fork::after_in_child() {
  if (!prepared_) return;
  after_in_parent();
  board_.after_fork_in_child();
  devices_.after_fork_in_child();
  for (Stream* stream : devices_.streams()) stream->after_fork_in_child(is_calling(stream));
}

bool Fork::is_calling(Stream* stream) const {
  return std::count(calling_.begin(), calling_.end(), stream) > 0;
}

// All are marked before the first retires, which may release others. Those in a list, and those
// that a thread kept, are run, that is skipped, here: their worker and that thread do not exist.
void Fork::fail_lost_host_functions() {
  Seqs in_flight;
  {
    std::lock_guard<std::mutex> lock(window_.issue_mutex());
    in_flight = window_.all_in_flight();
  }
  for (Seq seq : in_flight) {
    Slot& slot = window_.slot_of(seq);
    if (slot.header.stream->type() != StreamType::host_func) continue;
    slot.failure = std::make_shared<const Failure>(
        Failure{ErrorKind::runtime, "was in flight in another thread when the process forked",
                slot.header.name, slot.header.site, 0, slot.header.stream->device().id(), nullptr});
  }
  for (Seq seq : in_flight) {
    Slot& slot = window_.slot_of(seq);
    const SlotState state = slot.state.load(std::memory_order_relaxed);
    if (state == SlotState::calling || state == SlotState::kept) {
      slot.header.stream->run_in_caller(&slot, seq);
    }
  }
  for (Stream* stream : calling_) {
    std::lock_guard<std::mutex> baton(stream->baton());
    stream->run_ready(false);
  }
  calling_.clear();
}

}  // namespace ofl::vm
