#include "python/native/function.h"

#include <structmember.h>

#include <algorithm>

#include "python/arguments.h"
#include "python/ops/registry.h"
#include "python/tensor/type.h"

namespace ofl::python {

namespace {

constexpr int kMaxParameters = 12;

struct NativeObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* dict;
  PyObject* function;
  PyObject* name;
  const NativeRow* row;
  int positional_only;
  int positional;  // with those that may be named
  int count;       // with those that must be named
  int required;    // up to the last one without a default
  bool variadic;   // takes *args
  PyObject* names[kMaxParameters];
  PyObject* defaults[kMaxParameters];  // null: there is none
};

/// A path as Python sees it.
struct PathObject {
  PyObject_HEAD const NativeRow* row;
  int functions;  // that go down it
};

PyTypeObject* native_type = nullptr;
PyTypeObject* path_type = nullptr;

/// The parameter of a name, from `first` on; f.count where there is none.
int place_of(const NativeObject& f, PyObject* name, int first) {
  int place = first;
  while (place < f.count && f.names[place] != name) ++place;
  if (place < f.count) return place;
  place = first;  // the program may have made another object of that name
  while (place < f.count && PyUnicode_Compare(f.names[place], name) != 0) ++place;
  return place;
}

/// False where the call does not fit the parameters: the function says what is wrong.
bool bind(const NativeObject& f, PyObject* const* args, Py_ssize_t given, PyObject* names,
          PyObject** values) {
  if (given > f.positional && !f.variadic) return false;
  const auto plain = static_cast<int>(std::min<Py_ssize_t>(given, f.positional));
  for (int i = 0; i < plain; ++i) values[i] = args[i];
  for (int i = plain; i < f.count; ++i) values[i] = f.defaults[i];
  const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
  if (named == 0) return plain >= f.required;
  for (Py_ssize_t k = 0; k < named; ++k) {
    const int place = place_of(f, PyTuple_GET_ITEM(names, k), std::max(plain, f.positional_only));
    if (place == f.count) return false;  // unknown, or given twice
    values[place] = args[given + k];
  }
  return std::all_of(values, values + f.count, [](PyObject* value) { return value != nullptr; });
}

/// function(native function, arguments, names and values): calls it on operands of another type.
PyObject* other_caller = nullptr;

/// The package whose import sets it is imported at its first use.
PyObject* required_caller() {
  if (!other_caller) Reference(checked(PyImport_ImportModule("oneflow_lite.distributed")));
  if (!other_caller) fail(ErrorKind::runtime, "oneflow_lite.distributed is being imported");
  return other_caller;
}

/// Tensors of many ranks, by themselves or in a list, or a result that is to be one.
bool is_for_others(PyObject* const* args, Py_ssize_t given, PyObject* names) {
  const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t k = 0; k < named; ++k) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, k), "placement") == 0) return true;
  }
  return std::any_of(args, args + given + named, [](PyObject* object) {
    if (!PyList_Check(object) && !PyTuple_Check(object)) return is_of_other_type(object);
    PyObject* const* const items = PySequence_Fast_ITEMS(object);
    return std::any_of(items, items + PySequence_Fast_GET_SIZE(object), is_of_other_type);
  });
}

PyObject* call_on_others(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* names) {
  return guarded<PyObject*>(nullptr, [&] {
    const Reference positional(checked(PyTuple_New(given)));
    for (Py_ssize_t k = 0; k < given; ++k) {
      PyTuple_SET_ITEM(positional.get(), k, Py_NewRef(args[k]));
    }
    const Reference named(checked(PyDict_New()));
    for (Py_ssize_t k = 0; names && k < PyTuple_GET_SIZE(names); ++k) {
      if (PyDict_SetItem(named.get(), PyTuple_GET_ITEM(names, k), args[given + k]) < 0) {
        throw PythonErrorSet{};
      }
    }
    PyObject* const caller = required_caller();
    return PyObject_CallFunctionObjArgs(caller, self, positional.get(), named.get(), nullptr);
  });
}

