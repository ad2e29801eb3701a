// Reductions. `Op` says what an element becomes, how two values become one, and what the result is
// of the last value. Which elements make which output, and in which order, depends on shapes and
// strides alone: neither on the device nor on time. So the bits of sums are always the same.
//
//   rows:     neighbouring threads take neighbouring elements of one output
//   columns:  neighbouring threads take neighbouring outputs, several share one
//
// Where there are few outputs their elements are cut into chunks; what the chunks become is reduced
// again by a second launch.
#include "ops/cuda/layout/reduce.h"

namespace ofl {

constexpr int kRounds = 8;  // of chains, after which they are put aside: sums stay short chains

template <typename Index>
struct Place {
  typename OffsetOf<Index>::type in, out;
};

/// Elements that are loaded at a time; a single one is aligned as its parts are.
template <typename T>
struct Single {
  Stored<T> lane[1];
};
template <typename T, int lanes>
using Loaded = typename Choice<lanes == 1, Single<T>, Vector<T, lanes == 1 ? 2 : lanes>>::type;

/// Bytes of the unit of input strides.
template <typename In>
uint32 unit_of(const ReduceArgs& args) {
  return args.of_values ? sizeof(In) : 1;
}

/// Where output i begins.
template <typename In, typename Index>
Place<Index> find_output(const ReduceArgs& args, Index i) {
  Index in = 0, out = 0;
#pragma unroll 1
  for (int d = args.kept - 1; d >= 0; --d) {
    const Index dim = Index(args.kept_dims[d]);
    const Index rest = d ? i / dim : 0;
    const Index place = i - rest * dim;
    in += place * Index(args.kept_strides[d][0]);
    out += place * Index(args.kept_strides[d][1]);
    i = rest;
  }
  typedef typename OffsetOf<Index>::type Offset;
  return {Offset(in * unit_of<In>(args)), Offset(out)};
}

/// The i-th element of an output: its bytes from the first one, and its position.
template <typename In, typename Index>
void find_element(const ReduceArgs& args, Index i, typename OffsetOf<Index>::type* offset,
                  int64* position) {
  Index sum = 0;
  int64 at = args.position;
#pragma unroll 1
  for (int d = args.reduced - 1; d >= 0; --d) {
    const Index dim = Index(args.reduced_dims[d]);
    const Index rest = d ? i / dim : 0;
    const Index place = i - rest * dim;
    sum += place * Index(args.reduced_strides[d]);
    at += int64(place) * args.reduced_positions[d];
    i = rest;
  }
  *offset = typename OffsetOf<Index>::type(sum * unit_of<In>(args));
  *position = at;
}

/// One value of several, by a tree.
template <typename Op, int n>
typename Op::Value fold(typename Op::Value* values) {
#pragma unroll
  for (int half = n / 2; half > 0; half /= 2) {
#pragma unroll
    for (int j = 0; j < half; ++j) values[j] = Op::combine(values[j], values[j + half]);
  }
  return values[0];
}

/// The elements i, i + step, ... below end: loads before sums, so that many are under way.
template <typename Op, int lanes, typename Load, typename Index>
void walk(Index i, Index end, Index step, const Load& load, typename Op::Value* result) {
  typedef typename Op::Value Value;
  constexpr int chains = lanes <= kReduceChains ? kReduceChains : 1;
  Value outer[chains][lanes], inner[chains][lanes];
#pragma unroll
  for (int c = 0; c < chains; ++c) {
#pragma unroll
    for (int j = 0; j < lanes; ++j) outer[c][j] = Op::empty();
  }
#pragma unroll 1
  while (i < end) {
#pragma unroll
    for (int c = 0; c < chains; ++c) {
#pragma unroll
      for (int j = 0; j < lanes; ++j) inner[c][j] = Op::empty();
    }
#pragma unroll 1
    for (int round = 0; round < kRounds && i < end; ++round, i += chains * step) {
      typename Load::Raw raw[chains];
#pragma unroll
      for (int c = 0; c < chains; ++c) {
        if (i + c * step < end) raw[c] = load.raw(i + c * step);
      }
#pragma unroll
      for (int c = 0; c < chains; ++c) {
        if (i + c * step < end) load.put(raw[c], inner[c]);
      }
    }
#pragma unroll
    for (int c = 0; c < chains; ++c) {
#pragma unroll
      for (int j = 0; j < lanes; ++j) outer[c][j] = Op::combine(outer[c][j], inner[c][j]);
    }
  }
#pragma unroll
  for (int j = 0; j < lanes; ++j) {
    Value chain[chains];
#pragma unroll
    for (int c = 0; c < chains; ++c) chain[c] = outer[c][j];
    result[j] = fold<Op, chains>(chain);
  }
}

// --- loads: what is read at a time, and how it is put to the values of a chain

/// Vectors or elements of one output.
template <typename Op, typename In, int lanes, typename Index>
struct RowLoad {
  struct Raw {
    Loaded<In, lanes> vector;
    int64 position;
  };
  const ReduceArgs& args;
  const char* first;

