// Launches, and the properties of kernels that they depend on.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "driver/api.h"
#include "driver/config.h"
#include "driver/context.h"
#include "driver/modules.h"
#include "driver/parameters.h"
#include "driver/rehearsal.h"

namespace simcuda::api {
namespace {

constexpr int kMaxDynamicShared = 227 << 10;
constexpr int kSharedPerMultiprocessor = 228 << 10;
constexpr int kThreadsPerMultiprocessor = 2048;
constexpr int kBlocksPerMultiprocessor = 32;
constexpr int kReservedShared = 1 << 10;  // of each block

enum FunctionAttribute : int {
  kMaxThreadsPerBlock = 0,
  kRegisters = 4,
  kPtxVersion = 5,
  kBinaryVersion = 6,
  kMaxDynamicSharedBytes = 8,
  kSharedCarveout = 9,
  kLastFunctionAttribute = 15,
};

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

/// A launch as it was asked for.
struct Launch {
  std::shared_ptr<Function> function;
  SimLaunch shape;
  Parameters parameters;
};

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
  if (config().lanes == static_cast<int64_t>(Lanes::twice)) rehearsal = Rehearsal::of(arguments);
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

/// In the stream's thread.
void run(Context& context, const Launch& launch, Arguments& arguments, Clock::time_point launched) {
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

void launch(Handle handle, const SimLaunch& shape, Handle stream_handle, void** given,
            void** extra) {
  const auto function = function_of(handle);
  const auto stream = stream_of(stream_handle);
  Context& context = stream->context;
  require(&function->module->context() == &context, ERROR_INVALID_HANDLE);
  check_shape(shape, *function);
  require(given == nullptr || extra == nullptr);
  Launch asked{function, shape, Parameters(function->kernel, given, extra)};
  auto arguments = std::make_shared<Arguments>(asked.parameters.translated(context));
  const auto now = Clock::now();
  // The arguments go along: who launches keeps no hold, and so never is the one that frees them.
  auto operation = [=, &context, arguments = std::move(arguments)] {
    run(context, asked, *arguments, now);
  };
  context.submit(*stream, WorkKind::kernel, std::move(operation));
}

}  // namespace

void function_attribute(int* value, int attribute, Handle handle) {
  require(value != nullptr && attribute >= 0 && attribute <= kLastFunctionAttribute);
  const auto function = function_of(handle);
  switch (attribute) {
    case kMaxThreadsPerBlock: *value = static_cast<int>(function->kernel.max_threads); return;
    case kRegisters: *value = 32; return;
    case kPtxVersion:
    case kBinaryVersion: *value = static_cast<int>(config().capability); return;
    case kMaxDynamicSharedBytes: *value = function->max_dynamic_shared; return;
    case kSharedCarveout: *value = function->shared_carveout; return;
    default: *value = 0; return;
  }
}

void set_function_attribute(Handle handle, int attribute, int value) {
  const auto function = function_of(handle);
  switch (attribute) {
    case kMaxDynamicSharedBytes:
      require(value >= 0 && value <= kMaxDynamicShared);
      function->max_dynamic_shared = value;
      return;
    case kSharedCarveout:
      require(value >= -1 && value <= 100);
      function->shared_carveout = value;
      return;
    default: fail(ERROR_INVALID_VALUE);
  }
}

void set_function_cache_config(Handle function, int config) {
  require(config >= 0 && config <= 3);
  function_of(function);
}

void kernel_attribute(int* value, int attribute, Handle kernel, int device) {
  function_attribute(value, attribute, kernels().get(kernel)->function_for(device_context(device)));
}

void set_kernel_attribute(int attribute, int value, Handle kernel, int device) {
  set_function_attribute(kernels().get(kernel)->function_for(device_context(device)), attribute,
                         value);
}

void max_active_blocks(int* blocks, Handle handle, int block_threads, size_t dynamic_shared) {
  const auto function = function_of(handle);
  require(blocks != nullptr && block_threads > 0);
  *blocks = 0;
  if (block_threads > static_cast<int>(function->kernel.max_threads)) return;
  if (dynamic_shared > static_cast<size_t>(function->max_dynamic_shared)) return;
  const int warps_threads = (block_threads + 31) / 32 * 32;
  const int shared = static_cast<int>(dynamic_shared) + kReservedShared;
  *blocks = std::min({kThreadsPerMultiprocessor / warps_threads, kBlocksPerMultiprocessor,
                      kSharedPerMultiprocessor / shared});
}

void max_active_blocks_with_flags(int* blocks, Handle function, int block_threads,
                                  size_t dynamic_shared, unsigned flags) {
  require(flags <= 1);
  max_active_blocks(blocks, function, block_threads, dynamic_shared);
}

void max_potential_block_size(int* min_grid, int* block, Handle handle,
                              size_t (*shared_of_block)(int), size_t dynamic_shared, int limit) {
  require(min_grid != nullptr && block != nullptr);
  const int most = static_cast<int>(function_of(handle)->kernel.max_threads);
  *block = limit > 0 ? std::min(limit, most) : most;
  int blocks = 0;
  max_active_blocks(&blocks, handle, *block,
                    shared_of_block ? shared_of_block(*block) : dynamic_shared);
  *min_grid = blocks * static_cast<int>(config().multiprocessors);
}

void launch_kernel(Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   Handle stream, void** parameters, void** extra) {
  const SimLaunch shape{
      {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, 0, &scratch};
  launch(function, shape, stream, parameters, extra);
}

void launch_kernel_ex(const LaunchConfig* c, Handle function, void** parameters, void** extra) {
  require(c != nullptr);
  require(c->attribute_count == 0, ERROR_NOT_SUPPORTED);
  const SimLaunch shape{{c->grid[0], c->grid[1], c->grid[2]},
                        {c->block[0], c->block[1], c->block[2]},
                        c->shared_bytes,
                        0,
                        &scratch};
  launch(function, shape, c->stream, parameters, extra);
}

}  // namespace simcuda::api
