// What a program has become, and how it has run, as a dictionary.
#pragma once

#include "graph/running/executable.h"
#include "python/numpy_api.h"

namespace ofl::python {

/// A new reference.
PyObject* report_of(const graph::Executable& run);

}  // namespace ofl::python
