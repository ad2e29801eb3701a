// Objects that C++ objects of Python's hold, as its garbage collector wants to see them; rows of
// tuples that describe such objects.
#pragma once

#include <utility>
#include <vector>

#include "python/errors.h"

namespace ofl::python {

/// An owned reference.
struct Held {
  explicit Held(PyObject* object) : object(Py_NewRef(object)) {}
  Held(const Held&) = delete;
  Held(Held&& other) noexcept : object(std::exchange(other.object, nullptr)) {}
  Held& operator=(Held&& other) noexcept {
    std::swap(object, other.object);
    return *this;
  }
  ~Held() { Py_XDECREF(object); }
  PyObject* object;
};

inline int visit_all(const std::vector<Held>& held, visitproc visit, void* arg) {
  for (const Held& x : held) Py_VISIT(x.object);
  return 0;
}

[[noreturn]] inline void refuse_row(const char* what) {
  fail(ErrorKind::value, "[KnownCalls] expected ", what);
}

inline bool is_text(PyObject* object, const char* text) {
  return PyUnicode_Check(object) && PyUnicode_CompareWithASCIIString(object, text) == 0;
}

/// Borrowed.
inline PyObject* row_item(PyObject* row, Py_ssize_t i) {
  if (!PyTuple_CheckExact(row) || i >= PyTuple_GET_SIZE(row)) refuse_row("a longer tuple");
  return PyTuple_GET_ITEM(row, i);
}

template <typename Make>
void for_items(PyObject* row, const Make& make) {
  if (!PyTuple_CheckExact(row)) refuse_row("a tuple");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(row); ++i) make(PyTuple_GET_ITEM(row, i));
}

}  // namespace ofl::python
