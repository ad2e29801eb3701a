// What sums of a dtype are made in, and are.
#pragma once

#include "base/dtype.h"

namespace ofl::python {

/// The dtype itself, but for integers and bool the widest of their kind.
DType sum_dtype(DType dtype);

}  // namespace ofl::python
