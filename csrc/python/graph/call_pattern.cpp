#include "python/graph/call_pattern.h"

#include <algorithm>
#include <cstring>

#include "python/arguments.h"
#include "python/numpy_api.h"

namespace ofl::python {

Pattern pattern_of(PyObject* row) {
  PyObject* const kind = row_item(row, 0);
  PyObject* const first = row_item(row, 1);
  Pattern pattern{};
  const auto add_names = [&](PyObject* names) {
    for_items(names, [&](PyObject* name) { pattern.names.emplace_back(name); });
  };
  const auto add_items = [&](PyObject* items) {
    for_items(items, [&](PyObject* item) { pattern.items.push_back(pattern_of(item)); });
  };
  if (is_text(kind, "tensor")) {
    pattern.kind = Pattern::Kind::tensor;
    pattern.place = static_cast<size_t>(integer_argument(first));
    pattern.layout = require_tensor(row_item(row, 2), "KnownCalls");
    pattern.device = pattern.layout.device();
    pattern.layout.storage.reset();
  } else if (is_text(kind, "array")) {
    pattern.kind = Pattern::Kind::array;
    pattern.place = static_cast<size_t>(integer_argument(first));
    pattern.value.emplace_back(row_item(row, 2));
    if (!PyArray_DescrCheck(row_item(row, 2))) refuse_row("a dtype");
    for_items(row_item(row, 3),
              [&](PyObject* extent) { pattern.layout.shape.push_back(integer_argument(extent)); });
  } else if (is_text(kind, "number")) {
    pattern.kind = Pattern::Kind::number;
    pattern.types.emplace_back(first);
  } else if (is_text(kind, "value")) {
    pattern.kind = Pattern::Kind::value;
    pattern.value.emplace_back(first);
  } else if (is_text(kind, "dict")) {
    pattern.kind = Pattern::Kind::dict;
    add_names(first);
    add_items(row_item(row, 2));
  } else if (is_text(kind, "sequence")) {
    pattern.kind = Pattern::Kind::sequence;
    pattern.types.emplace_back(first);
    add_items(row_item(row, 2));
  } else if (is_text(kind, "fields")) {
    pattern.kind = Pattern::Kind::fields;
    pattern.types.emplace_back(first);
    add_names(row_item(row, 2));
    add_items(row_item(row, 3));
  } else {
    refuse_row("the kind of a pattern");
  }
  if (pattern.names.size() > 0 && pattern.names.size() != pattern.items.size()) {
    refuse_row("as many items as names");
  }
  return pattern;
}

namespace {

bool is_equal(PyObject* x, PyObject* known) {
  const int found = PyObject_RichCompareBool(x, known, Py_EQ);
  if (found < 0) throw PythonErrorSet{};
  return found == 1;
}

/// What tells 0.0 and -0.0 apart, in numbers of NumPy, too.
bool has_same_text(PyObject* x, PyObject* known) {
  const Reference one(checked(PyObject_Repr(x))), other(checked(PyObject_Repr(known)));
  return is_equal(one.get(), other.get());
}

/// As a dict compares its keys.
bool is_same_key(PyObject* x, PyObject* known) {
  const Py_hash_t one = PyObject_Hash(x), other = one == -1 ? -1 : PyObject_Hash(known);
  if (one == -1 || other == -1) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonErrorSet{};
    PyErr_Clear();  // the look-up says which argument cannot be hashed
    return false;
  }
  return one == other && is_equal(x, known);
}

}  // namespace

bool is_same(PyObject* x, PyObject* known) {
  if (x == known) return true;
  if (Py_TYPE(x) != Py_TYPE(known)) return false;
  if (PyUnicode_CheckExact(x) || PyLong_CheckExact(x)) {
    return PyObject_RichCompareBool(x, known, Py_EQ) == 1;
  }
  if (PyFloat_CheckExact(x)) {
    const double one = PyFloat_AS_DOUBLE(x), other = PyFloat_AS_DOUBLE(known);
    return std::memcmp(&one, &other, sizeof one) == 0;  // 0.0 is not -0.0
  }
  if (PyFloat_Check(x) || PyComplex_Check(x) || PyArray_IsScalar(x, Generic)) {
    return is_equal(x, known) && has_same_text(x, known);  // the sign of NaN is in no text
  }
  // 1 and True are equal there, and sets in other orders, and empty ranges.
  const bool is_coarse = PyTuple_Check(x) || PyAnySet_Check(x) || PyRange_Check(x);
  return is_same_key(x, known) && (!is_coarse || has_same_text(x, known));
}

