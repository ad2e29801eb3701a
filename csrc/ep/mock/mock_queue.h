// The queue of a mock stream: tasks run one after the other on the queue's own thread, in simulated
// time.
//
//   push ──► incoming ──(swap, when the thread has run its batch)──► running ──► one task at a time
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace ofl::ep {

class MockQueue;

/// One recorded place in one queue. Reached once.
class MockPoint {
 public:
  explicit MockPoint(const MockQueue* queue) : queue_(queue) {}

  const MockQueue* queue() const { return queue_; }  // an identity, perhaps of a dead queue
  bool is_reached() const { return reached_at_ns() != 0; }
  int64_t reached_at_ns() const { return reached_at_ns_.load(std::memory_order_acquire); }
  void reach();
  void wait();

 private:
  const MockQueue* const queue_;
  std::mutex mutex_;  // guards the change of reached_at_ns_ against a waiter that goes to sleep
  std::condition_variable reached_;
  // Released after all earlier tasks of the queue, acquired by readers: their writes are visible.
  std::atomic<int64_t> reached_at_ns_{0};
};

enum class MockTaskKind : uint8_t { kernel, copy, record, wait };

struct MockTask {
  MockTaskKind kind;
  void (*run)(void* args) = nullptr;  // kernel
  size_t args_offset = 0;             // kernel; in the batch's argument bytes
  void* dst = nullptr;                // copy; host addresses
  const void* src = nullptr;
  size_t bytes = 0;
  std::shared_ptr<MockPoint> point;  // record, wait
  int64_t ready_at_ns = 0;           // not started before
  int64_t launch_ns = 0;             // nor so long after that; one launch comes after the other
  int64_t delay_ns = 0;              // more after that and after the previous task
  int64_t duration_ns = 0;           // not finished before this long after its start
};

struct MockBatch {
  std::vector<MockTask> tasks;
  std::vector<unsigned char> args;

  /// Copies `args_bytes` of `args` for a kernel.
  void add(MockTask task, const void* args = nullptr, size_t args_bytes = 0);
};

class MockQueue {
 public:
  explicit MockQueue(std::string name) : name_(std::move(name)) {}
  /// Runs what is queued, then joins the thread.
  ~MockQueue();

  /// Copies `args_bytes` of `args` for a kernel. The first call starts the thread.
  void push(MockTask task, const void* args = nullptr, size_t args_bytes = 0);
  /// The same with all of these, in their order.
  void push(const MockBatch& batch);
  /// False when nothing was ever pushed.
  bool is_started();
  /// The first failure of a task on the thread since the last call.
  std::optional<Error> take_error();

 private:
  void prepare(MockTask* task);
  void start();
  void work();
  void execute(MockTask& task);
  void run_task(MockTask& task);
  void keep_error(ErrorKind kind, const char* what);

  const std::string name_;
  std::mutex mutex_;  // guards the six fields below
  std::condition_variable work_ready_;
  MockBatch incoming_;
  int64_t launched_ns_ = 0;  // when the last launch has ended
  bool is_stopping_ = false;
  std::thread thread_;
  std::optional<Error> error_;

  // Used by the thread only. Batches swap, so their buffers are reused.
  MockBatch running_;
  int64_t clock_ns_ = 0;  // simulated end of the previous task
};

}  // namespace ofl::ep
