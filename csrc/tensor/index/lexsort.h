// Positions that sort by several keys.
#pragma once

#include "ops/array_args.h"
#include "tensor/issue.h"

namespace ofl {

inline constexpr int kMostSortKeys = 3;

/// The int64 positions that sort `count` keys (up to kMostSortKeys) of one shape along an axis, in
/// the thread that asks; the last key counts most. False, without any effect, where a key is not
/// small, settled and of the host. `sort`: of uint64.
bool lexsort_here(const Issuer& issuer, const ops::Loop& sort, const Tensor* const* keys, int count,
                  int axis, Tensor* out);

}  // namespace ofl
