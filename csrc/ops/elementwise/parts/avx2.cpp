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

#ifdef OFL_X86_VECTORS
OFL_BEGIN_AVX2
#include "ops/elementwise/parts/quotients.h"

namespace ofl::ops::parts {

namespace {

LoopFn find_loop(Part part, const Resolution& resolution) {
  const bool divides = part == Part::quotient || part == Part::rest;
  return divides ? division_loop(part, resolution) : float_loop(part, resolution);
}

constexpr PartLoops kLoops = {find_loop};

}  // namespace

}  // namespace ofl::ops::parts
OFL_END_REGION

const ofl::ops::PartLoops* const ofl::ops::kPartLoops256 = &ofl::ops::parts::kLoops;
#else
const ofl::ops::PartLoops* const ofl::ops::kPartLoops256 = nullptr;
#endif
