// Runner: the thread or the threads of a stream. A Worker is one thread; a Pool has several.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>

namespace ofl::vm {

class Runner {
 public:
  /// The work of the threads: that of one stream.
  class Work {
   public:
    virtual ~Work() = default;
    virtual bool has_ready() const = 0;  // any thread
    virtual std::mutex& baton() = 0;     // any thread; a worker calls the others with it
    /// Runs everything that is ready; true: there was something. A pool calls it without the baton.
    virtual bool run_ready(bool lingers) = 0;
    /// Retires finished instructions; true: there was something. `all`: waits until nothing is
    /// left.
    virtual bool retire_finished(bool all) = 0;
    virtual bool busy() const = 0;
    virtual bool moves() const = 0;  // work in flight gets on only if it is looked at all the time
  };

  virtual ~Runner() = default;
  /// Any thread: there is a thread, or one starts. Throws Error(runtime) where the system refuses
  /// it. A thread may end again when it has had nothing to do.
  void require_thread() {
    if (!has_thread_.load(std::memory_order_acquire)) start();
  }
  /// Any thread, after making work visible (seq_cst): starts a thread or wakes one that sleeps,
  /// unless one that is awake will look. Where the system refuses the first thread, the work stays
  /// in its list. The next call, or a thread that waits, tries again.
  virtual void wake() = 0;
  /// A host thread has begun to wait: ends a nap between two looks at a busy device queue.
  virtual void end_nap() = 0;
  /// Runs all queued work, then ends the threads. Not from one of them.
  virtual void stop() = 0;
  /// In the child after fork, when nothing runs: the threads are gone, and so is their state.
  virtual void after_fork_in_child() = 0;

  /// True in the threads of runners. A host function there issues to the queues even in naive mode.
  static bool is_current_thread() { return !thread_name_.empty(); }
  /// Of the calling thread, if it is a runner's; or empty.
  static const std::string& thread_name() { return thread_name_; }
  /// Called by each thread of a pool that ends, without a lock.
  static void set_end_hook(void (*hook)()) { end_hook_.store(hook); }
  /// In the child of a fork by one of them: its thread is the process's own there.
  static void forget_thread() { thread_name_.clear(); }

 protected:
  /// As require_thread(), of a runner that has none.
  virtual void start() = 0;
  /// Calls `make`, which makes a thread of the stream `name`; Error(runtime) where it cannot.
  static void make_thread(const std::string& name, const std::function<void()>& make);
  /// The calling thread is a runner's from now on.
  static void begin_thread(const std::string& name);
  static void end_thread() {
    if (void (*hook)() = end_hook_.load()) hook();
  }

  std::atomic<bool> has_thread_{false};  // written with the mutex of the threads

 private:
  static inline std::atomic<void (*)()> end_hook_{nullptr};
  static thread_local std::string thread_name_;
};

}  // namespace ofl::vm
