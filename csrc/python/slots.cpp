#include "python/slots.h"

#include <utility>

#include "python/errors.h"

namespace ofl::python {

PyTypeObject* slot_type = nullptr;

void set_slot_type(PyTypeObject* type) {
  Py_INCREF(type);
  Py_XDECREF(std::exchange(slot_type, type));
}

bool is_complex_slot(PyObject* slot) {
  const Reference answer(checked(PyObject_GetAttrString(slot, "is_complex")));
  return answer.get() == Py_True;
}

int number_of_slot(PyObject* slot) {
  const Reference number(checked(PyObject_CallMethod(slot, "as_operand", nullptr)));
  const long value = PyLong_AsLong(number.get());
  if (value == -1 && PyErr_Occurred()) throw PythonErrorSet{};
  return static_cast<int>(value);
}

}  // namespace ofl::python
