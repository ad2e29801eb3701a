// Waits of a host function. Its thread has the baton of its stream, so no other thread runs the
// instructions that are queued there. Those that the function waits for, directly or not, run in
// its thread, inside the call.
//
//   thread of host_func:  [A ............ waits for y ......................]
//                                          [B]  <- ready, y needs it
//   compute:                                    [y = f(B's result)]
//
// Nothing else of the stream runs there: it may wait for something that A does later. In naive mode
// B is not in the list but kept by its thread, which waits for the baton until A ends.
#include <algorithm>
#include <thread>

#include "vm/host_policy.h"
#include "vm/waiting/waiting.h"

namespace ofl::vm {

/// With the issue mutex, which keeps the slots and their edges in place: `seq`, and the
/// instructions that must retire before it. All of them were known when it was issued.
std::vector<Seq> Waiting::collect_awaited(Seq seq) {
  std::vector<Seq> awaited;
  std::vector<bool> known(window_.size());
  const auto add = [&](Seq each) {
    const size_t place = each & (window_.size() - 1);
    if (!window_.in_flight(each) || known[place]) return;
    known[place] = true;
    awaited.push_back(each);
  };
  add(seq);
  for (size_t next = 0; next < awaited.size(); ++next) {
    Slot& slot = window_.slot_of(awaited[next]);
    for (int i = 0; i < slot.edge_count; ++i) add(slot.edge(i).predecessor);
  }
  return awaited;
}

/// Waits until `done`, which comes true once `seq` has retired at the latest. Throws if `seq` waits
/// for the host function that waits here.
void Waiting::wait_inside(Seq seq, const char* reason, const Done& done) {
  Stream& here = *RunningScope::stream();
  std::vector<Seq> awaited;
  {
    std::lock_guard<std::mutex> lock(window_.issue_mutex());
    awaited = collect_awaited(seq);
    if (std::any_of(awaited.begin(), awaited.end(), RunningScope::contains)) {
      fail(ErrorKind::runtime, "[", reason,
           "] a host function cannot wait for itself, nor for what comes after it");
    }
    const auto elsewhere = [&](Seq each) { return window_.slot_of(each).header.stream != &here; };
    awaited.erase(std::remove_if(awaited.begin(), awaited.end(), elsewhere), awaited.end());
  }
  std::sort(awaited.begin(), awaited.end());
  note_awaited(seq);
  Board::Watching watching(board_);
  while (!done()) {
    if (!run_awaited(here, awaited)) {
      host_wait(reason, [&] { return done() || next_ready(awaited) != 0; });
    }
  }
}

// A number whose slot has moved on names nothing, whatever the state of the slot's next owner.
Seq Waiting::next_ready(const std::vector<Seq>& awaited) {
  for (Seq seq : awaited) {
    const SlotState state = window_.slot_of(seq).state.load(std::memory_order_acquire);
    const bool is_ready = state == SlotState::ready || state == SlotState::kept;
    if (is_ready && window_.in_flight(seq)) return seq;
  }
  return 0;
}

/// Runs the first of these that is ready; false when none is. A thread that forks looks, with the
/// issue mutex, for instructions that are neither in their call nor waiting. This one is such an
/// instruction from the step below to its retirement, and only then does this thread touch the
/// stream.
bool Waiting::run_awaited(Stream& here, const std::vector<Seq>& awaited) {
  Slot* slot = nullptr;
  bool is_kept = false;
  {
    std::lock_guard<std::mutex> lock(window_.issue_mutex());
    const Seq seq = next_ready(awaited);
    if (seq == 0) return false;
    slot = &window_.slot_of(seq);
    is_kept = slot->state.load(std::memory_order_relaxed) == SlotState::kept;
    // It is of this stream, whose baton this thread has: no other thread starts it.
    slot->state.store(SlotState::running, std::memory_order_seq_cst);
  }
  void* token = hooks_->release();
  if (is_kept) {
    here.policy().run(slot);
  } else {
    here.run_taken(slot);
  }
  hooks_->acquire(token);
  return true;
}

/// Inside a host function: until a slot is free. The oldest that does not wait for the function
/// itself waits for older ones only.
void Waiting::wait_for_slot_inside() {
  Seqs in_flight;
  Seq oldest = 0;
  {
    std::lock_guard<std::mutex> lock(window_.issue_mutex());
    in_flight = window_.all_in_flight();
    std::sort(in_flight.begin(), in_flight.end());
    for (int i = 0; i < in_flight.size() && oldest == 0; ++i) {
      const std::vector<Seq> awaited = collect_awaited(in_flight[i]);
      const bool own = std::any_of(awaited.begin(), awaited.end(), RunningScope::contains);
      if (!own) oldest = in_flight[i];
    }
  }
  if (in_flight.size() < static_cast<int>(window_.size())) return;
  if (oldest == 0) {
    fail(ErrorKind::runtime, "[host_func] ", in_flight.size(),
         " instructions wait for a host function, which can issue no more before it ends");
  }
  wait(oldest, "room in the window");
}

}  // namespace ofl::vm
