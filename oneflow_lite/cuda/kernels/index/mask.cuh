// What is true in a mask, in its order: how many, where, and copies from or to there.
//
//   count the true elements of each tile ──► sum before each tile (one block) ──► each tile again:
//   its true elements are numbered, and worked on by all threads of its block
//
// A mask of one tile needs the last step only. A thread has 16 neighbouring elements of a tile.
#include "ops/cuda/layout/mask.h"

namespace ofl {

enum { kMaskWarps = kMaskThreads / kWarp };

template <typename Index>
Index find_offset(const Steps& steps, Index i) {
  Index sum = 0;
#pragma unroll 1
  for (int d = int(steps.ndim) - 1; d >= 0; --d) {
    const Index dim = Index(steps.dims[d]);
    const Index rest = d ? i / dim : 0;
    sum += (i - rest * dim) * Index(steps.strides[d]);
    i = rest;
  }
  return sum;
}

/// Sixteen bytes as bits: whether they are not 0.
inline uint32 bits_of(const Word16& bytes) {
  uint32 bits = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const uint32 four = uint32(bytes.halves[k / 2] >> 32 * (k % 2));
    const uint32 tops = ((four & 0x7f7f7f7fu) + 0x7f7f7f7fu | four) & 0x80808080u;
    bits |= ((tops >> 7) * 0x01020408u >> 24) << 4 * k;
  }
  return bits;
}

/// Which of a thread's elements are true. All threads of a block call it together.
template <typename T, bool flat, typename Index>
uint32 find_true(const MaskArgs& args, Index first) {
  const Index size = Index(args.size);
  if constexpr (flat && sizeof(T) == 1) {
    if (first + kMaskTile <= size && reinterpret_cast<uint64>(args.data) % 16 == 0) {
      return bits_of(reinterpret_cast<const Word16*>(args.data + first)[threadIdx.x]);
    }
  }
  const uint32 lane = threadIdx.x % 32;
  const Index start = first + threadIdx.x / 32 * 512 + lane;
  uint32 bits = 0;
#pragma unroll 4
  for (uint32 j = 0; j < 16; ++j) {  // a warp reads neighbours: 32 elements, of two threads
    const Index i = start + j * 32;
    bool holds = false;
    if (i < size) {
      if constexpr (flat) {
        holds = truth(reinterpret_cast<const T*>(args.data)[i]);
      } else {
        holds =
            truth(*reinterpret_cast<const T*>(args.data + as_offset(find_offset(args.steps, i))));
      }
    }
    const uint32 all = __ballot_sync(0xffffffffu, holds);
    if (lane / 2 == j) bits = all >> 16 * (lane % 2) & 0xffffu;
  }
  return bits;
}

/// The sum of `own` over the threads before; *all: over the block. All threads call it together.
template <typename Sum>
Sum sum_before(Sum own, Sum* all) {
  __shared__ Sum sums[kMaskWarps];
  const uint32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  Sum sum = own;
#pragma unroll
  for (uint32 distance = 1; distance < 32; distance *= 2) {
    const Sum other = __shfl_up_sync(0xffffffffu, sum, distance);
    if (lane >= distance) sum += other;
  }
  if (lane == 31) sums[warp] = sum;
  __syncthreads();
  Sum before = 0;
  *all = 0;
#pragma unroll
  for (uint32 w = 0; w < kMaskWarps; ++w) {
    if (w < warp) before += sums[w];
    *all += sums[w];
  }
  __syncthreads();  // the next call writes them
  return before + sum - own;
}

template <typename T, bool flat, typename Index>
void count_true(const MaskArgs& args) {
#pragma unroll 1
  for (Index tile = blockIdx.x; tile < Index(args.tiles); tile += gridDim.x) {
    uint32 all;
    sum_before(uint32(__popc(find_true<T, flat, Index>(args, tile * kMaskTile))), &all);
    if (threadIdx.x == 0) args.counts[tile] = all;
  }
}

