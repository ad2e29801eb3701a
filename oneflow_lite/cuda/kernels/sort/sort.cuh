// Sorting lanes that lie one after the other. Short ones: a block sorts as many as fit into its
// shared memory (bitonic; places break ties, so it is stable). Long ones: by digits of 8 bits of
// their keys, the lowest first, each pass in three kernels:
//
//   count_digits    how often each digit occurs in each chunk of a lane: counts[lane][digit][chunk]
//   scan_digits     counts become sums over the chunks before; totals[lane][digit]
//   scatter_digits  a block moves a chunk, tile by tile: elements get their rank in the tile, lie
//                   in shared memory in this order, and go out from there in rows of one digit
//
// Elements of one digit keep their order in each step, so the whole is stable and deterministic.
#include "ops/cuda/layout/sort.h"

namespace ofl {

enum : int { kSortWarps = kSortThreads / kWarp };

template <typename T>
struct SortTile {
  enum : int { items = sort_items(sizeof(T)), elements = items * kSortThreads };
};

/// What one block has to do in a pass: elements [first, end) of a lane.
template <typename T, typename Index>
struct Pass {
  const Stored<T>* in;
  Stored<T>* out;
  const Index* places_in;
  Index* places_out;
  int64* order;
  Index first, end;
  int64 lane, chunk;
  int digit;
  bool descending;

  explicit Pass(const SortArgs& args)
      : lane(blockIdx.x / args.chunks),
        chunk(blockIdx.x % args.chunks),
        digit(args.digit),
        descending(args.descending) {
    const int64 offset = lane * args.length, begin = chunk * args.chunk;
    const int64 rest = args.length - begin;
    first = Index(begin);
    end = Index(begin + (rest < args.chunk ? rest : args.chunk));
    in = static_cast<const Stored<T>*>(args.in) + offset;
    out = args.out ? static_cast<Stored<T>*>(args.out) + offset : nullptr;
    places_in = args.places_in ? static_cast<const Index*>(args.places_in) + offset : nullptr;
    places_out = args.places_out ? static_cast<Index*>(args.places_out) + offset : nullptr;
    order = args.order ? args.order + offset : nullptr;
  }

  uint32 digit_of_element(Stored<T> x) const {
    return digit_of(key_of(x.get(), descending), digit);
  }
  Index place_of(Index i) const { return places_in ? places_in[i] : i; }
  void put(Index to, Stored<T> x) const {
    if (out) out[to] = x;
  }
  void put_place(Index to, Index place) const {
    if (order) {
      order[to] = int64(place);
    } else {
      places_out[to] = place;
    }
  }
  /// Of the block's digits in counts, and this thread's digit.
  int64 row() const { return lane * kDigits + threadIdx.x; }
};

template <typename T, typename Index>
void count_digits(const SortArgs& args) {
  enum : int { items = SortTile<T>::items };
  __shared__ uint32 counts[kDigits];
  const Pass<T, Index> pass(args);
  counts[threadIdx.x] = 0;
  __syncthreads();
  uint32 last = 0, run = 0;  // equal digits one after the other are counted at once
  for (Index first = pass.first; first < pass.end; first += Index(SortTile<T>::elements)) {
    Stored<T> mine[items];
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const Index i = first + Index(k * kSortThreads) + threadIdx.x;
      if (i < pass.end) mine[k] = pass.in[i];
    }
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (first + Index(k * kSortThreads) + threadIdx.x >= pass.end) continue;
      const uint32 digit = pass.digit_of_element(mine[k]);
      if (digit != last) {
        if (run != 0) atomicAdd(&counts[last], run);
        last = digit;
        run = 0;
      }
      ++run;
    }
  }
  if (run != 0) atomicAdd(&counts[last], run);
  __syncthreads();
  Index* const all = static_cast<Index*>(args.counts);
  all[pass.row() * args.chunks + pass.chunk] = counts[threadIdx.x];
}

/// Each row of counts, by row_threads threads of a block.
template <typename Index>
void scan_digits(const SortArgs& args) {
  __shared__ Index sums[kSortThreads];
  const int threads = args.row_threads, part = int(threadIdx.x) % threads;
  const int64 row = (int64(blockIdx.x) * kSortThreads + threadIdx.x) / threads;
  Index* const counts = static_cast<Index*>(args.counts) + row * args.chunks;
  const int64 each = (args.chunks + threads - 1) / threads;
  const int64 begin = part * each;
  const int64 end = begin + each < args.chunks ? begin + each : args.chunks;
  Index sum = 0;
  for (int64 i = begin; i < end; ++i) sum += counts[i];
  sums[threadIdx.x] = sum;
  for (int step = 1; step < threads; step *= 2) {
    __syncthreads();
    const Index before = part >= step ? sums[threadIdx.x - step] : 0;
    __syncthreads();
    sums[threadIdx.x] += before;
  }
  if (part == threads - 1) static_cast<Index*>(args.totals)[row] = sums[threadIdx.x];
  Index offset = sums[threadIdx.x] - sum;
  for (int64 i = begin; i < end; ++i) {
    const Index count = counts[i];
    counts[i] = offset;
    offset += count;
  }
}

