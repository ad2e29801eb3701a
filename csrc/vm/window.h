// The in-flight window: a ring of slots. Sequence number n lives in slot n mod size; a number whose
// slot is still taken is passed over, so one slow instruction does not hold up the ring.
// All linking happens under the issue mutex; finishing needs no lock.
#pragma once

#include <memory>
#include <mutex>

#include "vm/board/board.h"

namespace ofl::vm {

struct DeviceState;
using Seqs = SmallVector<Seq, 16>;

class Window {
 public:
  explicit Window(size_t slots);

  /// Guards Dependences, slot allocation and linking. Held for the time of one issue; its holder
  /// never blocks and never takes the GIL.
  std::mutex& issue_mutex() { return issue_mutex_; }

  bool in_flight(Seq seq) const { return seq != 0 && slots_[seq & mask_].holds(seq); }
  Slot& slot_of(Seq seq) { return slots_[seq & mask_]; }
  Slot& slot_at(size_t i) { return slots_[i]; }
  size_t size() const { return mask_ + 1; }
  /// All slots are taken.
  bool is_full() const;
  /// The youngest instruction that a host thread waits for, or kNoneAwaited. A hint.
  Seq last_awaited(const Board& board) const {
    const Seq seq = board.last_awaited();
    return seq != kNoneAwaited && in_flight(seq) ? seq : kNoneAwaited;
  }

  // --- with the issue mutex held

  /// A free slot with the next sequence number, not yet published; nullptr when all are taken.
  Slot* claim();
  Seq last_seq() const { return last_seq_; }
  Seq barrier = 0;       // the last one
  uint64_t issued = 0;   // instructions that got a slot
  uint64_t inlined = 0;  // instructions that ran in the calling thread without one
  /// A number for work that takes no slot.
  Seq pass_over() { return ++last_seq_; }

  /// True when nothing in flight orders itself before these accesses and none is poisoned.
  bool ready(const Operand* operands, int count) const;
  /// Appends all instructions that must come before these accesses to `out`, each once.
  void predecessors(const Operand* operands, int count, Seqs* out) const;
  /// All instructions in flight (on one device), in no order.
  Seqs all_in_flight(const DeviceState* on = nullptr) const;
  Seq last_write(const Dependence& object) const { return object.joint().last_write_; }
  /// With its operands in it, which are joints: takes the memory that link() and record() need.
  void make_room(Slot* slot, const Seqs& predecessors);
  /// Makes `seq` the latest access of the slot's operands. `at_once`: it will run without a turn in
  /// its stream's list.
  void record(const Slot& slot, Seq seq, bool at_once) noexcept;
  /// The operand with the object that represents its own, so that slots can be compared.
  static Operand joint(const Operand& operand) {
    return {&operand.object->joint(), operand.access, operand.by_host};
  }
  /// From now on `to` represents `object`, too, and outlives its last use. False, and nothing is
  /// changed: both are being accessed, and an object has one last write.
  bool join(Dependence& object, Dependence& to);
  /// Adds edges from all `predecessors` (finished ones are passed over) to `slot`.
  void link(Slot* slot, const Seqs& predecessors) noexcept;

 private:
  bool in_use(const Dependence& object) const;
  void add_read(Dependence* object, Seq seq, bool at_once);

  std::mutex issue_mutex_;
  std::unique_ptr<Slot[]> slots_;
  size_t mask_;
  Seq last_seq_ = 0;
};

}  // namespace ofl::vm
