// Counted random numbers: a thread takes a counter and writes what its words make, at once.
#include "ops/cuda/layout/random.h"
#include "ops/random/philox_numbers.h"

namespace ofl {

/// Numbers that one counter makes.
template <typename Out, int size>
struct alignas(sizeof(Out) * size) Drawn {
  Out at[size];
};

template <typename Draw, typename Out>
void run_draw(const DrawArgs& args) {
  enum { words = Draw::words, size = kCounterWords / words };
  typedef Drawn<Out, size> Numbers;
  const philox::Parameters parameters{args.parameters[0], args.parameters[1]};
  const bool is_aligned = reinterpret_cast<uint64>(args.out) % sizeof(Numbers) == 0;
  const int64 counters = (args.count + size - 1) / size;
  const int64 step = int64(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (int64 i = int64(blockIdx.x) * blockDim.x + threadIdx.x; i < counters; i += step) {
    const uint64 low = args.low + uint64(i);
    const philox::Block block = philox::block_of(args.key, low, args.high + (low < args.low));
    Numbers numbers;
#pragma unroll
    for (int j = 0; j < size; ++j) {
      numbers.at[j] = Out(Draw::draw(block.word + j * words, parameters));
    }
    Out* const target = static_cast<Out*>(args.out) + i * size;
    if (is_aligned && (i + 1) * size <= args.count) {
      *reinterpret_cast<Numbers*>(target) = numbers;
    } else {
#pragma unroll
      for (int j = 0; j < size; ++j) {
        if (i * size + j < args.count) target[j] = numbers.at[j];
      }
    }
  }
}

}  // namespace ofl
