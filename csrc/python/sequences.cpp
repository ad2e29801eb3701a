#include "python/sequences.h"

#include "base/shape.h"
#include "python/tensor/unknown_extents.h"

namespace ofl::python {

Items Items::of_list(PyObject* list_or_tuple, const char* op) {
  if (!PyTuple_Check(list_or_tuple) && !PyList_Check(list_or_tuple)) {
    fail(ErrorKind::type, "[", op, "] expected a list or tuple, got ",
         Py_TYPE(list_or_tuple)->tp_name);
  }
  return Items(PySequence_Tuple(list_or_tuple));
}

Items Items::of_iterable(PyObject* iterable, Py_ssize_t limit, const char* op) {
  const bool known = PyTuple_CheckExact(iterable) || PyList_CheckExact(iterable);
  if (known && PySequence_Fast_GET_SIZE(iterable) > limit) {
    fail(ErrorKind::value, "[", op, "] at most ", limit, " dimensions, got ",
         PySequence_Fast_GET_SIZE(iterable));
  }
  if (known) return Items(PySequence_Tuple(iterable));
  const Reference iterator(checked(PyObject_GetIter(iterable)));
  const Reference list(checked(PyList_New(0)));
  while (PyObject* next = PyIter_Next(iterator.get())) {
    const Reference item(next);
    if (PyList_GET_SIZE(list.get()) == limit) {
      fail(ErrorKind::value, "[", op, "] at most ", limit, " dimensions, got more");
    }
    if (PyList_Append(list.get(), next) < 0) throw PythonErrorSet{};
  }
  if (PyErr_Occurred()) throw PythonErrorSet{};
  return Items(PyList_AsTuple(list.get()));
}

namespace {

bool is_nested(PyObject* data) { return PyList_CheckExact(data) || PyTuple_CheckExact(data); }

/// NumPy's own scalars are static types, those that are derived from them are not.
bool is_plain(PyObject* item) {
  return PyFloat_CheckExact(item) || PyLong_CheckExact(item) || PyBool_Check(item) ||
         PyComplex_CheckExact(item) || item == Py_None ||
         (PyArray_CheckExact(item) &&
          PyArray_TYPE(reinterpret_cast<PyArrayObject*>(item)) != NPY_OBJECT) ||
         PyUnicode_CheckExact(item) || PyBytes_CheckExact(item) ||
         (PyArray_IsScalar(item, Generic) &&
          !PyType_HasFeature(Py_TYPE(item), Py_TPFLAGS_HEAPTYPE));
}

void check_depth(int depth, const char* op) {
  if (depth <= kMaxDims) return;
  fail(ErrorKind::value, "[", op, "] at most ", kMaxDims,
       " dimensions, got a list in more levels, or one that contains itself");
}

/// Whether to convert it runs Python code. No code runs here.
bool runs_code(PyObject* data, int depth, const char* op) {
  if (!is_nested(data)) return !is_plain(data);
  check_depth(depth, op);
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(data);
  PyObject* const* items = PySequence_Fast_ITEMS(data);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (runs_code(items[i], depth + 1, op)) return true;
  }
  return false;
}

PyObject* with_tuples(PyObject* data, int depth, const char* op) {
  if (!is_nested(data)) {
    require_unmasked(data, op);
    refuse_elements(data, op);
    Py_INCREF(data);
    return data;
  }
  check_depth(depth, op);
  const Items items = Items::of_list(data, op);
  Reference made(checked(PyTuple_New(items.size())));
  for (Py_ssize_t i = 0; i < items.size(); ++i) {
    PyTuple_SET_ITEM(made.get(), i, with_tuples(items[i], depth + 1, op));
  }
  return made.release();
}

}  // namespace

namespace {

/// Something of numpy.ma, which is imported once.
PyObject* of_masked(const char* name) {
  static PyObject* const module = checked(PyImport_ImportModule("numpy.ma"));
  return checked(PyObject_GetAttrString(module, name));
}

}  // namespace

void require_unmasked(PyObject* data, const char* op) {
  if (PyArray_CheckExact(data) || !PyArray_Check(data)) return;
  static PyObject* const type = of_masked("MaskedArray");
  static PyObject* const is_masked = of_masked("is_masked");
  const int is_one = PyObject_IsInstance(data, type);
  if (is_one < 0) throw PythonErrorSet{};
  // Records are refused for their dtype.
  if (!is_one || PyArray_TYPE(reinterpret_cast<PyArrayObject*>(data)) == NPY_VOID) return;
  const Reference answer(checked(PyObject_CallOneArg(is_masked, data)));
  if (answer.get() == Py_False) return;
  fail(ErrorKind::type, "[", op,
       "] expected values, got masked elements of numpy.ma, and a tensor ",
       "has no mask; give m.filled(value), or m.data for the values under the mask");
}

PyObject* held_data(PyObject* data, const char* op) {
  if (is_nested(data) && runs_code(data, 1, op)) return with_tuples(data, 1, op);
  require_unmasked(data, op);
  refuse_elements(data, op);
  Py_INCREF(data);
  return data;
}

}  // namespace ofl::python
