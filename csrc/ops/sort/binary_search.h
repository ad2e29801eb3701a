// Binary search of several needles at once. They go down together, so that their cache misses
// overlap. There are no branches: the processor would predict half of them wrongly.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ofl::ops {

/// Needles that are searched together.
inline constexpr int kTogether = 8;

/// found[k] = from + how many of the `length` elements from there on precede needles[k]. Those for
/// which precedes(element, needle) holds come first; where they do not, it is any number up to
/// from + length.
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
