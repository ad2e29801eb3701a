// Calls of dispatch that are made again, on other operands.
#pragma once

#include "tensor/op_call.h"

namespace ofl {

/// `targets`: what the call writes to, in the order of its outputs. All outputs, in their order.
std::vector<Tensor> replay(const Issuer& issuer, const OpCall& call, const Input* inputs, int count,
                           const Tensor* const* targets, int target_count);

}  // namespace ofl
