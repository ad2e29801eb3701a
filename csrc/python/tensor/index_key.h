// What stands between the brackets of x[...]: integers, slices, ..., None, integer arrays, masks.
#pragma once

#include "python/errors.h"
#include "tensor/index/index.h"

namespace ofl::python {

struct Indexed {
  Tensor view;                         // when there are no arrays
  std::optional<Selection> selection;  // when there are
  bool copy = false;  // NumPy makes no view: of one element, or where a 0-d array was an index
};

/// NumPy's rules. Index arrays on the host are checked here, those of tensors when they are used;
/// several masks, or one beside other arrays, are looked at. `op` is named in errors.
Indexed parse_key(const Tensor& x, PyObject* key, const char* op);

/// `[op] index 5 is out of bounds for axis 0 with size 3`.
Error out_of_bounds(const char* op, int64_t index, int64_t axis, int64_t size);

/// How many elements are not zero: looks at it, in the name of `op`.
int64_t look_at_count(const Tensor& x, const char* op);

/// An index array (Tensor, array, sequence) for an axis of x, on x's device; Error(index) unless of
/// integers, or for a host value out of range in mode `raise`.
Tensor index_array(PyObject* object, const Tensor& x, int axis, ops::OutOfRange mode,
                   const char* op);

}  // namespace ofl::python
