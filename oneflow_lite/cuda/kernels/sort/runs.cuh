// What the set functions are made of: runs of equal elements in sorted arrays, some of the elements
// in their order, numbers counted. All arrays are one-dimensional, steps are in bytes.
#include "ops/cuda/layout/runs.h"

namespace ofl {

enum : int { kRunWarps = kThreads / kWarp };

inline int64 first_item() { return int64(blockIdx.x) * blockDim.x + threadIdx.x; }
inline int64 item_step() { return int64(gridDim.x) * blockDim.x; }

// --- keeping some of the elements, in their order: counted in each chunk, the counts become sums,
// then each chunk's elements go behind those of the chunks before

/// The elements whose flag is set.
template <typename T>
struct Flagged {
  const CompactArgs& args;
  bool keeps(int64 i) const { return args.kept[i] != 0; }
  void put(int64 to, int64 i) const {
    *reinterpret_cast<Stored<T>*>(args.out + to * args.out_step) =
        *reinterpret_cast<const Stored<T>*>(args.in + i * args.in_step);
  }
};

/// The places where runs of equal elements start.
template <typename T>
struct RunStarts {
  const CompactArgs& args;
  bool keeps(int64 i) const {
    if (i == 0) return true;
    const T x = element_at<T>(args.in, args.in_step, i);
    const T before = element_at<T>(args.in, args.in_step, i - 1);
    return !same_value(x, before) && !(args.equal_nan && is_nan(x) && is_nan(before));
  }
  void put(int64 to, int64 i) const { reinterpret_cast<int64*>(args.out)[to] = i; }
};

template <typename Source>
void compact(const CompactArgs& args) {
  __shared__ uint32 sums[kRunWarps];
  const Source source{args};
  const int64 begin = blockIdx.x * args.chunk;
  const int64 end = begin + args.chunk < args.length ? begin + args.chunk : args.length;
  if (!args.writes) {
    uint32 mine = 0, all;
    for (int64 i = begin + threadIdx.x; i < end; i += kThreads) mine += source.keeps(i);
    exclusive_scan(mine, sums, all);
    if (threadIdx.x == 0) args.counts[blockIdx.x] = all;
    return;
  }
  int64 start = args.counts[blockIdx.x];
  for (int64 first = begin; first < end; first += kThreads) {
    const int64 i = first + threadIdx.x;
    const uint32 keeps = i < end && source.keeps(i);
    uint32 all;
    const uint32 before = exclusive_scan(keeps, sums, all);
    if (keeps) source.put(start + before, i);
    start += all;
  }
}

/// One block.
inline void scan_chunks(const CompactArgs& args) {
  __shared__ int64 sums[kRunWarps];
  int64 start = 0;
  for (int64 first = 0; first < args.chunks; first += kThreads) {
    const int64 i = first + threadIdx.x;
    int64 all;
    const int64 before = exclusive_scan(i < args.chunks ? args.counts[i] : int64(0), sums, all);
    if (i < args.chunks) args.counts[i] = start + before;
    start += all;
  }
  if (threadIdx.x != 0) return;
  *args.total = start;
  if (args.ends) args.ends[start] = args.length;
}

// --- the number of each element's run

inline void number_runs(const RunNumberArgs& args) {
  for (int64 i = first_item(); i < args.count; i += item_step()) {
    int64 low = 0, high = args.runs;  // run `low` starts at or before i, run `high` behind it
    while (high - low > 1) {
      const int64 middle = (low + high) / 2;
      const int64 start = *reinterpret_cast<const int64*>(args.starts + middle * args.start_step);
      (start <= i ? low : high) = middle;
    }
    const int64 place = *reinterpret_cast<const int64*>(args.order + i * args.order_step);
    *reinterpret_cast<int64*>(args.out + place * args.out_step) = low;
  }
}

// --- how often numbers occur

template <typename Args>
inline int64 number_at(const Args& args, int64 i) {
  return *reinterpret_cast<const int64*>(args.numbers + i * args.number_step);
}

/// The number is below the length, or the host is told. Another thread may have written numbers
/// since they were looked at.
inline bool is_counted(const BincountArgs& args, int64 number) {
  if (uint64(number) < uint64(args.length)) return true;
  *args.fault = 1;
  return false;
}

inline void count_numbers(const BincountArgs& args) {
  uint64* const counts = static_cast<uint64*>(args.out);
  for (int64 i = first_item(); i < args.count; i += item_step()) {
    const int64 number = number_at(args, i);
    if (is_counted(args, number)) atomicAdd(&counts[number], uint64(1));
  }
}

/// The same for at most kSharedCounts numbers: each block counts for itself first.
inline void count_few_numbers(const BincountArgs& args) {
  __shared__ uint32 counts[kSharedCounts];
  for (int64 k = threadIdx.x; k < args.length; k += blockDim.x) counts[k] = 0;
  __syncthreads();
  for (int64 i = first_item(); i < args.count; i += item_step()) {
    const int64 number = number_at(args, i);
    if (is_counted(args, number)) atomicAdd(&counts[number], 1u);
  }
  __syncthreads();
  for (int64 k = threadIdx.x; k < args.length; k += blockDim.x) {
    if (counts[k] != 0) atomicAdd(&static_cast<uint64*>(args.out)[k], uint64(counts[k]));
  }
}

/// How many of the sorted numbers are below `number`.
template <typename Args>
inline int64 numbers_below(const Args& args, int64 number) {
  int64 low = 0, high = args.count;
  while (low < high) {
    const int64 middle = (low + high) / 2;
    if (number_at(args, args.order[middle]) < number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// A warp for each sum: loads 32 weights at a time, and adds them one after the other, as the host
/// does. Sums are of no use where a number is not below the length.
inline void add_weights(const BincountArgs& args) {
  for (int64 i = first_item(); i < args.count; i += item_step()) {
    is_counted(args, number_at(args, i));
  }
  const int lane = int(threadIdx.x % 32);
  for (int64 number = first_item() / 32; number < args.length; number += item_step() / 32) {
    const int64 begin = numbers_below(args, number), end = numbers_below(args, number + 1);
    float64 sum = 0;
    for (int64 first = begin; first < end; first += 32) {
      const int count = end - first < 32 ? int(end - first) : 32;
      float64 mine = 0;
      if (lane < count) {
        const int64 at = args.order[first + lane];
        mine = *reinterpret_cast<const float64*>(args.weights + at * args.weight_step);
      }
      for (int k = 0; k < count; ++k) sum += __shfl_sync(0xffffffffu, mine, k);
    }
    if (lane == 0) static_cast<float64*>(args.out)[number] = sum;
  }
}

/// A place that there is not becomes 0, and the host is told.
inline void settle_numbers(const SettleArgs& args) {
  for (int64 i = first_item(); i < args.count; i += item_step()) {
    const int64 given = number_at(args, i);
    int64 number = given < 0 ? given + args.length : given;
    if (uint64(number) >= uint64(args.length)) {
      *args.fault = int64(uint64(given) ^ (uint64(1) << 63));
      number = 0;
    }
    args.settled[i] = number;
  }
}

/// A thread for each element of a sum of rows, which adds in the host's order.
template <typename T>
inline void add_rows(const AddRowsArgs& args) {
  for (int64 item = first_item(); item < args.length * args.width; item += item_step()) {
    const int64 number = item / args.width, column = item % args.width;
    const int64 begin = numbers_below(args, number), end = numbers_below(args, number + 1);
    const char* const from = args.rows + column * args.column_step;
    T sum = 0;
    for (int64 i = begin; i < end; ++i) {
      sum += *reinterpret_cast<const T*>(from + args.order[i] * args.row_step);
    }
    static_cast<T*>(args.out)[item] = sum;
  }
}

}  // namespace ofl
