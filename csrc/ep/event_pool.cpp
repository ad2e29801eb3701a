#include "ep/event_pool.h"

namespace ofl::ep {

EventLease EventPool::lease() {
  std::unique_ptr<Event> event;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) {
      event = std::move(free_.back());
      free_.pop_back();
      ++leased_;
    }
  }
  if (!event) {
    event = device_.create_event();  // may be slow: not under the mutex
    std::lock_guard<std::mutex> lock(mutex_);
    free_.reserve(created_ + 1);  // so that a return never allocates
    ++created_;
    ++leased_;
  }
  return EventLease(event.release(), [this](Event* returned) { give_back(returned); });
}

void EventPool::give_back(Event* event) {
  std::lock_guard<std::mutex> lock(mutex_);
  free_.emplace_back(event);
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
