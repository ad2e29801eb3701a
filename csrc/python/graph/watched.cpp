#include "python/graph/watched.h"

#include <algorithm>
#include <initializer_list>

#include "python/arguments.h"
#include "python/graph/call_pattern.h"

namespace ofl::python {

namespace {

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
  steps.push_back({kind, Held(key), {}, {}});
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

Reference taken(const Step& step, PyObject* holder) {
  PyObject* const key = step.key.object;
  if (step.kind == Step::Kind::attribute) {
    return or_nothing(PyObject_GetAttr(holder, key), {PyExc_AttributeError});
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

bool all_there(const std::vector<Step>& steps, PyObject* holder) {
  for (const Step& step : steps) {
    const Reference found = taken(step, holder);
    if (!found.get() || !is_there(step, found.get())) return false;
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
  if (last->tensors.empty()) last->tensors.emplace_back(row_item(row, 1));
}

bool is_there(const Step& step, PyObject* found) {
  if (!step.tensors.empty() && step.tensors[0].object != found) return false;
  return all_there(step.steps, found);
}

int visit_step(const Step& step, visitproc visit, void* arg) {
  Py_VISIT(step.key.object);
  if (const int stopped = visit_all(step.tensors, visit, arg)) return stopped;
  for (const Step& next : step.steps) {
    if (const int stopped = visit_step(next, visit, arg)) return stopped;
  }
  return 0;
}

}  // namespace ofl::python
