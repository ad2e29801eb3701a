#include "ops/convolution/rows.h"

#include "base/vectors.h"
#include "ops/convolution/lanes.h"

namespace ofl::ops {

namespace {

/// Vectors whose sums are made together.
constexpr int kTogether = 4;

template <typename T, typename V, int Count, bool Spread>
inline void sum_some(const Row<T>& row, int64_t first) {
  typename V::Type sums[Count];
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) sums[i] = V::zero();
  const T* const image = row.image + first * row.step;
  for (int64_t l = 0; l < row.depth; ++l) {
    const T* const from = image + row.terms[l];
#pragma GCC unroll 4
    for (int i = 0; i < Count; ++i) {
      const typename V::Type value = V::load(from + i * row.step);
      if constexpr (Spread) {
        V::multiply_add(V::spread(row.weights + l), value, sums[i]);
      } else {
        V::multiply_add(V::load(row.weights + l * row.weight_step), value, sums[i]);
      }
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) V::put(row.out + (first + i) * row.out_step, sums[i], false);
}

/// The elements behind the whole vectors.
template <typename T, typename V>
inline void sum_tail(const Row<T>& row) {
  typename V::Type sum = V::zero();
  const T* const image = row.image + row.count * row.step;
  for (int64_t l = 0; l < row.depth; ++l) {
    V::multiply_add(V::spread(row.weights + l), V::load_some(image + row.terms[l], row.tail), sum);
  }
  V::put_some(row.out + row.count * row.out_step, sum, row.tail);
}

template <typename T, typename V, bool Spread>
inline void sum_all(const Row<T>& row) {
  int64_t i = 0;
  for (; i + kTogether <= row.count; i += kTogether) sum_some<T, V, kTogether, Spread>(row, i);
  for (; i < row.count; ++i) sum_some<T, V, 1, Spread>(row, i);
}

template <typename T, typename V>
inline void sum_by(const Row<T>& row) {
  if (row.weight_step) return sum_all<T, V, false>(row);
  sum_all<T, V, true>(row);
  if (row.tail) sum_tail<T, V>(row);
}

template <typename T>
void sum_128(const Row<T>& row) {
  sum_by<T, PlainLanes<T>>(row);
}

#ifdef OFL_X86_VECTORS
// The same code for the vectors of each processor: all that it calls is inlined into it.
template <typename T>
OFL_AVX2_FMA OFL_FLAT void sum_256(const Row<T>& row) {
  sum_by<T, Lanes256<T>>(row);
}
template <typename T>
OFL_AVX512 OFL_FLAT void sum_512(const Row<T>& row) {
  sum_by<T, Lanes512<T>>(row);
}

template <typename T>
RowLoops<T> choose() {
  using Loops = RowLoops<T>;
  return choose_by_isa<Loops>("convolution_rows", {sum_128<T>, PlainLanes<T>::kLanes},
                              {sum_256<T>, Lanes256<T>::kLanes}, {sum_512<T>, Lanes512<T>::kLanes});
}
#else
template <typename T>
RowLoops<T> choose() {
  return {sum_128<T>, PlainLanes<T>::kLanes};
}
#endif

}  // namespace

template <typename T>
const RowLoops<T>& row_loops() {
  static const RowLoops<T> chosen = choose<T>();
  return chosen;
}

template const RowLoops<float>& row_loops<float>();
template const RowLoops<double>& row_loops<double>();

}  // namespace ofl::ops
