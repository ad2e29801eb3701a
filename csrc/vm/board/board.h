// Board: the place where streams and threads of the host leave notes for each other. It is below
// both, so that a stream does not know the machine.
//
//   a stream ──── retired, launched, failed ───► Board ──► host threads that wait
//   host threads ─ awaited since, awaited last ─► Board ──► workers, groups
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "ep/threads/helper_pool.h"
#include "vm/board/observers.h"
#include "vm/failure/failure_log.h"
#include "vm/instruction.h"

namespace ofl::vm {

/// Whether instructions that belong together run as one.
enum class Fusion : uint8_t { never, where_it_pays, always };

struct Options {
  std::atomic<bool> naive{false};  // run everything in the calling thread, in order
  /// Work of some times this cost, in float32 additions, may run in the calling thread if it can
  /// run at once (small_work.h). The default takes about 50 us. So long takes a hand-over to a
  /// thread that sleeps, and the wait for it.
  std::atomic<double> inline_cost{163840};
  std::atomic<Fusion> fusion{Fusion::where_it_pays};
  std::atomic<int64_t> max_in_flight{1024};  // instructions a device: high-water mark; low is half
  std::atomic<int64_t> max_bytes{int64_t{1} << 30};  // pinned by them, a device: high-water mark
  std::atomic<int> pool_threads{2};     // of a pool whose functions compute, when it is made
  std::atomic<double> hang_timeout{0};  // seconds without a retirement until a report; 0: never
  std::atomic<double> ccl_timeout{0};   // seconds until a collective without some rank fails
};

/// Any thread, unless said otherwise.
class Board {
 public:
  Options options;
  FailureLog failures;
  std::function<std::string(SiteId)> format_site;  // set before the first instruction, or empty
  std::string site_text(SiteId site) const { return format_site ? format_site(site) : "?"; }

  Observer* observer() const { return observer_.load(std::memory_order_acquire); }
  /// Each is added once, and outlives the machine. One that is to see instructions whole is added
  /// and removed while nothing is in flight.
  void add_observer(Observer& observer) {
    std::lock_guard<std::mutex> lock(observers_mutex_);
    observers_.add(observer);
    observer_.store(observers_.as_one(), std::memory_order_release);
    note_witnesses(1);
  }
  void remove_observer(Observer& observer) {
    std::lock_guard<std::mutex> lock(observers_mutex_);
    observers_.remove(observer);
    observer_.store(observers_.as_one(), std::memory_order_release);
    note_witnesses(-1);
  }
  /// Somebody begins, or ends, to record what is issued, in any thread. Counted.
  void note_recording(bool begins) {
    recorders_.fetch_add(begins ? 1 : -1, std::memory_order_relaxed);
    note_witnesses(begins ? 1 : -1);
  }
  bool is_recorded() const { return recorders_.load(std::memory_order_relaxed) > 0; }
  /// Neither an observer nor somebody who records.
  bool may_act_at_once() const { return witnesses_.load(std::memory_order_acquire) == 0; }

  /// The threads that help with kernels of a host device; null: no device has any.
  ep::HelperPool* helpers() const { return helpers_.load(std::memory_order_acquire); }
  void set_helpers(ep::HelperPool* pool) { helpers_.store(pool, std::memory_order_release); }
  /// The calling thread waits: it works for the helpers of a host device, if they have something.
  bool assist() const {
    ep::HelperPool* pool = helpers();
    return pool && pool->assist();
  }

  // --- from streams, with the baton
  /// The last step of retirement: frees the slot and wakes the threads that wait for it.
  void finished(Slot* slot);
  /// An instruction has reached its milestone `launched`.
  void launched();

  // --- about host threads that wait
  /// When the youngest of the waits began; 0: no thread waits.
  int64_t waited_since_ns() const { return waited_since_.load(std::memory_order_seq_cst); }
  /// The youngest instruction that a thread waits for, which may have retired since. A hint.
  Seq last_awaited() const { return last_awaited_.load(std::memory_order_relaxed); }
  void set_last_awaited(Seq seq) { last_awaited_.store(seq, std::memory_order_relaxed); }
  uint64_t waits() const { return waits_.load(std::memory_order_relaxed); }
  void begin_wait(int64_t now);
  void end_wait();

  // --- by a host thread that waits
  /// Sleeps until `done`, or `most`; false: it is not done. `done` is called with the mutex held.
  template <typename Done>
  bool sleep_until(const Done& done, std::chrono::nanoseconds most) {
    std::unique_lock<std::mutex> lock(sync_->mutex);
    return sync_->changed.wait_for(lock, most, done);
  }
  template <typename Done>
  void sleep_until(const Done& done) {
    std::unique_lock<std::mutex> lock(sync_->mutex);
    sync_->changed.wait(lock, done);
  }
  void notify_all();
  /// A function has returned, and completes later.
  void note_pending() {
    pending_noted_.fetch_add(1, std::memory_order_seq_cst);
    launched();
  }
  /// A function is marked as stalled (Slot::stalled, seq_cst): those that starve look again. Each
  /// is a watcher (seq_cst) before it reads the mark, so it sees the mark or is seen here.
  void note_stalled() { launched(); }
  int64_t pending_noted() const { return pending_noted_.load(std::memory_order_seq_cst); }
  /// While it lives, its thread is woken at every launch and retirement.
  class Watching {
   public:
    explicit Watching(Board& board) : board_(board) {
      board_.watchers_.fetch_add(1, std::memory_order_seq_cst);
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    ~Watching() { board_.watchers_.fetch_sub(1, std::memory_order_seq_cst); }
    Watching(const Watching&) = delete;

   private:
    Board& board_;
  };

  /// In the child after fork: forgets the parent's other threads, which may have been asleep here.
  void after_fork_in_child();

 private:
  struct Sync {
    std::mutex mutex;  // guards sleeping of host threads
    std::condition_variable changed;
  };

  void note_witnesses(int change) { witnesses_.fetch_add(change, std::memory_order_acq_rel); }

  std::mutex observers_mutex_;  // guards changes of the next two
  Observers observers_;
  std::atomic<Observer*> observer_{nullptr};  // what stands for all of them, or null
  std::atomic<int> recorders_{0};
  std::atomic<int> witnesses_{0};  // an observer, and each that records
  std::atomic<ep::HelperPool*> helpers_{nullptr};
  std::unique_ptr<Sync> sync_ = std::make_unique<Sync>();
  // On a line that issuers do not write to: workers read it at each retirement.
  alignas(64) std::atomic<int> watchers_{0};
  std::atomic<int> waiting_threads_{0};
  std::atomic<int64_t> waited_since_{0};
  std::atomic<Seq> last_awaited_{kNoneAwaited};
  std::atomic<uint64_t> waits_{0};
  std::atomic<int64_t> pending_noted_{0};
};

}  // namespace ofl::vm