/// Without a path: the function, and what it refuses may be for others.
PyObject* plain_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
  const auto& f = *reinterpret_cast<NativeObject*>(self);
  PyObject* const result = PyObject_Vectorcall(f.function, args, nargsf, names);
  const Py_ssize_t given = PyVectorcall_NARGS(nargsf);
  if (result) return result;
  const bool is_refused = PyErr_ExceptionMatches(PyExc_TypeError) ||
                          PyErr_ExceptionMatches(PyExc_AttributeError);  // which tensors have
  if (!is_refused || !is_for_others(args, given, names)) return nullptr;
  PyErr_Clear();
  return call_on_others(self, args, given, names);
}

PyObject* native_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
  const auto& f = *reinterpret_cast<NativeObject*>(self);
  const Py_ssize_t given = PyVectorcall_NARGS(nargsf);
  PyObject* values[kMaxParameters];
  const bool fits = bind(f, args, given, names, values);
  if (fits) {
    const Py_ssize_t rest = std::max<Py_ssize_t>(given - f.positional, 0);
    const Call call{values, f.count, args + given - rest, rest, f.name};
    PyObject* result = guarded<PyObject*>(nullptr, [&] { return f.row->path(call); });
    if (result) return result;
  }
  const bool is_refused = !PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError);
  if (is_refused && is_for_others(args, given, names)) {
    PyErr_Clear();
    return call_on_others(self, args, given, names);
  }
  if (fits && (f.row->is_whole || PyErr_Occurred())) return nullptr;
  return PyObject_Vectorcall(f.function, args, nargsf, names);
}

/// Of a row with of_one().
PyObject* short_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
  const auto& f = *reinterpret_cast<NativeObject*>(self);
  if (PyVectorcall_NARGS(nargsf) == 1 && !names && is_tensor(args[0])) {
    if (PyObject* const result = f.row->of_one(args[0])) return result;
  }
  return native_vectorcall(self, args, nargsf, names);
}

PyObject* native_get(PyObject* self, PyObject* object, PyObject*) {
  if (object && object != Py_None) return PyMethod_New(self, object);
  Py_INCREF(self);
  return self;
}

PyObject* native_repr(PyObject* self) {
  return PyObject_Repr(reinterpret_cast<NativeObject*>(self)->function);
}

/// Pickled by name, like any function.
PyObject* native_reduce(PyObject* self, PyObject*) {
  return PyObject_GetAttrString(self, "__qualname__");
}

