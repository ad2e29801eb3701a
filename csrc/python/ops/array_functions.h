// Kernels of arrays as Python names them.
#pragma once

#include "ops/array_args.h"
#include "python/numpy_api.h"

namespace ofl::python {

/// None, (ufunc, signature), or ("sort" or "dot", dtype); Error(type) for what there is no loop of.
ops::Loop parse_loop(PyObject* object);

}  // namespace ofl::python
