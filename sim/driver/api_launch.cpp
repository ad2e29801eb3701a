// Launches, and the properties of kernels that they depend on.
#include <algorithm>
#include <memory>
#include <utility>

#include "driver/api.h"
#include "driver/capture.h"
#include "driver/config.h"
#include "driver/context.h"
#include "driver/graph.h"
#include "driver/launch.h"
#include "driver/modules.h"

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

void launch(Handle function, const SimLaunch& shape, Handle stream_handle, void** given,
            void** extra) {
  const auto stream = stream_of(stream_handle);
  Context& context = stream->context;
  Launch asked = make_launch(context, function, shape, given, extra);
  if (stream->is_capturing()) {
    captures().add(*stream, kernel_task(context, std::move(asked)));
    return;
  }
  auto arguments = std::make_shared<Arguments>(asked.parameters.translated(context));
  const auto now = Clock::now();
  // The arguments go along: who launches keeps no hold, and so never is the one that frees them.
  auto operation = [&context, asked = std::move(asked), arguments = std::move(arguments), now] {
    run_kernel(context, asked, *arguments, now);
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
      {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, 0, nullptr};
  launch(function, shape, stream, parameters, extra);
}

void launch_kernel_ex(const LaunchConfig* c, Handle function, void** parameters, void** extra) {
  require(c != nullptr);
  require(c->attribute_count == 0, ERROR_NOT_SUPPORTED);
  const SimLaunch shape{{c->grid[0], c->grid[1], c->grid[2]},
                        {c->block[0], c->block[1], c->block[2]},
                        c->shared_bytes,
                        0,
                        nullptr};
  launch(function, shape, c->stream, parameters, extra);
}

}  // namespace simcuda::api
