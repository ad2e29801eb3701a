// The operators of partial values: on tensors, and the elements that change nothing.
#pragma once

#include "distributed/layouts/sbp.h"
#include "tensor/issue.h"

namespace ofl::distributed {

/// Both of one shape, dtype and device. The rows of operations come from the layer above, which
/// sets this before the first tensor of many ranks.
using Combine = Tensor (*)(const Issuer&, PartialOp, const Tensor&, const Tensor&);
void set_combine(Combine combine);

/// Over values in their order, at least one, by pairs of neighbours: (0 + 1) + (2 + 3), ... Whoever
/// has the values gets the same bits.
Tensor combine_tree(const Issuer& issuer, PartialOp op, std::vector<Tensor> values);

/// What the operator leaves any other element as it is with. A sum's is -0.0, as 0.0 would change
/// the sign of another zero.
Scalar neutral(PartialOp op, DType dtype);

}  // namespace ofl::distributed