void native_dealloc(PyObject* self) {
  auto* native = reinterpret_cast<NativeObject*>(self);
  PyTypeObject* type = Py_TYPE(self);
  for (int i = 0; i < native->count; ++i) {
    Py_XDECREF(native->names[i]);
    Py_XDECREF(native->defaults[i]);
  }
  Py_XDECREF(native->dict);
  Py_XDECREF(native->function);
  Py_XDECREF(native->name);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(NativeObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(NativeObject, dict), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef methods[] = {{"__reduce__", native_reduce, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

PyType_Slot slots[] = {{Py_tp_call, slot_pointer(PyVectorcall_Call)},
                       {Py_tp_descr_get, slot_pointer(native_get)},
                       {Py_tp_repr, slot_pointer(native_repr)},
                       {Py_tp_dealloc, slot_pointer(native_dealloc)},
                       {Py_tp_members, members},
                       {Py_tp_getset, getset},
                       {Py_tp_methods, methods},
                       {0, nullptr}};

PyType_Spec spec = {"oneflow_lite._C.NativeFunction", sizeof(NativeObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                        Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

// --- the decorator

int integer_attribute(PyObject* object, const char* name) {
  PyObject* value = checked(PyObject_GetAttrString(object, name));
  const long number = PyLong_AsLong(value);
  Py_DECREF(value);
  return static_cast<int>(number);
}

/// Takes out the parameters that the path does not know. A call that gives one of them does not
/// fit, nor does one that gives a later one by position.
void leave_out(PyObject* unknown, NativeObject* native) {
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(unknown); ++k) {
    PyObject* name = PyTuple_GET_ITEM(unknown, k);
    const int place = place_of(*native, name, 0);
    if (place == native->count || !native->defaults[place]) {
      fail(ErrorKind::type, "[native] expected a parameter with a default, got ",
           name_argument(name));
    }
    Py_DECREF(native->names[place]);
    Py_DECREF(native->defaults[place]);
    std::copy(native->names + place + 1, native->names + native->count, native->names + place);
    std::copy(native->defaults + place + 1, native->defaults + native->count,
              native->defaults + place);
    native->count -= 1;
    native->positional = std::min(native->positional, place);
    native->positional_only = std::min(native->positional_only, place);
  }
  native->required = native->count;
  while (native->required > 0 && native->defaults[native->required - 1]) native->required -= 1;
}

/// Names and defaults of the parameters, from the function's code.
void read_parameters(PyObject* function, NativeObject* native) {
  constexpr int kVariadic = 0x04;  // CO_VARARGS
  PyObject* code = checked(PyObject_GetAttrString(function, "__code__"));
  PyObject* names = checked(PyObject_GetAttrString(code, "co_varnames"));
  native->positional_only = integer_attribute(code, "co_posonlyargcount");
  native->positional = integer_attribute(code, "co_argcount");
  native->count = native->positional + integer_attribute(code, "co_kwonlyargcount");
  native->variadic = (integer_attribute(code, "co_flags") & kVariadic) != 0;
  Py_DECREF(code);
  if (native->count > kMaxParameters) {
    native->count = 0;
    Py_DECREF(names);
    fail(ErrorKind::runtime, "[native] at most ", kMaxParameters, " parameters");
  }
  PyObject* last = PyFunction_GetDefaults(function);
  PyObject* named = PyFunction_GetKwDefaults(function);
  const int first = native->positional - (last ? static_cast<int>(PyTuple_GET_SIZE(last)) : 0);
  for (int i = 0; i < native->count; ++i) {
    native->names[i] = PyTuple_GET_ITEM(names, i);
    Py_INCREF(native->names[i]);
    if (i >= first && i < native->positional) {
      native->defaults[i] = PyTuple_GET_ITEM(last, i - first);
    } else if (i >= native->positional && named) {
      native->defaults[i] = PyDict_GetItem(named, native->names[i]);
    }
    Py_XINCREF(native->defaults[i]);
    if (!native->defaults[i]) native->required = i + 1;
  }
  Py_DECREF(names);
}

/// given: the path, and the names of parameters that it does not know.
PyObject* make_native(PyObject* given, PyObject* function) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    if (!PyFunction_Check(function)) {
      fail(ErrorKind::type, "[native] expected a function, got ", Py_TYPE(function)->tp_name);
    }
    auto* of = reinterpret_cast<PathObject*>(PyTuple_GET_ITEM(given, 0));
    const Reference unknown(checked(PyTuple_GetSlice(given, 1, PyTuple_GET_SIZE(given))));
    PyObject* object = checked(native_type->tp_alloc(native_type, 0));  // zeroed
    auto* native = reinterpret_cast<NativeObject*>(object);
    native->vectorcall = of->row->path ? native_vectorcall : plain_vectorcall;
    if (of->row->of_one) native->vectorcall = short_vectorcall;
    Py_INCREF(function);
    native->function = function;
    native->row = of->row;
    try {
      native->name = checked(PyObject_GetAttrString(function, "__name__"));
      if (of->row->path) {
        read_parameters(function, native);
        leave_out(unknown.get(), native);
      }
      PyObject* functools = checked(PyImport_ImportModule("functools"));
      PyObject* done = PyObject_CallMethod(functools, "update_wrapper", "OO", object, function);
      Py_DECREF(functools);
      Py_DECREF(checked(done));
    } catch (...) {
      Py_DECREF(object);
      throw;
    }
    ++of->functions;
    return object;
  });
}

PyMethodDef decorator = {"native", make_native, METH_O, "Gives a function the path."};

/// native(path, *unknown): the decorator.
PyObject* native_of(PyObject*, PyObject* given) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    PyObject* path = PyTuple_GET_SIZE(given) > 0 ? PyTuple_GET_ITEM(given, 0) : Py_None;
    if (Py_TYPE(path) != path_type) {
      fail(ErrorKind::type, "[native] expected a path of _C.paths, got ", Py_TYPE(path)->tp_name);
    }
    return checked(PyCFunction_New(&decorator, given));
  });
}

