// Sums of few channels, along the positions of a row: nothing is packed but the weights.
#pragma once

#include <cstdint>

namespace ofl::ops {

/// out[i] = the sum over l, in order, of weights[l] * image[terms[l] + i], of vectors i: `step`
/// elements apart, in out `out_step`.
template <typename T>
struct Row {
  int64_t depth;
  const T* weights;     // one for all elements of a vector; or, at each step, a vector
  int64_t weight_step;  // 0: one for all
  const int64_t* terms;
  const T* image;
  T* out;
  int64_t step, out_step;
  int64_t count, tail;  // whole vectors; elements of one more
};

template <typename T>
struct RowLoops {
  void (*sum)(const Row<T>& row);
  int lanes;
};

/// Those that this processor has. T is float or double.
template <typename T>
const RowLoops<T>& row_loops();

extern template const RowLoops<float>& row_loops<float>();
extern template const RowLoops<double>& row_loops<double>();

}  // namespace ofl::ops
