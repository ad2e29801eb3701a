#include "vm/pool/pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/pause.h"
#include "vm/failure/failure.h"

namespace ofl::vm {

namespace {

constexpr int64_t kSpinNs = 80'000;
constexpr int kPauses = 4;  // between two looks: what is pushed meanwhile is taken together
constexpr std::chrono::milliseconds kWatchPeriod{1};
constexpr std::chrono::seconds kIdleTime{10};  // until a thread ends that need not stay

}  // namespace

thread_local bool Pool::is_searching_ = false;
thread_local bool Pool::stepped_back_ = false;
thread_local int64_t Pool::waited_ns_ = 0;

// No work is left alone. All steps are seq_cst, so they have one order.
// 1. The waker pushes the work, then reads searching_. A thread that gives up its search lowers
//    searching_, then looks at the list. Either the waker sees 0 and goes on, or the thread finds
//    the work.
// 2. A waker that sees 0 takes the mutex. A thread that gives up has the mutex from its step down
//    to its sleep, so the waker finds it asleep, or it finds the work.
// 3. If no thread is asleep, or no further one may run, all that may are running. A thread that has
//    run all it found raises searching_, lowers running_, then looks. The waker has read both
//    before these steps, and has pushed before it read. So the thread finds the work.
// 4. Short functions are left to a thread that runs, which looks again as in 3. A function may take
//    longer than expected: so they are left to it only while another thread watches. That one
//    lowers watched_ before it sleeps for good, and then looks, as in 1.
// The exception is a system that refuses the only thread: see Runner::wake().
void Pool::wake() {
  if (searching_.load(std::memory_order_seq_cst) > 0) return;
  if (is_short() && running_.load(std::memory_order_seq_cst) > 0 &&
      watched_.load(std::memory_order_seq_cst)) {
    return;
  }
  wake_one();
}

void Pool::wake_one() {
  {
    std::lock_guard<std::mutex> lock(threads_->mutex);
    if (searching_.load(std::memory_order_seq_cst) > 0) return;
    if (is_full()) return;
    if (threads_->asleep > 0) {
      --threads_->asleep;
      ++threads_->woken;
      searching_.fetch_add(1, std::memory_order_seq_cst);  // in its name
    } else if (threads_->alive < limit_.load(std::memory_order_relaxed)) {
      // Where the system has no more threads, those that there are do the work.
      static_cast<void>(catch_error([this] { start_locked(); }));
      return;
    } else {
      return;
    }
  }
  threads_->wakeup.notify_one();
}

void Pool::start() {
  std::lock_guard<std::mutex> lock(threads_->mutex);
  if (threads_->alive == 0) start_locked();
}

void Pool::start_locked() {
  make_thread(name_, [this] {
    const int number = threads_->alive;
    threads_->all.emplace_back([this, number] { loop(number); });
  });
  ++threads_->alive;
  has_thread_.store(true, std::memory_order_release);
  searching_.fetch_add(1, std::memory_order_seq_cst);  // in its name
}

void Pool::stop() {
  for (;;) {
    while (visits_.load(std::memory_order_acquire) > 0) std::this_thread::yield();
    std::vector<std::thread> all;
    {
      std::lock_guard<std::mutex> lock(threads_->mutex);
      all.swap(threads_->all);
      threads_->stopping = !all.empty();
    }
    threads_->wakeup.notify_all();
    for (std::thread& thread : all) thread.join();
    if (!all.empty()) continue;
    if (!work_.has_ready()) return;
    wake_one();
    if (!has_thread_.load(std::memory_order_acquire)) work_.run_ready(false);  // refused
  }
}

// The parent's threads may have been using what is left behind.
void Pool::after_fork_in_child() {
  threads_.release();
  threads_ = std::make_unique<Threads>();
  searching_.store(0, std::memory_order_relaxed);
  running_.store(0, std::memory_order_relaxed);
  watched_.store(false, std::memory_order_relaxed);
  lingers_.store(false, std::memory_order_relaxed);
  visits_.store(0, std::memory_order_relaxed);
  has_thread_.store(false, std::memory_order_relaxed);
  limit_.store(asked_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  is_searching_ = stepped_back_ = false;
}

const void* Pool::block() {
  limit_.fetch_add(1, std::memory_order_relaxed);
  if (work_.has_ready()) wake();
  return threads_.get();
}

// The child of a fork by the thread that waits has other threads, and has forgotten the wait.
void Pool::unblock(const void* since) {
  if (since == threads_.get()) limit_.fetch_sub(1, std::memory_order_relaxed);
}

void Pool::set_threads(int threads) {
  limit_.fetch_add(threads - asked_.exchange(threads));
  if (work_.has_ready()) wake();
}

bool Pool::enter() {
  if (!is_searching_) return true;
  int running = running_.load(std::memory_order_seq_cst);
  do {
    if (running >= limit_.load(std::memory_order_seq_cst)) return false;
  } while (!running_.compare_exchange_weak(running, running + 1, std::memory_order_seq_cst));
  is_searching_ = false;
  searching_.fetch_sub(1, std::memory_order_seq_cst);
  return true;
}

void Pool::took() {
  taken_.store(taken_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (work_.has_ready()) wake();
}

/// A mean that follows a long function at once, and short ones slowly. A second thread is no help
/// where the functions wait for each other.
void Pool::note_duration(int64_t ns) {
  ns -= std::exchange(waited_ns_, 0);
  const int64_t recent = recent_ns_.load(std::memory_order_relaxed);
  recent_ns_.store(ns > recent ? ns : recent - (recent - ns) / 8, std::memory_order_relaxed);
}

bool Pool::steps_back() {
  if (!is_short()) return false;
  int running = running_.load(std::memory_order_seq_cst);
  do {
    if (running < 2) return false;
  } while (!running_.compare_exchange_weak(running, running - 1, std::memory_order_seq_cst));
  searching_.fetch_add(1, std::memory_order_seq_cst);
  is_searching_ = stepped_back_ = true;
  return true;
}

void Pool::loop(int number) {
  begin_thread(name_ + " " + std::to_string(number));
  is_searching_ = true;  // the thread that woke it has counted it
  for (;;) {
    work_.run_ready(false);
    if (!is_searching_) {
      is_searching_ = true;
      searching_.fetch_add(1, std::memory_order_seq_cst);
      running_.fetch_sub(1, std::memory_order_seq_cst);
    }
    const bool looks = !stepped_back_;
    stepped_back_ = false;
    if ((!looks || !search()) && !sleep()) return end_thread();
  }
}

/// Looks for work for a while; true: there is some. Of short functions one thread looks: two would
/// take them in turn, and each would wait for what the other has in its cache.
bool Pool::search() {
  if (has_work()) return true;
  if (is_short() && running_.load(std::memory_order_seq_cst) > 0) return false;
  if (lingers_.exchange(true, std::memory_order_relaxed) && is_short()) return false;
  bool found = false;
  for (const int64_t since = now_ns(); !found && now_ns() - since < kSpinNs;) {
    for (int i = 0; i < kPauses; ++i) pause_briefly();
    found = has_work();
  }
  lingers_.store(false, std::memory_order_relaxed);
  return found;
}

/// Until there is something to do: true. False: the thread ends.
bool Pool::sleep() {
  Threads& threads = *threads_;
  std::unique_lock<std::mutex> lock(threads.mutex);
  is_searching_ = false;
  searching_.fetch_sub(1, std::memory_order_seq_cst);
  ++threads.asleep;
  while (threads.woken == 0) {
    const bool is_helped = is_short() && running_.load(std::memory_order_seq_cst) > 0;
    const bool has_ready = work_.has_ready();
    if (has_ready && !is_helped && !is_full()) {
      --threads.asleep;
      searching_.fetch_add(1, std::memory_order_seq_cst);
      return is_searching_ = true;
    }
    if (threads.stopping && !has_ready) return leave_locked();
    if (is_helped && !threads.has_watcher) {
      if (!watch(lock)) continue;
      --threads.asleep;
      searching_.fetch_add(1, std::memory_order_seq_cst);
      return is_searching_ = true;
    }
    const bool may_stay = !grows_ && threads.alive <= limit_.load(std::memory_order_relaxed);
    if (may_stay) {
      threads.wakeup.wait(lock);
    } else if (threads.wakeup.wait_for(lock, kIdleTime) == std::cv_status::timeout &&
               threads.woken == 0 && !work_.has_ready()) {
      return leave_locked();
    }
  }
  --threads.woken;
  return is_searching_ = true;
}

/// Sleeps for a moment; true: there is work that nobody takes, as the running thread is slower than
/// expected.
bool Pool::watch(std::unique_lock<std::mutex>& lock) {
  Threads& threads = *threads_;
  const int64_t taken = taken_.load(std::memory_order_relaxed);
  threads.has_watcher = true;
  watched_.store(true, std::memory_order_seq_cst);
  const bool slept_on = threads.wakeup.wait_for(lock, kWatchPeriod) == std::cv_status::timeout;
  threads.has_watcher = false;
  watched_.store(false, std::memory_order_seq_cst);
  return slept_on && threads.woken == 0 && work_.has_ready() &&
         taken_.load(std::memory_order_relaxed) == taken;
}

/// The last step of a thread of its own accord: nobody joins it, unless stop() does.
bool Pool::leave_locked() {
  Threads& threads = *threads_;
  --threads.asleep;
  if (--threads.alive == 0) has_thread_.store(false, std::memory_order_release);
  if (threads.stopping) threads.wakeup.notify_all();  // one of them may have slept beside this one
  const auto self = std::find_if(threads.all.begin(), threads.all.end(), [](std::thread& each) {
    return each.get_id() == std::this_thread::get_id();
  });
  if (self == threads.all.end()) return false;
  self->detach();
  threads.all.erase(self);
  return false;
}

}  // namespace ofl::vm
