#include "ep/event_pool.h"

namespace ofl::ep {

EventLease EventPool::lease(EventKind kind) {
  auto& free = free_[static_cast<int>(kind)];
  std::unique_ptr<Event> event;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!free.empty()) {
      event = std::move(free.back());
      free.pop_back();
      ++leased_;
    }
  }
  if (!event) {
    event = device_.create_event(kind);  // may be slow: not under the mutex
    std::lock_guard<std::mutex> lock(mutex_);
    free.reserve(created_ + 1);  // so that a return never allocates
    ++created_;
    ++leased_;
  }
  return EventLease(event.release(), [this, kind](Event* returned) { give_back(returned, kind); });
}

void EventPool::give_back(Event* event, EventKind kind) {
  std::lock_guard<std::mutex> lock(mutex_);
  free_[static_cast<int>(kind)].emplace_back(event);
  --leased_;
}

size_t EventPool::created() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return created_;
}

size_t EventPool::leased() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return leased_;
}

}  // namespace ofl::ep
