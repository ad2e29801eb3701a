// Running sums and their like. `Op::combine` puts the value of what came before to an element.
//
//   rows:     neighbouring threads take neighbouring elements of a lane, tile by tile
//   columns:  each thread goes along a lane of its own, beside those of its neighbours
//
// Long lanes are cut into chunks where the operation is associative: a first launch makes what each
// chunk becomes, a second one scans these, and a third one scans the chunks from there.
#include "ops/cuda/layout/scan.h"

namespace ofl {

constexpr int kScanBatch = 4;  // elements of a column that are loaded at a time

template <typename Index>
struct LanePlace {
  typename OffsetOf<Index>::type in, out;
};

template <typename Index>
LanePlace<Index> find_lane(const ScanArgs& args, Index i) {
  Index in = 0, out = 0;
#pragma unroll 1
  for (int d = args.ndim - 1; d >= 0; --d) {
    const Index dim = Index(args.dims[d]);
    const Index rest = d ? i / dim : 0;
    const Index place = i - rest * dim;
    in += place * Index(args.strides[d][0]);
    out += place * Index(args.strides[d][1]);
    i = rest;
  }
  typedef typename OffsetOf<Index>::type Offset;
  return {Offset(in), Offset(out)};
}

// --- rows

/// `items` elements of a thread, of which only `count` are there.
template <typename T, typename Value, int lanes, int items, typename Index>
void load_items(const ScanArgs& args, const char* lane, Index first, Index count, Value* values) {
  if (args.vectors && count == items) {
    const Vector<T, lanes>* from = reinterpret_cast<const Vector<T, lanes>*>(lane) + first / lanes;
#pragma unroll
    for (int v = 0; v < items / lanes; ++v) {
      const Vector<T, lanes> loaded = from[v];
#pragma unroll
      for (int j = 0; j < lanes; ++j) values[v * lanes + j] = cast<Value>(loaded.lane[j].get());
    }
    return;
  }
#pragma unroll
  for (int j = 0; j < items; ++j) {
    values[j] = Value{};
    if (j < count) {
      const char* from = lane + int64(first + j) * args.steps[0];
      values[j] = cast<Value>(reinterpret_cast<const Stored<T>*>(from)->get());
    }
  }
}

template <typename T, typename Value, int lanes, int items, typename Index>
void store_items(const ScanArgs& args, char* lane, Index first, Index count, const Value* values) {
  if (args.vectors && count == items) {
    Vector<T, lanes>* to = reinterpret_cast<Vector<T, lanes>*>(lane) + first / lanes;
#pragma unroll
    for (int v = 0; v < items / lanes; ++v) {
      Vector<T, lanes> stored;
#pragma unroll
      for (int j = 0; j < lanes; ++j) stored.lane[j].set(cast<T>(values[v * lanes + j]));
      to[v] = stored;
    }
    return;
  }
#pragma unroll
  for (int j = 0; j < items; ++j) {
    if (j < count) {
      char* to = lane + int64(first + j) * args.steps[1];
      reinterpret_cast<Stored<T>*>(to)->set(cast<T>(values[j]));
    }
  }
}

/// What is before the elements of a thread; nothing is before the first one's.
template <typename Value>
struct Prefix {
  Value value;
  bool is_there;