/// A chunk of a lane whose elements all have one digit stays as it is.
template <typename T, typename Index, bool with_places>
void copy_chunk(const Pass<T, Index>& pass) {
  for (Index i = pass.first + threadIdx.x; i < pass.end; i += kSortThreads) {
    pass.put(i, pass.in[i]);
    if constexpr (with_places) pass.put_place(i, pass.place_of(i));
  }
}

/// Ranks of a tile's elements among those of their digit in the same warp, which has items times 32
/// of them, one after the other. counts[digit] becomes how many there are.
template <int items>
void rank_in_warp(const uint32* digits, uint32* counts, uint32* ranks) {
  const uint32 lane = threadIdx.x % 32, lower = (1u << lane) - 1;
#pragma unroll
  for (int k = 0; k < items; ++k) {
    const uint32 peers = __match_any_sync(0xffffffffu, digits[k]);
    ranks[k] = counts[digits[k]] + uint32(__popc(peers & lower));
    __syncwarp();
    if ((peers >> lane) == 1) counts[digits[k]] = ranks[k] + 1;  // the last of its peers
    __syncwarp();
  }
}

/// One digit's counts of all warps become the sums of the warps before; returns the sum of all.
inline uint32 scan_warps(uint32 (*counts)[kDigits]) {
  uint32 sum = 0;
#pragma unroll
  for (int warp = 0; warp < kSortWarps; ++warp) {
    const uint32 count = counts[warp][threadIdx.x];
    counts[warp][threadIdx.x] = sum;
    sum += count;
  }
  return sum;
}

/// Where item k of this thread is in its tile, as rank_in_warp wants it.
inline int place_in_tile(int k, int items) {
  return (int(threadIdx.x) / 32 * items + k) * 32 + int(threadIdx.x) % 32;
}

/// Behind the end: the highest digit, and so the last ranks of all.
template <typename T, typename Index>
void load_tile(const Pass<T, Index>& pass, Index first, int count, Stored<T>* mine,
               uint32* digits) {
  enum : int { items = SortTile<T>::items };
#pragma unroll
  for (int k = 0; k < items; ++k) {
    const int i = place_in_tile(k, items);
    if (i < count) mine[k] = pass.in[first + Index(i)];
    digits[k] = i < count ? pass.digit_of_element(mine[k]) : kDigits - 1;
  }
}

/// Elements go out in the order of their ranks; `to` gets where each did. next[digit]: where the
/// first element of the digit goes, less its rank.
template <typename T, typename Index>
void move_elements(const Pass<T, Index>& pass, int count, const Stored<T>* mine,
                   const uint32* ranks, const Index* next, Stored<T>* exchange, Index* to) {
  enum : int { items = SortTile<T>::items };
#pragma unroll
  for (int k = 0; k < items; ++k) exchange[ranks[k]] = mine[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < items; ++k) {
    const int i = k * kSortThreads + int(threadIdx.x);
    if (i >= count) continue;
    const Stored<T> element = exchange[i];
    to[k] = next[pass.digit_of_element(element)] + Index(i);
    pass.put(to[k], element);
  }
  __syncthreads();
}

/// Their places follow them.
template <typename T, typename Index>
void move_places(const Pass<T, Index>& pass, Index first, int count, const uint32* ranks,
                 Index* exchange, const Index* to) {
  enum : int { items = SortTile<T>::items };
#pragma unroll
  for (int k = 0; k < items; ++k) {
    const int i = place_in_tile(k, items);
    if (i < count) exchange[ranks[k]] = pass.place_of(first + Index(i));
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < items; ++k) {
    const int i = k * kSortThreads + int(threadIdx.x);
    if (i < count) pass.put_place(to[k], exchange[i]);
  }
  __syncthreads();
}

