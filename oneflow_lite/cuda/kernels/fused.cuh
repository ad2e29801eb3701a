// One kernel of several elementwise operations: what is between them stays in registers.
//
// Values are elements in memory, or of results that never get there. `Body::apply` makes of the
// values that it is given, by reference, those that come after.

namespace ofl {

/// The one argument of a fused kernel.
struct FusedArgs {
  int64 count;  // elements
  int32 ndim;
  int32 unused;
  int64 dims[8];                  // outermost first; of strided kernels only, as `strides`
  void* data[12];                 // first elements of values that are in memory
  int64 strides[8][12];           // bytes, [dim][value]
  unsigned char scalars[16][16];  // that lie in no memory
};

template <typename T>
Stored<T> scalar_of(const FusedArgs& args, int k) {
  return *reinterpret_cast<const Stored<T>*>(args.scalars[k]);
}

template <typename T, int lanes>
bool is_aligned_for(const void* first) {
  return reinterpret_cast<uint64>(first) % sizeof(Vector<T, lanes>) == 0;
}

/// The element of value k at these byte offsets from the first one.
template <typename T, typename Index>
Stored<T>& element_at(const FusedArgs& args, int k, const Index* offsets) {
  typedef typename OffsetOf<Index>::type Offset;
  return *reinterpret_cast<Stored<T>*>(static_cast<char*>(args.data[k]) + Offset(offsets[k]));
}

/// Where the i-th element of each of the first `values` values is: byte offsets, as sums modulo the
/// width of Index, which are read as signed.
template <int values, typename Index>
void find_places(const FusedArgs& args, Index i, Index* offsets) {
#pragma unroll
  for (int k = 0; k < values; ++k) offsets[k] = 0;
#pragma unroll 1
  for (int d = args.ndim - 1; d >= 0; --d) {
    const Index dim = Index(args.dims[d]);
    const Index rest = d ? i / dim : 0;  // the outermost place needs no division
    const Index place = i - rest * dim;
#pragma unroll
    for (int k = 0; k < values; ++k) offsets[k] += place * Index(args.strides[d][k]);
    i = rest;
  }
}

}  // namespace ofl
