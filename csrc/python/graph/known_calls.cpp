// KnownCalls: calls of a jitted function that have run before, found again without Python code. The
// class of jitted functions is derived from it.
//
//   arguments ── pattern of each known call, the last used first ──► tensors, numbers
//   tensors that are captured ── still where they were? ──► run ──► results
//
// A call that is not found is the method _look_up's, which makes its key.
#include "python/graph/known_calls.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "python/arguments.h"
#include "python/bind.h"
#include "python/graph/numbers.h"
#include "python/runtime.h"

namespace ofl::python {

namespace {

constexpr size_t kMost = 8;

uint64_t settings = 0;  // counts changes; with the GIL

/// A reference that the garbage collector sees.
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

/// What an argument must be.
struct Pattern {
  enum class Kind : uint8_t { tensor, number, value, dict, sequence, fields };

  Kind kind;
  size_t place = 0;         // of a tensor: among those of the call
  Tensor layout;            // of a tensor, without a storage
  Device device;            // of a tensor
  std::vector<Held> types;  // one; of a tensor none
  std::vector<Held> value;  // one, of a value
  std::vector<Held> names;  // of the items of a dict, and of fields
  std::vector<Pattern> items;
};

/// A way to captured tensors: from a holder, through an attribute, an item, a variable of a closure
/// or a global, to a tensor or on.
struct Step {
  enum class Kind : uint8_t { attribute, item, cell, global };

  Kind kind;
  Held key;
  std::vector<Held> tensors;  // at most one: what must be there
  std::vector<Step> steps;
};

/// Of a call: references, as a property that runs on the way may let objects go.
struct Found {
  std::vector<Held> tensors, numbers;
};

struct Known {
  std::vector<Pattern> patterns;  // of the positional arguments, and of those by name
  std::vector<Step> steps;        // from the function, its arguments, and those by name
  Held run;
  Held arrange;  // the number of the only result, or what is called with the list of results
  Device device;  // the thread's default
  uint64_t settings;
};

[[noreturn]] void refuse(const char* what) {
  fail(ErrorKind::value, "[KnownCalls] expected ", what);
}

bool is_text(PyObject* object, const char* text) {
  return PyUnicode_CompareWithASCIIString(object, text) == 0;
}

// --- patterns

PyObject* row_item(PyObject* row, Py_ssize_t i) {
  if (!PyTuple_CheckExact(row) || i >= PyTuple_GET_SIZE(row)) refuse("a longer tuple");
  return PyTuple_GET_ITEM(row, i);
}

template <typename Make>
void for_items(PyObject* row, const Make& make) {
  if (!PyTuple_CheckExact(row)) refuse("a tuple");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(row); ++i) make(PyTuple_GET_ITEM(row, i));
}

/// ("tensor", place, x) | ("number", type) | ("value", x) | ("sequence", type, items) |
/// ("dict", names, items) | ("fields", type, names, items)
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
    refuse("the kind of a pattern");
  }
  if (pattern.names.size() > 0 && pattern.names.size() != pattern.items.size()) {
    refuse("as many items as names");
  }
  return pattern;
}

/// Without a call of Python code: of other types only an object itself is the same.
bool is_same(PyObject* x, PyObject* known) {
  if (x == known) return true;
  if (Py_TYPE(x) != Py_TYPE(known)) return false;
  if (PyUnicode_CheckExact(x) || PyLong_CheckExact(x)) {
    return PyObject_RichCompareBool(x, known, Py_EQ) == 1;
  }
  if (!PyFloat_CheckExact(x)) return false;
  const double one = PyFloat_AS_DOUBLE(x), other = PyFloat_AS_DOUBLE(known);
  return std::memcmp(&one, &other, sizeof one) == 0;  // 0.0 is not -0.0
}

bool matches(const Pattern& pattern, PyObject* x, Found* found);

