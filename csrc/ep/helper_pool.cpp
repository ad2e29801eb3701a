#include "ep/helper_pool.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <system_error>
#include <thread>

namespace ofl::ep {

namespace {

constexpr std::chrono::microseconds kSpin{50};
constexpr int64_t kWorthWaking = 12;   // chunks: to wake a thread costs the time of some
constexpr int64_t kAssistChunks = 50;  // by who must look after something else, too

template <typename Done>
bool spin_until(const Done& done) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace

struct HelperPool::Job {
  Job(int64_t chunks, ChunkFn body, const void* context)
      : body(body), context(context), chunks(chunks) {}

  const ChunkFn body;
  const void* const context;
  const int64_t chunks;
  std::atomic<int64_t> next{0};
  std::mutex error_mutex;
  std::exception_ptr error;  // the first; guarded by error_mutex until all have left

  void work(int64_t most) {
    for (int64_t i = 0; i < most; ++i) {
      const int64_t chunk = next.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= chunks) return;
      try {
        body(context, chunk);
      } catch (...) {
        std::lock_guard<std::mutex> lock(error_mutex);
        if (!error) error = std::current_exception();
        next.store(chunks, std::memory_order_relaxed);
      }
    }
  }
};

// Who joins and who leaves does so with `mutex`, so the job on the caller's stack outlives all that
// look at it: the caller withdraws it, with `mutex`, and then waits for `inside` to be 0. The
// helpers' writes are visible to it by the same mutex, or by the release of `inside`.
struct HelperPool::Shared {
  std::atomic<bool> in_use{false};  // by the one caller that has helpers
  std::mutex mutex;  // guards the fields below; what is atomic is also read without it
  std::condition_variable offered, left;
  std::atomic<Job*> job{nullptr};
  std::atomic<uint64_t> offers{0};  // grows with each job
  std::atomic<int> inside{0};       // helpers at the job
  int alive = 0;                    // helpers
  int places = 0;                   // at this job, still free
  bool stopping = false;

  Job* join();   // with the mutex
  void leave();  // without
};

HelperPool::HelperPool(int threads) : threads_(threads), shared_(std::make_shared<Shared>()) {}

HelperPool::~HelperPool() {
  std::unique_lock<std::mutex> lock(shared_->mutex);
  shared_->stopping = true;
  shared_->offered.notify_all();
  shared_->left.wait(lock, [this] { return shared_->alive == 0; });
}

void HelperPool::run(int64_t chunks, ChunkFn body, const void* context) {
  Job job(chunks, body, context);
  Shared& shared = *shared_;
  const int64_t helpers = std::min<int64_t>(threads(), chunks) - 1;
  // acquire, release: one caller's use of the pool happens before the next one's.
  const bool helped = helpers > 0 && !shared.in_use.exchange(true, std::memory_order_acquire);
  if (helped) offer(&job, static_cast<int>(helpers));
  job.work(chunks);
  if (helped) {
    withdraw();
    shared.in_use.store(false, std::memory_order_release);
  }
  if (job.error) std::rethrow_exception(job.error);
}

void HelperPool::offer(Job* job, int helpers) {
  std::lock_guard<std::mutex> lock(shared_->mutex);
  shared_->places = helpers;
  shared_->job.store(job, std::memory_order_release);
  shared_->offers.fetch_add(1, std::memory_order_release);
  if (job->chunks < kWorthWaking) return;  // who is awake sees it
  try {
    for (; shared_->alive < helpers; ++shared_->alive) std::thread(help, shared_).detach();
  } catch (const std::system_error&) {
    // The process may have no more threads: those that there are do it.
  }
  shared_->offered.notify_all();
}

/// A place at the job, or null.
HelperPool::Job* HelperPool::Shared::join() {
  Job* offered_job = job.load(std::memory_order_relaxed);
  if (!offered_job || places == 0) return nullptr;
  --places;
  inside.fetch_add(1, std::memory_order_relaxed);
  return offered_job;
}

/// The last to leave wakes the caller, who is not between its look and its sleep.
void HelperPool::Shared::leave() {
  if (inside.fetch_sub(1, std::memory_order_release) > 1) return;
  std::lock_guard<std::mutex> lock(mutex);
  left.notify_all();
}

bool HelperPool::assist() {
  const std::shared_ptr<Shared> shared = shared_;
  if (!shared->job.load(std::memory_order_acquire)) return false;
  Job* job;
  {
    std::lock_guard<std::mutex> lock(shared->mutex);
    job = shared->join();
  }
  if (!job) return false;
  job->work(kAssistChunks);
  if (job->next.load(std::memory_order_relaxed) < job->chunks) {
    std::lock_guard<std::mutex> lock(shared->mutex);
    ++shared->places;  // for its next turn, or for a helper
  }
  shared->leave();
  return true;
}

/// Returns when no helper looks at the job any more.
void HelperPool::withdraw() {
  Shared& shared = *shared_;
  {
    std::lock_guard<std::mutex> lock(shared.mutex);
    shared.job.store(nullptr, std::memory_order_relaxed);
  }
  const auto all_left = [&] { return shared.inside.load(std::memory_order_acquire) == 0; };
  if (spin_until(all_left)) return;
  std::unique_lock<std::mutex> lock(shared.mutex);
  shared.left.wait(lock, all_left);
}

void HelperPool::help(const std::shared_ptr<Shared>& shared) {
  pthread_setname_np(pthread_self(), "cpu helper");
  uint64_t seen = 0;
  const auto offer = [&] { return shared->offers.load(std::memory_order_acquire) != seen; };
  for (;;) {
    spin_until(offer);
    std::unique_lock<std::mutex> lock(shared->mutex);
    shared->offered.wait(lock, [&] { return offer() || shared->stopping; });
    if (shared->stopping) {
      --shared->alive;
      shared->left.notify_all();
      return;
    }
    seen = shared->offers.load(std::memory_order_relaxed);
    Job* job = shared->join();
    if (!job) continue;
    lock.unlock();
    job->work(job->chunks);
    shared->leave();
  }
}

// What the parent's helpers may have held or slept in stays with them.
void HelperPool::after_fork_in_child() {
  new std::shared_ptr<Shared>(std::move(shared_));
  shared_ = std::make_shared<Shared>();
}

}  // namespace ofl::ep
