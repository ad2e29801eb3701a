// The context of one cuda device: current where it is needed, dead after an error that the driver
// does not recover from.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>

#include "base/device.h"
#include "base/error.h"
#include "ep/cuda/driver.h"

namespace ofl::ep {
class Device;
}

namespace ofl::ep::cuda {

class DeviceContext {
 public:
  explicit DeviceContext(ofl::Device id);
  ~DeviceContext();
  DeviceContext(const DeviceContext&) = delete;

  ofl::Device id() const { return id_; }
  Context handle() const { return handle_; }
  int multiprocessors() const { return multiprocessors_; }

  /// Throws what a call's result says, if it says anything but success (or not ready):
  /// Error(out_of_memory), or Error(runtime) "[cuda:0] cuMemAlloc: CUDA_ERROR_...".
  void check(Result result, const char* function) {
    if (result != kSuccess) throw_error(result, function);
  }
  /// The same, as an error; marks the device dead where the driver will not use it again.
  Error error_of(Result result, const char* function);
  /// Marks the device dead: an error of work that had been accepted.
  void lose(Result result, const char* function);
  /// Throws when the device is dead, or was made before a fork.
  void require_alive() {
    if (dead_.load(std::memory_order_acquire)) throw_death();
  }
  /// The same, and asks the driver first: what two devices take part in fails with the code of
  /// either.
  void require_working();
  bool is_dead() const { return dead_.load(std::memory_order_acquire); }
  Error death();

  /// In the child after fork: the driver does not work there.
  void after_fork_in_child();

  /// Of a device that is in use; null: there is none.
  static DeviceContext* find(int ordinal);
  /// Where the devices can, this one's queues reach the peer's memory from now on, and it is true.
  bool enable_peer(DeviceContext& peer);

  /// From now on, launches of the function may have so much dynamic shared memory. The context is
  /// current. The limit only grows: other threads launch the function with what they asked for.
  void allow_shared(Function function, size_t bytes);

  /// Host time of steady_clock, in ns, of a recorded event; 0 where the device is lost.
  int64_t time_of(EventHandle event);

 private:
  [[noreturn]] void throw_error(Result result, const char* function);
  [[noreturn]] void throw_death();
  Result start_clock();

  const ofl::Device id_;
  int ordinal_ = 0, multiprocessors_ = 1;
  Context handle_ = nullptr;
  std::atomic<bool> dead_{false};
  std::mutex mutex_;  // guards cause_
  std::string cause_;
  std::mutex clock_mutex_;  // guards the two below
  EventHandle clock_start_ = nullptr;
  int64_t clock_start_ns_ = 0;
  std::mutex shared_mutex_;  // guards allowed_shared_, and the order in which limits are set
  std::unordered_map<Function, size_t> allowed_shared_;
};

/// While it lives, what the calling thread calls neither fails nor spoils the capture where a
/// stream is captured into a graph: one of another library, or a private one of ours
/// (cuda_graph.h).
class Relaxed {
 public:
  Relaxed();
  ~Relaxed();
  Relaxed(const Relaxed&) = delete;
  /// The calling thread, one of ours, until it ends.
  static void for_good();

 private:
  static constexpr int kMode = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED

  const bool exchanged_;
  int mode_ = kMode;  // once exchanged, what the thread had
};

/// Makes a context the calling thread's for a while, and the thread relaxed. The threads of the
/// device's own streams have it already and are so, and the driver need not be asked.
class Current {
 public:
  /// The calling thread, one of ours, has the context from now on.
  static Result keep(DeviceContext& context);

  explicit Current(DeviceContext& context);
  /// Throws nothing: for destructors. At the end of the process the driver may be gone already.
  /// The caller looks at failure().
  Current(DeviceContext& context, std::nothrow_t) noexcept : failure_(push(context)) {}
  ~Current();
  Current(const Current&) = delete;

  /// Not kSuccess: the context is not the thread's, and nothing may be called that needs it.
  Result failure() const { return failure_; }
  /// What failed.
  const char* function() const { return function_; }

 private:
  Result push(DeviceContext& context);

  const Relaxed relaxed_;
  bool pushed_ = false;
  const DeviceContext* below_ = nullptr;  // where the thread is ours and has pushed: known before
  const char* function_ = "cuCtxGetCurrent";
  Result failure_ = kSuccess;
};

/// Whether there was anything to give back.
bool release_caches(Device& device);

/// With the context current, where nobody can be told of a failure: it loses the device, unless the
/// driver has gone or the call was refused because of a capture. The result of `run(functions)`, or
/// of what came before it.
template <typename Run>
Result run_quietly(DeviceContext& context, const char* function, const Run& run) noexcept {
  const Current current(context, std::nothrow);
  const bool usable = current.failure() == kSuccess;
  const Result result = usable ? run(call()) : current.failure();
  const bool harmless = result == kNotReady || result == kDeinitialized || is_of_capture(result);
  if (result != kSuccess && !harmless) {
    context.lose(result, usable ? function : current.function());
  }
  return result;
}

/// Calls `run`, which gives a Result; where the device has no memory for it, again after the device
/// has given back what it keeps for reuse. As Device::release_caches(), so not for events: those
/// are made with a queue's mutex.
template <typename Run>
Result with_memory(Device& device, const Run& run) {
  const Result result = run();
  return result == kOutOfMemory && release_caches(device) ? run() : result;
}

}  // namespace ofl::ep::cuda
