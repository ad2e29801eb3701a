#include "ep/threads/helper_pool.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "ep/threads/crowding.h"
#include "ep/threads/placement.h"

namespace ofl::ep {

namespace {

/// A thread waits so long for a few instructions of another one. A helper that is not counted on
/// waits so long for the next job.
constexpr std::chrono::nanoseconds kSpin{50'000};
constexpr std::chrono::nanoseconds kAwake{HelperPool::kAwakeNs}, kVigil{2'000'000};
constexpr int64_t kWorthWaking = 12;   // usual chunks: to wake a thread costs the time of some
constexpr int64_t kAssistChunks = 50;  // by who must look after something else, too
constexpr int64_t kUsualChunkNs = 10'000;
/// The caller looks for helpers at their last chunks for kSpin, and for a chunk of this at most.
constexpr int64_t kLongestChunkNs = 1'000'000;
constexpr int kRoused = 3;  // each costs the caller a call of the system
/// A helper that needs so many times as long for its last chunk as the others took has lost its
/// core.
constexpr int64_t kLateChunks = 4;

/// `limit()` may change meanwhile.
template <typename Done, typename Limit>
bool spin_until(const Done& done, const Limit& limit) {
  const auto begin = std::chrono::steady_clock::now();
  while (!done()) {
    if (std::chrono::steady_clock::now() - begin > limit()) return false;
    std::this_thread::yield();
  }
  return true;
}

template <typename Done>
bool spin_until(const Done& done) {
  return spin_until(done, [] { return kSpin; });
}

}  // namespace

struct HelperPool::Job {
  Job(int64_t chunks, ChunkFn body, const void* context, int64_t weight)
      : body(body), context(context), chunks(chunks), weight(weight) {}

  const ChunkFn body;
  const void* const context;
  const int64_t chunks, weight;
  alignas(64) std::atomic<int64_t> taken{0};  // may grow beyond `chunks`
  alignas(64) std::atomic<int64_t> from_end{0};
  alignas(64) int64_t from_begin = 0;  // the caller's
  std::mutex error_mutex;
  std::exception_ptr error;  // the first; guarded by error_mutex until all have left

  int64_t left() const { return chunks - taken.load(std::memory_order_relaxed); }
  bool worth_waking() const { return left() * weight >= kWorthWaking; }
  /// Returns how many chunks it has taken: the caller from the beginning, others from the end. So
  /// each has about the same part of one job after the other, and what it wrote is in its cache.
  /// A thread counts in `taken` before it takes one. So no more than all are taken, and those from
  /// the beginning and those from the end are different ones.
  int64_t work(int64_t most, bool is_caller = false) {
    for (int64_t i = 0; i < most; ++i) {
      if (taken.fetch_add(1, std::memory_order_relaxed) >= chunks) return i;
      const int64_t chunk =
          is_caller ? from_begin++ : chunks - 1 - from_end.fetch_add(1, std::memory_order_relaxed);
      try {
        body(context, chunk);
      } catch (...) {
        std::lock_guard<std::mutex> lock(error_mutex);
        if (!error) error = std::current_exception();
        taken.store(chunks, std::memory_order_relaxed);
      }
    }
    return most;
  }
};

// Who joins and who leaves does so with `mutex`, so the job on the caller's stack outlives all that
// look at it: the caller withdraws it, with `mutex`, and then waits for `inside` to be 0. The
// helpers' writes are visible to it by the same mutex, or by the release of `inside`.
//
// The mutex is held for some instructions, or for some calls of the system where a caller has
// slept. Nobody is woken with it: a thread that slept for it would be woken late, and perhaps on
// the core of who had it. So all but helpers spin for it.
//
// A place at the job is not forgotten: the caller publishes the job and then counts who stands by;
// who stands down leaves the count and then looks for a job. All four are seq_cst, so either the
// caller does not count on it and wakes a helper, or it sees the job and wakes one in its place.
struct HelperPool::Shared {
  /// Where one helper sleeps.
  class Sleeper {
   public:
    void sleep(Shared& shared);
    void wake(const Shared& shared);

   private:
    std::mutex mutex_;  // guards the rest
    std::condition_variable call_;
    bool called_ = false;
    int64_t called_at_ = 0;
    uint64_t stands_ = 0;  // when it was called
    Placement placement_;
  };

