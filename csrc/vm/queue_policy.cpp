#include "vm/queue_policy.h"

#include <thread>

namespace ofl::vm {

bool QueuePolicy::run_next(const Turn& turn) {
  if (open_) return run_open(turn.lingers);
  Slot* slot = stream_.take_next(turn.max_cost);
  if (!slot) return false;
  if (std::unique_ptr<Group> group = grouping_.begin(slot)) {
    open_ = std::make_unique<OpenGroup>(stream_, grouping_, std::move(group), slot);
    return run_open(turn.lingers);
  }
  run(slot);
  return true;
}

/// True when the open group is launched; without lingering, it is.
bool QueuePolicy::run_open(bool lingers) {
  open_->collect();
  if (lingers && !open_->is_due(positions_.unfinished())) return false;
  const std::unique_ptr<OpenGroup> open = std::move(open_);
  open->close();
  const std::vector<Slot*>& members = open->members();
  if (open->is_group() && launch(members.data(), members.size(), &open->group())) {
    grouping_.count(members.size(), open->group().savings());
  } else {
    for (Slot* member : members) run(member);
  }
  return true;
}

void QueuePolicy::run(Slot* slot) {
  slot->stalled.store(0, std::memory_order_relaxed);  // of a group that was taken apart
  launch(&slot, 1, nullptr);
}

/// Launches one slot, or several as one group; false: they cannot run as one, and nothing happened.
bool QueuePolicy::launch(Slot* const* slots, size_t count, Group* group) {
  Slot* const first = slots[0];
  Slot* const* const end = slots + count;
  bool launched = true;
  FailurePtr failure = group || first->failure ? first->failure : first->given_failure();
  if (!failure) {
    failure = attempt(first, [&] {
      for (Slot* const* slot = slots; slot != end; ++slot) wait_for_predecessors(*slot);
      begin_observed(first);
      LaunchContext context{stream_.queue(), stream_, *first};
      if (group) {
        launched = group->launch(context);
      } else {
        first->header.type->launch(first->body, context);
      }
      if (first->ended) stream_.queue().record(*first->ended);
    });
  }
  if (launched) end_launch(slots, count, group, failure);
  return launched;
}

/// Launched, or failed at it: their successors may follow.
void QueuePolicy::end_launch(Slot* const* slots, size_t count, const Group* group,
                             FailurePtr failure) {
  Slot* const first = slots[0];
  Slot* const* const end = slots + count;
  for (Slot* const* slot = slots; slot != end; ++slot) (*slot)->position = positions_.launched();
  const bool wanted = group || info(stream_.type()).record_each || first->is_followed();
  const FailurePtr unrecorded = attempt(first, [&] { positions_.record(wanted); });
  if (group) first->saved_bytes = static_cast<uint64_t>(group->savings().bytes);
  for (Slot* const* slot = slots; slot != end; ++slot) {
    (*slot)->stalled.store(0, std::memory_order_relaxed);
    if (group) (*slot)->group = first->name();
    (*slot)->started = first->started;
    (*slot)->ended = first->ended;
    (*slot)->failure = failure ? failure : unrecorded;
    // Before any successor is released: it must not touch an object that was never made.
    if (failure) (*slot)->poison_results(failure);
    launched_.push_back(*slot);
  }
  for (Slot* const* slot = slots; slot != end; ++slot) stream_.launched(*slot);
}

// The thread that had stopped for it is gone, and others may be ready behind it.
void QueuePolicy::end_lost(Slot* slot) {
  {
    std::lock_guard<std::mutex> baton(stream_.baton());
    end_launch(&slot, 1, nullptr, slot->failure);
  }
  stream_.runner().wake();
}

void QueuePolicy::begin_observed(Slot* slot) {
  if (!stream_.board().observer()) return;
  slot->started = stream_.device().events().lease(ep::EventKind::timed);
  slot->ended = stream_.device().events().lease(ep::EventKind::timed);
  stream_.queue().record(*slot->started);
}

void QueuePolicy::wait_for_predecessors(Slot* slot) {
  for (int i = 0; i < slot->edge_count; ++i) {
    const Edge& edge = slot->edge(i);
    if (edge.milestone != Milestone::launched) continue;
    Stream& other = *edge.predecessor_stream;
    auto& policy = static_cast<QueuePolicy&>(other.policy());
    Observer* observer = stream_.board().observer();
    if (positions_.wait_for(policy.positions_, other.id(), edge.position) && observer) {
      observer->waited(stream_, slot->name(), other, edge.predecessor);
    }
  }
}

bool QueuePolicy::poll(bool close) {
  if (launched_.empty()) return false;
  Slot* const last = launched_.back();
  const FailurePtr failure = close ? attempt(last, [&] { positions_.record(true); }) : nullptr;
  if (failure && !last->failure) last->failure = failure;
  const uint64_t completed = positions_.completed();
  if (launched_.front()->position > completed) return false;
  if (const std::optional<Error> error = stream_.queue().async_error()) {
    for (Slot* slot : launched_) {
      if (!slot->failure) slot->failure = make_failure(slot, *error);
    }
  }
  bool progress = false;
  while (!launched_.empty() && launched_.front()->position <= completed && retire_front()) {
    progress = true;
  }
  return progress;
}

/// False while the worker of another stream has yet to retire a predecessor that is done on the
/// device: whether that one failed must be known before this slot's fate is decided.
bool QueuePolicy::retire_front() {
  Slot* slot = launched_.front();
  for (int i = 0; i < slot->edge_count; ++i) {
    const Edge& edge = slot->edge(i);
    if (edge.milestone == Milestone::launched && edge.predecessor_slot->holds(edge.predecessor)) {
      return false;
    }
  }
  launched_.pop_front();
  FailurePtr failure = outcome(slot);
  Observer* observer = stream_.board().observer();
  if (observer && slot->ended && !slot->failure) {
    observer->ran(slot->header, slot->name(), slot->describe(), true,
                  slot->started->reached_at_ns(), slot->ended->reached_at_ns());
  }
  stream_.retire(slot, failure);
  return true;
}

FailurePtr QueuePolicy::outcome(Slot* slot) {
  FailurePtr own = slot->failure;
  const auto settle = slot->header.type->settle;
  if (settle && !own) settle(slot->body, *slot);
  if (settle) return own;
  if (!own && !slot->async_error && slot->header.type->failure) {
    slot->async_error = slot->header.type->failure(slot->body);
  }
  if (!own && slot->async_error) own = make_failure(slot, *slot->async_error);
  const FailurePtr operand = slot->operand_failure();
  return operand && (!own || issued_before(*operand, *own)) ? operand : own;
}

void QueuePolicy::drain() {
  while (!launched_.empty()) {
    if (poll(true)) continue;
    const ep::EventLease last = positions_.last_event();
    // Without an event, the front waits for another stream's worker, which needs nothing from us.
    if (last && !last->done()) {
      last->sync();
    } else {
      std::this_thread::yield();
    }
  }
}

StreamPolicy::Counters QueuePolicy::counters() const {
  Counters counters = grouping_.counters();
  const QueuePositions::Counters own = positions_.counters();
  counters.waits = own.waits;
  counters.waits_elided = own.waits_elided;
  counters.events = own.events;
  return counters;
}

}  // namespace ofl::vm
