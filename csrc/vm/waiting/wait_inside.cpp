// Waits of a function. All threads of its pool may be in functions that wait. So those that the
// function waits for, directly or not, run in its thread once they are ready.
//
//   a thread of host_func:  [A ............ waits for y ......................]
//                                            [B]  <- ready, y needs it
//   compute:                                      [y = f(B's result)]
//
// Nothing else runs there: it may wait for something that A does later. While A sleeps, its pool
// may have one thread more, unless it is one whose functions run one after the other.
#include <algorithm>

#include "vm/board/running_scope.h"
#include "vm/pool/pool_policy.h"
#include "vm/waiting/waiting.h"

namespace ofl::vm {

namespace {

/// While it lives, the function of the calling thread is known to wait for an instruction, so that
/// another one that waits for it is told if it waits in a ring. Nobody waits for memory of it
/// meanwhile. `holds_stream`: nor of what comes behind it on a stream whose functions run one after
/// the other.
class NotedWait {
 public:
  /// With the issue mutex.
  NotedWait(Window& window, Seq seq, bool holds_stream)
      : window_(window), slot_(RunningScope::slot()), stream_(*slot_.header.stream) {
    outer_ = std::exchange(slot_.waits_for, seq);
    was_stalled_ = slot_.stalled.exchange(seq, std::memory_order_seq_cst);
    holds_stream_ = holds_stream && !stream_.starved() && stream_.calls_in_turn();
    if (holds_stream_) stream_.set_starved(true);
  }
  ~NotedWait() {
    std::lock_guard<std::mutex> lock(window_.issue_mutex());
    slot_.waits_for = outer_;
    slot_.stalled.store(was_stalled_, std::memory_order_seq_cst);
    if (holds_stream_) stream_.set_starved(false);
  }
  NotedWait(const NotedWait&) = delete;

 private:
  Window& window_;
  Slot& slot_;
  Stream& stream_;
  Seq outer_;
  Seq was_stalled_;
  bool holds_stream_;
};

/// While it lives, the pool of the calling thread's function may have one thread more, unless its
/// functions run one after the other.
class Blocked {
 public:
  Blocked() {
    Stream& stream = *RunningScope::slot().header.stream;
    if (!stream.calls_in_turn()) pool_ = &static_cast<Pool&>(stream.runner());
    if (pool_) since_ = pool_->block();
  }
  ~Blocked() {
    if (pool_) pool_->unblock(since_);
  }
  Blocked(const Blocked&) = delete;

 private:
  Pool* pool_ = nullptr;
  const void* since_ = nullptr;
};

}  // namespace

/// With the issue mutex, which keeps the slots and their edges in place: `seq`, and the
/// instructions that must retire before it, because it was issued after them, its function waits
/// for them, or their code stops its stream.
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
    add(slot.waits_for);
    if (!slot.reached(Milestone::launched)) add(slot.header.stream->calling());
  }
  return awaited;
}

/// Waits until `done`, which comes true once `seq` has retired at the latest. Throws if `seq` waits
/// for a function that the calling thread is in. A wait is noted in the step that finds the others,
/// so of functions that wait in a ring the last one finds it.
void Waiting::wait_inside(Seq seq, const char* reason, const Done& done, int64_t deadline) {
  std::vector<Seq> awaited;
  std::optional<NotedWait> noted;
  {
    std::lock_guard<std::mutex> lock(window_.issue_mutex());
    awaited = collect_awaited(seq);
    if (std::any_of(awaited.begin(), awaited.end(), RunningScope::contains)) {
      fail(ErrorKind::runtime, "[", reason,
           "] a function cannot wait for itself, nor for what comes after it");
    }
    const auto of_no_pool = [&](Seq each) {
      return !window_.slot_of(each).header.stream->is_pool();
    };
    awaited.erase(std::remove_if(awaited.begin(), awaited.end(), of_no_pool), awaited.end());
    noted.emplace(window_, seq, awaited.empty());
  }
  std::sort(awaited.begin(), awaited.end());
  note_awaited(seq);
  board_.note_stalled();
  Board::Watching watching(board_);
  while (!done()) {
    if (run_awaited(awaited)) continue;
    Blocked blocked;
    host_wait(reason, [&] { return done() || next_ready(awaited) != 0; }, kSpinNs, deadline);
  }
}

// A number whose slot has moved on names nothing, whatever the state of the slot's next owner.
Seq Waiting::next_ready(const std::vector<Seq>& awaited) {
  for (Seq seq : awaited) {
    const SlotState state = window_.slot_of(seq).state.load(std::memory_order_acquire);
    if (state == SlotState::ready && window_.in_flight(seq)) return seq;
  }
  return 0;
}

/// Runs the first of these that is ready; false when none is.
bool Waiting::run_awaited(const std::vector<Seq>& awaited) {
  Slot* slot = nullptr;
  Stream* stream = nullptr;
  Seq seq = 0;
  {
    std::lock_guard<std::mutex> lock(window_.issue_mutex());  // keeps the slot's header in place
    seq = next_ready(awaited);
    if (seq == 0) return false;
    slot = &window_.slot_of(seq);
    stream = slot->header.stream;
  }
  void* token = hooks_->release();
  static_cast<PoolPolicy&>(stream->policy()).run_if_ready(slot, seq);
  hooks_->acquire(token);
  return true;
}

/// Inside a function: until a slot is free. The oldest that does not wait for the function itself
/// waits for older ones only.
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
    fail(ErrorKind::runtime, in_flight.size(),
         " instructions wait for a function, which can issue no more before it ends");
  }
  wait(oldest, "room in the window");
}

void Waiting::drain_but_functions(Seq last, const char* reason) {
  const auto calls_out = [this](Seq seq) { return window_.slot_of(seq).header.type->calls_out; };
  for (;;) {
    Seq found = 0;
    {
      std::lock_guard<std::mutex> lock(window_.issue_mutex());
      for (Seq seq : window_.all_in_flight()) {
        if (seq > last) continue;
        const std::vector<Seq> awaited = collect_awaited(seq);
        if (std::none_of(awaited.begin(), awaited.end(), calls_out)) found = seq;
      }
    }
    if (found == 0) return;
    wait(found, reason);
  }
}

}  // namespace ofl::vm