bool matches_tensor(const Pattern& pattern, PyObject* x, Found* found) {
  if (!is_tensor(x)) return false;
  std::vector<Held>& tensors = found->tensors;
  if (pattern.place < tensors.size()) return tensors[pattern.place].object == x;
  const Tensor& tensor = tensor_of(x);
  const bool fits = tensor.dtype == pattern.layout.dtype && tensor.shape == pattern.layout.shape &&
                    tensor.strides == pattern.layout.strides && tensor.device() == pattern.device;
  if (!fits) return false;
  for (const Held& other : tensors) {
    if (other.object == x) return false;
  }
  tensors.emplace_back(x);
  return true;
}

bool matches_dict(const Pattern& pattern, PyObject* x, Found* found) {
  if (!PyDict_CheckExact(x) || PyDict_GET_SIZE(x) != static_cast<Py_ssize_t>(pattern.items.size())) {
    return false;
  }
  Py_ssize_t at = 0;
  PyObject *key, *item;
  for (size_t i = 0; i < pattern.items.size(); ++i) {
    if (!PyDict_Next(x, &at, &key, &item)) return false;
    const Held held(item);
    const bool fits = is_same(key, pattern.names[i].object) && matches(pattern.items[i], item, found);
    if (!fits) return false;
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
    const Reference item(checked(PyObject_GetAttr(x, pattern.names[i].object)));
    if (!matches(pattern.items[i], item.get(), found)) return false;
  }
  return true;
}

bool matches(const Pattern& pattern, PyObject* x, Found* found) {
  switch (pattern.kind) {
    case Pattern::Kind::tensor:
      return matches_tensor(pattern, x, found);
    case Pattern::Kind::number:
      if (pattern.types[0].object != reinterpret_cast<PyObject*>(Py_TYPE(x))) return false;
      found->numbers.emplace_back(x);
      return true;
    case Pattern::Kind::value:
      return is_same(x, pattern.value[0].object);
    case Pattern::Kind::dict:
      return matches_dict(pattern, x, found);
    case Pattern::Kind::sequence:
      return matches_sequence(pattern, x, found);
    case Pattern::Kind::fields:
      return matches_fields(pattern, x, found);
  }
  return false;
}

// --- steps

