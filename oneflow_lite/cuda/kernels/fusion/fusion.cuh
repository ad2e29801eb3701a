// One kernel of several operations: what is between them stays in registers.
//
// Values are elements in memory, or of results that never get there.

namespace ofl {

/// A step of a loop over the space.
struct FusedRow {
  int64 dim;
  uint32 multiplier, shift;  // see quotient()
  int64 strides[12];         // bytes, of each value
};

/// The one argument of a fused kernel. Dims are outermost first; flat ones need none.
struct FusedArgs {
  int64 count;        // elements
  int32 ndim, outer;  // dims, and how many of them are outside the runs
  FusedRow rows[8];
  void* data[12];                 // first elements of values that are in memory
  unsigned char scalars[16][16];  // that lie in no memory
  // Of reductions only, see reduce.cuh.
  int64 outputs, reduced;  // elements of an output
  int64 chunks, chunk;     // of an output
  int64 threads;           // of a row or chunk, or beside each other
  void* values;            // what chunks become, [row][chunk] or [chunk][column]
  uint64 inputs[4];        // addresses of what is reduced, or as if: they say where vectors begin
};

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
