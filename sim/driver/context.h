// The driver's state: devices, their primary contexts, and which context is current in a thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "driver/abi.h"
#include "driver/capacity.h"
#include "driver/faults.h"
#include "driver/objects.h"

namespace simcuda {

/// One after the other: copies of one direction share the bandwidth of their engine.
class Engine {
 public:
  /// When `duration` of work is done that starts now, or after the work that the engine has.
  Clock::time_point reserve(std::chrono::nanoseconds duration);

 private:
  std::mutex mutex_;  // guards free_at_
  Clock::time_point free_at_;
};

enum class Direction : uint8_t { h2d, d2h, d2d };

/// The primary context of one device. Exists as long as the process; active while it is retained.
class Context {
 public:
  Context(int device, size_t capacity) : device_(device), capacity_(capacity) {}

  int device() const { return device_; }
  Handle handle() const {
    return reinterpret_cast<Handle>(uint64_t{0x5B} << 56 | (device_ + 1) << 4);
  }

  void retain();
  /// The last release ends everything that the context has, after its work.
  void release();
  void reset();
  bool is_active() const { return references_ > 0; }

  /// Fails if it is not active, or with the error that killed it.
  void check() const;
  bool is_dead() const { return sticky_.load(std::memory_order_relaxed) != SUCCESS; }
  Result sticky() const { return sticky_.load(std::memory_order_relaxed); }
  /// From here on nothing of this context runs, and every call returns `code`.
  void kill(Result code, const char* why);

  Handle create_stream(unsigned flags, int priority);
  std::shared_ptr<Stream> null_stream();
  /// Queues `operation`; the legacy stream and blocking streams wait for each other.
  void enqueue(Stream& stream, std::function<void()> operation);
  /// The same for work: skipped if the context is dead, subject to injected deaths.
  void submit(Stream& stream, WorkKind kind, std::function<void()> work);
  /// In a stream's thread: what submit queues.
  void perform(WorkKind kind, const std::function<void()>& work);
  /// When a copy that starts now may end at the earliest.
  Clock::time_point copy_end(Direction direction, size_t bytes);
  void synchronize();
  /// A point behind everything that the context's streams have.
  std::shared_ptr<Point> mark_all();

  Capacity& capacity() { return capacity_; }
  /// Takes room for `bytes`, as far as what `stream` (may be null) has queued to be freed. Fails
  /// with OUT_OF_MEMORY.
  Room take_room(size_t bytes, const Stream* stream = nullptr);

  bool enable_peer(int device);
  bool disable_peer(int device);
  bool can_reach(int device);

 private:
  void end();
  /// Those with work of this context.
  void drop_graphs();

  const int device_;
  Capacity capacity_;
  std::mutex lifetime_mutex_;  // taken by retain, release and reset
  std::atomic<int> references_{0};
  std::atomic<Result> sticky_{SUCCESS};

  std::mutex mutex_;  // guards the fields below
  std::shared_ptr<Stream> null_stream_;
  std::vector<std::shared_ptr<Queue>> queues_;  // of destroyed streams, too, until they have run
  std::set<int> peers_;
  std::mutex legacy_mutex_;  // orders submissions that wait for other streams: no cycle can arise
  Engine engines_[3];        // by Direction
};

/// cuInit; more calls have no effect.
void initialize();
bool is_initialized();
int device_count();
/// Fails with INVALID_DEVICE.
Context& device_context(int device);
/// Of a handle; fails with INVALID_CONTEXT.
Context& context_of(Handle handle);

/// The calling thread's stack of contexts; its last one is current.
std::vector<Context*>& context_stack();
Context* current_or_null();
/// Fails if there is none or it cannot be used.
Context& current_context();
/// A stream of any usable context; the special handles mean the current context's.
std::shared_ptr<Stream> stream_of(Handle handle);

}  // namespace simcuda
