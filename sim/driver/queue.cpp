#include "driver/queue.h"

#include <sys/prctl.h>

#include <thread>
#include <utility>

#include "driver/config.h"
#include "driver/race_view.h"

namespace simcuda {

void Point::reach() {
  order_before(this);
  const HiddenFromRaceDetector hidden;
  {
    std::lock_guard lock(mutex_);
    is_reached_ = true;
    reached_at_ = Clock::now();
  }
  changed_.notify_all();
}

void Point::wait() {
  {
    const HiddenFromRaceDetector hidden;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_reached_; });
  }
  order_after(this);
}

bool Point::is_reached() {
  bool reached = false;
  {
    const HiddenFromRaceDetector hidden;
    std::lock_guard lock(mutex_);
    reached = is_reached_;
  }
  if (reached) order_after(this);
  return reached;
}

Clock::time_point Point::reached_at() {
  const HiddenFromRaceDetector hidden;
  std::lock_guard lock(mutex_);
  return reached_at_;
}

void Queue::start() {
  std::thread([self = shared_from_this()] { self->work(); }).detach();
}

void Queue::finish() {
  const HiddenFromRaceDetector hidden;
  std::lock_guard lock(mutex_);
  is_finishing_ = true;
  pushed_.notify_one();
}

void Queue::push(std::function<void()> operation) {
  auto shared = std::make_shared<std::function<void()>>(std::move(operation));
  order_before(shared.get());
  const HiddenFromRaceDetector hidden;
  std::unique_lock lock(mutex_);
  completed_.wait(lock, [this] {
    return pushed_count_ - completed_count_ < static_cast<uint64_t>(config().queue);
  });
  waiting_.push_back(std::move(shared));
  ++pushed_count_;
  pushed_.notify_one();
}

bool Queue::push_behind_work(const std::function<void()>& operation) {
  auto shared = std::make_shared<std::function<void()>>(operation);
  order_before(shared.get());
  const HiddenFromRaceDetector hidden;
  std::lock_guard lock(mutex_);
  if (completed_count_ == pushed_count_) return false;
  waiting_.push_back(std::move(shared));
  ++pushed_count_;
  pushed_.notify_one();
  return true;
}

void Queue::synchronize() {
  {
    const HiddenFromRaceDetector hidden;
    std::unique_lock lock(mutex_);
    const uint64_t target = pushed_count_;
    completed_.wait(lock, [&] { return completed_count_ >= target; });
  }
  order_after(this);
}

bool Queue::is_idle() {
  bool idle = false;
  {
    const HiddenFromRaceDetector hidden;
    std::lock_guard lock(mutex_);
    idle = completed_count_ == pushed_count_;
  }
  if (idle) order_after(this);
  return idle;
}

void Queue::work() {
  // Otherwise the shortest sleep is 50 us longer than it is meant to be.
  prctl(PR_SET_TIMERSLACK, 1000UL);
  for (;;) {
    std::shared_ptr<std::function<void()>> operation;
    {
      const HiddenFromRaceDetector hidden;
      std::unique_lock lock(mutex_);
      pushed_.wait(lock, [this] { return is_finishing_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      operation = std::move(waiting_.front());
      waiting_.pop_front();
    }
    order_after(operation.get());
    if (const int64_t jitter = config().jitter_ns) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(random_() % (jitter + 1)));
    }
    (*operation)();
    order_before(this);
    const HiddenFromRaceDetector hidden;
    operation.reset();  // what it holds is gone before anyone sees it completed
    std::lock_guard lock(mutex_);
    ++completed_count_;
    completed_.notify_all();
  }
}

}  // namespace simcuda
