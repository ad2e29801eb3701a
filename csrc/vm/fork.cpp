// Fork. The child has the forking thread only, and of everything else what memory holds at that
// moment. So the machine is brought to rest before, its locks are held across, and the child gets
// new threads. A host function that another thread of the interpreter is in the middle of cannot be
// waited for, as it may need the interpreter's lock, which the forking thread holds: it stays in
// flight. In the parent it goes on; in the child it has failed.
#include <algorithm>
#include <limits>
#include <new>

#include "ep/memory/caching_allocator.h"
#include "ep/memory/staging_pool.h"
#include "vm/virtual_machine.h"

namespace ofl::vm {

/// One look at what is in flight, with the issue mutex. Something active that is not `calling` will
/// move on by itself; it is returned, or nullptr. What waits is not active. `calling` gets the
/// stream of each host function that is in the middle of its call; what is ready behind it stays,
/// and what runs there runs inside the call.
Slot* VirtualMachine::find_moving(std::vector<Stream*>* calling) {
  SmallVector<Seq, 16> in_flight;
  collect_in_flight(nullptr, &in_flight);
  Slot* moving = nullptr;
  calling->clear();
  for (Seq seq : in_flight) {
    Slot& slot = window_.slot_of(seq);
    if (slot.state.load(std::memory_order_acquire) == SlotState::calling) {
      calling->push_back(slot.header.stream);
    }
  }
  for (Seq seq : in_flight) {
    Slot& slot = window_.slot_of(seq);
    const SlotState state = slot.state.load(std::memory_order_acquire);
    const bool stays = state != SlotState::running &&
                       std::count(calling->begin(), calling->end(), slot.header.stream) > 0;
    if (state != SlotState::waiting && !stays) moving = &slot;
  }
  return moving;
}

// Nobody issues meanwhile, so an instruction becomes active only by the retirement of another. When
// no retirement was counted between two looks at the counters, and none of what was in flight
// between them was active, then nothing is: a predecessor that released an instruction behind our
// back was either still in flight at its own turn, and active, or had been counted before.
std::vector<Stream*> VirtualMachine::settle() {
  std::vector<Stream*> calling;
  for (;;) {
    const int64_t retired = retired_count();
    Seq moving = 0;
    bool host_function = false;
    {
      std::lock_guard<std::mutex> lock(window_.issue_mutex());
      if (Slot* slot = find_moving(&calling)) {
        moving = slot->name();
        host_function = slot->header.stream->type() == StreamType::host_func;
      }
    }
    if (host_function) {
      std::this_thread::yield();  // it ends, or comes to the call, which is not told to anybody
    } else if (moving) {
      wait(moving, "fork");
    } else if (retired_count() == retired) {
      return calling;
    }
  }
}

// At rest, what could still be held is a lock that an idle worker or a waiting thread takes for a
// moment. With all of them in our hands the child starts from a consistent state. The baton of a
// host function in its call is with its thread. That thread touches the stream only where it runs
// what it waits for (run_awaited), which it begins with the issue mutex: so the last look is one
// with all locks.
void VirtualMachine::before_fork() {
  std::vector<Stream*> calling;
  for (;;) {
    calling_at_fork_ = settle();
    lock_for_fork();
    if (!find_moving(&calling)) break;
    unlock_after_fork();
  }
  fork_prepared_ = true;
}

void VirtualMachine::lock_for_fork() {
  for (Stream* stream : streams()) {
    if (!is_calling_at_fork(stream)) stream->baton().lock();
  }
  shared_ranges_.mutex().lock();
  window_.issue_mutex().lock();
  setup_mutex_.lock();
  failures_mutex_.lock();
  for (auto& state : owned_states_) {
    state->device.allocator().mutex().lock();
    state->device.events().mutex().lock();
    state->device.staging().mutex().lock();
  }
}

void VirtualMachine::after_fork_in_parent() {
  if (!fork_prepared_) return;
  fork_prepared_ = false;
  unlock_after_fork();
}

void VirtualMachine::unlock_after_fork() {
  for (auto& state : owned_states_) {
    state->device.staging().mutex().unlock();
    state->device.events().mutex().unlock();
    state->device.allocator().mutex().unlock();
  }
  failures_mutex_.unlock();
  setup_mutex_.unlock();
  window_.issue_mutex().unlock();
  shared_ranges_.mutex().unlock();
  for (Stream* stream : streams()) {
    if (!is_calling_at_fork(stream)) stream->baton().unlock();
  }
}

void VirtualMachine::after_fork_in_child() {
  if (!fork_prepared_) return;
  after_fork_in_parent();
  sync_.release();  // other threads of the parent may have been asleep in it
  sync_ = std::make_unique<Sync>();
  waiting_threads_.store(0, std::memory_order_relaxed);
  watchers_.store(0, std::memory_order_relaxed);
  for (auto& state : owned_states_) state->device.after_fork_in_child();
  for (Stream* stream : streams()) stream->after_fork_in_child(is_calling_at_fork(stream));
}

bool VirtualMachine::is_calling_at_fork(Stream* stream) const {
  return std::count(calling_at_fork_.begin(), calling_at_fork_.end(), stream) > 0;
}

// All are marked before the first retires, which may release others. Those in the queue, and those
// that a thread kept, are run, that is skipped, here: their worker and that thread do not exist.
void VirtualMachine::fail_lost_host_functions() {
  SmallVector<Seq, 16> in_flight;
  {
    std::lock_guard<std::mutex> lock(window_.issue_mutex());
    collect_in_flight(nullptr, &in_flight);
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
  for (Stream* stream : calling_at_fork_) {
    std::lock_guard<std::mutex> baton(stream->baton());
    while (stream->run_next(std::numeric_limits<double>::infinity(), kNoneAwaited, false)) {
    }
  }
  calling_at_fork_.clear();
}

// A baton whose owner does not exist here is replaced: it can be neither unlocked nor destroyed.
void Stream::after_fork_in_child(bool baton_lost) {
  if (baton_lost) new (&baton_) std::mutex;
  baton_owner_.store(std::thread::id(), std::memory_order_relaxed);
  worker_.after_fork_in_child();
}

}  // namespace ofl::vm
