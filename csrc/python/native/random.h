// Random numbers from the bits of NumPy's generators.
#pragma once

#include "python/errors.h"

namespace ofl::python {

/// Adds bits_of(): what the native paths of a generator draw from, for one of NumPy's bit
/// generators.
void init_random(PyObject* module);

}  // namespace ofl::python
