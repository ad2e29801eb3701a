#include "ops/cuda/background.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace ofl::ops::cuda {

namespace {

class Background {
 public:
  void add(std::function<void()> work) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (stopping_) return;
    work_.push_back(std::move(work));
    if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
    changed_.notify_all();
  }

  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || (work_.empty() && !busy_); });
  }

  void stop() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
      work_.clear();
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void loop() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || !work_.empty(); });
      if (stopping_) return;
      const std::function<void()> work = std::move(work_.front());
      work_.pop_front();
      busy_ = true;
      lock.unlock();
      work();
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;  // guards the rest, but for the thread, which add() starts and stop() ends
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool busy_ = false, stopping_ = false;
  std::thread thread_;
};

std::mutex* the_publishing_mutex = new std::mutex;  // these two outlive statics
Background* the_background = new Background;

}  // namespace

void make_in_background(std::function<void()> work) { the_background->add(std::move(work)); }
std::mutex& publishing_mutex() { return *the_publishing_mutex; }
void wait_for_background() { the_background->wait(); }
void stop_background() { the_background->stop(); }

// The old one is left: its mutex may have been held by its thread.
void forget_background() { the_background = new Background; }

}  // namespace ofl::ops::cuda