  template <typename Op>
  Value before(Value later) const {
    return is_there ? Op::combine(value, later) : later;
  }
};

/// The prefix of each of `threads` neighbours, a power of two, by the values of those before; and
/// what all of them become. Called by all threads of a block, as often.
template <typename Op>
Prefix<typename Op::Value> scan_neighbours(typename Op::Value value, int threads,
                                           Prefix<typename Op::Value> carry,
                                           typename Op::Value* total) {
  typedef typename Op::Value Value;
  __shared__ Value of_warps[kScanThreads / kWarp];
  const int width = threads < kWarp ? threads : kWarp;
  const int lane = threadIdx.x % width;
#pragma unroll 1
  for (int delta = 1; delta < width; delta *= 2) {
    const Value before = shuffle_up(value, delta, width);
    if (lane >= delta) value = Op::combine(before, value);
  }
  const Value before = shuffle_up(value, 1, width);
  Prefix<Value> prefix = carry;
  if (threads <= kWarp) {
    *total = carry.template before<Op>(shuffle_from(value, width - 1, width));
  } else {
    const int first = threadIdx.x / threads * (threads / kWarp);
    const int warp = threadIdx.x / kWarp;
    if (lane == kWarp - 1) of_warps[warp] = value;
    __syncthreads();
    Prefix<Value> all = carry;
#pragma unroll 1
    for (int k = first; k < first + threads / kWarp; ++k) {
      if (k == warp) prefix = all;
      all = {all.template before<Op>(of_warps[k]), true};
    }
    *total = all.value;
    __syncthreads();  // of_warps is free again
  }
  if (lane > 0) prefix = {prefix.template before<Op>(before), true};
  return prefix;
}

template <typename Op, typename T, int lanes, int items, typename Index>
void scan_rows(const ScanArgs& args) {
  typedef typename Op::Value Value;
  const Index threads = Index(args.threads), thread = threadIdx.x % threads;
  const Index row = Index(blockIdx.x) * (blockDim.x / threads) + threadIdx.x / threads;
  const Index chunks = Index(args.chunks);
  const Index lane = chunks == 1 ? row : row / chunks, chunk = row - lane * chunks;
  const bool is_there = lane < Index(args.lanes);
  const LanePlace<Index> place = is_there ? find_lane(args, lane) : LanePlace<Index>{};
  const char* in = static_cast<const char*>(args.data[0]) + place.in;
  char* out = static_cast<char*>(args.data[1]) + place.out;
  Value* carries = static_cast<Value*>(args.carries) + row;
  Prefix<Value> carry = {};
  if (args.phase == kFromCarries && is_there && chunk > 0) carry = {carries[-1], true};
  const Index begin = chunk * Index(args.chunk), left = Index(args.count) - begin;
  const Index length = left < Index(args.chunk) ? left : Index(args.chunk);
  // Every thread of the block makes as many turns, as they wait for each other.
#pragma unroll 1
  for (Index start = 0; start < Index(args.chunk); start += threads * items) {
    const Index first = start + thread * items;
    Index here = is_there && first < length ? length - first : 0;
    if (here > items) here = items;
    Value values[items], total;
    load_items<T, Value, lanes, items>(args, in, begin + first, here, values);
#pragma unroll
    for (int j = 1; j < items; ++j) values[j] = Op::combine(values[j - 1], values[j]);
    const Prefix<Value> prefix =
        scan_neighbours<Op>(values[items - 1], args.threads, carry, &total);
#pragma unroll
    for (int j = 0; j < items; ++j) values[j] = prefix.template before<Op>(values[j]);
    carry = {total, true};
    if (args.phase != kTotals) {
      store_items<T, Value, lanes, items>(args, out, begin + first, here, values);
    } else {
#pragma unroll
      for (int j = 0; j < items; ++j) {
        if (j + 1 == here && first + here == length) *carries = values[j];
      }
    }
  }
}

// --- columns

template <typename Op, typename T, typename Index>
void scan_columns(const ScanArgs& args) {
  typedef typename Op::Value Value;
  const Index groups = (Index(args.lanes) + blockDim.x - 1) / blockDim.x;
  const Index chunk = Index(blockIdx.x) / groups;
  const Index lane = (Index(blockIdx.x) - chunk * groups) * blockDim.x + threadIdx.x;
  if (lane >= Index(args.lanes)) return;
  const LanePlace<Index> place = find_lane(args, lane);
  const Index begin = chunk * Index(args.chunk), left = Index(args.count) - begin;
  const Index length = left < Index(args.chunk) ? left : Index(args.chunk);
  const char* in = static_cast<const char*>(args.data[0]) + place.in + int64(begin) * args.steps[0];
  char* out = static_cast<char*>(args.data[1]) + place.out + int64(begin) * args.steps[1];
  Value* carries = static_cast<Value*>(args.carries) + int64(lane) * args.chunks + chunk;
  Prefix<Value> so_far = {};
  if (args.phase == kFromCarries && chunk > 0) so_far = {carries[-1], true};
#pragma unroll 1
  for (Index i = 0; i < length; i += kScanBatch) {
    Stored<T> loaded[kScanBatch];
#pragma unroll
    for (int j = 0; j < kScanBatch; ++j) {
      if (i + j < length) loaded[j] = *reinterpret_cast<const Stored<T>*>(in + j * args.steps[0]);
    }
    in += kScanBatch * args.steps[0];
#pragma unroll
    for (int j = 0; j < kScanBatch; ++j) {
      if (i + j >= length) break;
      so_far = {so_far.template before<Op>(cast<Value>(loaded[j].get())), true};
      if (args.phase != kTotals) {
        reinterpret_cast<Stored<T>*>(out + j * args.steps[1])->set(cast<T>(so_far.value));
      }
    }
    out += kScanBatch * args.steps[1];
  }
  if (args.phase == kTotals) *carries = so_far.value;
}

}  // namespace ofl
