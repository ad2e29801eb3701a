// Lanes: the one-dimensional pieces of an array along an axis.
#pragma once

#include <cstring>
#include <initializer_list>

#include "ops/array_args.h"

namespace ofl::ops {

/// Calls body(pointers) once for each lane along `axis`, with the lane's first element in each of
/// the arrays. They have one shape, but for its size along the axis.
template <typename Body>
void for_each_lane(std::initializer_list<const ArrayView*> arrays, int axis, Body&& body) {
  constexpr int kMostArrays = 4;
  const ArrayView& leader = **arrays.begin();
  const int count = static_cast<int>(arrays.size());
  char* pointers[kMostArrays];
  Dims index(leader.shape.size(), 0);
  int k = 0;
  for (const ArrayView* array : arrays) pointers[k++] = array->data;
  for (int d = 0; d < leader.shape.size(); ++d) {
    if (d != axis && leader.shape[d] == 0) return;
  }
  for (;;) {
    body(static_cast<char* const*>(pointers));
    int d = leader.shape.size() - 1;
    for (; d >= 0; --d) {
      if (d == axis) continue;
      const bool more = ++index[d] < leader.shape[d];
      const int64_t steps = more ? 1 : 1 - leader.shape[d];
      for (k = 0; k < count; ++k) pointers[k] += steps * arrays.begin()[k]->strides[d];
      if (more) break;
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

}  // namespace ofl::ops
