// ReadyList: the instructions of one stream that are ready and not yet run.
//
//   any thread ─ push ─► ready_, youngest first ─ pull ─► taken_, oldest first ─► run
#pragma once

#include <atomic>

#include "vm/instruction.h"

namespace ofl::vm {

class ReadyList {
 public:
  /// `by_priority`: the highest first, and of one priority the first to come.
  explicit ReadyList(bool by_priority = false) : by_priority_(by_priority) {}

  /// Any thread: adds a chain of slots that is linked from the youngest to the oldest.
  void push(Slot* youngest, Slot* oldest);
  /// Any thread. Never misses a slot that is on its way from one list to the other.
  bool any() const {
    return ready_.load(std::memory_order_seq_cst) || taken_.load(std::memory_order_seq_cst);
  }

  // --- with the baton
  void pull();
  Slot* first() const { return taken_.load(std::memory_order_relaxed); }
  bool contains(const Slot* slot) const;
  void remove(Slot* slot);
  /// Puts a slot in front. By priority, none in the list may have a higher one.
  void put_back(Slot* slot);

 private:
  void insert_each(Slot* slot, bool was_empty);
  void insert(Slot* slot);

  const bool by_priority_;
  alignas(64) std::atomic<Slot*> ready_{nullptr};  // seq_cst against Worker::asleep_
  alignas(64) std::atomic<Slot*> taken_{nullptr};  // written with the baton
  Slot* last_taken_ = nullptr;                     // while there is a first one
};

}  // namespace ofl::vm
