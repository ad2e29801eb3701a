// Writes to places that index arrays give. Of several writes to one position the last one in the
// order of the indices stays, on every grid: where values differ, each place claims its position in
// a table first, and only who has the highest number there writes.
//
//   clear the table ──► claim: position -> highest number ──► write: who has it
//
// An entry is (position * 2^22 + number) + 1; 0 is empty. Entries of one position are ordered as
// their numbers. A slot that has a position keeps it, as only entries of that position replace one
// another; so those who look for it, probing one slot after the other, end at the same slot. There
// are more slots than places.
#include "ops/cuda/layout/index.h"

namespace ofl {

enum : uint32 { kNowhere = 0xffffffffu };  // the slot of an index out of range

inline void clear_table(const ClearArgs& args) {
  const uint64 step = uint64(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (uint64 i = uint64(blockIdx.x) * blockDim.x + threadIdx.x; i < uint64(args.count);
       i += step) {
    args.table[i] = 0;
  }
}

inline uint32 find_slot(uint64* table, uint32 slots, uint64 position, uint64 entry) {
  const uint64 mixed = position * 0x9E3779B97F4A7C15ull >> 32;  // Fibonacci hashing (Knuth)
  uint32 slot = uint32(mixed * slots >> 32);
  for (;;) {
    const uint64 seen = atomicCAS(table + slot, uint64(0), entry);
    if (seen == 0) return slot;
    if ((seen - 1) >> kNumberBits == position) {
      if (seen < entry) atomicMax(table + slot, entry);
      return slot;
    }
    slot = slot + 1 == slots ? 0 : slot + 1;
  }
}

template <int arrays>
void claim(const ClaimArgs<arrays>& args) {
  const uint64 step = uint64(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (uint64 i = uint64(blockIdx.x) * blockDim.x + threadIdx.x; i < uint64(args.count);
       i += step) {
    auto spot = find_spot(args.nest, uint64(args.first) + i);
    if (!add_places(args.nest, &spot)) {
      args.slot_of[i] = kNowhere;
      continue;
    }
    const uint64 entry = (spot.placed << kNumberBits | i) + 1;
    if (args.is_direct) {
      atomicMax(args.table + spot.placed, entry);
      args.slot_of[i] = uint32(spot.placed);
    } else {
      args.slot_of[i] = find_slot(args.table, uint32(args.slots), spot.placed, entry);
    }
  }
}

/// Whether the place has claimed its position.
template <int arrays>
bool stays(const ScatterArgs<arrays>& args, uint64 number) {
  constexpr uint64 kNumbers = (uint64(1) << kNumberBits) - 1;
  const uint64 own = number - uint64(args.number);
  const uint32 slot = args.slot_of[own];
  return slot != kNowhere && ((args.table[slot] - 1) & kNumbers) == own;
}

template <typename Word, int arrays, typename Index>
void scatter(const ScatterArgs<arrays>& args) {
  const Index count = Index(args.count);
  const Index step = Index(gridDim.x) * blockDim.x;
  const char* const lined = args.lined ? args.lined : reinterpret_cast<const char*>(args.scalar);
#pragma unroll 1
  for (Index i = Index(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    auto spot = find_spot(args.nest, Index(args.first) + i);
    if (args.table && !stays(args, spot.number)) continue;
    if (!add_places(args.nest, &spot)) continue;
    *reinterpret_cast<Word*>(args.placed + as_offset(spot.placed)) =
        *reinterpret_cast<const Word*>(lined + as_offset(spot.lined));
  }
}

}  // namespace ofl
