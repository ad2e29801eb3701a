#include "python/native/function.h"

#include <structmember.h>

#include <algorithm>
#include <string>

#include "python/tensor/type.h"

namespace ofl::python {

namespace {

constexpr int kMaxParameters = 8;

struct NativeObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* dict;
  PyObject* function;
  PyObject* name;
  NativePath path;
  int positional_only;
  int positional;  // with those that may be named
  int count;       // with those that must be named
  bool variadic;   // takes *args
  PyObject* names[kMaxParameters];
  PyObject* defaults[kMaxParameters];  // null: there is none
};

PyTypeObject* native_type = nullptr;

/// False where the function itself has to say what is wrong, or knows more.
bool bind(const NativeObject& f, PyObject* const* args, Py_ssize_t given, PyObject* names,
          PyObject** values) {
  if (given > f.positional && !f.variadic) return false;
  const auto plain = static_cast<int>(std::min<Py_ssize_t>(given, f.positional));
  for (int i = 0; i < plain; ++i) values[i] = args[i];
  for (int i = plain; i < f.count; ++i) values[i] = f.defaults[i];
  const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t k = 0; k < named; ++k) {
    int place = std::max(plain, f.positional_only);
    while (place < f.count && f.names[place] != PyTuple_GET_ITEM(names, k)) ++place;
    if (place == f.count) return false;  // unknown, given twice, or another object of that name
    values[place] = args[given + k];
  }
  return std::all_of(values, values + f.count, [](PyObject* value) { return value != nullptr; });
}

PyObject* native_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
  const auto& f = *reinterpret_cast<NativeObject*>(self);
  const Py_ssize_t given = PyVectorcall_NARGS(nargsf);
  PyObject* values[kMaxParameters];
  if (bind(f, args, given, names, values)) {
    const Py_ssize_t rest = std::max<Py_ssize_t>(given - f.positional, 0);
    const Call call{values, f.count, args + given - rest, rest, f.name};
    PyObject* result = guarded<PyObject*>(nullptr, [&] { return f.path(call); });
    if (result || PyErr_Occurred()) return result;
  }
  return PyObject_Vectorcall(f.function, args, nargsf, names);
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

/// An attribute that lives as long as the object, which holds it too.
PyObject* attribute(PyObject* object, const char* name) {
  PyObject* value = checked(PyObject_GetAttrString(object, name));
  Py_DECREF(value);
  return value;
}

int integer_attribute(PyObject* object, const char* name) {
  PyObject* value = checked(PyObject_GetAttrString(object, name));
  const long number = PyLong_AsLong(value);
  Py_DECREF(value);
  return static_cast<int>(number);
}

std::string text_attribute(PyObject* object, const char* name) {
  const char* text = PyUnicode_AsUTF8(attribute(object, name));
  if (!text) throw PythonErrorSet{};
  return text;
}

NativePath find_path(const std::string& name) {
  for (const NativeRow* table :
       {kCreationPaths, kShapePaths, kReductionPaths, kElementPaths, kCountingPaths, kListPaths,
        kLinalgPaths, kUfuncPaths, kRandomPaths, kSearchingPaths}) {
    for (const NativeRow* row = table; row->name; ++row) {
      if (name == row->name) return row->path;
    }
  }
  fail(ErrorKind::runtime, "[native] there is no native path for ", name);
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
  }
  Py_DECREF(names);
}

PyObject* make_native(PyObject*, PyObject* function) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    if (!PyFunction_Check(function)) {
      fail(ErrorKind::type, "[native] expected a function, got ", Py_TYPE(function)->tp_name);
    }
    const std::string module = text_attribute(function, "__module__");
    const std::string chapter = module.substr(module.rfind('.') + 1);
    const Reference code(checked(PyObject_GetAttrString(function, "__code__")));
    const NativePath path = find_path(chapter + "." + text_attribute(code.get(), "co_name"));
    PyObject* object = checked(native_type->tp_alloc(native_type, 0));  // zeroed
    auto* native = reinterpret_cast<NativeObject*>(object);
    native->vectorcall = native_vectorcall;
    Py_INCREF(function);
    native->function = function;
    native->name = checked(PyObject_GetAttrString(function, "__name__"));
    native->path = path;
    try {
      read_parameters(function, native);
      PyObject* functools = checked(PyImport_ImportModule("functools"));
      PyObject* done = PyObject_CallMethod(functools, "update_wrapper", "OO", object, function);
      Py_DECREF(functools);
      Py_DECREF(checked(done));
    } catch (...) {
      Py_DECREF(object);
      throw;
    }
    return object;
  });
}

PyMethodDef native_method = {"native", make_native, METH_O,
                             "Gives a Python function its native path."};

}  // namespace

void init_native_function(PyObject* module) {
  native_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  if (PyModule_AddObjectRef(module, "NativeFunction", reinterpret_cast<PyObject*>(native_type)) <
      0) {
    throw PythonErrorSet{};
  }
  PyObject* function = checked(PyCFunction_New(&native_method, nullptr));
  const int status = PyModule_AddObjectRef(module, "native", function);
  Py_DECREF(function);
  if (status < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
