// Counted random numbers: a thread takes a counter and writes what its words make, at once. Of a
// window of a draw it takes a row, and one of the counters that the row's numbers come from.
#include "ops/cuda/layout/random.h"
#include "ops/random/philox_numbers.h"

namespace ofl {

/// Numbers that one counter makes.
template <typename Out, int size>
struct alignas(sizeof(Out) * size) Drawn {
  Out at[size];
};

/// The numbers of the counter so many behind the first one of the draw.
template <typename Draw, typename Out>
Drawn<Out, kCounterWords / Draw::words> drawn_from(const DrawArgs& args, int64 counter) {
  enum { words = Draw::words, size = kCounterWords / words };
  const uint64 low = args.low + uint64(counter);
  const philox::Block block = philox::block_of(args.key, low, args.high + (low < args.low));
  Drawn<Out, size> numbers;
#pragma unroll
  for (int j = 0; j < size; ++j) {
    const philox::Parameters parameters{args.parameters[0], args.parameters[1]};
    numbers.at[j] = Out(Draw::draw(block.word + j * words, parameters));
  }
  return numbers;
}

/// Writes those of the numbers that have a place: places are [0, count) from `target` on, and the
/// first number has the place `begin`.
template <typename Out, int size>
void put(const Drawn<Out, size>& numbers, Out* target, int64 begin, int64 count, bool is_aligned) {
  if (is_aligned && begin >= 0 && begin + size <= count) {
    *reinterpret_cast<Drawn<Out, size>*>(target + begin) = numbers;
  } else {
#pragma unroll
    for (int j = 0; j < size; ++j) {
      if (begin + j >= 0 && begin + j < count) target[begin + j] = numbers.at[j];
    }
  }
}

template <typename Draw, typename Out>
void run_draw(const DrawArgs& args) {
  enum { size = kCounterWords / Draw::words };
  Out* const out = static_cast<Out*>(args.out);
  const bool is_aligned = reinterpret_cast<uint64>(out) % sizeof(Drawn<Out, size>) == 0;
  const int64 counters = (args.count + size - 1) / size;
  const int64 step = int64(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (int64 i = int64(blockIdx.x) * blockDim.x + threadIdx.x; i < counters; i += step) {
    put(drawn_from<Draw, Out>(args, i), out, i * size, args.count, is_aligned);
  }
}

/// A row has as many items as its numbers come from counters at most: where it begins with the
/// first number of a counter, the last item may have nothing to do.
template <typename Draw, typename Out>
void run_window(const DrawWindowArgs& args) {
  enum { size = kCounterWords / Draw::words };
  const int64 items = args.rows * args.counters;
  const int64 step = int64(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (int64 i = int64(blockIdx.x) * blockDim.x + threadIdx.x; i < items; i += step) {
    const int64 row = i / args.counters;
    int64 number = args.first, rest = row;
    for (int64 d = args.axes - 1; d >= 0; --d) {
      number += rest % args.extents[d] * args.steps[d];
      rest /= args.extents[d];
    }
    const int64 counter = number / size + i % args.counters;
    const int64 begin = counter * size - number;
    if (begin >= args.length) continue;
    Out* const target = static_cast<Out*>(args.draw.out) + row * args.length;
    const uint64 address = reinterpret_cast<uint64>(target + begin);
    put(drawn_from<Draw, Out>(args.draw, counter), target, begin, args.length,
        address % sizeof(Drawn<Out, size>) == 0);
  }
}

}  // namespace ofl
