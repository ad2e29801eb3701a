// Sequences that Python code may change while they are read: the conversion of an item may run any.
#pragma once

#include "python/errors.h"

namespace ofl::python {

/// The items of a sequence, held in a tuple of their own: nobody can change it.
class Items {
 public:
  /// Of a list or tuple; Error(type) for anything else.
  static Items of_list(PyObject* list_or_tuple, const char* op);
  /// Of whatever can be iterated over; Error(value) for more than `limit` of them, so that an
  /// iterator without an end has one here.
  static Items of_iterable(PyObject* iterable, Py_ssize_t limit, const char* op);

  Py_ssize_t size() const { return PyTuple_GET_SIZE(tuple_.get()); }
  PyObject* operator[](Py_ssize_t i) const { return PyTuple_GET_ITEM(tuple_.get(), i); }
  PyObject* const* begin() const { return &PyTuple_GET_ITEM(tuple_.get(), 0); }
  PyObject* const* end() const { return begin() + size(); }

 private:
  explicit Items(PyObject* tuple) : tuple_(checked(tuple)) {}
  Reference tuple_;
};

/// Error(type) for an array of numpy.ma with masked elements: tensors have no mask, so their values
/// would come back as if they were there.
void require_unmasked(PyObject* data, const char* op);

/// Data for NumPy, which keeps borrowed items of nested lists while it converts them: the data
/// itself where that runs no Python code, else with tuples in the place of lists; a new reference.
/// Error(value) for lists in more levels than tensors have dimensions, or one that contains itself;
/// Error(type) for masked elements; TraceError for an unknown extent.
PyObject* held_data(PyObject* data, const char* op);

}  // namespace ofl::python
