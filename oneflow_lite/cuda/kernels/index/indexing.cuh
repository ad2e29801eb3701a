// Where elements lie that indices pick: items of work are walked through a nest of dimensions, and
// index arrays are read on the way. Elements are words of 1 to 16 bytes, whatever they mean.
//
// `placed` is the array that is indexed, `lined` the one whose elements stand in the order of the
// indices. Offsets are bytes, summed modulo the width of Index and then read as signed: with 32
// bits, items and byte offsets are below 2^31.
#include "ops/cuda/layout/index.h"

namespace ofl {

struct alignas(16) Word16 {
  uint64 halves[2];
};

template <typename Index>
struct SignedOf;
template <>
struct SignedOf<uint32> {
  typedef int32 type;
};
template <>
struct SignedOf<uint64> {
  typedef int64 type;
};

/// A sum of offsets as what it means.
template <typename Index>
typename SignedOf<Index>::type as_offset(Index sum) {
  return typename SignedOf<Index>::type(sum);
}

template <int arrays, typename Index>
struct Spot {
  Index placed, lined, number;
  Index offsets[arrays];  // of the indices
};

/// Of the i-th item.
template <int arrays, typename Index>
Spot<arrays, Index> find_spot(const Indexing<arrays>& nest, Index i) {
  Spot<arrays, Index> spot = {};
#pragma unroll 1
  for (int d = nest.ndim - 1; d >= 0; --d) {
    const Index dim = Index(nest.dims[d]);
    const Index rest = d ? i / dim : 0;  // the outermost position needs no division
    const Index position = i - rest * dim;
    spot.placed += position * Index(nest.placed[d]);
    spot.lined += position * Index(nest.lined[d]);
    spot.number += position * Index(nest.number[d]);
#pragma unroll
    for (int k = 0; k < arrays; ++k) {
      spot.offsets[k] += position * Index(nest.indices[k].strides[d]);
    }
    i = rest;
  }
  return spot;
}

inline int64 load_index(const char* at, int kind) {
  switch (kind) {
    case 0: return *reinterpret_cast<const int8*>(at);
    case 1: return *reinterpret_cast<const int16*>(at);
    case 2: return *reinterpret_cast<const int32*>(at);
    case kUnsignedIndex: return *reinterpret_cast<const uint8*>(at);
    case kUnsignedIndex + 1: return *reinterpret_cast<const uint16*>(at);
    case kUnsignedIndex + 2: return *reinterpret_cast<const uint32*>(at);
    default: return *reinterpret_cast<const int64*>(at);
  }
}

/// The position along an axis that an index means; false: there is none.
inline bool settle(int64* index, int64 size, IndexMode mode) {
  if (mode == kClip) {
    *index = *index < 0 ? 0 : *index < size ? *index : size - 1;
    return true;
  }
  if (*index < 0) *index += size;
  if (uint64(*index) < uint64(size)) return true;
  if (mode == kFault) return false;
  *index %= size;
  if (*index < 0) *index += size;
  return true;
}

/// Adds what the indices say to where the item is placed; false: one is out of range. Then its
/// fault is told: the index with its sign bit flipped, as 0 is in range of every axis that is left.
template <int arrays, typename Index>
bool add_places(const Indexing<arrays>& nest, Spot<arrays, Index>* spot) {
  bool inside = true;
#pragma unroll
  for (int k = 0; k < arrays; ++k) {
    const IndexArray& array = nest.indices[k];
    const int64 given = load_index(array.data + as_offset(spot->offsets[k]), array.kind);
    int64 index = given;
    if (settle(&index, array.size, nest.mode)) {
      spot->placed += Index(index) * Index(array.step);
    } else {
      nest.faults[k] = int64(uint64(given) ^ (uint64(1) << 63));
      inside = false;
    }
  }
  return inside;
}

}  // namespace ofl
