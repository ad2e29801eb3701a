// What a program has become, and how it has run, as a dictionary.
#pragma once

#include <pybind11/pybind11.h>

#include "graph/running/executable.h"

namespace ofl::python {

pybind11::dict report_of(const graph::Executable& run);

}  // namespace ofl::python
