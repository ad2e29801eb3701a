// Small writes and choices by masks and numbers, in the thread that asks for them. Each is false,
// without any effect, where an operand is not small, settled and of the host, or has more to it.
#pragma once

#include <vector>

#include "tensor/issue.h"

namespace ofl {

/// Where the mask, of x's size, is true, x gets the value of the same place in row-major order. The
/// values have x's dtype; they begin again where there are fewer than elements of x.
bool put_masked_here(const Issuer& issuer, const Tensor& x, const Tensor& mask,
                     const Tensor& values);

/// Where the mask, of x's size, is true, x gets one value after the other; they begin again.
bool place_here(const Issuer& issuer, const Tensor& x, const Tensor& mask, const Tensor& values);

/// At each place the element of the choice that has the number there, which is in range.
bool choose_here(const Issuer& issuer, const Tensor& numbers, const std::vector<Tensor>& choices,
                 Tensor* out);

}  // namespace ofl
