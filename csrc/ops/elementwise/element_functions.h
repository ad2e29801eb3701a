// Operations on one element whose result integers or IEEE 754 define, whichever loop computes it. A
// call of NumPy's loop would take longer than they do: several of them ask for the floating-point
// flags, and clear them.
#pragma once

#include <string>

#include "ops/op_def.h"

namespace ofl::ops {

/// A function of one element that does what the ufunc's loop does for the resolution's dtypes;
/// null where there is none.
ElementFn element_function(const std::string& ufunc, const Resolution& resolution, int inputs);

}  // namespace ofl::ops