  Raw raw(Index i) const {
    typename OffsetOf<Index>::type offset;
    Raw loaded;
    find_element<In>(args, i, &offset, &loaded.position);
    loaded.vector = *reinterpret_cast<const Loaded<In, lanes>*>(first + offset);
    return loaded;
  }
  void put(const Raw& raw, typename Op::Value* value) const {
    typename Op::Value values[lanes];
#pragma unroll
    for (int j = 0; j < lanes; ++j) {
      values[j] = Op::of(raw.vector.lane[j].get(), raw.position + j * args.lane_step);
    }
    value[0] = Op::combine(value[0], fold<Op, lanes>(values));
  }
};

/// Vectors or elements of one output, one behind the other from position `start` on.
template <typename Op, typename In, int lanes, typename Index>
struct FlatLoad {
  struct Raw {
    Loaded<In, lanes> vector;
    Index i;
  };
  const Loaded<In, lanes>* first;
  int64 position, step;

  Raw raw(Index i) const { return {first[i], i}; }
  void put(const Raw& raw, typename Op::Value* value) const {
    typename Op::Value values[lanes];
#pragma unroll
    for (int j = 0; j < lanes; ++j) {
      const int64 at = position + (int64(raw.i) * lanes + j) * step;
      values[j] = Op::of(raw.vector.lane[j].get(), at);
    }
    value[0] = Op::combine(value[0], fold<Op, lanes>(values));
  }
};

/// An element of each of `lanes` neighbouring outputs.
template <typename Op, typename In, int lanes, typename Index>
struct ColumnLoad {
  typedef typename RowLoad<Op, In, lanes, Index>::Raw Raw;
  const ReduceArgs& args;
  const char* first;

  Raw raw(Index i) const { return RowLoad<Op, In, lanes, Index>{args, first}.raw(i); }
  void put(const Raw& raw, typename Op::Value* values) const {
#pragma unroll
    for (int j = 0; j < lanes; ++j) {
      values[j] = Op::combine(values[j], Op::of(raw.vector.lane[j].get(), raw.position));
    }
  }
};

// --- results

template <typename Op, typename Out>
void store_result(const ReduceArgs& args, typename Op::Value value, char* to) {
  if (args.has_initial) {
    value = Op::combine(Op::of_initial(args.initial), value);
  }
  reinterpret_cast<Stored<Out>*>(to)->set(Op::result(value));
}

template <typename Op>
void store_partial(const ReduceArgs& args, typename Op::Value value, int64 place) {
  static_cast<typename Op::Value*>(args.data[1])[place] = value;
}

/// The value of `threads` neighbouring threads, a power of two, in the first of them.
template <typename Op>
typename Op::Value reduce_neighbours(typename Op::Value value, int threads) {
  __shared__ typename Op::Value of_warps[kReduceThreads / kWarp];
  const int width = threads < kWarp ? threads : kWarp;
#pragma unroll 1
  for (int delta = width / 2; delta > 0; delta /= 2) {
    value = Op::combine(value, shuffle_down(value, delta, width));
  }
  if (threads <= kWarp) return value;
  const int warp = threadIdx.x / kWarp, warps = threads / kWarp;
  if (threadIdx.x % kWarp == 0) of_warps[warp] = value;
  __syncthreads();
  if (threadIdx.x % threads == 0) {
#pragma unroll 1
    for (int k = 1; k < warps; ++k) value = Op::combine(value, of_warps[warp + k]);
  }
  return value;
}

// --- rows

/// `count` contiguous elements of `bytes` bytes, the first one at `address`: those before the first
/// aligned vector, the vectors, and what is left. source.load<n>(i): vectors of n elements from
/// element i on.
template <typename Op, int lanes, int bytes, typename Index, typename Source>
typename Op::Value walk_lane(const Source& source, uint64 address, Index count, Index thread,
                             Index step) {
  Index head = Index((0 - address) % (lanes * bytes) / bytes);
  if (head > count) head = count;
  const Index vectors = (count - head) / lanes;
  typename Op::Value value, rest;
  walk<Op, 1>(thread, vectors, step, source.template load<lanes>(head), &value);
  if constexpr (lanes > 1) {
    const auto single = source.template load<1>(Index(0));
    rest = Op::empty();
#pragma unroll 1
    for (Index i = thread; i < count - vectors * lanes; i += step) {
      single.put(single.raw(i < head ? i : i + vectors * lanes), &rest);
    }
    value = Op::combine(value, rest);
  }
  return value;
}

/// What lies in memory.
template <typename Op, typename In, typename Index>
struct FlatSource {
  const char* from;
  int64 position, step;

