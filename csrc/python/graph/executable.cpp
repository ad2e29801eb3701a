// The class Executable: a program that is ready to run, called without code of pybind11's.
#include "python/graph/executable.h"

#include <structmember.h>

#include "python/arguments.h"
#include "python/bind.h"
#include "python/convert.h"
#include "python/graph/report.h"
#include "python/machine/host_object.h"
#include "python/runtime.h"
#include "python/slots.h"
#include "python/tensor/object.h"

namespace ofl::python {

namespace {

constexpr const char* kOp = "Executable";

struct ExecutableObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* dict;
  graph::Executable* executable;
  Numbers* numbers;  // null: it takes none
  PyObject* draw;    // null, or what each run calls first
  bool has_host_functions;
  int hidden;  // parameters that it gives
};

graph::Executable& executable_of(PyObject* self) {
  return *reinterpret_cast<ExecutableObject*>(self)->executable;
}

/// What a run takes from sources of random numbers, once its arguments are known to be right.
/// draw() gives a list of words and one of `wanted` tensors, which are arguments, too; it is
/// returned.
Reference draw(PyObject* function, std::vector<int64_t>* words, int wanted) {
  const Reference pair(checked(PyObject_CallNoArgs(function)));
  PyObject* const drawn = PyTuple_GET_ITEM(pair.get(), 0);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(drawn); ++i) {
    words->push_back(PyLong_AsLongLong(PyList_GET_ITEM(drawn, i)));
  }
  if (PyErr_Occurred()) throw PythonErrorSet{};
  PyObject* const tensors = PyTuple_GET_ITEM(pair.get(), 1);
  if (PyList_GET_SIZE(tensors) != wanted) {
    fail(ErrorKind::value, "[", kOp, "] expected ", wanted, " draws of random numbers, got ",
         PyList_GET_SIZE(tensors));
  }
  Py_INCREF(tensors);
  return Reference(tensors);
}

/// How many of the arguments are tensors: the others are the numbers behind them.
int tensor_count(const ExecutableObject& self, int count) {
  const int tensors = self.numbers ? count - self.numbers->given() : count;
  if (tensors < 0) {
    fail(ErrorKind::value, "[", self.executable->name(), "] expected ", self.numbers->given(),
         " numbers behind the tensors, got ", count, " arguments");
  }
  return tensors;
}

[[noreturn]] void refuse_argument(const graph::Executable& executable, int number,
                                  PyObject* given) {
  fail(ErrorKind::type, "[", executable.name(), "] ", executable.input_name(number),
       ": expected a tensor, got ", Py_TYPE(given)->tp_name);
}

std::vector<Tensor> run(const ExecutableObject& self, PyObject* const* given, int count) {
  const graph::Executable& executable = *self.executable;
  const int tensors = tensor_count(self, count);
  SmallVector<const Tensor*, 16> arguments;
  for (int i = 0; i < tensors; ++i) {
    if (!is_tensor(given[i])) refuse_argument(executable, i, given[i]);
    arguments.push_back(&tensor_of(given[i]));
  }
  std::vector<Scalar> scalars;
  if (self.numbers) self.numbers->compute(executable.name().c_str(), given + tensors, &scalars);
  graph::RunNumbers numbers;
  numbers.scalars = scalars.data();
  const int shown = executable.parameter_count() - self.hidden;
  graph::Executable::Inputs inputs = executable.inputs(arguments.data(), tensors, shown);
  std::vector<int64_t> words;
  Reference drawn;
  if (self.hidden && !self.draw) {
    fail(ErrorKind::runtime, "[", kOp, "] ", executable.name(),
         " has no sources of random numbers");
  }
  if (self.draw) {
    drawn = draw(self.draw, &words, self.hidden);
    numbers.words = words.data();
    for (int i = 0; i < self.hidden; ++i) {
      executable.give(&inputs, shown + i, require_tensor(PyList_GET_ITEM(drawn.get(), i), kOp));
    }
  }
  return executable.run(issuer(), inputs, numbers);
}

/// run(*arguments): the results. Numbers stand behind the tensors.
PyObject* call(PyObject* self, PyObject* const* given, size_t nargsf, PyObject* names) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    if (names && PyTuple_GET_SIZE(names)) {
      fail(ErrorKind::type, "[", executable_of(self).name(),
           "] takes its arguments by position, got keyword arguments");
    }
    refuse_while_recording(kOp);
    const auto count = static_cast<int>(PyVectorcall_NARGS(nargsf));
    std::vector<Tensor> results = run(*reinterpret_cast<ExecutableObject*>(self), given, count);
    Reference list(checked(PyList_New(static_cast<Py_ssize_t>(results.size()))));
    for (size_t i = 0; i < results.size(); ++i) {
      PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), wrap(std::move(results[i])));
    }
    return list.release();
  });
}

Reference attribute_of(const char* module, const char* name) {
  const Reference imported(checked(PyImport_ImportModule(module)));
  return Reference(checked(PyObject_GetAttrString(imported.get(), name)));
}

PyObject* report(PyObject* self, PyObject*) {
  return guarded<PyObject*>(nullptr, [&] {
    const Reference type = attribute_of("oneflow_lite.graph.report", "Report");
    const Reference found(report_of(executable_of(self)));
    PyObject* const own = reinterpret_cast<ExecutableObject*>(self)->dict;
    const Reference nothing(own ? nullptr : checked(PyDict_New()));
    return checked(
        PyObject_CallMethod(type.get(), "of", "OO", found.get(), own ? own : nothing.get()));
  });
}

