#include "driver/launch.h"

#include <sys/mman.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "driver/config.h"
#include "driver/rehearsal.h"

namespace simcuda {
namespace {

void check_shape(const SimLaunch& launch, const Function& function) {
  constexpr unsigned kGrid[] = {0x7fffffff, 65535, 65535};
  constexpr unsigned kBlock[] = {1024, 1024, 64};
  uint64_t threads = 1;
  for (int axis = 0; axis < 3; ++axis) {
    require(launch.grid[axis] >= 1 && launch.grid[axis] <= kGrid[axis]);
    require(launch.block[axis] >= 1 && launch.block[axis] <= kBlock[axis]);
    threads *= launch.block[axis];
  }
  require(threads <= 1024);
  require(threads <= function.kernel.max_threads, ERROR_LAUNCH_OUT_OF_RESOURCES);
  require(launch.shared_bytes <= static_cast<unsigned>(function.max_dynamic_shared));
}

/// Pages that a thread keeps for its kernels; untouched ones cost nothing.
class Scratch {
 public:
  ~Scratch() {
    if (memory_) munmap(memory_, bytes_);
  }
  char* get(size_t bytes) {
    if (bytes <= bytes_) return static_cast<char*>(memory_);
    void* const larger = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (larger == MAP_FAILED) throw std::bad_alloc();
    if (memory_) munmap(memory_, bytes_);
    memory_ = larger;
    bytes_ = bytes;
    return static_cast<char*>(memory_);
  }

 private:
  void* memory_ = nullptr;
  size_t bytes_ = 0;
};

char* scratch(size_t bytes) {
  thread_local Scratch pages;
  return pages.get(bytes);
}

/// The seed of an order of threads; 0 where they are to take their turns one after the other.
unsigned long long next_order() {
  constexpr uint64_t kSpread = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio
  static std::atomic<uint64_t> count{0};
  if (config().lanes == static_cast<int64_t>(Lanes::ordered)) return 0;
  return (static_cast<uint64_t>(config().seed) * kSpread + ++count) * kSpread | 1;
}

Result result_of(SimOutcome outcome) {
  switch (outcome) {
    case kSimTrapped: return ERROR_ASSERT;
    case kSimMisaligned: return ERROR_MISALIGNED_ADDRESS;
    default: return ERROR_LAUNCH_FAILED;
  }
}

/// One run of all blocks. True if it came to its end; else the context is dead.
bool run_once(Context& context, const Launch& launch, Arguments& arguments) {
  SimLaunch shape = launch.shape;
  shape.order = next_order();
  const char* message = nullptr;
  const Function& function = *launch.function;
  const SimOutcome outcome = function.kernel.run(&shape, arguments.pointers().data(), &message);
  if (outcome == kSimFinished) return true;
  const std::string why = "kernel " + function.name + ": " + message;
  context.kill(result_of(outcome), why.c_str());
  return false;
}

void run_blocks(Context& context, const Launch& launch, Arguments& arguments) {
  std::unique_ptr<Rehearsal> rehearsal;
  const bool is_asked = config().lanes == static_cast<int64_t>(Lanes::twice);
  if (is_asked && !launch.function->kernel.is_unordered) rehearsal = Rehearsal::of(arguments);
  if (!rehearsal) {
    run_once(context, launch, arguments);
    return;
  }
  for (int run = 0; run < Rehearsal::kRuns; ++run) {
    if (!run_once(context, launch, rehearsal->arguments(run))) return;
  }
  if (rehearsal->agrees()) return rehearsal->publish();
  const std::string why = "kernel " + launch.function->name +
                          ": threads in another order make another result; is a barrier missing?";
  context.kill(ERROR_LAUNCH_FAILED, why.c_str());
}

}  // namespace

void run_kernel(Context& context, const Launch& launch, Arguments& arguments,
                Clock::time_point launched) {
  const Config& c = config();
  std::this_thread::sleep_until(launched + std::chrono::nanoseconds(c.launch_ns));
  const auto end = Clock::now() + std::chrono::nanoseconds(c.kernel_ns);
  if (arguments.problem()) {
    const std::string why = "kernel " + launch.function->name + ": " + arguments.problem();
    context.kill(ERROR_ILLEGAL_ADDRESS, why.c_str());
    return;
  }
  run_blocks(context, launch, arguments);
  std::this_thread::sleep_until(end);
}

Launch make_launch(Context& context, Handle handle, SimLaunch shape, void** given, void** extra) {
  const auto function = function_of(handle);
  require(&function->module->context() == &context, ERROR_INVALID_HANDLE);
  check_shape(shape, *function);
  require(given == nullptr || extra == nullptr);
  shape.scratch = &scratch;
  return {function, shape, Parameters(function->kernel, given, extra)};
}

}  // namespace simcuda
