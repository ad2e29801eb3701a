#include "vm/window.h"

#include <algorithm>

#include "vm/links/milestone.h"
#include "vm/stream.h"

namespace ofl::vm {

namespace {

constexpr int kPruneReads = 8;
constexpr Seq kPrefetchAhead = 3;

/// Appends `seq` unless it is among the first `others` (the list of one object has no doubles).
void add_unique(Seqs* list, int others, Seq seq) {
  for (int i = 0; i < others; ++i) {
    if ((*list)[i] == seq) return;
  }
  list->push_back(seq);
}

}  // namespace

Window::Window(size_t slots) {
  size_t size = 64;
  while (size < slots) size *= 2;
  slots_ = std::make_unique<Slot[]>(size);
  mask_ = size - 1;
}

// A worker wrote to the slots last: the next ones are fetched from its cache ahead of their use.
Slot* Window::claim() {
  const Seq before = last_seq_;
  slots_[(before + kPrefetchAhead) & mask_].prefetch();
  for (size_t tries = 0; tries <= mask_; ++tries) {
    Slot* slot = &slots_[++last_seq_ & mask_];
    // acquire: the last owner's retirement happened before this reuse.
    if (slot->seq.load(std::memory_order_acquire) != 0) continue;
    slot->edge_count = 0;
    slot->waits_for = 0;
    slot->operands.clear();
    slot->starved.store(false, std::memory_order_relaxed);
    slot->stalled.store(0, std::memory_order_relaxed);
    for (auto& list : slot->successors) list.store(nullptr, std::memory_order_relaxed);
    slot->pending.store(1, std::memory_order_relaxed);
    slot->state.store(SlotState::waiting, std::memory_order_relaxed);
    return slot;
  }
  last_seq_ = before;
  return nullptr;
}

bool Window::ready(const Operand* operands, int count) const {
  for (int i = 0; i < count; ++i) {
    const Dependence& object = operands[i].object->joint();
    if (in_flight(object.last_write_)) return false;
    if (object.poisoned_.load(std::memory_order_acquire)) return false;
    if (operands[i].access == Access::read) continue;
    for (Seq read : object.reads_) {
      if (in_flight(read)) return false;
    }
  }
  return true;
}

// A write lists the last write as well as the reads since. A read that was skipped because of a
// failed input has not waited for that write, so waiting for the read alone is not enough.
void Window::predecessors(const Operand* operands, int count, Seqs* out) const {
  for (int i = 0; i < count; ++i) {
    const Dependence& object = operands[i].object->joint();
    const int others = out->size();
    if (in_flight(object.last_write_)) add_unique(out, others, object.last_write_);
    if (operands[i].access == Access::read) continue;
    for (Seq read : object.reads_) {
      if (in_flight(read)) add_unique(out, others, read);
    }
  }
}

// Lists of reads grow by doubling. Edges must not move once one of them is published.
void Window::make_room(Slot* slot, const Seqs& predecessors) {
  const int more = predecessors.size() - 3;
  if (more > static_cast<int>(slot->more_edges.size())) slot->more_edges.resize(more);
  for (const Operand& operand : slot->operands) {
    if (operand.access != Access::read) continue;
    auto& reads = operand.object->reads_;
    const int size = reads.size();
    reads.reserve((size & (size - 1)) == 0 ? 2 * size : size + 1);
  }
}

void Window::record(const Slot& slot, Seq seq, bool at_once) noexcept {
  // Writes last: an object that is both read and written ends as written.
  for (const Operand& operand : slot.operands) {
    if (operand.access == Access::read) add_read(operand.object, seq, at_once);
  }
  for (const Operand& operand : slot.operands) {
    if (operand.access == Access::read) continue;
    operand.object->last_write_ = seq;
    operand.object->reads_.clear();
  }
}

Seqs Window::all_in_flight(const DeviceState* on) const {
  Seqs found;
  for (size_t i = 0; i <= mask_; ++i) {
    const Seq seq = slots_[i].seq.load(std::memory_order_acquire) & ~kWaited;
    if (seq && (!on || &slots_[i].header.stream->state() == on)) found.push_back(seq);
  }
  return found;
}

bool Window::is_full() const {
  size_t taken = 0;
  while (taken <= mask_ && slots_[taken].seq.load(std::memory_order_acquire) != 0) ++taken;
  return taken > mask_;
}

bool Window::in_use(const Dependence& object) const {
  const auto taken = [this](Seq seq) { return in_flight(seq); };
  return taken(object.last_write_) ||
         std::any_of(object.reads_.begin(), object.reads_.end(), taken);
}

bool Window::join(Dependence& object, Dependence& to) {
  Dependence &from = object.joint(), &joint = to.joint();
  if (&from == &joint) return true;
  if (in_use(from)) {
    if (in_use(joint)) return false;
    joint.last_write_ = from.last_write_;
    joint.reads_ = from.reads_;
  }
  from.join(joint);
  return true;
}

// Keeps the list short: finished reads leave, and so do reads that are already dispatched to the
// in-order queue of this one. It is dispatched later, so reaching it implies having reached them.
// That holds for what runs in turn only: a naive instruction runs before those that are dispatched
// and not launched.
void Window::add_read(Dependence* object, Seq seq, bool at_once) {
  auto& reads = object->reads_;
  if (!reads.empty() && reads.back() == seq) return;
  const int size = reads.size();
  if (size >= kPruneReads && (size & (size - 1)) == 0) {
    const Stream* stream = slot_of(seq).header.stream;
    const bool in_turn = stream->in_order() && !at_once;
    int kept = 0;
    for (Seq read : reads) {
      if (!in_flight(read)) continue;
      if (in_turn && slot_of(read).header.stream == stream &&
          slot_of(read).reached(Milestone::dispatched)) {
        continue;
      }
      reads[kept++] = read;
    }
    reads.resize(kept);
  }
  reads.push_back(seq);
}

// Proof of linking without a lock on the predecessor P. P's slot cannot get a new owner meanwhile,
// because slots are claimed under the issue mutex, which we hold. So a list of P that is open
// belongs to P. If our compare-exchange comes before P's closing exchange in the list's
// modification order, P's finisher finds our edge and releases it. If it comes after, it fails: P
// has reached the milestone and (acquire against the closing release) all it wrote is visible.
void Window::link(Slot* slot, const Seqs& predecessors) noexcept {
  for (Seq seq : predecessors) {
    Slot& predecessor = slot_of(seq);
    Edge& edge = slot->edge(slot->edge_count);
    edge.successor = slot;
    edge.predecessor = seq;
    edge.predecessor_slot = &predecessor;
    edge.predecessor_stream = predecessor.header.stream;
    edge.milestone = required_milestone(predecessor, *slot);
    auto& list = predecessor.successors[static_cast<int>(edge.milestone)];
    Edge* head = list.load(std::memory_order_acquire);
    bool linked = false;
    if (head != &closed_edge) {
      slot->pending.fetch_add(1, std::memory_order_relaxed);
      do {
        edge.next = head;
        linked = list.compare_exchange_weak(head, &edge, std::memory_order_acq_rel,
                                            std::memory_order_acquire);
      } while (!linked && head != &closed_edge);
      if (!linked) slot->pending.fetch_sub(1, std::memory_order_relaxed);
    }
    if (!linked && edge.milestone == Milestone::launched) edge.position = predecessor.position;
    // A reached milestone still needs its edge where the queue must wait or retirement is ordered.
    if (linked || edge.milestone == Milestone::launched) ++slot->edge_count;
  }
}

}  // namespace ofl::vm
