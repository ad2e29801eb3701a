// Small functions whose results have as many elements as the values say, in the thread that asks
// for them. Each is false, without any effect, where an operand is not readable_here(), or has more
// to it.
#pragma once

#include "tensor/issue.h"

namespace ofl {

/// The int64 coordinates of the elements that are not zero, a row for each of x's dimensions (at
/// least one).
bool nonzero_here(const Issuer& issuer, const Tensor& x, Tensor* out);

/// How often 0, 1, 2, ... occur in x, of integers of at least 0 in one dimension, at least
/// `fewest` counts; `weights` (may be null): float64 of x's shape, what each counts.
bool bincount_here(const Issuer& issuer, const Tensor& x, const Tensor* weights, int64_t fewest,
                   Tensor* out);

}  // namespace ofl