  template <int lanes>
  FlatLoad<Op, In, lanes, Index> load(Index first) const {
    return {reinterpret_cast<const Loaded<In, lanes>*>(from + first * sizeof(In)),
            position + int64(first) * step, step};
  }
};

template <typename Op, typename In, typename Out, bool flat, int lanes, typename Index>
void reduce_rows(const ReduceArgs& args) {
  const Index threads = Index(args.threads), thread = threadIdx.x % threads;
  const Index row = Index(blockIdx.x) * (blockDim.x / threads) + threadIdx.x / threads;
  const Index chunks = Index(args.chunks);
  const Index output = chunks == 1 ? row : row / chunks, chunk = row - output * chunks;
  typename Op::Value value = Op::empty();
  Place<Index> place = {};
  if (output < Index(args.outputs)) {
    place = find_output<In>(args, output);
    const char* first = static_cast<const char*>(args.data[0]) + place.in;
    const Index begin = chunk * Index(args.chunk), left = Index(args.count) - begin;
    const Index end = begin + (left < Index(args.chunk) ? left : Index(args.chunk));
    if constexpr (flat) {
      const char* const from = first + begin * sizeof(In);
      const FlatSource<Op, In, Index> source{from, args.position + int64(begin) * args.lane_step,
                                             args.lane_step};
      value = walk_lane<Op, lanes, sizeof(In), Index>(source, reinterpret_cast<uint64>(from),
                                                      end - begin, thread, threads);
    } else {
      const RowLoad<Op, In, lanes, Index> load{args, first};
      walk<Op, 1>(begin + thread, end, threads, load, &value);
    }
  }
  value = reduce_neighbours<Op>(value, args.threads);
  if (thread != 0 || output >= Index(args.outputs)) return;
  if (args.is_partial) {
    store_partial<Op>(args, value, row);
  } else {
    store_result<Op, Out>(args, value, static_cast<char*>(args.data[1]) + place.out);
  }
}

// --- columns

/// A chunk of `lanes` neighbouring outputs.
template <typename Op, int lanes, typename Index>
struct Columns {
  Index unit, chunk;
  typename Op::Value values[lanes];
};

/// The block's part of outputs that have `count` elements each, `units` times `lanes` of them; false
/// for threads that end without values. source.load(unit): elements of the outputs of a unit.
template <typename Op, int lanes, typename Index, typename Source>
bool walk_columns(const Source& source, Index units, Index width, Index count, Index chunk_size,
                  Columns<Op, lanes, Index>* result) {
  __shared__ typename Op::Value shared[kReduceThreads][lanes];
  const Index column = threadIdx.x % width;
  const int walker = threadIdx.x / width, walkers = blockDim.x / width;
  const Index groups = (units + width - 1) / width, chunk = Index(blockIdx.x) / groups;
  const Index unit = (Index(blockIdx.x) - chunk * groups) * width + column;
  typename Op::Value* const values = result->values;
#pragma unroll
  for (int j = 0; j < lanes; ++j) values[j] = Op::empty();
  if (unit < units) {
    const Index begin = chunk * chunk_size, left = count - begin;
    const Index end = begin + (left < chunk_size ? left : chunk_size);
    walk<Op, lanes>(begin + walker, end, Index(walkers), source.load(unit), values);
  }
#pragma unroll 1
  for (int half = walkers / 2; half > 0; half /= 2) {
    if (walker >= half && walker < 2 * half) {
#pragma unroll
      for (int j = 0; j < lanes; ++j) shared[threadIdx.x][j] = values[j];
    }
    __syncthreads();
    if (walker < half) {
#pragma unroll
      for (int j = 0; j < lanes; ++j) {
        values[j] = Op::combine(values[j], shared[threadIdx.x + half * width][j]);
      }
    }
  }
  result->unit = unit;
  result->chunk = chunk;
  return walker == 0 && unit < units;
}

/// What lies in memory.
template <typename Op, typename In, int lanes, typename Index>
struct ColumnSource {
  const ReduceArgs& args;

  ColumnLoad<Op, In, lanes, Index> load(Index unit) const {
    return {args, static_cast<const char*>(args.data[0]) + find_output<In>(args, unit).in};
  }
};

template <typename Op, typename In, typename Out, int lanes, typename Index>
void reduce_columns(const ReduceArgs& args) {
  const ColumnSource<Op, In, lanes, Index> source{args};
  Columns<Op, lanes, Index> columns;
  if (!walk_columns(source, Index(args.outputs) / lanes, Index(args.threads), Index(args.count),
                    Index(args.chunk), &columns)) {
    return;
  }
  const auto out = find_output<In>(args, columns.unit).out;
#pragma unroll
  for (int j = 0; j < lanes; ++j) {
    if (args.is_partial) {
      const int64 first = int64(columns.chunk) * args.outputs + int64(columns.unit) * lanes;
      store_partial<Op>(args, columns.values[j], first + j);
    } else {
      store_result<Op, Out>(args, columns.values[j],
                            static_cast<char*>(args.data[1]) + out + j * args.lane_step);
    }
  }
}

}  // namespace ofl
