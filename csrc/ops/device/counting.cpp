// bincount on a device.
#include <algorithm>

#include "ops/array_kernel.h"
#include "ops/device/axes.h"
#include "ops/device/launching.h"
#include "ops/device/programs.h"

namespace ofl::ops::device {

namespace {

constexpr int kThreads = 256;
constexpr int64_t kTileBins = 1024;        // as in counting.cuh
constexpr int64_t kMostTiles = 64;         // each looks at all elements
constexpr int64_t kLeastChunk = 4096;      // elements
constexpr int64_t kMostChunks = 256;       // of sums: not of the device, as they decide bits
constexpr int64_t kMostPartial = 1 << 23;  // sums of chunks
constexpr int64_t kBlocksPerMultiprocessor = 8;

enum class Phase : int32_t { clear, count, weigh, add_chunks };

/// The argument of every phase, laid out as counting.cuh has it.
struct DeviceArgs {
  const void* numbers = nullptr;
  const void* weights = nullptr;
  void* out = nullptr;
  void* partial = nullptr;
  int64_t count = 0, bins = 0, chunks = 1, chunk = 0;
  int64_t number_step = 0, weight_step = 0;
  Phase phase = Phase::clear;
  int32_t unused = 0;
};

void* program(Launching& launching) {
  static Programs<int32_t>& programs = *new Programs<int32_t>;
  return programs.get(launching.device(), 0, [] {
    KernelRequest request;
    request.kind = "bincount";
    return request;
  });
}

void enqueue(Launching& launching, void* kernel, DeviceArgs args, Phase phase, int64_t blocks) {
  args.phase = phase;
  launching.run_blocks(kernel, blocks, kThreads, 0, args);
}

/// In any order, so with as many blocks as the device likes.
void enqueue_counts(Launching& launching, void* kernel, DeviceArgs args) {
  const int64_t most = launching.device().multiprocessors() * kBlocksPerMultiprocessor;
  enqueue(launching, kernel, args, Phase::clear,
          std::clamp<int64_t>(divide_up(args.bins, kThreads), 1, most));
  if (args.count == 0) return;
  const int64_t blocks = std::clamp<int64_t>(divide_up(args.count, kLeastChunk), 1, most);
  args.chunk = divide_up(args.count, blocks);
  enqueue(launching, kernel, args, Phase::count, blocks);
}

}  // namespace

bool launch_bincount(Launching& launching, const ArrayArgs& call) {
  const ArrayView &numbers = call.input(0), &out = call.output(0);
  DeviceArgs args;
  args.numbers = numbers.data;
  args.number_step = numbers.strides[0];
  args.out = out.data;
  args.count = numbers.shape[0];
  args.bins = out.shape[0];
  if (args.bins == 0) return true;
  const int64_t tiles = divide_up(args.bins, kTileBins);
  const bool is_weighted = call.inputs > 1;
  if (is_weighted && tiles > kMostTiles) return false;
  void* const kernel = program(launching);
  if (!kernel) return false;
  if (!is_weighted) {
    enqueue_counts(launching, kernel, args);
    return true;
  }
  args.weights = call.input(1).data;
  args.weight_step = call.input(1).strides[0];
  const int64_t most = std::min(kMostChunks, kMostPartial / args.bins);
  args.chunks = std::clamp<int64_t>(args.count / kLeastChunk, 1, most);
  args.chunk = divide_up(args.count, args.chunks);
  args.partial = launching.scratch(static_cast<size_t>(args.chunks * args.bins) * sizeof(double));
  enqueue(launching, kernel, args, Phase::weigh, tiles * args.chunks);
  enqueue(launching, kernel, args, Phase::add_chunks, divide_up(args.bins, kThreads));
  return true;
}

}  // namespace ofl::ops::device
