// The Python class Executable.
#pragma once

#include <memory>

#include "graph/running/executable.h"
#include "python/graph/numbers.h"

namespace ofl::python {

/// A new reference. `numbers` are null where it takes none; `draw` is None, or what each run calls
/// first, for its `hidden` last parameters.
PyObject* new_executable(std::unique_ptr<graph::Executable> executable,
                         std::unique_ptr<Numbers> numbers, PyObject* draw, int hidden);

}  // namespace ofl::python
