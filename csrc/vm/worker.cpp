#include "vm/worker.h"

#include <pthread.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <utility>

#include "base/clock.h"
#include "vm/observer.h"
#include "vm/stream.h"
#include "vm/virtual_machine.h"

namespace ofl::vm {

namespace {

constexpr int64_t kSpinNs = 80'000;
constexpr int64_t kShortestNapNs = 20'000;
constexpr int64_t kLongestNapNs = 1'000'000;

thread_local bool on_worker_thread = false;

/// A nap ends when it is over: by default Linux adds up to 50 us.
void make_naps_exact() {
#if defined(__linux__)
  prctl(PR_SET_TIMERSLACK, 1);
#endif
}

}  // namespace

void pause_briefly() {
  for (int i = 0; i < 16; ++i) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    std::this_thread::yield();
#endif
  }
}

// Sleeping without losing a wake-up: the waker makes work visible (W: Stream::ready_, seq_cst) and
// then reads asleep_; the worker writes asleep_ (seq_cst) and then reads ready_. In the single
// total order one of the two reads comes last and sees the other's write. If the waker sees
// asleep_, it passes through the mutex, so the worker is either before its last look or inside the
// wait.
void Worker::wake() {
  if (!started_.load(std::memory_order_seq_cst)) start();
  if (!asleep_.load(std::memory_order_seq_cst)) return;
  {
    std::lock_guard<std::mutex> lock(parking_->mutex);
    if (asleep_.load(std::memory_order_relaxed)) {
      const ep::Crowding* crowding = this->crowding();
      parking_->called = true;
      parking_->called_at = now_ns();
      if (!crowding || !crowding->is_crowded()) parking_->placement.elsewhere();
      stand_by();
    }
  }
  parking_->wakeup.notify_one();
}

void Worker::end_nap() {
  if (!napping_.load(std::memory_order_seq_cst)) return;
  {
    std::lock_guard<std::mutex> lock(parking_->mutex);
  }
  parking_->wakeup.notify_one();
}

void Worker::start() {
  std::lock_guard<std::mutex> lock(start_mutex_);
  if (!started_.load(std::memory_order_relaxed)) start_locked();
}

void Worker::start_locked() {
  thread_ = std::thread([this] { loop(); });
  started_.store(true, std::memory_order_release);
}

// What was dispatched after the thread's last look, when the waker still saw it started, gets a new
// one.
void Worker::stop() {
  std::lock_guard<std::mutex> lock(start_mutex_);
  while (thread_.joinable()) {
    stopping_.store(true, std::memory_order_seq_cst);
    {
      std::lock_guard<std::mutex> parked(parking_->mutex);
    }
    parking_->wakeup.notify_one();
    thread_.join();
    stopping_.store(false, std::memory_order_seq_cst);
    started_.store(false, std::memory_order_seq_cst);
    if (stream_.has_ready()) start_locked();
  }
}

void Worker::after_fork_in_child() {
  new std::thread(std::move(thread_));  // of the parent; there is nothing to join here
  parking_.release();                   // may have been in use by it
  parking_ = std::make_unique<Parking>();
  started_.store(false, std::memory_order_relaxed);
  asleep_.store(false, std::memory_order_relaxed);
  napping_.store(false, std::memory_order_relaxed);
  stands_by_ = nullptr;
}

bool Worker::is_current_thread() { return on_worker_thread; }

void Worker::loop() {
  on_worker_thread = true;
  pthread_setname_np(pthread_self(), stream_.name().substr(0, 15).c_str());
  stream_.device().set_active();
  make_naps_exact();
  stretch_.begin();
  int64_t idle_since = now_ns();
  for (;;) {
    stand_by();
    const bool stopping = stopping_.load(std::memory_order_seq_cst);
    if (work(stopping)) {
      idle_since = now_ns();
    } else if (stopping && !stream_.has_ready()) {
      stand_down();
      return;
    } else {
      idle(&idle_since);
    }
  }
}

/// For the threads that run the kernels of this stream: who waits may have the baton.
void Worker::stand_by() {
  if (stands_by_ || !info(stream_.type()).helpable) return;
  stands_by_ = stream_.device().helpers();
  if (stands_by_) stands_by_->stand_by();
}

