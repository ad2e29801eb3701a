#include "vm/virtual_machine.h"

#include "vm/board/running_scope.h"

namespace ofl::vm {

namespace {

struct BarrierBody {};

const InstructionType kBarrierType = {
    "barrier",
    [](void*, LaunchContext&) {},
    [](void*, Stream&, uint64_t) {},
    [](void*, const FailurePtr&) {},
    [](const void*, Description*) {},
};

// Gives up the issuer's guard; the last of issuer and predecessors to get here dispatches. acq_rel,
// acquire: pairs with the releases of the predecessors. A count of one is the guard alone, which
// only the issuer gives up, so it needs no atomic step.
void dispatch_if_last(Slot* slot) {
  if (slot->pending.load(std::memory_order_acquire) == 1 ||
      slot->pending.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    slot->header.stream->dispatch(slot, !slot->header.is_attended);
  }
}

}  // namespace

VirtualMachine::VirtualMachine(DeviceTable::FindDevice find_device, size_t window_slots)
    : window_(window_slots),
      devices_(std::move(find_device), board_, window_),
      small_work_(board_),
      waiting_(devices_, small_work_, [this] { return dump(); }),
      shared_ranges_(window_, waiting_),
      fork_(devices_, waiting_, shared_ranges_) {}

/// A function on a thread of the machine issues to the queues even in naive mode.
bool VirtualMachine::is_naive() const {
  return options().naive.load(std::memory_order_relaxed) && !Runner::is_current_thread();
}

bool VirtualMachine::is_naive(const Instruction& header) const {
  return is_naive() && !header.type->is_queued_always;
}

void VirtualMachine::collect_predecessors(const Instruction& header, const Operand* operands,
                                          int count, Seqs* out) {
  out->clear();
  if (window_.in_flight(window_.barrier)) out->push_back(window_.barrier);
  window_.predecessors(operands, count, out);
  if (!RunningScope::any()) return;
  if (ending_.load(std::memory_order_relaxed) &&
      (header.stream->is_pool() || header.type->calls_out)) {
    fail(ErrorKind::runtime, "[", header.name,
         "] a function cannot issue another one while the process ends");
  }
  const bool is_notice = header.type->is_queued_always && header.type->calls_out;
  if (is_notice) return;  // nobody waits for it
  for (Seq seq : *out) {
    if (RunningScope::slot().name() != seq) continue;
    fail(ErrorKind::runtime, "[", header.name,
         "] issued inside a function on what it reads or writes itself; it would wait for itself");
  }
}

/// With the issue mutex: puts the instruction into a slot and links it; nullptr when none is free.
/// The slot still has its guard: it cannot be dispatched yet. All that may fail for want of memory
/// comes before the construction of the body, and until then nobody knows the slot. `at_once`: as
/// in Window::record().
Slot* VirtualMachine::enter(const Instruction& header, const Operand* operands, int count,
                            void* body, Construct construct, const Seqs& predecessors,
                            bool at_once) {
  Slot* slot = window_.claim();
  if (!slot) return nullptr;
  const Seq seq = window_.last_seq();
  slot->header = header;
  slot->variables = header.variables ? *header.variables : nullptr;
  for (int i = 0; i < count; ++i) slot->operands.push_back(Window::joint(operands[i]));
  window_.make_room(slot, predecessors);
  header.stream->state().note_issued(header.bytes, seq);
  construct(slot->body, body);
  window_.link(slot, predecessors);
  window_.record(*slot, seq, at_once);
  ++window_.issued;
  slot->seq.store(seq, std::memory_order_release);
  return slot;
}

Seq VirtualMachine::issue_body(const Instruction& header, const Operand* operands, int count,
                               void* body, Construct construct) {
  if (is_naive(header)) return issue_naive(header, operands, count, body, construct);
  if (!header.is_attended) header.stream->runner().require_thread();
  const bool observed = observer() != nullptr;
  const int64_t begin = observed ? now_ns() : 0;
  Description description;
  if (observed) header.type->describe(body, &description);
  Slot* slot = nullptr;
  Seq seq = 0;
  waiting_.wait_for_room(header.stream->state());
  for (;;) {
    {
      std::lock_guard<std::mutex> lock(window_.issue_mutex());
      Seqs predecessors;
      collect_predecessors(header, operands, count, &predecessors);
      slot = enter(header, operands, count, body, construct, predecessors, false);
      seq = window_.last_seq();
    }
    if (slot) break;
    waiting_.wait_for_slot();
  }
  // The slot's guard still keeps the operands alive. Code of the user has a completion to wait for,
  // and may need this thread before it ends.
  bool shared = false;
  for (int i = 0; i < count && !header.type->calls_out; ++i) {
    shared = shared || operands[i].object->shared();
  }
  dispatch_if_last(slot);
  // Asked again: the observer may have left while this thread waited for room.
  if (Observer* present = observed ? observer() : nullptr) {
    present->issued(header, seq, description, begin, now_ns());
  }
  if (shared) wait(seq, "shared memory");
  return seq;
}

// In naive mode nothing of this thread is in flight, so every predecessor is another thread's, or a
// function that has not completed.
Seq VirtualMachine::issue_naive(const Instruction& header, const Operand* operands, int count,
                                void* body, Construct construct) {
  Slot* slot = nullptr;
  Seq seq = 0;
  Seqs predecessors;
  while (!slot) {
    {
      std::lock_guard<std::mutex> lock(window_.issue_mutex());
      collect_predecessors(header, operands, count, &predecessors);
      if (predecessors.empty()) {
        slot = enter(header, operands, count, body, construct, predecessors, true);
        seq = window_.last_seq();
      }
      // A thread that forks leaves functions alone; everything else ends on its own.
      const SlotState state = header.stream->is_pool() ? SlotState::calling : SlotState::running;
      if (slot) slot->state.store(state, std::memory_order_relaxed);
    }
    if (!slot && predecessors.empty()) waiting_.wait_for_slot();
    for (Seq predecessor : predecessors) wait(predecessor, "naive mode");
  }
  void* token = waiting_.hooks().release();
  header.stream->run_in_caller(slot);
  waiting_.hooks().acquire(token);
  return seq;
}

void VirtualMachine::barrier(SiteId site) {
  if (is_naive()) return drain(std::nullopt);
  Instruction header;
  header.type = &kBarrierType;
  header.name = "barrier";
  header.stream = &stream(Device{}, StreamType::barrier);
  header.site = site;
  header.stream->runner().require_thread();
  BarrierBody body;
  for (;;) {
    Slot* slot = nullptr;
    {
      std::lock_guard<std::mutex> lock(window_.issue_mutex());
      slot = enter(header, nullptr, 0, &body, [](void*, void*) {}, window_.all_in_flight(), false);
      if (slot) window_.barrier = window_.last_seq();
    }
    if (slot) return dispatch_if_last(slot);
    waiting_.wait_for_slot();
  }
}

}  // namespace ofl::vm
