// The loops over elements. What is done to one is `Body::apply`, from inputs to the output.
//
// Loops whose length is not known are not unrolled: that would be most of the code, for nothing
// where memory is what one waits for.
//
// Threads take elements in turn, the whole grid's stride apart: any number of blocks is right. With
// 32-bit indices, elements and byte offsets are below 2^31, blocks of 256 at most 2^23.
#include "ops/cuda/layout/elementwise.h"

namespace ofl {

/// An element in memory. A byte of bool that is neither 0 nor 1 is true.
template <typename T>
struct Stored {
  T value;
  T get() const { return value; }
  void set(T v) { value = v; }
};
template <>
struct Stored<bool> {
  uint8 value;
  bool get() const { return value != 0; }
  void set(bool v) { value = v; }
};

/// Consecutive elements that are loaded and stored at once.
template <typename T, int lanes>
struct alignas(lanes * sizeof(T)) Vector {
  Stored<T> lane[lanes];
};

/// The k-th operand, in memory.
template <typename T, int k>
struct Array {
  char* first;

  explicit Array(const ElementwiseHead& args) : first(static_cast<char*>(args.data[k])) {}

  template <int lanes>
  bool is_aligned() const {
    return reinterpret_cast<uint64>(first) % sizeof(Vector<T, lanes>) == 0;
  }
  template <int lanes, typename Index>
  Vector<T, lanes>& vector(Index i) const {
    return reinterpret_cast<Vector<T, lanes>*>(first)[i];
  }
  template <int lanes, typename Index>
  Vector<T, lanes> load(Index i) const {
    return vector<lanes>(i);
  }
  template <typename Index>
  Stored<T>& at(Index i) const {
    return reinterpret_cast<Stored<T>*>(first)[i];
  }
  template <typename Offset>
  Stored<T>& at_offset(const Offset* offsets) const {
    return *reinterpret_cast<Stored<T>*>(first + offsets[k]);
  }
  template <int lanes, typename Offset>
  Vector<T, lanes>& vector_at(const Offset* offsets) const {
    return *reinterpret_cast<Vector<T, lanes>*>(first + offsets[k]);
  }
  template <int lanes, typename Offset>
  Vector<T, lanes> load_at(const Offset* offsets) const {
    return vector_at<lanes>(offsets);
  }
};

template <typename T, int lanes>
Vector<T, lanes> all_of(Stored<T> value) {
  Vector<T, lanes> all;
#pragma unroll
  for (int j = 0; j < lanes; ++j) all.lane[j] = value;
  return all;
}

/// The k-th operand, in memory, which stands still within a vector.
template <typename T, int k>
struct Spread : Array<T, k> {
  explicit Spread(const ElementwiseHead& args) : Array<T, k>(args) {}

  template <int lanes, typename Offset>
  Vector<T, lanes> load_at(const Offset* offsets) const {
    return all_of<T, lanes>(this->at_offset(offsets));
  }
};

/// The k-th operand, the same for all elements.
template <typename T, int k>
struct Scalar {
  Stored<T> value;

  explicit Scalar(const ElementwiseHead& args)
      : value(*reinterpret_cast<const Stored<T>*>(args.scalars[k])) {}

