// What the arguments of a call must be for a program to be theirs, compared without Python code.
#pragma once

#include <vector>

#include "base/device.h"
#include "python/graph/held.h"
#include "tensor/tensor.h"

namespace ofl::python {

/// What an argument must be.
struct Pattern {
  enum class Kind : uint8_t { tensor, array, number, value, dict, sequence, fields };

  Kind kind;
  size_t place = 0;         // of a tensor or array: among those of the call
  Tensor layout;            // of a tensor, without a storage; of an array its shape
  Device device;            // of a tensor
  std::vector<Held> types;  // one; of a tensor none
  std::vector<Held> value;  // one, of a value; of an array its dtype
  std::vector<Held> names;  // of the items of a dict, and of fields
  std::vector<Pattern> items;
};

/// Of a call: references, as a property that runs on the way may let objects go.
struct Found {
  std::vector<Held> tensors;  // and NumPy's arrays
  std::vector<Held> numbers;
};

/// ("tensor", place, x) | ("array", place, dtype, shape) | ("number", type) | ("value", x) |
/// ("sequence", type, items) | ("dict", names, items) | ("fields", type, names, items)
Pattern pattern_of(PyObject* row);
/// Throws what a property of an argument raises.
bool matches(const Pattern& pattern, PyObject* x, Found* found);
int visit_pattern(const Pattern& pattern, visitproc visit, void* arg);

/// Without a call of Python code: of other types only an object itself is the same.
bool is_same(PyObject* x, PyObject* known);

}  // namespace ofl::python
