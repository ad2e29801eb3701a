#include "ep/mock/mock_queue.h"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <system_error>

namespace ofl::ep {

namespace {

// std::chrono::steady_clock is CLOCK_MONOTONIC, so both may be compared.
void sleep_until_ns(int64_t time_ns) {
  if (time_ns <= now_ns()) return;
  timespec until;
  until.tv_sec = time_ns / 1000000000;
  until.tv_nsec = time_ns % 1000000000;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

size_t aligned(size_t bytes) {
  constexpr size_t kAlign = alignof(std::max_align_t);
  return (bytes + kAlign - 1) & ~(kAlign - 1);
}

}  // namespace

void MockPoint::reach() {
  std::lock_guard<std::mutex> lock(mutex_);
  reached_at_ns_.store(now_ns(), std::memory_order_release);
  reached_.notify_all();
}

void MockPoint::wait() {
  if (is_reached())
    return;  // without the mutex: in a forked child the queue's thread may have had it
  std::unique_lock<std::mutex> lock(mutex_);
  reached_.wait(lock, [this] { return is_reached(); });
}

MockQueue::~MockQueue() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
  }
  work_ready_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void MockBatch::add(MockTask task, const void* from, size_t bytes) {
  if (bytes > 0) {
    task.args_offset = aligned(args.size());
    args.resize(task.args_offset + bytes);
    std::memcpy(args.data() + task.args_offset, from, bytes);
  }
  tasks.push_back(std::move(task));
}

void MockQueue::push(MockTask task, const void* args, size_t args_bytes) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    prepare(&task);
    incoming_.add(std::move(task), args, args_bytes);
  }
  work_ready_.notify_one();
}

void MockQueue::push(const MockBatch& batch) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const size_t start = aligned(incoming_.args.size());
    incoming_.args.resize(start);
    incoming_.args.insert(incoming_.args.end(), batch.args.begin(), batch.args.end());
    for (MockTask task : batch.tasks) {
      task.args_offset += start;
      prepare(&task);
      incoming_.tasks.push_back(std::move(task));
    }
  }
  work_ready_.notify_one();
}

/// With the mutex: before it comes into the queue.
void MockQueue::prepare(MockTask* task) {
  if (!thread_.joinable()) start();
  if (task->launch_ns == 0) return;
  launched_ns_ = std::max(launched_ns_, task->ready_at_ns) + task->launch_ns;
  task->ready_at_ns = launched_ns_;
}

bool MockQueue::is_started() {
  std::lock_guard<std::mutex> lock(mutex_);
  return thread_.joinable();
}

std::optional<Error> MockQueue::take_error() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::optional<Error> error;
  error.swap(error_);
  return error;
}

void MockQueue::start() {
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& failure) {
    fail(ErrorKind::runtime, "[", name_, "] cannot start the thread of a queue: ", failure.what());
  }
}

void MockQueue::work() {
  prctl(PR_SET_TIMERSLACK, 1);  // simulated times to microseconds, without spinning
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      work_ready_.wait(lock, [this] { return is_stopping_ || !incoming_.tasks.empty(); });
      if (incoming_.tasks.empty()) return;
      std::swap(incoming_, running_);
    }
    for (MockTask& task : running_.tasks) execute(task);
    running_.tasks.clear();
    running_.args.clear();
  }
}

// A late wake-up of this thread does not shift the simulated times: a task starts when it was ready
// and its predecessor had ended, and ends no earlier than its work really does.
void MockQueue::execute(MockTask& task) {
  const int64_t start_ns = std::max(clock_ns_, task.ready_at_ns) + task.delay_ns;
  sleep_until_ns(start_ns);
  run_task(task);
  clock_ns_ = std::max(start_ns + task.duration_ns, now_ns());
  sleep_until_ns(clock_ns_);
}

void MockQueue::run_task(MockTask& task) {
  try {
    switch (task.kind) {
      case MockTaskKind::kernel: task.run(running_.args.data() + task.args_offset); break;
      case MockTaskKind::copy: std::memmove(task.dst, task.src, task.bytes); break;
      case MockTaskKind::record: task.point->reach(); break;
      case MockTaskKind::wait: task.point->wait(); break;
    }
  } catch (const std::bad_alloc&) {
    keep_error(ErrorKind::out_of_memory, "out of host memory");
  } catch (const std::exception& failure) {
    keep_error(ErrorKind::runtime, failure.what());
  }
  task.point.reset();
}

void MockQueue::keep_error(ErrorKind kind, const char* what) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!error_) error_ = Error(kind, concat("[", name_, "] a task failed: ", what));
}

}  // namespace ofl::ep
