#include "vm/stream_policy.h"

#include <algorithm>

#include "vm/stream.h"
#include "vm/virtual_machine.h"

namespace ofl::vm {

namespace {

constexpr uint64_t kLaunchesPerEvent = 32;

Description describe(Slot* slot) {
  Description description;
  slot->header.type->describe(slot->body, &description);
  description.group = slot->group;
  description.saved_bytes = slot->saved_bytes;
  return description;
}

}  // namespace

FailurePtr operand_failure(const Slot* slot) {
  FailurePtr earliest;
  if (!Dependence::any_poisoned()) return earliest;
  for (const Operand& operand : slot->operands) {
    FailurePtr failure = operand.object->failure(slot->name());
    if (failure && (!earliest || failure->seq < earliest->seq)) earliest = failure;
  }
  return earliest;
}

FailurePtr make_failure(const Slot* slot, ErrorKind kind, const char* message,
                        std::shared_ptr<void> payload) {
  return std::make_shared<const Failure>(
      Failure{kind, message, slot->header.name, slot->header.site, slot->name(),
              slot->header.stream->device().id(), std::move(payload)});
}

void HostPolicy::run(Slot* slot) {
  Observer* observer = stream_.machine().observer();
  const int64_t begin = observer ? now_ns() : 0;
  FailurePtr failure = slot->failure ? slot->failure : operand_failure(slot);
  if (!failure) {
    RunningScope running(slot->name(), stream_);
    LaunchContext context{stream_.queue(), stream_, *slot};
    failure = attempt(slot, [&] { slot->header.type->launch(slot->body, context); });
  }
  if (observer) {
    observer->ran(slot->header, slot->name(), describe(slot), true, begin, now_ns());
  }
  stream_.retire(slot, failure);
}

QueuePolicy::QueuePolicy(Stream& stream) : stream_(stream) {}

void QueuePolicy::run(Slot* slot) {
  slot->failure = operand_failure(slot);
  if (!slot->failure) slot->failure = attempt(slot, [&] { launch(slot); });
  // Before any successor is released: it must not touch what was never made.
  if (slot->failure) poison_results(slot, slot->failure);
  FailurePtr record_failure;
  {
    std::unique_lock<std::mutex> lock(queue_mutex_);
    slot->position = ++position_;
    const bool wanted =
        slot->successors[static_cast<int>(Milestone::launched)].load(std::memory_order_relaxed);
    if (wanted || info(stream_.type()).record_each ||
        position_ - (recorded_.empty() ? completed_ : recorded_.back().position) >=
            kLaunchesPerEvent) {
      record_failure = attempt(slot, [&] { record(lock); });
    }
  }
  if (!slot->failure) slot->failure = record_failure;
  launched_.push_back(slot);
  stream_.launched(slot);
}

void QueuePolicy::begin_observed(Slot* slot) {
  if (!stream_.machine().observer()) return;
  slot->started = stream_.device().events().lease(ep::EventKind::timed);
  slot->ended = stream_.device().events().lease(ep::EventKind::timed);
  stream_.queue().record(*slot->started);
}

void QueuePolicy::launch(Slot* slot) {
  wait_for_predecessors(slot);
  begin_observed(slot);
  LaunchContext context{stream_.queue(), stream_, *slot};
  slot->header.type->launch(slot->body, context);
  if (slot->ended) stream_.queue().record(*slot->ended);
}

bool QueuePolicy::run_group(const std::vector<Slot*>& members, Group& group) {
  Slot* const first = members.front();
  bool launched = true;
  const FailurePtr failure = attempt(first, [&] {
    for (Slot* member : members) wait_for_predecessors(member);
    begin_observed(first);
    LaunchContext context{stream_.queue(), stream_, *first};
    launched = group.launch(context);
    if (first->ended) stream_.queue().record(*first->ended);
  });
  if (!launched) return false;
  FailurePtr record_failure;
  {
    std::unique_lock<std::mutex> lock(queue_mutex_);
    for (Slot* member : members) member->position = ++position_;
    record_failure = attempt(first, [&] { record(lock); });
  }
  for (Slot* member : members) {
    member->group = first->name();
    member->started = first->started;
    member->ended = first->ended;
    member->failure = failure ? failure : record_failure;
    if (failure) poison_results(member, failure);
    launched_.push_back(member);
  }
  first->saved_bytes = static_cast<uint64_t>(group.savings().bytes);
  for (Slot* member : members) stream_.launched(member);
  return true;
}

size_t QueuePolicy::unfinished() const {
  std::lock_guard<std::mutex> lock(queue_mutex_);
  const uint64_t covered = recorded_.empty() ? completed_ : recorded_.back().position;
  return recorded_.size() + (covered < position_);
}

void QueuePolicy::wait_for_predecessors(Slot* slot) {
  for (int i = 0; i < slot->edge_count; ++i) {
    if (slot->edge(i).milestone == Milestone::launched) wait_for(slot->edge(i), slot);
  }
}

// The clock is raised after the wait is in the queue: a record that another thread makes in between
// carries the lower value, which costs a superfluous wait and never misses one.
void QueuePolicy::wait_for(const Edge& edge, Slot* slot) {
  const int other = edge.predecessor_stream->id();
  {
    std::lock_guard<std::mutex> lock(queue_mutex_);
    if (static_cast<int>(clock_.size()) > other && clock_[other] >= edge.position) {
      ++counters_.waits_elided;
      return;
    }
  }
  auto& policy = static_cast<QueuePolicy&>(edge.predecessor_stream->policy());
  std::optional<Recorded> recorded = policy.recorded_after(edge.position);
  if (recorded) {
    stream_.queue().wait(*recorded->event);
    if (Observer* observer = stream_.machine().observer()) {
      observer->waited(stream_, slot->name(), *edge.predecessor_stream, edge.predecessor);
    }
  } else {
    recorded = Recorded{edge.position, nullptr, {}};
  }
  std::lock_guard<std::mutex> lock(queue_mutex_);
  ++(recorded->event ? counters_.waits : counters_.waits_elided);
  recorded->clock.resize(std::max<size_t>(recorded->clock.size(), other + 1));
  recorded->clock[other] = std::max(recorded->clock[other], recorded->position);
  clock_.resize(std::max(clock_.size(), recorded->clock.size()));
  for (size_t i = 0; i < recorded->clock.size(); ++i) {
    clock_[i] = std::max(clock_[i], recorded->clock[i]);
  }
}

ep::Stream& QueuePolicy::queue() { return stream_.queue(); }

bool QueuePolicy::reached(uint64_t position, bool look) {
  std::lock_guard<std::mutex> lock(queue_mutex_);
  if (look && completed_ < position) note_completed();
  return completed_ >= position;
}

/// With the queue's mutex.
void QueuePolicy::note_completed() {
  while (!recorded_.empty() && recorded_.front().event->done()) {
    completed_ = recorded_.front().position;
    recorded_.pop_front();
  }
}

ep::EventLease QueuePolicy::event_after(uint64_t position) noexcept {
  try {
    std::optional<Recorded> recorded = recorded_after(position);
    return recorded ? recorded->event : nullptr;
  } catch (const Error&) {
    return nullptr;  // record() has waited for the whole queue
  }
}

std::optional<QueuePolicy::Recorded> QueuePolicy::recorded_after(uint64_t position) {
  std::unique_lock<std::mutex> lock(queue_mutex_);
  if (completed_ >= position) return std::nullopt;
  for (const Recorded& recorded : recorded_) {
    if (recorded.position >= position) return recorded;
  }
  record(lock);
  return recorded_.back();
}

// When the event cannot be had, the host waits instead, so that positions stay true; the error
// still reaches whoever asked.
void QueuePolicy::record(const std::unique_lock<std::mutex>&) {
  try {
    ep::EventLease event = stream_.device().events().lease();
    stream_.queue().record(*event);
    recorded_.push_back(Recorded{position_, std::move(event), clock_});
    ++counters_.events;
  } catch (const Error&) {
    stream_.queue().sync();
    completed_ = position_;
    recorded_.clear();
    throw;
  }
}

/// An event behind the last launch, unless there is one.
void QueuePolicy::close_queue(std::unique_lock<std::mutex>& lock) {
  const uint64_t covered = recorded_.empty() ? completed_ : recorded_.back().position;
  if (covered == position_) return;
  Slot* last = launched_.back();
  FailurePtr failure = attempt(last, [&] { record(lock); });
  if (failure && !last->failure) last->failure = failure;
}

bool QueuePolicy::poll(bool close) {
  if (launched_.empty()) return false;
  uint64_t completed;
  {
    std::unique_lock<std::mutex> lock(queue_mutex_);
    if (close) close_queue(lock);
    note_completed();
    completed = completed_;
  }
  if (launched_.front()->position > completed) return false;
  if (std::optional<Error> error = stream_.queue().async_error()) {
    for (Slot* slot : launched_) {
      if (!slot->failure) {
        slot->failure = make_failure(slot, error->kind(), error->what(), error->payload());
      }
    }
  }
  bool progress = false;
  while (!launched_.empty() && launched_.front()->position <= completed && retire_front()) {
    progress = true;
  }
  return progress;
}

/// False while a predecessor on another stream is done on the device but its worker has not yet
/// said whether it failed: its failure must be known before ours is decided.
bool QueuePolicy::retire_front() {
  Slot* slot = launched_.front();
  for (int i = 0; i < slot->edge_count; ++i) {
    const Edge& edge = slot->edge(i);
    if (edge.milestone == Milestone::launched &&
        stream_.machine().window().in_flight(edge.predecessor)) {
      return false;
    }
  }
  launched_.pop_front();
  FailurePtr failure = outcome(slot);
  Observer* observer = stream_.machine().observer();
  if (observer && slot->ended && !slot->failure) {
    observer->ran(slot->header, slot->name(), describe(slot), true, slot->started->reached_at_ns(),
                  slot->ended->reached_at_ns());
  }
  stream_.retire(slot, failure);
  return true;
}

FailurePtr QueuePolicy::outcome(Slot* slot) {
  FailurePtr own = slot->failure;
  if (!own && !slot->async_error && slot->header.type->failure) {
    slot->async_error = slot->header.type->failure(slot->body);
  }
  if (!own && slot->async_error) {
    const Error& error = *slot->async_error;
    own = make_failure(slot, error.kind(), error.what(), error.payload());
  }
  const FailurePtr operand = operand_failure(slot);
  return operand && (!own || operand->seq < own->seq) ? operand : own;
}

void QueuePolicy::drain() {
  while (!launched_.empty()) {
    if (poll(true)) continue;
    ep::EventLease last;
    {
      std::lock_guard<std::mutex> lock(queue_mutex_);
      if (!recorded_.empty()) last = recorded_.back().event;
    }
    // Without an event, the front waits for another stream's worker, which needs nothing from us.
    if (last && !last->done()) {
      last->sync();
    } else {
      std::this_thread::yield();
    }
  }
}

StreamPolicy::Counters QueuePolicy::counters() const {
  std::lock_guard<std::mutex> lock(queue_mutex_);
  return counters_;
}

}  // namespace ofl::vm
