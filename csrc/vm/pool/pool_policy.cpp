#include "vm/pool/pool_policy.h"

#include <algorithm>
#include <limits>
#include <thread>

#include "vm/board/running_scope.h"

namespace ofl::vm {

namespace {

constexpr double kAnyCost = std::numeric_limits<double>::infinity();

}  // namespace

bool PoolPolicy::run_next(const Turn&) {
  if (!pool().enter()) return false;
  Baton baton(stream_.baton());
  void (*rest)() = nullptr;
  bool progress = false;
  while (Slot* slot = stream_.take_next(kAnyCost)) {
    progress = true;
    if (slot->header.type->rest) rest = slot->header.type->rest;
    run_taken(slot, baton, true);
    if (pool().steps_back()) break;
  }
  baton.unlock();
  if (rest) rest();
  return progress;
}

void PoolPolicy::run(Slot* slot) {
  Baton baton(stream_.baton());
  run_taken(slot, baton, false);
  baton.unlock();
  if (stream_.has_ready()) pool().wake();
}

void PoolPolicy::run_ready_here() {
  Baton baton(stream_.baton());
  while (Slot* slot = stream_.take_next(kAnyCost)) run_taken(slot, baton, false);
}

// With the baton nobody else takes it. It is marked as ready a moment before it is in the list.
bool PoolPolicy::run_if_ready(Slot* slot, Seq seq) {
  Baton baton(stream_.baton());
  if (!slot->holds(seq) || slot->state.load(std::memory_order_acquire) != SlotState::ready) {
    return false;
  }
  ReadyList& ready = stream_.ready();
  for (ready.pull(); !ready.contains(slot); ready.pull()) std::this_thread::yield();
  slot->state.store(SlotState::running, std::memory_order_seq_cst);
  ready.remove(slot);
  run_taken(slot, baton, false);
  baton.unlock();
  if (stream_.has_ready()) pool().wake();
  return true;
}

/// With the baton, before and after. A thread that forks has the baton, waits for running slots,
/// and leaves those alone that are in their call. So the slot is in its call where it waits for the
/// baton, and where its body says so. It is out of it again only with the baton.
void PoolPolicy::run_taken(Slot* slot, Baton& baton, bool in_pool) {
  baton.unlock();
  if (in_pool) pool().took();
  Observer* observer = stream_.board().observer();
  const int64_t begin = now_ns();
  FailurePtr failure = slot->failure ? slot->failure : slot->given_failure();
  const bool may_serve = stream_.type() == StreamType::blocking && !slot->header.holds_memory;
  if (may_serve) slot->stalled.store(kServes, std::memory_order_seq_cst);
  if (!failure) {
    RunningScope running(*slot);
    LaunchContext context{stream_.queue(), stream_, *slot};
    failure = attempt(slot, [&] { slot->header.type->launch(slot->body, context); });
  }
  if (may_serve) slot->stalled.store(0, std::memory_order_seq_cst);
  const int64_t end = now_ns();
  if (in_pool) pool().note_duration(end - begin);
  if (observer) {
    const bool in_order = info(stream_.type()).threads == Threads::one;
    observer->ran(slot->header, slot->name(), slot->describe(), in_order, begin, end);
  }
  slot->state.store(SlotState::calling, std::memory_order_release);
  baton.lock();
  slot->state.store(SlotState::running, std::memory_order_release);
  end_call(slot, failure);
}

/// With the baton: retires a function that has returned, unless it completes later.
void PoolPolicy::end_call(Slot* slot, FailurePtr failure) {
  const auto pending_of = slot->header.type->pending;
  const std::shared_ptr<Pending> pending = pending_of ? pending_of(slot->body) : nullptr;
  if (pending) {
    if (failure) {
      pending->complete(std::nullopt);  // later ones are told
    } else {
      const auto note = [&] {
        slot->state.store(SlotState::pending, std::memory_order_release);
        note_pending(pending);
      };
      const auto retire = [this, slot](const std::optional<Error>& error) {
        complete(slot, error);
      };
      if (!pending->returned(retire, note)) return stream_.board().note_pending();
      if (pending->error()) failure = make_failure(slot, *pending->error());
    }
  }
  stream_.retire(slot, failure);
}

/// By the thread that completes a function which has returned.
void PoolPolicy::complete(Slot* slot, const std::optional<Error>& error) {
  const Pool::Visit visit(pool());
  {
    Baton baton(stream_.baton());
    slot->state.store(SlotState::running, std::memory_order_release);
    FailurePtr failure = slot->failure;
    if (!failure && error) failure = make_failure(slot, *error);
    stream_.retire(slot, failure);
  }
  if (stream_.has_ready()) pool().wake();
}

/// Forgets those that have completed whenever there are twice as many.
void PoolPolicy::note_pending(const std::shared_ptr<Pending>& pending) {
  if (pending_.size() >= 16 && (pending_.size() & (pending_.size() - 1)) == 0) {
    const auto is_gone = [](const std::weak_ptr<Pending>& each) { return each.expired(); };
    pending_.erase(std::remove_if(pending_.begin(), pending_.end(), is_gone), pending_.end());
  }
  pending_.push_back(pending);
}

void PoolPolicy::abandon_pending(const Error& error) {
  std::vector<std::weak_ptr<Pending>> left;
  {
    Baton baton(stream_.baton());
    left.swap(pending_);
  }
  for (const std::weak_ptr<Pending>& each : left) {
    if (const std::shared_ptr<Pending> pending = each.lock()) pending->complete(error);
  }
}

void PoolPolicy::end_lost(Slot* slot) {
  Baton baton(stream_.baton());
  stream_.retire(slot, slot->failure);
}

}  // namespace ofl::vm