  explicit Shared(const char* name) : name(name) {}

  const char* const name;  // of the threads
  Crowding crowding;

  std::atomic<int> vigils{0};       // a hint: how long to stay awake; orders nothing
  std::atomic<bool> in_use{false};  // by the one caller that has helpers
  std::atomic<int> standing_by{0};
  std::atomic<uint64_t> stands{0};    // calls of stand_by() so far; a hint: orders nothing
  std::atomic<bool> is_ready{false};  // a hint: one is awake or called; orders nothing
  std::mutex mutex;  // guards the fields below; what is atomic is also read without it
  std::condition_variable left;
  Placement* sleeping_caller = nullptr;  // sleeps until all helpers have left
  std::atomic<Job*> job{nullptr};
  std::atomic<uint64_t> offers{0};               // grows with each job
  std::atomic<int> inside{0};                    // helpers at the job
  std::vector<std::shared_ptr<Sleeper>> asleep;  // helpers, the last to fall asleep last
  int alive = 0;                                 // helpers
  int places = 0;                                // at this job, still free
  bool stopping = false;

  std::unique_lock<std::mutex> hold();
  int awake() const { return alive - static_cast<int>(asleep.size()); }  // with the mutex
  void wake(int helpers, std::unique_lock<std::mutex> lock);             // gives the mutex back
  Job* join();                                                           // with the mutex
  void leave();                                                          // without
};

HelperPool::HelperPool(int threads, const char* name)
    : threads_(threads), shared_(std::make_shared<Shared>(name)) {}

HelperPool::Vigil::Vigil(const HelperPool& pool) : shared_(pool.shared_) {
  shared_->vigils.fetch_add(1, std::memory_order_relaxed);
}

HelperPool::Vigil::~Vigil() { shared_->vigils.fetch_sub(1, std::memory_order_relaxed); }

HelperPool::~HelperPool() {
  std::unique_lock<std::mutex> lock = shared_->hold();
  shared_->stopping = true;
  shared_->wake(shared_->alive, std::move(lock));
  lock = shared_->hold();
  shared_->left.wait(lock, [this] { return shared_->alive == 0; });
}

void HelperPool::run(int64_t chunks, ChunkFn body, const void* context, int64_t weight) {
  Job job(chunks, body, context, weight);
  Shared& shared = *shared_;
  const int64_t helpers = std::min<int64_t>(threads(), chunks) - 1;
  // acquire, release: one caller's use of the pool happens before the next one's.
  if (helpers > 0 && !shared.crowding.is_crowded() &&
      !shared.in_use.exchange(true, std::memory_order_acquire)) {
    run_helped(&job, static_cast<int>(helpers));
    shared.in_use.store(false, std::memory_order_release);
  } else {
    job.work(chunks, true);
  }
  if (job.error) std::rethrow_exception(job.error);
}

void HelperPool::run_helped(Job* job, int helpers) {
  const int64_t begin = now_ns();
  int64_t taken = 0;
  offer(job, helpers);
  // A short chunk first: a thread that is about to wait for this work then helps without a call.
  if (job->weight == 1 && job->worth_waking()) taken += job->work(1, true);
  if (job->worth_waking()) wake_missing(helpers);
  taken += job->work(job->chunks, true);
  const int64_t each = taken > 0 ? (now_ns() - begin) / taken : 0;
  withdraw(helpers, std::max(each, kUsualChunkNs * job->weight));
}

/// Who is awake sees the job.
void HelperPool::offer(Job* job, int helpers) {
  Shared& shared = *shared_;
  const std::unique_lock<std::mutex> lock = shared.hold();
  shared.places = helpers;
  shared.job.store(job, std::memory_order_seq_cst);
  shared.offers.fetch_add(1, std::memory_order_release);
}

/// As many as are missing are woken, or made; the others are at the job, or will see it.
void HelperPool::wake_missing(int helpers) {
  Shared& shared = *shared_;
  std::unique_lock<std::mutex> lock = shared.hold();
  const int missing = helpers - shared.standing_by.load(std::memory_order_seq_cst) - shared.awake();
  try {
    for (int made = static_cast<int>(shared.asleep.size()); made < missing; ++made) {
      shared.asleep.reserve(shared.alive + 1);  // to fall asleep needs no memory
      std::thread(help, shared_).detach();
      ++shared.alive;
    }
  } catch (const std::system_error&) {
    // The process may have no more threads: those that there are do it.
  } catch (const std::bad_alloc&) {
    // The same of memory.
  }
  shared.wake(missing, std::move(lock));
}

std::unique_lock<std::mutex> HelperPool::Shared::hold() {
  std::unique_lock<std::mutex> lock(mutex, std::defer_lock);
  if (!spin_until([&] { return lock.try_lock(); })) lock.lock();
  return lock;
}

void HelperPool::Shared::wake(int helpers, std::unique_lock<std::mutex> lock) {
  for (; helpers > 0 && !asleep.empty(); --helpers) {
    const std::shared_ptr<Sleeper> sleeper = std::move(asleep.back());
    asleep.pop_back();
    lock.unlock();
    sleeper->wake(*this);
    lock = hold();
  }
}

// A worker may wake a helper just before the thread that has issued the work begins to wait. That
// thread stands by in the helper's place. It keeps the core for which the helper was woken. So the
// helper may be late without another process being the reason.
void HelperPool::Shared::Sleeper::sleep(Shared& shared) {
  std::unique_lock<std::mutex> lock(mutex_);
  placement_.asleep();
  call_.wait(lock, [this] { return called_; });
  placement_.awake();
  called_ = false;
  const int64_t now = now_ns();
  const bool is_replaced = shared.stands.load(std::memory_order_relaxed) != stands_;
  shared.crowding.note_wake(now - called_at_, now, is_replaced);
}

// Where cores are taken, another core than this one is perhaps the wrong one.
void HelperPool::Shared::Sleeper::wake(const Shared& shared) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!shared.crowding.is_crowded()) placement_.elsewhere();
    called_ = true;
    called_at_ = now_ns();
    stands_ = shared.stands.load(std::memory_order_relaxed);
  }
  call_.notify_one();
}

