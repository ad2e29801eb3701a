// The in-flight window: a ring of slots. Sequence number n lives in slot n mod size; a number whose
// slot is still taken is passed over, so one slow instruction does not hold up the ring.
// All linking happens under the issue mutex; finishing needs no lock.
#pragma once

#include <memory>
#include <mutex>

#include "vm/instruction.h"

namespace ofl::vm {

class Window {
 public:
  explicit Window(size_t slots);

  /// Guards Dependences, slot allocation and linking. Held for the time of one issue; its holder
  /// never blocks and never takes the GIL.
  std::mutex& issue_mutex() { return issue_mutex_; }

  bool in_flight(Seq seq) const {
    return seq != 0 && (slots_[seq & mask_].seq.load(std::memory_order_acquire) & ~kWaited) == seq;
  }
  Slot& slot_of(Seq seq) { return slots_[seq & mask_]; }
  Slot& slot_at(size_t i) { return slots_[i]; }
  size_t size() const { return mask_ + 1; }

  // --- with the issue mutex held

  /// A free slot with the next sequence number, not yet published; nullptr when all are taken.
  Slot* claim();
  Seq last_seq() const { return last_seq_; }
  /// A number for work that takes no slot.
  Seq pass_over() { return ++last_seq_; }

  /// True when nothing in flight orders itself before these accesses and none is poisoned.
  bool ready(const Operand* operands, int count) const;
  /// Appends what must come before these accesses to `out`, each once.
  void predecessors(const Operand* operands, int count, SmallVector<Seq, 16>* out) const;
  /// Makes `seq` the latest access of its operands.
  void record(const Operand* operands, int count, Seq seq);
  /// The operand by the name of what stands for its object: to be compared with other slots'.
  static Operand joint(const Operand& operand) {
    return {&operand.object->joint(), operand.access};
  }
  /// From now on `to` stands for `object`, too. False, and nothing is changed: both are being
  /// accessed, and there is one last write at a time. `to` outlives the last use of `object`.
  bool join(Dependence& object, Dependence& to);
  /// Adds edges from all `predecessors` (finished ones are passed over) to `slot`.
  void link(Slot* slot, const SmallVector<Seq, 16>& predecessors);

 private:
  bool in_use(const Dependence& object) const;
  void add_read(Dependence* object, Seq seq);

  std::mutex issue_mutex_;
  std::unique_ptr<Slot[]> slots_;
  size_t mask_;
  Seq last_seq_ = 0;
};

/// Marks a list of successors whose milestone has been reached.
Edge* closed_list();

/// Closes one list of a slot; its successors in issue order. Called once per list.
Edge* close_successors(Slot* slot, Milestone milestone);

}  // namespace ofl::vm
