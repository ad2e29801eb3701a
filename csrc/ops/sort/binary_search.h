// Binary search of several needles at once: they go down together, without branches, so that their
// cache misses overlap and none is a guess of the processor.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ofl::ops {

/// Needles that are searched together: as many as there are registers for their places.
inline constexpr int kTogether = 8;

/// found[k] = `from` and how many of the `length` elements from there on precede needles[k]:
/// precedes(element, needle), which holds for none behind one that it does not hold for. Without
/// that order, any number up to the length.
template <typename T, typename Precedes>
void search_together(const T* elements, int64_t from, int64_t length, const T* needles,
                     const Precedes& precedes, int64_t* found) {
  int64_t at[kTogether];
  std::fill_n(at, kTogether, from);
  while (length > 1) {
    const int64_t half = length / 2;
    const T* const middle = elements + half - 1;
    for (int k = 0; k < kTogether; ++k) {
      at[k] += half & -int64_t{precedes(middle[at[k]], needles[k])};  // compilers branch for ?:
    }
    length -= half;
  }
  if (length == 1) {
    for (int k = 0; k < kTogether; ++k) at[k] += precedes(elements[at[k]], needles[k]);
  }
  std::copy_n(at, kTogether, found);
}

}  // namespace ofl::ops
