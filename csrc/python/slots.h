// Numbers whose values each run of a program gives: what a recorded function gets in the place of a
// float or complex argument. The class is Python's (oneflow_lite/graph/arguments/slots.py).
#pragma once

#include "python/numpy_api.h"

namespace ofl::python {

/// The class of slots; null until Python has said which it is.
extern PyTypeObject* slot_type;
void set_slot_type(PyTypeObject* type);

inline bool is_slot(PyObject* object) { return Py_TYPE(object) == slot_type; }
/// Whether its values are complex numbers, not floats.
bool is_complex_slot(PyObject* slot);
/// Its number in the recording; one whose recording is over throws TraceError.
int number_of_slot(PyObject* slot);

}  // namespace ofl::python