PyObject* draw_to(PyObject* self, PyObject* path) {
  return guarded<PyObject*>(nullptr, [&] {
    const Reference draw = attribute_of("oneflow_lite.graph.drawing", "draw_run");
    return checked(PyObject_CallFunctionObjArgs(draw.get(), self, path, nullptr));
  });
}

PyObject* fill_arena(PyObject* self, PyObject* byte) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    executable_of(self).fill_arena(static_cast<uint8_t>(integer_argument(byte)));
    Py_RETURN_NONE;
  });
}

/// _slots(*numbers): the values of all slots of a run with these numbers.
PyObject* slot_values(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const auto& object = *reinterpret_cast<ExecutableObject*>(self);
    if (!object.numbers || object.numbers->given() != count) {
      fail(ErrorKind::value, "[", object.executable->name(), "] expected ",
           object.numbers ? object.numbers->given() : 0, " numbers, got ", count);
    }
    return object.numbers->slots(object.executable->name().c_str(), given);
  });
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  const auto& object = *reinterpret_cast<ExecutableObject*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(object.dict);
  Py_VISIT(object.draw);
  if (!object.has_host_functions) return 0;
  for (const graph::Step& step : object.executable->lowered().steps) {
    if (const int stopped = visit_object(step.function, visit, arg)) return stopped;
  }
  return 0;
}

int clear(PyObject* self) {
  auto& object = *reinterpret_cast<ExecutableObject*>(self);
  Py_CLEAR(object.dict);
  Py_CLEAR(object.draw);
  return 0;
}

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  auto* const object = reinterpret_cast<ExecutableObject*>(self);
  PyTypeObject* const type = Py_TYPE(self);
  delete object->executable;
  delete object->numbers;
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

constexpr char kDoc[] =
    "A program that is ready to run: called with a tensor for each parameter, then a number for "
    "each slot that is given, it returns the list of its results.\n\n"
    "Results have eager's bits, and errors its lines. Small programs on the cpu run in the calling "
    "thread, others as an instruction for each segment. What flow.graph.compile() returns; its "
    "attribute program is the Program.\n\n"
    "Raises\n------\n"
    "ValueError\n"
    "    There are more or fewer arguments than parameters; one has another dtype, shape, strides "
    "or device than its parameter; one that is written to is read-only, or shares its memory with "
    "another one.\n\n"
    "Examples\n--------\n"
    ">>> traced = flow.graph.trace(lambda x: x + 1, flow.ones(2))\n"
    ">>> flow.graph.compile(traced.program)(flow.zeros(2))[0].tolist()\n"
    "[1.0, 1.0]";

PyMethodDef methods[] = {
    {"report", report, METH_NOARGS,
     "What the program has become, and how often it has run in which way: a Report."},
    {"draw", draw_to, METH_O,
     "draw(path): writes what the program has become as a picture. The suffix of the path decides: "
     ".html has the report, too; .svg; .dot has the operations and groups alone."},
    {"_slots", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(slot_values)), METH_FASTCALL,
     "The values of all slots of a run with these numbers."},
    {"fill_arena", fill_arena, METH_O,
     "For tests: memory that a run makes for itself holds this byte everywhere."},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ExecutableObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(ExecutableObject, dict), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef getset[] = {{"__dict__", PyObject_GenericGetDict, nullptr, nullptr, nullptr},
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>(kDoc)},
                       {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {Py_tp_getset, getset},
                       {0, nullptr}};

PyType_Spec spec = {"oneflow_lite.graph.Executable", sizeof(ExecutableObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC |
                        Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

PyTypeObject* executable_type = nullptr;

/// set_slot_type(type): the class of the numbers that a recorded function gets.
PyObject* call_set_slot_type(Arguments given) {
  set_slot_type(reinterpret_cast<PyTypeObject*>(given[0]));
  Py_RETURN_NONE;
}

/// has_failed(tensor)
PyObject* call_has_failed(Arguments given) {
  const Tensor& x = require_tensor(given[0], kOp);
  return PyBool_FromLong(x.storage->dependence().failure() != nullptr);
}

PyMethodDef functions[] = {positional<call_set_slot_type, 1>("set_slot_type"),
                           positional<call_has_failed, 1>("has_failed"),
                           {nullptr, nullptr, 0, nullptr}};

void add(PyObject* module, const char* name, PyObject* type) {
  if (PyModule_AddObjectRef(module, name, type) < 0) throw PythonErrorSet{};
}

}  // namespace

PyObject* new_executable(std::unique_ptr<graph::Executable> executable,
                         std::unique_ptr<Numbers> numbers, PyObject* draw, int hidden) {
  auto* const object = PyObject_GC_New(ExecutableObject, executable_type);
  if (!object) throw PythonErrorSet{};
  object->vectorcall = call;
  object->dict = nullptr;
  object->has_host_functions = executable->lowered().has_host_functions();
  object->executable = executable.release();
  object->numbers = numbers.release();
  object->hidden = hidden;
  object->draw = draw == Py_None ? nullptr : Py_NewRef(draw);
  PyObject_GC_Track(object);
  return reinterpret_cast<PyObject*>(object);
}

void init_executable(PyObject* module) {
  executable_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  add(module, "Executable", reinterpret_cast<PyObject*>(executable_type));
  add(module, "NumberKindError", number_kind_error_type());
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
