// For every processor. Quotients and remainders are NumPy's here: without vectors of any kind, and
// without a fused multiplication and addition, our loops would not be faster.
// Nobody reads floating-point flags: a choice between two numbers needs no branch.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/half.h"
#include "base/vector_regions.h"
#include "ops/elementwise/parts/parts.h"

#include "ops/elementwise/parts/floats.h"

ofl::ops::LoopFn ofl::ops::find_part_loop(Part part, const Resolution& resolution) {
  return parts::float_loop(part, resolution);
}
