#include "vm/queue/queue_positions.h"

#include <algorithm>

namespace ofl::vm {

namespace {
constexpr uint64_t kLaunchesPerEvent = 32;
}

uint64_t QueuePositions::launched() {
  std::lock_guard<std::mutex> lock(mutex_);
  return ++position_;
}

void QueuePositions::record(bool now) {
  std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t uncovered = position_ - covered_locked();
  if (uncovered >= (now ? 1 : kLaunchesPerEvent)) record_locked();
}

// Without an event the host waits instead, so that positions stay true. The error still reaches the
// thread that asked for the event.
void QueuePositions::record_locked() {
  try {
    ep::EventLease event = device_.events().lease();
    queue_.record(*event);
    recorded_.push_back(Recorded{position_, std::move(event), clock_});
    ++counters_.events;
  } catch (const Error&) {
    queue_.sync();
    completed_ = position_;
    recorded_.clear();
    throw;
  }
}

// The clock is raised after the wait is in the queue. A record that another thread makes in between
// carries the lower value, which costs a superfluous wait and never misses one.
bool QueuePositions::wait_for(QueuePositions& other, int other_id, uint64_t position) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (static_cast<int>(clock_.size()) > other_id && clock_[other_id] >= position) {
      ++counters_.waits_elided;
      return false;
    }
  }
  std::optional<Recorded> recorded = other.recorded_after(position);
  const bool waits = recorded.has_value();
  if (waits) {
    queue_.wait(*recorded->event);
  } else {
    recorded = Recorded{position, nullptr, {}};
  }
  std::lock_guard<std::mutex> lock(mutex_);
  ++(waits ? counters_.waits : counters_.waits_elided);
  recorded->clock.resize(std::max<size_t>(recorded->clock.size(), other_id + 1));
  recorded->clock[other_id] = std::max(recorded->clock[other_id], recorded->position);
  clock_.resize(std::max(clock_.size(), recorded->clock.size()));
  for (size_t i = 0; i < recorded->clock.size(); ++i) {
    clock_[i] = std::max(clock_[i], recorded->clock[i]);
  }
  return waits;
}

std::optional<QueuePositions::Recorded> QueuePositions::recorded_after(uint64_t position) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (completed_ >= position) return std::nullopt;
  for (const Recorded& recorded : recorded_) {
    if (recorded.position >= position) return recorded;
  }
  record_locked();
  return recorded_.back();
}

ep::EventLease QueuePositions::event_after(uint64_t position) noexcept {
  try {
    std::optional<Recorded> recorded = recorded_after(position);
    return recorded ? recorded->event : nullptr;
  } catch (const Error&) {
    return nullptr;  // record_locked() has waited for the whole queue
  }
}

void QueuePositions::look_locked() {
  while (!recorded_.empty() && recorded_.front().event->done()) {
    completed_ = recorded_.front().position;
    recorded_.pop_front();
  }
}

bool QueuePositions::reached(uint64_t position, bool look) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (look && completed_ < position) look_locked();
  return completed_ >= position;
}

uint64_t QueuePositions::completed() {
  std::lock_guard<std::mutex> lock(mutex_);
  look_locked();
  return completed_;
}

ep::EventLease QueuePositions::last_event() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return recorded_.empty() ? nullptr : recorded_.back().event;
}

size_t QueuePositions::unfinished() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return recorded_.size() + (covered_locked() < position_);
}

QueuePositions::Counters QueuePositions::counters() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return counters_;
}

}  // namespace ofl::vm
