#include "python/native/signature.h"

#include "python/runtime.h"
#include "python/sequences.h"
#include "python/tensor/unknown_extents.h"

namespace ofl::python {

namespace {

std::string text_of(PyObject* object, PyObject* (*text)(PyObject*)) {
  const Reference made(checked(text(object)));
  const char* characters = PyUnicode_AsUTF8(made.get());
  if (!characters) throw PythonErrorSet{};
  return characters;
}

int normal_axis(PyObject* axis, int ndim, PyObject* function) {
  if (const std::optional<int> known = known_axis(axis, ndim)) return *known;
  refuse_extents(axis, PyUnicode_AsUTF8(function));
  const Reference number(checked(PyNumber_Index(axis)));
  if (const std::optional<int> known = known_axis(number.get(), ndim)) return *known;
  fail(ErrorKind::axis, "[", PyUnicode_AsUTF8(function), "] axis ",
       text_of(number.get(), PyObject_Str), " is out of bounds for ", ndim, " dimensions");
}

}  // namespace

bool is_any_sequence(PyObject* object) {
  if (PyTuple_CheckExact(object) || PyList_CheckExact(object)) return true;
  if (PyLong_CheckExact(object)) return false;
  static PyObject* const sequence = [] {
    const Reference module(checked(PyImport_ImportModule("collections.abc")));
    return checked(PyObject_GetAttrString(module.get(), "Sequence"));
  }();
  const int answer = PyObject_IsInstance(object, sequence);
  if (answer < 0) throw PythonErrorSet{};
  return answer == 1;
}

Py_ssize_t AxesArgument::count() const {
  if (!is_any_sequence(given_)) return 1;
  const Py_ssize_t size = PySequence_Size(given_);
  if (size < 0) throw PythonErrorSet{};
  return size;
}

void AxesArgument::read(int ndim, Axes* axes) const {
  if (!is_any_sequence(given_)) {
    axes->push_back(normal_axis(given_, ndim, function_));
    return;
  }
  const Reference items(checked(PySequence_Tuple(given_)));  // that no conversion can change
  uint64_t seen = 0;
  bool twice = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    const int axis = normal_axis(PyTuple_GET_ITEM(items.get(), i), ndim, function_);
    twice |= (seen >> axis & 1) != 0;
    seen |= uint64_t{1} << axis;
    if (!twice) axes->push_back(axis);
  }
  if (twice) {
    fail(ErrorKind::value, "[", PyUnicode_AsUTF8(function_),
         "] an axis is given twice: ", text_of(items.get(), PyObject_Repr));
  }
}

int AxesArgument::read_one(int ndim) const {
  const Axes axes = within(ndim);
  if (axes.size() == 1) return axes[0];
  fail(ErrorKind::value, "[", PyUnicode_AsUTF8(function_), "] expected one axis, got ",
       text_of(given_, PyObject_Repr));
}

bool AxesArgument::is_zero_or_last() const {
  if (is_none() || is_any_sequence(given_)) return false;
  const Reference axes(checked(Py_BuildValue("(ii)", 0, -1)));
  const int answer = PySequence_Contains(axes.get(), given_);
  if (answer < 0) throw PythonErrorSet{};
  return answer == 1;
}

}  // namespace ofl::python