Step::Kind step_kind(PyObject* text) {
  if (is_text(text, "attribute")) return Step::Kind::attribute;
  if (is_text(text, "item")) return Step::Kind::item;
  if (is_text(text, "cell")) return Step::Kind::cell;
  if (is_text(text, "global")) return Step::Kind::global;
  refuse("the kind of a step");
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

/// ((step, ...), tensor)
void add_watch(std::vector<Step>& steps, PyObject* row) {
  std::vector<Step>* from = &steps;
  Step* last = nullptr;
  for_items(row_item(row, 0), [&](PyObject* step) {
    last = &step_to(*from, step);
    from = &last->steps;
  });
  if (!last) refuse("a step");
  if (last->tensors.empty()) last->tensors.emplace_back(row_item(row, 1));
}

/// What is not there is not found; other errors are the program's.
Reference or_nothing(PyObject* found, PyObject* missing, PyObject* also_missing) {
  if (found) return Reference(found);
  const bool is_missing = PyErr_ExceptionMatches(missing) || PyErr_ExceptionMatches(also_missing);
  if (!is_missing) throw PythonErrorSet{};
  PyErr_Clear();
  return Reference();
}

Reference taken(const Step& step, PyObject* holder) {
  PyObject* const key = step.key.object;
  if (step.kind == Step::Kind::attribute) {
    return or_nothing(PyObject_GetAttr(holder, key), PyExc_AttributeError, PyExc_AttributeError);
  }
  if (step.kind == Step::Kind::item) {
    return or_nothing(PyObject_GetItem(holder, key), PyExc_KeyError, PyExc_IndexError);
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

bool is_there(const Step& step, PyObject* found);

bool all_there(const std::vector<Step>& steps, PyObject* holder) {
  for (const Step& step : steps) {
    const Reference found = taken(step, holder);
    if (!found.get() || !is_there(step, found.get())) return false;
  }
  return true;
}

bool is_there(const Step& step, PyObject* found) {
  if (!step.tensors.empty() && step.tensors[0].object != found) return false;
  return all_there(step.steps, found);
}

/// The first steps of all name where they begin.
bool all_there(const Known& known, PyObject* function, PyObject* args, PyObject* names) {
  for (const Step& step : known.steps) {
    PyObject* const key = step.key.object;
    PyObject* const from = is_text(key, "function") ? function : is_text(key, "args") ? args : names;
    if (!from || !is_there(step, from)) return false;
  }
  return true;
}

// --- the object

struct KnownCallsObject {
  PyObject_HEAD PyObject* function;                     // whose calls they are
  std::vector<std::shared_ptr<Known>>* calls;  // the last used first
};

KnownCallsObject& self_of(PyObject* self) { return *reinterpret_cast<KnownCallsObject*>(self); }

bool is_found(const Known& known, PyObject* args, PyObject* names, Found* found) {
  const auto given = static_cast<Py_ssize_t>(known.patterns[0].items.size());
  if (known.settings != settings || PyTuple_GET_SIZE(args) != given) return false;
  return known.device == default_device() && matches(known.patterns[0], args, found) &&
         (names ? matches(known.patterns[1], names, found) : known.patterns[1].items.empty());
}

PyObject* run_known(const Known& known, const Found& found) {
  SmallVector<PyObject*, 16> given;
  for (const Held& x : found.tensors) given.push_back(x.object);
  for (const Held& x : found.numbers) given.push_back(x.object);
  Reference results(
      checked(PyObject_Vectorcall(known.run.object, given.data(), given.size(), nullptr)));
  PyObject* const arrange = known.arrange.object;
  if (!PyLong_CheckExact(arrange)) return PyObject_CallOneArg(arrange, results.get());
  return Py_NewRef(PyList_GET_ITEM(results.get(), PyLong_AsSsize_t(arrange)));
}

/// What a call returns; null: it is not known.
PyObject* call_known(PyObject* self, PyObject* args, PyObject* names) {
  const bool records = runtime().machine.is_recorded() && issuer().sink;
  auto& calls = *self_of(self).calls;
  for (size_t i = 0; i < calls.size() && !records; ++i) {
    const std::shared_ptr<Known> known = calls[i];  // which a property may take out
    Found found;
    if (!is_found(*known, args, names, &found)) continue;
    if (!all_there(*known, self_of(self).function, args, names)) continue;
    if (i > 0 && i < calls.size()) {
      std::rotate(calls.begin(), calls.begin() + i, calls.begin() + i + 1);
    }
    return run_known(*known, found);
  }
  return nullptr;
}

/// ValueError: an argument does not fit, as it shares its memory with another one. NumberKindError:
/// a number is of another kind now. Nothing has run then.
bool is_to_be_looked_up() {
  return PyErr_ExceptionMatches(PyExc_ValueError) ||
         PyErr_ExceptionMatches(number_kind_error_type());
}

PyObject* call(PyObject* self, PyObject* args, PyObject* names) {
  PyObject* const found =
      guarded<PyObject*>(nullptr, [&] { return call_known(self, args, names); });
  if (found) return found;
  if (PyErr_Occurred()) {
    if (!is_to_be_looked_up()) return nullptr;
    PyErr_Clear();
  }
  static PyObject* const name = PyUnicode_InternFromString("_look_up");
  const Reference look_up(PyObject_GetAttr(self, name));
  return look_up.get() ? PyObject_Call(look_up.get(), args, names) : nullptr;
}

/// _add_known(patterns, watches, run, arrange)
PyObject* add(PyObject* self, PyObject* given) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    PyObject *patterns, *watches, *run, *arrange;
    if (!PyArg_ParseTuple(given, "OOOO", &patterns, &watches, &run, &arrange)) {
      throw PythonErrorSet{};
    }
    auto known = std::make_shared<Known>(
        Known{{}, {}, Held(run), Held(arrange), default_device(), settings});
    for_items(patterns, [&](PyObject* row) { known->patterns.push_back(pattern_of(row)); });
    if (known->patterns.size() != 2) refuse("two patterns");
    for_items(watches, [&](PyObject* row) { add_watch(known->steps, row); });
    auto& calls = *self_of(self).calls;
    calls.insert(calls.begin(), std::move(known));
    if (calls.size() > kMost) calls.pop_back();
    Py_RETURN_NONE;
  });
}