void Worker::stand_down() {
  if (stands_by_) std::exchange(stands_by_, nullptr)->stand_down();
}

/// Where it is noted whether this thread gets a core in time; null for streams of devices that
/// compute elsewhere.
ep::Crowding* Worker::crowding() const {
  ep::HelperPool* helpers = info(stream_.type()).helpable ? stream_.device().helpers() : nullptr;
  return helpers ? &helpers->crowding() : nullptr;
}

/// After work of some length: has another process had this thread's core in it?
void Worker::watch_core() {
  ep::Crowding* crowding = this->crowding();
  if (crowding && stretch_.is_disturbed()) crowding->note_late(now_ns());
  stretch_.begin();
}

/// One round with the baton; false when there was nothing to do. `stopping`: nothing is held back
/// or left in a queue. While a thread that waits has it, this one helps with what that thread runs.
bool Worker::work(bool stopping) {
  std::unique_lock<std::mutex> baton(stream_.baton(), std::try_to_lock);
  for (int64_t since = now_ns(); !baton && now_ns() - since < kSpinNs;) {
    if (stream_.machine().assist()) since = now_ns();
    pause_briefly();
    (void)baton.try_lock();
  }
  if (!baton || stream_.has_ready()) stand_down();
  const int64_t waited_since = now_ns();
  if (!baton) baton.lock();
  const int64_t begin = now_ns();
  stretch_.note_sleep(begin - waited_since);
  bool progress = false;
  constexpr double kAnyCost = std::numeric_limits<double>::infinity();
  while (stream_.run_next(kAnyCost, kNoneAwaited, !stopping)) progress = true;
  if (progress && now_ns() - begin > ep::Crowding::kLateNs) watch_core();
  if (stopping) stream_.policy().drain();
  return stream_.policy().poll(!stream_.has_ready()) || progress;
}

/// Of the host thread that began to wait last; where none waits, of this worker.
int64_t Worker::waited_ns(int64_t idle_ns) const {
  const int64_t since = stream_.machine().waited_since_ns();
  return since ? std::min(idle_ns, now_ns() - since) : idle_ns;
}

// While the device computes, the worker looks all the time as long as a host thread may be about to
// go on. Then naps last a sixteenth of the time waited so far: completion is noticed at most 6 %
// late, or some 20 us.
void Worker::idle(int64_t* idle_since) {
  const int64_t idle_ns = now_ns() - *idle_since;
  if (idle_ns < kSpinNs) {
    if (!stands_by_ || !stands_by_->assist()) pause_briefly();
    return;
  }
  stand_down();
  bool busy;
  {
    std::lock_guard<std::mutex> baton(stream_.baton());
    busy = stream_.busy();
  }
  const bool awaited = busy && stream_.machine().waited_since_ns() != 0;
  if (awaited && waited_ns(idle_ns) < awaited_spin_ns(stream_.device())) {
    std::this_thread::yield();
    return;
  }
  std::unique_lock<std::mutex> lock(parking_->mutex);
  asleep_.store(true, std::memory_order_seq_cst);
  parking_->called = false;
  // Who called it may run what was ready by then, and counts on help.
  const auto awake = [this] {
    return parking_->called || stream_.has_ready() || stopping_.load(std::memory_order_seq_cst);
  };
  parking_->placement.asleep();
  if (busy) {
    napping_.store(true, std::memory_order_seq_cst);
    const int64_t nap = std::clamp(waited_ns(idle_ns) / 16, kShortestNapNs, kLongestNapNs);
    if (!awake()) parking_->wakeup.wait_for(lock, std::chrono::nanoseconds(nap));
    napping_.store(false, std::memory_order_relaxed);
  } else {
    parking_->wakeup.wait(lock, awake);
    *idle_since = now_ns();
    ep::Crowding* crowding = parking_->called ? this->crowding() : nullptr;
    if (crowding) crowding->note_wake(*idle_since - parking_->called_at, *idle_since);
    stretch_.begin();
  }
  parking_->placement.awake();
  asleep_.store(false, std::memory_order_relaxed);
}

}  // namespace ofl::vm
