// The dtype in which elements of a dtype are added, which the sum has, too.
#pragma once

#include "base/dtype.h"

namespace ofl::python {

/// The dtype itself, but for integers and bool the widest of their kind.
DType sum_dtype(DType dtype);

}  // namespace ofl::python
