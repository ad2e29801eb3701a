// Operations on one element whose result integers or IEEE 754 define, whichever loop computes it. A
// call of NumPy's loop would take longer than they do: several of them ask for the floating-point
// flags, and clear them.
#pragma once

#include <string>

#include "ops/op_def.h"

namespace ofl::ops {

/// What the loop of this ufunc computes of operands of the dtypes that the resolution has; null
/// where only the loop does.
ElementFn element_function(const std::string& ufunc, const Resolution& resolution, int inputs);

}  // namespace ofl::ops