/// One block.
inline void sum_counts(const SumArgs& args) {
  constexpr int64 kEach = 8, kTogether = kMaskThreads * kEach;
  int64 before = 0;
#pragma unroll 1
  for (int64 first = 0; first < args.tiles; first += kTogether) {
    const int64 start = first + threadIdx.x * kEach;
    int64 own[kEach], sum = 0, all;
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      own[j] = start + j < args.tiles ? args.counts[start + j] : 0;
      sum += own[j];
    }
    int64 here = before + sum_before(sum, &all);
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      if (start + j < args.tiles) args.counts[start + j] = here;
      here += own[j];
    }
    before += all;
  }
  if (threadIdx.x == 0) args.counts[args.tiles] = before;
}

/// The true elements of one tile.
struct Chosen {
  const uint16* positions;  // in the tile
  uint32 count;
  int64 before;  // true elements of earlier tiles
  int64 part;    // that this block has of them
};

/// Calls body(position of the tile, Chosen) for each tile that is this block's.
template <typename T, bool flat, typename Index, typename Body>
void for_each_tile(const NumberArgs& args, const Body& body) {
  __shared__ uint16 positions[kMaskTile];
  const MaskArgs& mask = args.mask;
#pragma unroll 1
  for (int64 job = blockIdx.x; job < mask.tiles * args.parts; job += gridDim.x) {
    const int64 tile = job / args.parts;
    Chosen chosen = {positions, 0, mask.counts ? mask.counts[tile] : 0, job - tile * args.parts};
    uint32 bits = find_true<T, flat, Index>(mask, Index(tile) * kMaskTile);
    uint32 rank = sum_before(uint32(__popc(bits)), &chosen.count);
    for (; bits; bits &= bits - 1) {
      positions[rank++] = uint16(threadIdx.x * 16 + __ffs(int(bits)) - 1);
    }
    __syncthreads();
    const int64 total = mask.counts ? mask.counts[mask.tiles] : chosen.count;
    if (args.expected < 0 || total == args.expected) {
      body(Index(tile) * kMaskTile, chosen);
    } else if (job == 0 && threadIdx.x == 0) {
      *args.fault = total;
    }
    __syncthreads();
  }
}

template <typename Word, bool flat, bool gathers, typename Index>
void select(const SelectArgs& args) {
  const char* const scalar = reinterpret_cast<const char*>(args.scalar);
  char* const lined = args.lined ? args.lined : const_cast<char*>(scalar);
  const Index block = Index(args.block);
  for_each_tile<uint8, flat, Index>(args.numbers, [&](Index first, const Chosen& chosen) {
    const int64 parts = args.numbers.parts, items = chosen.count * args.block;
    const int64 share = (items + parts - 1) / parts;
    const int64 start = chosen.part * share;
    const int64 end = start + share < items ? start + share : items;
#pragma unroll 1
    for (int64 item = start + threadIdx.x; item < end; item += kMaskThreads) {
      const Index i = Index(item), divisor = args.is_long ? Index(chosen.count) : block;
      const Index quotient = i / divisor, rest = i - quotient * divisor;
      const Index place = args.is_long ? rest : quotient, word = args.is_long ? quotient : rest;
      const Index from = find_offset(args.places, Index(first + chosen.positions[place])) +
                         find_offset(args.block_placed, word);
      const Index to = (Index(chosen.before) + place) * Index(args.lined_step) +
                       find_offset(args.block_lined, word);
      Word& at_place = *reinterpret_cast<Word*>(args.placed + as_offset(from));
      Word& in_line = *reinterpret_cast<Word*>(lined + as_offset(to));
      if constexpr (gathers) {
        in_line = at_place;
      } else {
        at_place = in_line;
      }
    }
  });
}

template <typename T, bool flat, typename Index>
void nonzero(const NonzeroArgs& args) {
  for_each_tile<T, flat, Index>(args.numbers, [&](Index first, const Chosen& chosen) {
#pragma unroll 1
    for (uint32 k = threadIdx.x; k < chosen.count; k += kMaskThreads) {
      Index i = first + chosen.positions[k];
      char* at = args.out + (chosen.before + k) * args.step + args.ndim * args.row;
#pragma unroll 1
      for (int d = int(args.ndim) - 1; d >= 0; --d) {
        const Index dim = Index(args.dims[d]);
        const Index rest = i / dim;
        at -= args.row;
        *reinterpret_cast<int64*>(at) = int64(i - rest * dim);
        i = rest;
      }
    }
  });
}

}  // namespace ofl
