#include "vm/queue/ready_list.h"

namespace ofl::vm {

// Links are written before the slot is published and then belong to the thread with the baton.
// Slots leave only all at once, so a head that compares equal is the head that was read.
void ReadyList::push(Slot* youngest, Slot* oldest) {
  oldest->next = ready_.load(std::memory_order_relaxed);
  while (!ready_.compare_exchange_weak(oldest->next, youngest, std::memory_order_seq_cst,
                                       std::memory_order_relaxed)) {
  }
}

// The pushed slots are taken as a whole and turned round. taken_ is marked before ready_ is
// emptied, so any() never misses slots that are between the two.
void ReadyList::pull() {
  Slot* youngest = ready_.load(std::memory_order_relaxed);
  if (!youngest) return;
  const bool was_empty = !first();
  if (was_empty) taken_.store(youngest, std::memory_order_seq_cst);  // any slot will do for a mark
  youngest = ready_.exchange(nullptr, std::memory_order_seq_cst);
  Slot* const last = youngest;
  Slot* oldest = nullptr;
  while (youngest) {
    Slot* older = youngest->next;
    youngest->next = oldest;
    oldest = youngest;
    youngest = older;
  }
  if (by_priority_) return insert_each(oldest, was_empty);
  if (was_empty) {
    taken_.store(oldest, std::memory_order_seq_cst);
  } else {
    last_taken_->next = oldest;
  }
  last_taken_ = last;
}

/// Inserts a chain by priority. The list is never empty meanwhile, for any().
void ReadyList::insert_each(Slot* slot, bool was_empty) {
  if (was_empty) {
    Slot* const first = slot;
    slot = slot->next;
    first->next = nullptr;
    last_taken_ = first;
    taken_.store(first, std::memory_order_seq_cst);
  }
  while (slot) {
    Slot* const each = slot;
    slot = slot->next;
    insert(each);
  }
}

void ReadyList::insert(Slot* slot) {
  const int32_t priority = slot->header.priority;
  Slot* before = last_taken_;
  if (before->header.priority < priority) {  // else it comes last
    before = nullptr;
    for (Slot* each = first(); each->header.priority >= priority; each = each->next) before = each;
  }
  slot->next = before ? before->next : first();
  if (before) {
    before->next = slot;
  } else {
    taken_.store(slot, std::memory_order_seq_cst);
  }
  if (!slot->next) last_taken_ = slot;
}

bool ReadyList::contains(const Slot* slot) const {
  const Slot* each = first();
  while (each && each != slot) each = each->next;
  return each != nullptr;
}

void ReadyList::remove(Slot* slot) {
  Slot* before = nullptr;
  for (Slot* each = first(); each != slot; each = each->next) before = each;
  if (last_taken_ == slot) last_taken_ = before;
  if (before) {
    before->next = slot->next;
  } else {
    taken_.store(slot->next, std::memory_order_seq_cst);
  }
}

void ReadyList::put_back(Slot* slot) {
  slot->next = first();
  if (!slot->next) last_taken_ = slot;
  taken_.store(slot, std::memory_order_seq_cst);
}

}  // namespace ofl::vm