PyMethodDef native_method = {"native", native_of, METH_VARARGS,
                             "Returns a decorator that gives a Python function a native path."};

PyObject* set_other_caller(PyObject*, PyObject* function) {
  Py_XSETREF(other_caller, Py_NewRef(function));
  Py_RETURN_NONE;
}

PyMethodDef others_method = {"set_other_caller", set_other_caller, METH_O,
                             "Has native functions called so on tensors of many ranks."};

// --- the paths

PyObject* path_name(PyObject* self, void*) {
  return PyUnicode_FromString(reinterpret_cast<PathObject*>(self)->row->name);
}

PyObject* path_is_whole(PyObject* self, void*) {
  return PyBool_FromLong(reinterpret_cast<PathObject*>(self)->row->is_whole);
}

PyMemberDef path_members[] = {
    {"functions", T_INT, offsetof(PathObject, functions), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef path_getset[] = {{"name", path_name, nullptr, nullptr, nullptr},
                             {"is_whole", path_is_whole, nullptr, nullptr, nullptr},
                             {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot path_slots[] = {
    {Py_tp_members, path_members}, {Py_tp_getset, path_getset}, {0, nullptr}};

PyType_Spec path_spec = {"oneflow_lite._C.NativePath", sizeof(PathObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, path_slots};

void add(PyObject* module, const char* name, PyObject* value) {
  if (PyModule_AddObjectRef(module, name, value) < 0) throw PythonErrorSet{};
}

/// Not a path of one function: it lets tensors of many ranks be given to any.
constexpr NativeRow kPlainPaths[] = {{"of_many_ranks", nullptr}, {nullptr, nullptr}};

/// A namespace with all paths.
PyObject* make_paths() {
  PyObject* paths = checked(PyModule_New("oneflow_lite._C.paths"));
  for (const NativeRow* table :
       {kCreationPaths, kShapePaths, kReductionPaths, kElementPaths, kCountingPaths, kListPaths,
        kLinalgPaths, kUfuncPaths, kRandomPaths, kSearchingPaths, kIndexingPaths, kScanPaths,
        kDTypePaths, kRangePaths, kSetPaths, kPaddingPaths, kPlainPaths}) {
    for (const NativeRow* row = table; row->name; ++row) {
      const Reference path(checked(path_type->tp_alloc(path_type, 0)));
      reinterpret_cast<PathObject*>(path.get())->row = row;
      add(paths, row->name, path.get());
    }
  }
  return paths;
}

}  // namespace

void init_native_function(PyObject* module) {
  native_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  path_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&path_spec)));
  add(module, "NativeFunction", reinterpret_cast<PyObject*>(native_type));
  add(module, "NativePath", reinterpret_cast<PyObject*>(path_type));
  add(module, "native", Reference(checked(PyCFunction_New(&native_method, nullptr))).get());
  add(module, "set_other_caller",
      Reference(checked(PyCFunction_New(&others_method, nullptr))).get());
  add(module, "paths", Reference(make_paths()).get());
}

}  // namespace ofl::python
