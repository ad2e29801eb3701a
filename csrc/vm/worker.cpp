#include "vm/worker.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/pause.h"
#include "ep/threads/helper_pool.h"
#include "vm/failure/failure.h"

namespace ofl::vm {

namespace {

constexpr int64_t kSpinNs = 80'000, kShortestNapNs = 20'000;
constexpr int64_t kLongNapNs = 1'000'000, kLongestNapNs = 8'000'000;

}  // namespace

// Sleeping without losing a wake-up: the waker makes work visible (Stream::ready_, seq_cst) and
// then reads asleep_; the worker writes asleep_ (seq_cst) and then reads ready_. In the single
// total order one of the two reads comes last and sees the other's write. If the waker sees
// asleep_, it passes through the mutex, so the worker is either before its last look or inside the
// wait.
void Worker::wake() {
  // Without a thread the work stays where it is: see Runner::wake().
  if (!has_thread_.load(std::memory_order_seq_cst) && catch_error([this] { start(); })) return;
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
  std::lock_guard<std::mutex> lock(*start_mutex_);
  if (has_thread_.load(std::memory_order_relaxed)) return;
  make_thread(name_, [this] { thread_ = std::thread([this] { loop(); }); });
  has_thread_.store(true, std::memory_order_release);
}

// An instruction may be dispatched after the thread's last look, while the waker still sees the
// thread as started. The calling thread runs it: the system may refuse another thread.
void Worker::stop() {
  std::lock_guard<std::mutex> lock(*start_mutex_);
  if (thread_.joinable()) {
    stopping_.store(true, std::memory_order_seq_cst);
    {
      std::lock_guard<std::mutex> parked(parking_->mutex);
    }
    parking_->wakeup.notify_one();
    thread_.join();
    stopping_.store(false, std::memory_order_seq_cst);
    has_thread_.store(false, std::memory_order_seq_cst);
  }
  while (work_.has_ready()) run_here();
}

/// With the start mutex, in place of the thread: so those that make work visible meanwhile see one.
/// The caller looks again, and so finds the work that comes too late.
void Worker::run_here() {
  has_thread_.store(true, std::memory_order_seq_cst);
  {
    std::lock_guard<std::mutex> baton(work_.baton());
    work_.run_ready(false);
    work_.retire_finished(true);
  }
  has_thread_.store(false, std::memory_order_seq_cst);
}

void Worker::after_fork_in_child() {
  new std::thread(std::move(thread_));  // it was the parent's; there is nothing to join here
  parking_.release();                   // that thread may have been using it
  parking_ = std::make_unique<Parking>();
  start_mutex_.release();
  start_mutex_ = std::make_unique<std::mutex>();
  has_thread_.store(false, std::memory_order_relaxed);
  asleep_.store(false, std::memory_order_relaxed);
  napping_.store(false, std::memory_order_relaxed);
  stands_by_ = nullptr;
}

void Worker::loop() {
  begin_thread(name_);
  device_.set_active();
  stretch_.begin();
  int64_t idle_since = now_ns();
  for (;;) {
    stand_by();
    const bool stopping = stopping_.load(std::memory_order_seq_cst);
    if (run_round(stopping)) {
      idle_since = now_ns();
    } else if (stopping && !work_.has_ready()) {
      stand_down();
      return;
    } else {
      idle(&idle_since);
    }
  }
}

/// The worker helps with the kernels of its stream, as a thread that waits may have the baton.
void Worker::stand_by() {
  if (stands_by_) return;
  stands_by_ = helpers();
  if (stands_by_) stands_by_->stand_by();
}

void Worker::stand_down() {
  if (stands_by_) std::exchange(stands_by_, nullptr)->stand_down();
}

/// The notes on whether threads get a core in time; null for devices that compute elsewhere.
ep::Crowding* Worker::crowding() const {
  ep::HelperPool* pool = helpers();
  return pool ? &pool->crowding() : nullptr;
}

/// One round with the baton; false when there was nothing to do. `stopping`: nothing is held back
/// or left in a queue. While a thread that waits has the baton, this one helps that thread. After
/// longer work it checks whether another process has had this thread's core meanwhile.
bool Worker::run_round(bool stopping) {
  std::unique_lock<std::mutex> baton(work_.baton(), std::try_to_lock);
  int64_t spin_ns = kSpinNs;
  for (int64_t since = now_ns(); !baton && now_ns() - since < spin_ns;) {
    if (board_.assist()) {
      since = now_ns();
      spin_ns = ep::HelperPool::kAwakeNs;
    }
    pause_briefly();
    (void)baton.try_lock();
  }
  if (!baton || work_.has_ready()) stand_down();
  const int64_t waited_since = now_ns();
  if (!baton) baton.lock();
  const int64_t begin = now_ns();
  stretch_.note_sleep(begin - waited_since);
  const bool progress = work_.run_ready(!stopping);
  if (progress && now_ns() - begin > ep::Crowding::kLateNs) {
    ep::Crowding* crowding = this->crowding();
    if (crowding && stretch_.is_disturbed()) crowding->note_late(now_ns());
    stretch_.begin();
  }
  return work_.retire_finished(stopping) || progress;
}

/// How long the host thread that began to wait last has waited. If none waits: this worker.
int64_t Worker::waited_ns(int64_t idle_ns) const {
  const int64_t since = board_.waited_since_ns();
  return since ? std::min(idle_ns, now_ns() - since) : idle_ns;
}

// While the device computes, the worker looks without a pause as long as a host thread may be about
// to go on. After that each nap lasts a sixteenth of the time waited so far, and 1 ms at most, or a
// sixty-fourth up to 8 ms. Completion is noticed at most 6 %, or about 20 us, late.
void Worker::idle(int64_t* idle_since) {
  const int64_t idle_ns = now_ns() - *idle_since;
  if (idle_ns < kSpinNs) {
    if (!stands_by_ || !stands_by_->assist()) pause_briefly();
    return;
  }
  stand_down();
  bool busy, moves;
  {
    std::lock_guard<std::mutex> baton(work_.baton());
    busy = work_.busy();
    moves = work_.moves();
  }
  const bool awaited = busy && board_.waited_since_ns() != 0;
  if (moves || (awaited && waited_ns(idle_ns) < awaited_spin_ns(device_))) {
    std::this_thread::yield();
  } else {
    sleep(busy, idle_since);
  }
}

void Worker::sleep(bool busy, int64_t* idle_since) {
  std::unique_lock<std::mutex> lock(parking_->mutex);
  asleep_.store(true, std::memory_order_seq_cst);
  parking_->called = false;
  // `called` counts without ready work: the thread that woke this worker may have run the work
  // itself, and expects help with it.
  const auto awake = [this] {
    return parking_->called || work_.has_ready() || stopping_.load(std::memory_order_seq_cst);
  };
  parking_->placement.asleep();
  if (busy) {
    napping_.store(true, std::memory_order_seq_cst);
    const int64_t waited = waited_ns(now_ns() - *idle_since);
    const int64_t longest = std::clamp(waited / 64, kLongNapNs, kLongestNapNs);
    const int64_t nap = std::clamp(waited / 16, kShortestNapNs, longest);
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
