#include "vm/board/board.h"

namespace ofl::vm {

// The exchange hands the slot to the next issuer and tells, in the same step, whether a thread
// sleeps on it. A waiter sets kWaited by compare-exchange on the same word, so either it is seen
// here or the waiter sees that the slot has moved on. Watchers: the stream counts the retirement
// (seq_cst) before watchers_ is read; a watcher raises watchers_ (seq_cst) before it reads the
// counts. One of the two sees the other.
void Board::finished(Slot* slot) {
  const Seq last = slot->seq.exchange(0, std::memory_order_seq_cst);
  if ((last & kWaited) || watchers_.load(std::memory_order_seq_cst) > 0) notify_all();
}

// The list of the slot was closed before the fence; a watcher reads it behind its own fence. One of
// the two sees the other.
void Board::launched() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (watchers_.load(std::memory_order_relaxed) > 0) notify_all();
}

void Board::begin_wait(int64_t now) {
  waits_.fetch_add(1, std::memory_order_relaxed);
  waiting_threads_.fetch_add(1, std::memory_order_seq_cst);
  waited_since_.store(now, std::memory_order_seq_cst);
}

void Board::end_wait() {
  if (waiting_threads_.fetch_sub(1, std::memory_order_seq_cst) != 1) return;
  waited_since_.store(0, std::memory_order_seq_cst);
  set_last_awaited(kNoneAwaited);
}

void Board::notify_all() {
  {
    std::lock_guard<std::mutex> lock(sync_->mutex);
  }
  sync_->changed.notify_all();
}

void Board::after_fork_in_child() {
  sync_.release();
  sync_ = std::make_unique<Sync>();
  waiting_threads_.store(0, std::memory_order_relaxed);
  watchers_.store(0, std::memory_order_relaxed);
}

}  // namespace ofl::vm
