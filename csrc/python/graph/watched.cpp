#include "python/graph/watched.h"

#include <algorithm>
#include <initializer_list>

#include "python/arguments.h"
#include "python/bind.h"
#include "python/graph/call_pattern.h"
#include "python/tensor/object.h"

namespace ofl::python {

namespace {

constexpr Py_ssize_t kManyItems = 64;

bool is_array(PyObject* x) { return PyList_Check(x) || PyTuple_Check(x); }

Sort sort_of(PyObject* x, int levels = 3);

/// A small list, tuple or dict of plain values.
bool is_plain_container(PyObject* x, int levels) {
  constexpr Py_ssize_t kMostItems = 16;
  const auto is_plain = [&](PyObject* item) { return sort_of(item, levels - 1) == Sort::plain; };
  if (levels == 0) return false;
  if (PyDict_Check(x) && PyDict_GET_SIZE(x) <= kMostItems) {
    Py_ssize_t at = 0;
    PyObject *key, *item;
    while (PyDict_Next(x, &at, &key, &item)) {
      if (!is_plain(item)) return false;
    }
    return true;
  }
  if (!is_array(x) || PySequence_Fast_GET_SIZE(x) > kMostItems) return false;
  PyObject** const items = PySequence_Fast_ITEMS(x);
  return std::all_of(items, items + PySequence_Fast_GET_SIZE(x), is_plain);
}

/// What the garbage collector does not look at refers to nothing.
Sort sort_of(PyObject* x, int levels) {
  if (x == Py_None || PyFloat_Check(x) || PyLong_Check(x) || PyUnicode_Check(x)) return Sort::plain;
  if (is_tensor(x)) return Sort::tensor;
  if (PyType_Check(x) || PyModule_Check(x)) return Sort::plain;
  if (!PyType_IS_GC(Py_TYPE(x)) && !PyCallable_Check(x)) return Sort::plain;
  return is_plain_container(x, levels) ? Sort::plain : Sort::holder;
}

bool is_deque(PyObject* x) {
  static PyObject* const type = [] {
    const Reference module(checked(PyImport_ImportModule("collections")));
    return checked(PyObject_GetAttrString(module.get(), "deque"));
  }();
  return PyObject_TypeCheck(x, reinterpret_cast<PyTypeObject*>(type));
}

Sort sort_at(PyObject* sequence, Py_ssize_t i) {
  if (is_array(sequence)) return sort_of(PySequence_Fast_GET_ITEM(sequence, i));
  return sort_of(Reference(checked(PySequence_GetItem(sequence, i))).get());
}

Py_ssize_t size_of(PyObject* sequence) {
  return is_array(sequence) ? PySequence_Fast_GET_SIZE(sequence) : PyObject_Size(sequence);
}

/// Without Python code of theirs, which could change the dict.
bool is_same_name(PyObject* x, PyObject* known) {
  const bool is_comparable = (PyUnicode_CheckExact(x) && PyUnicode_CheckExact(known)) ||
                             (PyLong_CheckExact(x) && PyLong_CheckExact(known));
  return x == known || (is_comparable && PyObject_RichCompareBool(x, known, Py_EQ) == 1);
}

bool has_items(const Contents& contents, PyObject* dict) {
  Py_ssize_t at = 0;
  PyObject *key, *item;
  size_t k = 0;
  while (PyDict_Next(dict, &at, &key, &item)) {
    const Sort sort = sort_of(item);
    if (sort == Sort::plain) continue;
    if (k == contents.sorts.size() || contents.sorts[k] != sort) return false;
    if (!is_same_name(key, contents.keys[k].object)) return false;
    ++k;
  }
  return k == contents.sorts.size();
}

bool has_items_from(const Contents& contents, PyObject* sequence, Py_ssize_t first) {
  const auto known = static_cast<Py_ssize_t>(contents.sorts.size());
  if (size_of(sequence) < known) return false;
  for (Py_ssize_t i = first; i < size_of(sequence); ++i) {
    const Sort expected = i < known ? contents.sorts[static_cast<size_t>(i)] : Sort::plain;
    if (sort_at(sequence, i) != expected) return false;
  }
  return true;
}

bool has_contents(const Contents& contents, PyObject* x) {
  const bool is_known = contents.is_mapping ? PyDict_Check(x) : is_array(x) || is_deque(x);
  if (!is_known) return false;
  const Py_ssize_t size = contents.is_mapping ? PyDict_GET_SIZE(x) : size_of(x);
  const bool was_seen = x == contents.seen && contents.seen_size > kManyItems;
  if (was_seen && size == contents.seen_size) return true;
  const Py_ssize_t first = was_seen && size > contents.seen_size ? contents.seen_size : 0;
  if (!(contents.is_mapping ? has_items(contents, x) : has_items_from(contents, x, first))) {
    return false;
  }
  contents.seen = x;
  contents.seen_size = size;
  return true;
}

PyObject* number_of(Sort sort) { return checked(PyLong_FromLong(static_cast<long>(sort))); }

/// sort_of(x)
PyObject* call_sort_of(Arguments given) { return number_of(sort_of(given[0])); }

/// contents_of(x): (sort, ...) of a sequence, ((key, sort), ...) of a mapping behind its kind.
PyObject* call_contents_of(Arguments given) {
  PyObject* const x = given[0];
  const bool is_mapping = PyDict_Check(x);
  if (!is_mapping && !is_array(x) && !is_deque(x)) Py_RETURN_NONE;
  const Reference items(checked(PyList_New(0)));
  const auto append = [&](PyObject* made) {
    const Reference item(checked(made));
    if (PyList_Append(items.get(), item.get()) < 0) throw PythonErrorSet{};
  };
  Py_ssize_t at = 0;
  PyObject *key, *item;
  while (is_mapping && PyDict_Next(x, &at, &key, &item)) {
    const Sort sort = sort_of(item);
    if (sort != Sort::plain) append(Py_BuildValue("(Oi)", key, static_cast<int>(sort)));
  }
  Py_ssize_t known = is_mapping ? 0 : size_of(x);
  while (known > 0 && sort_at(x, known - 1) == Sort::plain) --known;
  for (Py_ssize_t i = 0; i < known; ++i) append(number_of(sort_at(x, i)));
  const Reference found(checked(PyList_AsTuple(items.get())));
  return checked(Py_BuildValue("(sO)", is_mapping ? "mapping" : "sequence", found.get()));
}

Sort sort_argument(PyObject* number) { return static_cast<Sort>(integer_argument(number)); }

Contents contents_argument(PyObject* row) {
  Contents contents{is_text(row_item(row, 0), "mapping"), {}, {}};
  for_items(row_item(row, 1), [&](PyObject* item) {
    contents.sorts.push_back(sort_argument(contents.is_mapping ? row_item(item, 1) : item));
    if (contents.is_mapping) contents.keys.emplace_back(row_item(item, 0));
  });
  return contents;
}

Step::Kind step_kind(PyObject* text) {
  if (is_text(text, "attribute")) return Step::Kind::attribute;
  if (is_text(text, "item")) return Step::Kind::item;
  if (is_text(text, "cell")) return Step::Kind::cell;
  if (is_text(text, "global")) return Step::Kind::global;
  refuse_row("the kind of a step");
}

/// Steps that begin as others do go on from there.
Step& step_to(std::vector<Step>& steps, PyObject* row) {
  const Step::Kind kind = step_kind(row_item(row, 0));
  PyObject* const key = row_item(row, 1);
  for (Step& step : steps) {
    if (step.kind == kind && is_same(key, step.key.object)) return step;
  }
  steps.push_back({kind, Held(key), {}, {}, {}, {}});
  return steps.back();
}

/// What is not there is not found; other errors are the program's.
Reference or_nothing(PyObject* found, std::initializer_list<PyObject*> missing) {
  if (found) return Reference(found);
  const bool is_missing = std::any_of(missing.begin(), missing.end(),
                                      [](PyObject* kind) { return PyErr_ExceptionMatches(kind); });
  if (!is_missing) throw PythonErrorSet{};
  PyErr_Clear();
  return Reference();
}

Reference attribute_or_nothing(PyObject* holder, PyObject* key) {
  PyObject* found = nullptr;
#if PY_VERSION_HEX >= 0x030D0000
  const int is_found = PyObject_GetOptionalAttr(holder, key, &found);
#else
  const int is_found = _PyObject_LookupAttr(holder, key, &found);
#endif
  if (is_found < 0) throw PythonErrorSet{};
  return Reference(found);
}

Reference taken(const Step& step, PyObject* holder) {
  PyObject* const key = step.key.object;
  if (step.kind == Step::Kind::attribute) {
    return attribute_or_nothing(holder, key);
  }
  if (step.kind == Step::Kind::item) {
    // TypeError, AttributeError: the holder is of another kind now.
    return or_nothing(PyObject_GetItem(holder, key),
                      {PyExc_LookupError, PyExc_TypeError, PyExc_AttributeError});
  }
  if (!PyFunction_Check(holder)) return Reference();
  if (step.kind == Step::Kind::global) {
    PyObject* const found = PyDict_GetItemWithError(PyFunction_GET_GLOBALS(holder), key);
    if (!found && PyErr_Occurred()) throw PythonErrorSet{};
    return Reference(Py_XNewRef(found));
  }
  PyObject* const closure = PyFunction_GET_CLOSURE(holder);
  const int64_t place = integer_argument(key);
  if (!closure || place >= PyTuple_GET_SIZE(closure)) return Reference();
  return Reference(Py_XNewRef(PyCell_GET(PyTuple_GET_ITEM(closure, place))));
}

bool may_miss(const Step& step) {
  return step.same.empty() && step.sort == Sort::plain && !step.contents && step.steps.empty();
}

bool all_there(const std::vector<Step>& steps, PyObject* holder) {
  for (const Step& step : steps) {
    const Reference found = taken(step, holder);
    if (found.get() ? !is_there(step, found.get()) : !may_miss(step)) return false;
  }
  return true;
}

}  // namespace

void add_watch(std::vector<Step>& steps, PyObject* row) {
  std::vector<Step>* from = &steps;
  Step* last = nullptr;
  for_items(row_item(row, 0), [&](PyObject* step) {
    last = &step_to(*from, step);
    from = &last->steps;
  });
  if (!last) refuse_row("a step");
  PyObject* const what = row_item(row, 1);
  PyObject* const x = row_item(row, 2);
  if (is_text(what, "same")) {
    if (last->same.empty()) last->same.emplace_back(x);
  } else if (is_text(what, "sort")) {
    last->sort = sort_argument(x);
  } else if (is_text(what, "contents")) {
    last->contents = contents_argument(x);
  } else {
    refuse_row("what is watched");
  }
}

bool is_there(const Step& step, PyObject* found) {
  if (!step.same.empty() && step.same[0].object != found) return false;
  if (step.sort && *step.sort != sort_of(found)) return false;
  if (step.contents && !has_contents(*step.contents, found)) return false;
  return all_there(step.steps, found);
}

int visit_step(const Step& step, visitproc visit, void* arg) {
  Py_VISIT(step.key.object);
  if (const int stopped = visit_all(step.same, visit, arg)) return stopped;
  if (step.contents) {
    if (const int stopped = visit_all(step.contents->keys, visit, arg)) return stopped;
  }
  for (const Step& next : step.steps) {
    if (const int stopped = visit_step(next, visit, arg)) return stopped;
  }
  return 0;
}

void init_watched(PyObject* module) {
  static PyMethodDef functions[] = {positional<call_sort_of, 1>("sort_of"),
                                    positional<call_contents_of, 1>("contents_of"),
                                    {nullptr, nullptr, 0, nullptr}};
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
