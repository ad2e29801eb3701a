// Kernels of arrays as Python names them.
#pragma once

#include <string>

#include "ops/array_args.h"
#include "python/numpy_api.h"

namespace ofl::python {

/// None, (ufunc, signature), or ("sort" or "dot", dtype); Error(type) for what there is no loop of.
ops::Loop parse_loop(PyObject* object);

/// The typed loop of a ufunc with this signature ("dd->d"); each is searched for once.
ops::Loop find_loop(PyObject* ufunc, const std::string& signature);

/// NumPy's sort of a dtype of numbers, as a loop: these take no array and need no GIL. Empty where
/// this NumPy does not have it in its table of C functions.
ops::Loop find_sort(DType dtype);
/// The dtype whose sort the kernel of sorts takes for elements of this one.
DType compared_dtype(DType dtype);

}  // namespace ofl::python