PyObject* clear_calls(PyObject* self, PyObject*) {
  // What is let go may call back: the vector is empty then.
  const std::vector<std::shared_ptr<Known>> calls = std::exchange(*self_of(self).calls, {});
  Py_RETURN_NONE;
}

int visit_all(const std::vector<Held>& held, visitproc visit, void* arg) {
  for (const Held& x : held) Py_VISIT(x.object);
  return 0;
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

int visit_step(const Step& step, visitproc visit, void* arg) {
  Py_VISIT(step.key.object);
  if (const int stopped = visit_all(step.tensors, visit, arg)) return stopped;
  for (const Step& next : step.steps) {
    if (const int stopped = visit_step(next, visit, arg)) return stopped;
  }
  return 0;
}

/// A call that runs shares what is here: it is not visited then, and so counts as reachable.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(self_of(self).function);
  for (const std::shared_ptr<Known>& known : *self_of(self).calls) {
    if (known.use_count() > 1) continue;
    Py_VISIT(known->run.object);
    Py_VISIT(known->arrange.object);
    for (const Pattern& pattern : known->patterns) {
      if (const int stopped = visit_pattern(pattern, visit, arg)) return stopped;
    }
    for (const Step& step : known->steps) {
      if (const int stopped = visit_step(step, visit, arg)) return stopped;
    }
  }
  return 0;
}

int clear_references(PyObject* self) {
  Py_CLEAR(self_of(self).function);
  Py_XDECREF(clear_calls(self, nullptr));
  return 0;
}

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* const self = type->tp_alloc(type, 0);
  if (self) self_of(self).calls = new std::vector<std::shared_ptr<Known>>;
  return self;
}

/// KnownCalls(function)
int initialize(PyObject* self, PyObject* given, PyObject* names) {
  PyObject* function;
  if (names && PyDict_GET_SIZE(names)) {
    PyErr_SetString(PyExc_TypeError, "[KnownCalls] takes no keyword arguments");
    return -1;
  }
  if (!PyArg_ParseTuple(given, "O", &function)) return -1;
  Py_XSETREF(self_of(self).function, Py_NewRef(function));
  return 0;
}

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject* const type = Py_TYPE(self);
  Py_CLEAR(self_of(self).function);
  delete std::exchange(self_of(self).calls, nullptr);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"_add_known", add, METH_VARARGS,
     "_add_known(patterns, watches, run, arrange): a call that has run; at most 8 are kept."},
    {"_forget_known", clear_calls, METH_NOARGS, "Forget all calls."},
    {nullptr, nullptr, 0, nullptr}};

constexpr char kDoc[] =
    "A function whose calls run as programs. Calls that have run before are found here; others are "
    "the method _look_up's.";

PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>(kDoc)},
                       {Py_tp_new, reinterpret_cast<void*>(make)},
                       {Py_tp_init, reinterpret_cast<void*>(initialize)},
                       {Py_tp_call, reinterpret_cast<void*>(call)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear_references)},
                       {Py_tp_methods, methods},
                       {0, nullptr}};

PyType_Spec spec = {"oneflow_lite._C.KnownCalls", sizeof(KnownCallsObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

void forget_known_calls() { ++settings; }

void init_known_calls(PyObject* module) {
  PyObject* const type = checked(PyType_FromSpec(&spec));
  if (PyModule_AddObject(module, "KnownCalls", type) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