  template <int lanes>
  bool is_aligned() const {
    return true;
  }
  template <int lanes, typename Index>
  Vector<T, lanes> load(Index) const {
    return all_of<T, lanes>(value);
  }
  template <int lanes, typename Offset>
  Vector<T, lanes> load_at(const Offset*) const {
    return all_of<T, lanes>(value);
  }
  template <typename Index>
  Stored<T> at(Index) const {
    return value;
  }
  template <typename Offset>
  Stored<T> at_offset(const Offset*) const {
    return value;
  }
};

template <typename Body, int lanes, typename Out, typename... In>
void apply_to_vector(const ElementwiseHead& args, Vector<Out, lanes>& target, const In&... inputs) {
  Vector<Out, lanes> results;
#pragma unroll
  for (int j = 0; j < lanes; ++j) results.lane[j].set(Body::apply(args, inputs.lane[j].get()...));
  target = results;
}

/// Contiguous operands: vectors where every operand is aligned for them, then what is left.
template <typename Body, int lanes, typename Index, typename Out, typename... In>
void run_flat(const ElementwiseHead& args, Out output, In... inputs) {
  const Index count = Index(args.count);
  const Index start = Index(blockIdx.x) * blockDim.x + threadIdx.x;
  const Index step = Index(gridDim.x) * blockDim.x;
  Index done = 0;
  if constexpr (lanes > 1) {
    if ((output.template is_aligned<lanes>() && ... && inputs.template is_aligned<lanes>())) {
      const Index vectors = count / lanes;
#pragma unroll 1
      for (Index i = start; i < vectors; i += step) {
        apply_to_vector<Body, lanes>(args, output.template vector<lanes>(i),
                                     inputs.template load<lanes>(i)...);
      }
      done = vectors * lanes;
    }
  }
#pragma unroll 1
  for (Index i = done + start; i < count; i += step) {
    output.at(i).set(Body::apply(args, inputs.at(i).get()...));
  }
}

template <typename Index>
struct OffsetOf;
template <>
struct OffsetOf<uint32> {
  typedef int32 type;
};
template <>
struct OffsetOf<uint64> {
  typedef int64 type;
};

/// i / row.dim. With 32 bits, by a product: T. Granlund and P. L. Montgomery, Division by invariant
/// integers using multiplication (1994), figure 4.1; as i is below 2^31, the sum does not overflow.
template <typename AnyRow>
uint32 quotient(uint32 i, const AnyRow& row) {
  return (__umulhi(i, row.divisor.multiplier) + i) >> row.divisor.shift;
}
template <typename AnyRow>
uint64 quotient(uint64 i, const AnyRow& row) {
  return i / uint64(row.dim);
}

/// The byte offsets of the i-th element in each of `operands` operands. Strides may be negative:
/// sums are made modulo the width of Index and then read as signed.
template <int operands, typename Index>
void find_offsets(const ElementwiseRow* rows, int ndim, Index i,
                  typename OffsetOf<Index>::type* offsets) {
  Index sums[operands] = {};
#pragma unroll 1
  for (int d = ndim - 1; d >= 0; --d) {
    const ElementwiseRow& row = rows[d];
    const Index rest = d ? quotient(i, row) : 0;  // the outermost place needs no division
    const Index place = i - rest * Index(row.dim);
#pragma unroll
    for (int k = 0; k < operands; ++k) sums[k] += place * Index(row.strides[k]);
    i = rest;
  }
#pragma unroll
  for (int k = 0; k < operands; ++k) offsets[k] = typename OffsetOf<Index>::type(sums[k]);
}

/// Operands of any strides.
template <typename Body, typename Index, int capacity, typename Out, typename... In>
void run_strided(const ElementwiseArgs<capacity>& args, Out output, In... inputs) {
  const Index count = Index(args.count);
  const Index step = Index(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (Index i = Index(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    typename OffsetOf<Index>::type offsets[sizeof...(In) + 1];
    find_offsets<sizeof...(In) + 1>(args.rows, args.ndim, i, offsets);
    output.at_offset(offsets).set(Body::apply(args, inputs.at_offset(offsets).get()...));
  }
}

/// Operands whose innermost rows are whole vectors, contiguous or standing still (Spread), and
/// start where vectors may. The innermost row counts vectors, and its strides step from one to the
/// next.
template <typename Body, int lanes, typename Index, int capacity, typename Out, typename... In>
void run_rows(const ElementwiseArgs<capacity>& args, Out output, In... inputs) {
  const Index count = Index(args.count);
  const Index step = Index(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (Index i = Index(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    typename OffsetOf<Index>::type offsets[sizeof...(In) + 1];
    find_offsets<sizeof...(In) + 1>(args.rows, args.ndim, i, offsets);
    apply_to_vector<Body, lanes>(args, output.template vector_at<lanes>(offsets),
                                 inputs.template load_at<lanes>(offsets)...);
  }
}

}  // namespace ofl
