// Between places in a flattened shape and indices for each of its dimensions, for few of them, in
// the thread that asks. Each is false, without any effect, where an operand is not readable_here(),
// or is out of range.
#pragma once

#include <vector>

#include "tensor/issue.h"

namespace ofl {

/// A row of int64 indices for each dimension. `by_columns`: the first dimension changes first.
bool unravel_here(const Issuer& issuer, const Tensor& places, const Dims& shape, bool by_columns,
                  Tensor* out);

/// The other way round, of int64 indices of one shape, one tensor for each dimension.
bool ravel_here(const Issuer& issuer, const std::vector<Tensor>& indices, const Dims& shape,
                bool by_columns, Tensor* out);

/// The int64 index of each place of a shape, a grid for each dimension.
bool indices_here(const Issuer& issuer, Device device, const Dims& shape, Tensor* out);

}  // namespace ofl
