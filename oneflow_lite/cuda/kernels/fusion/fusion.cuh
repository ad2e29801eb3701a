// One kernel of several operations: what is between them stays in registers.
//
// Values are elements in memory, or of results that never get there.
#include "ops/cuda/layout/fusion.h"

namespace ofl {

template <typename T>
Stored<T> scalar_of(const FusedArgs& args, int k) {
  return *reinterpret_cast<const Stored<T>*>(args.scalars[k]);
}

template <typename T, int lanes>
bool is_aligned_for(const void* first) {
  return reinterpret_cast<uint64>(first) % sizeof(Vector<T, lanes>) == 0;
}

/// Where the i-th element of the dims [begin, end) is in each of the first `values` values: byte
/// offsets, as sums modulo the width of Index, which are read as signed.
template <int values, typename Index>
void find_places(const FusedArgs& args, int begin, int end, Index i,
                 typename OffsetOf<Index>::type* offsets) {
  Index sums[values] = {};
#pragma unroll 1
  for (int d = end - 1; d >= begin; --d) {
    const FusedRow& row = args.rows[d];
    const Index rest = d > begin ? quotient(i, row) : 0;  // the outermost needs no division
    const Index place = i - rest * Index(row.dim);
#pragma unroll
    for (int k = 0; k < values; ++k) sums[k] += place * Index(row.strides[k]);
    i = rest;
  }
#pragma unroll
  for (int k = 0; k < values; ++k) offsets[k] = typename OffsetOf<Index>::type(sums[k]);
}

/// The element of value k at these byte offsets from the first one.
template <typename T, typename Offset>
Stored<T>& element_at(const FusedArgs& args, int k, const Offset* offsets) {
  return *reinterpret_cast<Stored<T>*>(static_cast<char*>(args.data[k]) + offsets[k]);
}

template <typename T, int lanes, typename Offset>
Vector<T, lanes>& vector_at(const FusedArgs& args, int k, const Offset* offsets) {
  return *reinterpret_cast<Vector<T, lanes>*>(static_cast<char*>(args.data[k]) + offsets[k]);
}

}  // namespace ofl