namespace {

bool has_type(const Pattern& pattern, const Tensor& x) {
  return x.dtype == pattern.layout.dtype && x.shape == pattern.layout.shape &&
         x.strides == pattern.layout.strides && x.device() == pattern.device;
}

bool has_type(const Pattern& pattern, PyArrayObject* x) {
  const auto* const dtype = reinterpret_cast<PyArray_Descr*>(pattern.value[0].object);
  const Dims& shape = pattern.layout.shape;
  return PyArray_NDIM(x) == shape.size() &&
         std::equal(shape.begin(), shape.end(), PyArray_DIMS(x)) &&
         (PyArray_DESCR(x) == dtype ||
          PyArray_EquivTypes(PyArray_DESCR(x), const_cast<PyArray_Descr*>(dtype)));
}

/// A tensor or array: one that came before, or a new one of this type.
template <typename X>
bool matches_memory(const Pattern& pattern, PyObject* object, const X& x, Found* found) {
  std::vector<Held>& tensors = found->tensors;
  if (pattern.place < tensors.size()) return tensors[pattern.place].object == object;
  if (!has_type(pattern, x)) return false;
  for (const Held& other : tensors) {
    if (other.object == object) return false;
  }
  tensors.emplace_back(object);
  return true;
}

bool matches_dict(const Pattern& pattern, PyObject* x, Found* found) {
  const auto count = static_cast<Py_ssize_t>(pattern.items.size());
  if (!PyDict_CheckExact(x) || PyDict_GET_SIZE(x) != count) return false;
  Py_ssize_t at = 0;
  PyObject *key, *item;
  for (size_t i = 0; i < pattern.items.size(); ++i) {
    if (!PyDict_Next(x, &at, &key, &item)) return false;
    const Held held_key(key), held(item);  // comparing them may run code of theirs
    if (!is_same(key, pattern.names[i].object)) return false;
    if (!matches(pattern.items[i], item, found)) return false;
  }
  return true;
}

bool matches_sequence(const Pattern& pattern, PyObject* x, Found* found) {
  const auto is_as_long = [&] {
    return PySequence_Fast_GET_SIZE(x) == static_cast<Py_ssize_t>(pattern.items.size());
  };
  const bool is_known = PyTuple_CheckExact(x) || PyList_CheckExact(x);
  if (!is_known || pattern.types[0].object != reinterpret_cast<PyObject*>(Py_TYPE(x))) return false;
  if (!is_as_long()) return false;
  for (size_t i = 0; i < pattern.items.size(); ++i) {
    if (!is_as_long()) return false;  // an attribute that was asked for may have changed it
    const Held item(PySequence_Fast_GET_ITEM(x, static_cast<Py_ssize_t>(i)));
    if (!matches(pattern.items[i], item.object, found)) return false;
  }
  return true;
}

bool matches_fields(const Pattern& pattern, PyObject* x, Found* found) {
  if (pattern.types[0].object != reinterpret_cast<PyObject*>(Py_TYPE(x))) return false;
  for (size_t i = 0; i < pattern.items.size(); ++i) {
    const Reference item(PyObject_GetAttr(x, pattern.names[i].object));
    if (!item.get()) {
      if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw PythonErrorSet{};
      PyErr_Clear();  // a field that was set once
      return false;
    }
    if (!matches(pattern.items[i], item.get(), found)) return false;
  }
  return true;
}

}  // namespace

bool matches(const Pattern& pattern, PyObject* x, Found* found) {
  switch (pattern.kind) {
    case Pattern::Kind::tensor:
      return is_tensor(x) && matches_memory(pattern, x, tensor_of(x), found);
    case Pattern::Kind::array:
      return PyArray_CheckExact(x) &&
             matches_memory(pattern, x, reinterpret_cast<PyArrayObject*>(x), found);
    case Pattern::Kind::number:
      if (pattern.types[0].object != reinterpret_cast<PyObject*>(Py_TYPE(x))) return false;
      found->numbers.emplace_back(x);
      return true;
    case Pattern::Kind::value: return is_same(x, pattern.value[0].object);
    case Pattern::Kind::dict: return matches_dict(pattern, x, found);
    case Pattern::Kind::sequence: return matches_sequence(pattern, x, found);
    case Pattern::Kind::fields: return matches_fields(pattern, x, found);
  }
  return false;
}

int visit_pattern(const Pattern& pattern, visitproc visit, void* arg) {
  for (const auto* held : {&pattern.types, &pattern.value, &pattern.names}) {
    if (const int stopped = visit_all(*held, visit, arg)) return stopped;
  }
  for (const Pattern& item : pattern.items) {
    if (const int stopped = visit_pattern(item, visit, arg)) return stopped;
  }
  return 0;
}

}  // namespace ofl::python
