// Selection: elements in the places that a sort would give them, without the sort.
#pragma once

#include <cstdint>

#include "ops/sort/order.h"

namespace ofl::ops {

/// Writes the n elements of `from` (contiguous, or `data` itself) to `data`, in an order in which
/// the places, which ascend, hold what they hold in the sorted order. In it no element before a
/// place comes after the one there, and none behind it comes before it. `sort` sorts elements of T,
/// of floats the integers of their size, or is empty. T: a number of two bytes or more that the
/// processor compares, or a complex one.
template <typename T>
void select_places(const T* from, T* data, int64_t n, const int64_t* places, int64_t count,
                   const Loop& sort);

}  // namespace ofl::ops
