// KnownCalls: calls of a jitted function that have run before, found again without Python code. The
// class of jitted functions is derived from it.
//
//   arguments ── pattern of each known call, the last used first ──► tensors, numbers
//   tensors that are captured ── still where they were? ──► run ──► results
//
// A call that is not found is the method _look_up's, which makes its key.
#include <algorithm>
#include <memory>
#include <vector>

#include "python/arguments.h"
#include "python/bind.h"
#include "python/graph/call_pattern.h"
#include "python/graph/donation.h"
#include "python/graph/numbers.h"
#include "python/graph/watched.h"
#include "python/native/data.h"
#include "python/numpy_api.h"
#include "python/runtime.h"

namespace ofl::python {

namespace {

constexpr size_t kMost = 64;

/// Names what the thread's context of passes asks for; 0: it is in none.
thread_local int64_t pass_context = 0;

struct Known {
  std::vector<Pattern> patterns;  // of the positional arguments, and of those by name
  std::vector<Step> steps;        // from the function, its arguments, and those by name
  Held run;
  Held arrange;        // the number of the only result, or what is called with the list of results,
  bool takes_numbers;  // and then with the numbers of the call
  std::vector<size_t> donated;  // places of tensors
  const char* name;
  Device device;  // the thread's default
  uint64_t settings;
  int64_t pass_context;
};

struct KnownCallsObject {
  PyObject_HEAD PyObject* function;            // whose calls they are
  std::vector<std::shared_ptr<Known>>* calls;  // the last used first
};

KnownCallsObject& self_of(PyObject* self) { return *reinterpret_cast<KnownCallsObject*>(self); }

bool is_found(const Known& known, PyObject* args, PyObject* names, Found* found) {
  const auto given = static_cast<Py_ssize_t>(known.patterns[0].items.size());
  if (known.settings != runtime().settings || PyTuple_GET_SIZE(args) != given) return false;
  if (known.pass_context != pass_context) return false;
  return known.device == default_device() && matches(known.patterns[0], args, found) &&
         (names ? matches(known.patterns[1], names, found) : known.patterns[1].items.empty());
}

/// A copy of the array, as the key's way to a call makes it.
Reference tensor_of_array(PyObject* array) {
  const Reference row_major(checked(PyArray_FROM_OF(array, NPY_ARRAY_C_CONTIGUOUS)));
  return Reference(checked(as_tensor(row_major.get(), Py_None, Py_None, Py_True)));
}

PyObject* arranged(const Known& known, const Found& found, PyObject* results) {
  PyObject* const arrange = known.arrange.object;
  if (PyLong_CheckExact(arrange)) return PySequence_GetItem(results, integer_argument(arrange));
  SmallVector<PyObject*, 16> given;
  given.push_back(results);
  if (known.takes_numbers) {
    for (const Held& x : found.numbers) given.push_back(x.object);
  }
  return PyObject_Vectorcall(arrange, given.data(), given.size(), nullptr);
}

PyObject* run_known(const Known& known, const Found& found) {
  SmallVector<PyObject*, 16> given;
  std::vector<Reference> made;
  for (const Held& x : found.tensors) {
    if (!is_tensor(x.object)) made.push_back(tensor_of_array(x.object));
    given.push_back(is_tensor(x.object) ? x.object : made.back().get());
  }
  for (const Held& x : found.numbers) given.push_back(x.object);
  Reference results(
      checked(PyObject_Vectorcall(known.run.object, given.data(), given.size(), nullptr)));
  Reference returned(checked(arranged(known, found, results.get())));
  for (const size_t place : known.donated) give_up(found.tensors[place].object, known.name);
  return returned.release();
}

/// So the run may compute in their memory, and no argument shares it.
bool may_all_be_taken(const Known& known, const Found& found) {
  return std::all_of(known.donated.begin(), known.donated.end(), [&](size_t place) {
    return may_be_taken(tensor_of(found.tensors[place].object));
  });
}

/// The first steps of all name where they begin.
bool all_there(const Known& known, PyObject* function, PyObject* args, PyObject* names) {
  for (const Step& step : known.steps) {
    PyObject* const key = step.key.object;
    const bool is_argument = is_text(key, "args");
    PyObject* const from = is_text(key, "function") ? function : is_argument ? args : names;
    if (!from || !is_there(step, from)) return false;
  }
  return true;
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
    if (!may_all_be_taken(*known, found)) continue;
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

/// _add_known(patterns, watches, run, arrange, takes_numbers, donated, name)
PyObject* add(PyObject* self, PyObject* given) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    PyObject *patterns, *watches, *run, *arrange, *takes_numbers, *donated, *name;
    if (!PyArg_ParseTuple(given, "OOOOOOO", &patterns, &watches, &run, &arrange, &takes_numbers,
                          &donated, &name)) {
      throw PythonErrorSet{};
    }
    auto known = std::make_shared<Known>(Known{{},
                                               {},
                                               Held(run),
                                               Held(arrange),
                                               truth(takes_numbers),
                                               {},
                                               name_argument(name),
                                               default_device(),
                                               runtime().settings,
                                               pass_context});
    for_items(donated, [&](PyObject* place) {
      known->donated.push_back(static_cast<size_t>(integer_argument(place)));
    });
    for_items(patterns, [&](PyObject* row) { known->patterns.push_back(pattern_of(row)); });
    if (known->patterns.size() != 2) refuse_row("two patterns");
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

/// KnownCalls(function): classes that are derived from it may take more arguments.
PyObject* make(PyTypeObject* type, PyObject* given, PyObject*) {
  if (PyTuple_GET_SIZE(given) == 0) {
    PyErr_SetString(PyExc_TypeError, "[KnownCalls] expected a function");
    return nullptr;
  }
  PyObject* const self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  self_of(self).calls = new std::vector<std::shared_ptr<Known>>;
  self_of(self).function = Py_NewRef(PyTuple_GET_ITEM(given, 0));
  return self;
}

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject* const type = Py_TYPE(self);
  Py_CLEAR(self_of(self).function);
  delete std::exchange(self_of(self).calls, nullptr);
  type->tp_free(self);
  Py_DECREF(type);
}

/// _set_pass_context(number): the number of the thread's, for calls from now on.
PyObject* set_pass_context(PyObject*, PyObject* number) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    pass_context = integer_argument(number);
    Py_RETURN_NONE;
  });
}

PyMethodDef methods[] = {
    {"_add_known", add, METH_VARARGS,
     "_add_known(patterns, watches, run, arrange, takes_numbers, donated, name): a call that has "
     "run; at most 64 are kept."},
    {"_set_pass_context", set_pass_context, METH_O | METH_STATIC,
     "_set_pass_context(number): which context of passes the thread is in; 0: none."},
    {"_forget_known", clear_calls, METH_NOARGS, "Forget all calls."},
    {nullptr, nullptr, 0, nullptr}};

constexpr char kDoc[] =
    "A function whose calls run as programs. Calls that have run before are found here; others are "
    "the method _look_up's.";

PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>(kDoc)},
                       {Py_tp_new, reinterpret_cast<void*>(make)},
                       {Py_tp_call, reinterpret_cast<void*>(call)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear_references)},
                       {Py_tp_methods, methods},
                       {0, nullptr}};

PyType_Spec spec = {"oneflow_lite._C.KnownCalls", sizeof(KnownCallsObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

void init_known_calls(PyObject* module) {
  PyObject* const type = checked(PyType_FromSpec(&spec));
  if (PyModule_AddObject(module, "KnownCalls", type) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