/// A place at the job, or null.
HelperPool::Job* HelperPool::Shared::join() {
  Job* offered = job.load(std::memory_order_relaxed);
  if (!offered || places == 0) return nullptr;
  --places;
  inside.fetch_add(1, std::memory_order_relaxed);
  return offered;
}

/// The last helper to leave wakes the caller, which is not between its look and its sleep. The
/// helper keeps its core, so the caller wakes on another one. A helper that leaves an earlier job
/// late may keep the caller off its own core. That costs time at worst.
void HelperPool::Shared::leave() {
  if (inside.fetch_sub(1, std::memory_order_release) > 1) return;
  {
    const std::unique_lock<std::mutex> lock = hold();
    if (sleeping_caller && !crowding.is_crowded()) sleeping_caller->elsewhere();
  }
  left.notify_all();
}

bool HelperPool::assist() {
  if (!shared_->job.load(std::memory_order_acquire)) return false;
  const std::shared_ptr<Shared> shared = shared_;
  Job* job;
  {
    const std::unique_lock<std::mutex> lock = shared->hold();
    job = shared->join();
  }
  if (!job) return false;
  job->work(kAssistChunks);
  if (job->left() > 0) {
    const std::unique_lock<std::mutex> lock = shared->hold();
    ++shared->places;  // for its next turn, or for a helper
  }
  shared->leave();
  return true;
}

void HelperPool::stand_by() {
  shared_->stands.fetch_add(1, std::memory_order_relaxed);
  shared_->standing_by.fetch_add(1, std::memory_order_seq_cst);
}

bool HelperPool::is_helped() const {
  return shared_->standing_by.load(std::memory_order_relaxed) > 0 ||
         shared_->is_ready.load(std::memory_order_relaxed);
}

void HelperPool::rouse() {
  const int helpers = std::min(threads() - 1, kRoused);
  if (helpers < 1 || shared_->crowding.is_crowded()) return;
  shared_->is_ready.store(true, std::memory_order_relaxed);
  wake_missing(helpers);
}