template <typename T, typename Index, bool with_places>
void scatter_digits(const SortArgs& args) {
  enum : int { items = SortTile<T>::items, tile = SortTile<T>::elements };
  enum : int { width = with_places && sizeof(Index) > sizeof(T) ? sizeof(Index) : sizeof(T) };
  __shared__ uint32 counts[kSortWarps][kDigits];
  __shared__ Index next[kDigits];
  __shared__ uint32 below[kDigits];  // elements of the tile with a lower digit
  __shared__ Index sums[kSortWarps];
  __shared__ uint32 tile_sums[kSortWarps];
  __shared__ __align__(16) unsigned char exchange[tile * width];
  const Pass<T, Index> pass(args);
  const uint32 digit = threadIdx.x;  // that this thread counts
  const Index total = static_cast<const Index*>(args.totals)[pass.row()];
  if (__syncthreads_or(total == Index(args.length))) {
    return copy_chunk<T, Index, with_places>(pass);
  }
  Index all;
  Index start = exclusive_scan(total, sums, all);  // of the digit in the chunk
  start += static_cast<const Index*>(args.counts)[pass.row() * args.chunks + pass.chunk];
  uint32* const warp_counts = counts[threadIdx.x / 32];
  for (Index first = pass.first; first < pass.end; first += Index(tile)) {
    const int count = pass.end - first < Index(tile) ? int(pass.end - first) : tile;
    Stored<T> mine[items];
    uint32 digits[items], ranks[items];
    Index to[items];
    load_tile(pass, first, count, mine, digits);
    for (int warp = 0; warp < kSortWarps; ++warp) counts[warp][digit] = 0;
    __syncthreads();
    rank_in_warp<items>(digits, warp_counts, ranks);
    __syncthreads();
    const uint32 of_digit = scan_warps(counts);
    uint32 of_tile;
    below[digit] = exclusive_scan(of_digit, tile_sums, of_tile);
    next[digit] = start - Index(below[digit]);
    start += Index(of_digit);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < items; ++k) ranks[k] += below[digits[k]] + warp_counts[digits[k]];
    move_elements(pass, count, mine, ranks, next, reinterpret_cast<Stored<T>*>(exchange), to);
    if constexpr (with_places) {
      move_places(pass, first, count, ranks, reinterpret_cast<Index*>(exchange), to);
    }
  }
}

/// Puts two elements into the order asked for; the one that was at a lower place is the smaller of
/// equal ones.
template <typename Key>
void order_pair(Key* keys, uint16* places, int low, int high, bool ascending) {
  const Key a = keys[low], b = keys[high];
  const uint16 at_a = places[low], at_b = places[high];
  const bool is_after = b < a || (a == b && at_b < at_a);
  if (is_after != ascending) return;
  keys[low] = b;
  keys[high] = a;
  places[low] = at_b;
  places[high] = at_a;
}

/// Sorts `count` elements in rows of `padded`, a power of two.
template <typename Key>
void sort_rows(Key* keys, uint16* places, int count, int padded) {
  __syncthreads();
  for (int size = 2; size <= padded; size *= 2) {
    for (int step = size / 2; step > 0; step /= 2) {
      for (int pair = int(threadIdx.x); 2 * pair < count; pair += kSortThreads) {
        const int low = 2 * pair - (pair & (step - 1));
        const bool ascending = (low & (padded - 1) & size) == 0;
        order_pair(keys, places, low, low + step, ascending);
      }
      // A warp has 64 elements one after the other: shorter steps stay within them.
      if (step > 32 || (step == 1 && size > 32)) {
        __syncthreads();
      } else {
        __syncwarp();
      }
    }
  }
  __syncthreads();
}

template <typename T>
void sort_lanes(const SortArgs& args) {
  typedef decltype(key_of(T())) Key;
  __shared__ __align__(16) Key keys[kLaneTile];
  __shared__ uint16 places[kLaneTile];
  const int padded = args.padded;
  const int64 lanes = kLaneTile / padded, first = blockIdx.x * lanes;
  const int64 rest = args.lanes - first;
  const int count = int(rest < lanes ? rest : lanes) * padded;
  const Stored<T>* const in = static_cast<const Stored<T>*>(args.in) + first * args.length;
  Stored<T>* const out = static_cast<Stored<T>*>(args.out) + first * args.length;
  for (int i = int(threadIdx.x); i < count; i += kSortThreads) {
    const int64 lane = i / padded, place = i % padded;
    places[i] = uint16(place);
    keys[i] = ~Key();  // behind the end: after all others, as it comes from a later place
    if (place < args.length) {
      keys[i] = key_of(in[lane * args.length + place].get(), bool(args.descending));
    }
  }
  sort_rows(keys, places, count, padded);
  for (int i = int(threadIdx.x); i < count; i += kSortThreads) {
    const int64 lane = i / padded, rank = i % padded;
    if (rank >= args.length) continue;
    const int64 start = lane * args.length;
    if (args.order) {
      args.order[first * args.length + start + rank] = places[i];
    } else {
      out[start + rank] = in[start + places[i]];
    }
  }
}

}  // namespace ofl
