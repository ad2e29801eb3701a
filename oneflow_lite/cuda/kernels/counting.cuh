// How often numbers occur, and sums of what each of them weighs. Counts are added atomically, as
// integers may be in any order. Sums of floats may not: every sum has one thread, which takes the
// elements of a chunk in their order, and what the chunks give is added in theirs.

namespace ofl {

constexpr int kCountThreads = 256;  // of a block
constexpr int kSharedBins = 4096;   // counted in the memory of a block first
constexpr int kTileBins = 1024;     // whose sums a block makes

enum CountPhase { kClear, kCount, kWeigh, kAddChunks };

/// The argument, as csrc/ops/device/counting.cpp has it.
struct CountArgs {
  const void* numbers;  // int64, below bins
  const void* weights;  // float64
  void* out;            // [bins]
  void* partial;        // of float64, [chunk][bin]
  int64 count, bins, chunks, chunk;
  int64 number_step, weight_step;  // bytes
  int32 phase, unused;
};

inline int64 number_at(const CountArgs& args, int64 i) {
  const char* from = static_cast<const char*>(args.numbers) + i * args.number_step;
  return *reinterpret_cast<const int64*>(from);
}

inline void clear_counts(const CountArgs& args) {
  const int64 step = int64(gridDim.x) * blockDim.x;
  for (int64 i = int64(blockIdx.x) * blockDim.x + threadIdx.x; i < args.bins; i += step) {
    static_cast<int64*>(args.out)[i] = 0;
  }
}

inline void count_numbers(const CountArgs& args) {
  __shared__ uint32 counts[kSharedBins];
  uint64* const out = static_cast<uint64*>(args.out);
  const int64 begin = blockIdx.x * args.chunk, left = args.count - begin;
  const int64 end = begin + (left < args.chunk ? left : args.chunk);
  const bool is_shared = args.bins <= kSharedBins;
  if (is_shared) {
    for (int i = threadIdx.x; i < args.bins; i += blockDim.x) counts[i] = 0;
    __syncthreads();
  }
#pragma unroll 4
  for (int64 i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const int64 number = number_at(args, i);
    if (is_shared) {
      atomicAdd(&counts[number], 1u);
    } else {
      atomicAdd(&out[number], uint64(1));
    }
  }
  if (!is_shared) return;
  __syncthreads();
  for (int i = threadIdx.x; i < args.bins; i += blockDim.x) {
    if (counts[i] != 0) atomicAdd(&out[i], uint64(counts[i]));
  }
}

/// The bins of a tile belong to threads in turn; all threads look at every element of the chunk.
inline void weigh_chunk(const CountArgs& args) {
  __shared__ float64 sums[kTileBins];
  __shared__ float64 weights[kCountThreads];
  __shared__ int64 numbers[kCountThreads];
  const int64 tile = blockIdx.x / args.chunks, chunk = blockIdx.x - tile * args.chunks;
  const int64 first = tile * kTileBins, rest = args.bins - first;
  const int64 begin = chunk * args.chunk, left = args.count - begin;
  const int64 end = begin + (left < args.chunk ? left : args.chunk);
  for (int i = threadIdx.x; i < kTileBins; i += kCountThreads) sums[i] = 0;
  for (int64 start = begin; start < end; start += kCountThreads) {
    const int64 i = start + threadIdx.x;
    __syncthreads();
    if (i < end) {
      numbers[threadIdx.x] = number_at(args, i) - first;
      const char* from = static_cast<const char*>(args.weights) + i * args.weight_step;
      weights[threadIdx.x] = *reinterpret_cast<const float64*>(from);
    }
    __syncthreads();
    const int here = end - start < kCountThreads ? int(end - start) : kCountThreads;
    for (int k = 0; k < here; ++k) {
      const int64 bin = numbers[k];
      if (bin % kCountThreads == threadIdx.x && bin >= 0 && bin < kTileBins) {
        sums[bin] += weights[k];
      }
    }
  }
  float64* const partial = static_cast<float64*>(args.partial) + chunk * args.bins + first;
  for (int i = threadIdx.x; i < kTileBins && i < rest; i += kCountThreads) partial[i] = sums[i];
}

inline void add_chunks(const CountArgs& args) {
  const int64 bin = int64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (bin >= args.bins) return;
  const float64* const partial = static_cast<const float64*>(args.partial) + bin;
  float64 sum = 0;
#pragma unroll 4
  for (int64 chunk = 0; chunk < args.chunks; ++chunk) sum += partial[chunk * args.bins];
  static_cast<float64*>(args.out)[bin] = sum;
}

inline void count(const CountArgs& args) {
  switch (args.phase) {
    case kClear: return clear_counts(args);
    case kCount: return count_numbers(args);
    case kWeigh: return weigh_chunk(args);
    default: return add_chunks(args);
  }
}

}  // namespace ofl