void HelperPool::rouse_again() {
  if (shared_->is_ready.load(std::memory_order_relaxed)) return;
  {
    const std::unique_lock<std::mutex> lock = shared_->hold();
    if (shared_->awake() > 0) return;
  }
  rouse();
}

void HelperPool::let_go() { shared_->is_ready.store(false, std::memory_order_relaxed); }

void HelperPool::stand_down() {
  Shared& shared = *shared_;
  shared.standing_by.fetch_sub(1, std::memory_order_seq_cst);
  if (!shared.job.load(std::memory_order_seq_cst)) return;
  std::unique_lock<std::mutex> lock = shared.hold();
  const Job* job = shared.job.load(std::memory_order_relaxed);
  if (job && shared.places > shared.awake() && job->worth_waking()) {
    shared.wake(1, std::move(lock));
  }
}

Crowding& HelperPool::crowding() { return shared_->crowding; }

/// Returns when no helper looks at the job any more. `usual_ns`: what a chunk took. Where none has
/// come to it, those that are awake have no core.
void HelperPool::withdraw(int helpers, int64_t usual_ns) {
  Shared& shared = *shared_;
  {
    const std::unique_lock<std::mutex> lock = shared.hold();
    shared.job.store(nullptr, std::memory_order_relaxed);
    if (shared.places == helpers) shared.is_ready.store(false, std::memory_order_relaxed);
  }
  const auto all_left = [&] { return shared.inside.load(std::memory_order_acquire) == 0; };
  const int64_t begin = now_ns();
  const std::chrono::nanoseconds last_chunk(std::min(usual_ns, kLongestChunkNs));
  if (!spin_until(all_left, [&] { return kSpin + last_chunk; })) {
    std::unique_lock<std::mutex> lock = shared.hold();
    Placement placement;
    placement.asleep();
    shared.sleeping_caller = &placement;
    shared.left.wait(lock, all_left);
    shared.sleeping_caller = nullptr;
    placement.awake();
  }
  const int64_t end = now_ns();
  if (end - begin > std::max(kLateChunks * usual_ns, Crowding::kLateNs)) {
    shared.crowding.note_late(end);
  } else {
    shared.crowding.note_in_time(end);
  }
}

void HelperPool::help(const std::shared_ptr<Shared>& shared) {
  pthread_setname_np(pthread_self(), shared->name);
  shared->is_ready.store(true, std::memory_order_relaxed);
  const auto self = std::make_shared<Shared::Sleeper>();
  uint64_t seen = 0;
  const auto offer = [&] { return shared->offers.load(std::memory_order_acquire) != seen; };
  const auto limit = [&] {
    if (shared->vigils.load(std::memory_order_relaxed) > 0) return kVigil;
    const bool is_counted_on = shared->is_ready.load(std::memory_order_relaxed);
    return is_counted_on && !shared->crowding.is_crowded() ? kAwake : kSpin;
  };
  for (;;) {
    const bool offered = spin_until(offer, limit);
    std::unique_lock<std::mutex> lock = shared->hold();
    if (shared->stopping) {
      --shared->alive;
      shared->left.notify_all();
      return;
    }
    Job* job = nullptr;
    bool is_wanted = offered || offer();
    if (is_wanted) {
      seen = shared->offers.load(std::memory_order_relaxed);
      job = shared->join();
      // Where threads that wait have taken all places, they may want this core for what comes next.
      is_wanted = job || !shared->job.load(std::memory_order_relaxed);
    }
    if (!is_wanted) {
      shared->asleep.push_back(self);
      if (shared->awake() == 0) shared->is_ready.store(false, std::memory_order_relaxed);
    }
    lock.unlock();
    if (!is_wanted) {
      self->sleep(*shared);
      shared->is_ready.store(true, std::memory_order_relaxed);
    }
    if (!job) continue;
    job->work(job->chunks);
    shared->leave();
  }
}

// What the parent's helpers may have held or slept in stays with them. Who stands by does so again.
void HelperPool::after_fork_in_child() {
  auto& left_behind = *new std::shared_ptr<Shared>(std::move(shared_));
  shared_ = std::make_shared<Shared>(left_behind->name);
  shared_->crowding.set_watched(left_behind->crowding.is_watched());
}

}  // namespace ofl::ep
