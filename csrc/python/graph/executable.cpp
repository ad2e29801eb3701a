// Executable for Python: a program that is lowered, and runs.
#include "graph/running/executable.h"

#include <pybind11/stl.h>
#include <structmember.h>

#include <algorithm>

#include "graph/planning/units.h"
#include "python/arguments.h"
#include "python/bind.h"
#include "python/convert.h"
#include "python/graph/numbers.h"
#include "python/graph/op_call.h"
#include "python/graph/report.h"
#include "python/issue_site.h"
#include "python/runtime.h"
#include "python/slots.h"
#include "python/tensor/object.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

constexpr const char* kOp = "Executable";

graph::Value type_of(const py::handle& row) {
  const auto parts = row.cast<py::tuple>();
  return {graph::Origin::parameter,         parse_dtype(parts[0].ptr(), kOp),
          parse_dims(parts[1].ptr(), kOp),  parse_dims(parts[2].ptr(), kOp),
          named_device(parts[3].ptr()),     {}};
}

/// (call, operands, targets, results, site, words, lane, place): operands are numbers of values,
/// for scalars (number,) or (None, slot); words are pairs of places, in the call's attr and in the
/// numbers of a run; the lane is None where it is the caller's.
graph::Operation operation_of(const py::handle& row, Numbers* numbers) {
  const auto parts = row.cast<py::tuple>();
  graph::Operation operation{parts[0].cast<const OpCall&>(), {}, {}, {}, 0, {}};
  if (!parts[6].is_none()) operation.lane = parts[6].cast<int>();
  operation.place = parts[7].cast<int64_t>();
  if (!parts[4].is_none()) {
    const auto [file, line] = parts[4].cast<std::pair<std::string, int>>();
    operation.site = site_named(file, line);
  }
  for (const py::handle& operand : parts[1]) {
    graph::Operand to{graph::kScalar, {}};
    if (!PyTuple_CheckExact(operand.ptr())) {
      to.value = operand.cast<int64_t>();
    } else {
      const auto scalar = operand.cast<py::tuple>();
      const DType dtype =
          scalar_dtype(operation.call, static_cast<int>(operation.operands.size()));
      if (scalar.size() == 1) {
        to.scalar = to_scalar(scalar[0].ptr(), dtype);
      } else {
        if (!numbers) fail(ErrorKind::value, "[", kOp, "] the program has no slots");
        to.slot = numbers->scalar(scalar[1].cast<int64_t>(), dtype, operation.site);
      }
    }
    operation.operands.push_back(to);
  }
  operation.targets = parts[2].cast<std::vector<int64_t>>();
  operation.results = parts[3].cast<std::vector<int64_t>>();
  for (const auto& [attr, word] : parts[5].cast<std::vector<std::pair<int, int64_t>>>()) {
    operation.words.push_back({attr, word});
  }
  return operation;
}

struct ExecutableObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* dict;
  graph::Executable* executable;
  Numbers* numbers;  // null: it takes none
  PyObject* draw;    // null, or what each run calls first
  int hidden;        // parameters that it gives
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
    std::vector<Tensor> results =
        run(*reinterpret_cast<ExecutableObject*>(self), given, count);
    Reference list(checked(PyList_New(static_cast<Py_ssize_t>(results.size()))));
    for (size_t i = 0; i < results.size(); ++i) {
      PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), wrap(std::move(results[i])));
    }
    return list.release();
  });
}

PyObject* report(PyObject* self, PyObject*) {
  return guarded<PyObject*>(nullptr, [&] {
    const py::object type = py::module_::import("oneflow_lite.graph.report").attr("Report");
    PyObject* const own = reinterpret_cast<ExecutableObject*>(self)->dict;
    const auto noted = own ? py::reinterpret_borrow<py::object>(own) : py::dict();
    return type.attr("of")(report_of(executable_of(self)), noted).release().ptr();
  });
}

PyObject* draw_to(PyObject* self, PyObject* path) {
  return guarded<PyObject*>(nullptr, [&] {
    const py::object draw = py::module_::import("oneflow_lite.graph.drawing").attr("draw_run");
    return checked(PyObject_CallFunctionObjArgs(draw.ptr(), self, path, nullptr));
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

void dealloc(PyObject* self) {
  auto* const object = reinterpret_cast<ExecutableObject*>(self);
  PyTypeObject* const type = Py_TYPE(self);
  delete object->executable;
  delete object->numbers;
  Py_CLEAR(object->draw);
  Py_CLEAR(object->dict);
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
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {Py_tp_getset, getset},
                       {0, nullptr}};

PyType_Spec spec = {
    "oneflow_lite.graph.Executable", sizeof(ExecutableObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

PyTypeObject* executable_type = nullptr;

int number_of(const char* what, const std::string& name, const char* const* names, int count) {
  const auto* const found = std::find(names, names + count, name);
  if (found != names + count) return static_cast<int>(found - names);
  std::string known;
  for (int i = 0; i < count; ++i) known += concat(i ? ", " : "", "'", names[i], "'");
  fail(ErrorKind::value, "[compile] ", what, ": expected one of ", known, ", got '", name, "'");
}

/// The parts of a program that Python has as rows.
graph::ProgramParts parts_of(const py::list& inputs, int64_t constants, int64_t value_count,
                             const py::list& operations, const std::vector<int64_t>& results,
                             const std::vector<std::pair<int64_t, int64_t>>& assigns,
                             Numbers* numbers) {
  graph::ProgramParts program;
  for (const py::handle& row : inputs) program.inputs.push_back(type_of(row));
  program.constants = constants;
  program.value_count = value_count;
  for (const py::handle& row : operations) {
    program.operations.push_back(operation_of(row, numbers));
  }
  program.results = results;
  for (const auto& [value, last] : assigns) program.assigns.push_back({value, last});
  return program;
}

/// program_units(inputs, constants, value_count, operations, results, assigns, slots): of each
/// operation the number of the unit that it would run in as one with others, or -1.
std::vector<int64_t> program_units(const py::list& inputs, int64_t constants, int64_t value_count,
                                   const py::list& operations, const std::vector<int64_t>& results,
                                   const std::vector<std::pair<int64_t, int64_t>>& assigns,
                                   const py::list& slots) {
  auto numbers = slots.empty() ? nullptr : std::make_unique<Numbers>(slots);
  const graph::ProgramParts program = parts_of(inputs, constants, value_count, operations, results,
                                               assigns, numbers.get());
  vm::VirtualMachine& machine = runtime().machine;
  return graph::unit_of_operations(graph::lower(machine, program), machine.options(),
                                   static_cast<int64_t>(program.operations.size()));
}

/// compile_program(name, names, inputs, bound, constants, value_count, operations, results,
///                 assigns, slots, hidden, draw, mode, release, lanes, adds, graphs, groups):
///                 `draw` (or None) gives each run words and the last `hidden` parameters. `groups`
///                 has a number for each operation: those of one number may run as one; or nothing.
py::object compile_program(const std::string& name, const std::vector<std::string>& names,
                           const py::list& inputs, const py::list& bound, int64_t constants,
                           int64_t value_count, const py::list& operations,
                           const std::vector<int64_t>& results,
                           const std::vector<std::pair<int64_t, int64_t>>& assigns,
                           const py::list& slots, int hidden, const py::object& draw,
                           const std::string& mode, const std::string& release, int lanes,
                           bool adds, std::optional<bool> graphs,
                           const std::vector<int64_t>& groups) {
  auto numbers = slots.empty() ? nullptr : std::make_unique<Numbers>(slots);
  graph::ProgramParts program = parts_of(inputs, constants, value_count, operations, results,
                                         assigns, numbers.get());
  if (!groups.empty() && groups.size() != program.operations.size()) {
    fail(ErrorKind::value, "[", kOp, "] expected a group for each of ", program.operations.size(),
         " operations, got ", groups.size());
  }
  program.names = names;
  program.groups = groups;
  graph::RunOptions options;
  options.mode = static_cast<graph::RunMode>(
      number_of("mode", mode, graph::kRunModeNames, graph::kRunModes));
  options.release = static_cast<graph::Release>(
      number_of("release", release, graph::kReleaseNames, graph::kReleases));
  options.lanes = lanes;
  options.adds = adds;
  options.device_graphs = graphs;
  std::vector<Tensor> tensors;
  for (const py::handle& x : bound) tensors.push_back(require_tensor(x.ptr(), kOp));
  auto made =
      std::make_unique<graph::Executable>(runtime().machine, name, program, std::move(tensors),
                                          options);
  auto* const object = PyObject_New(ExecutableObject, executable_type);
  if (!object) throw py::error_already_set();
  object->vectorcall = call;
  object->dict = nullptr;
  object->executable = made.release();
  object->numbers = numbers.release();
  object->hidden = hidden;
  object->draw = draw.is_none() ? nullptr : py::object(draw).release().ptr();
  return py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(object));
}

}  // namespace

void bind_executable(py::module_& m) {
  executable_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  m.add_object("Executable", reinterpret_cast<PyObject*>(executable_type));
  m.add_object("NumberKindError", Py_NewRef(number_kind_error_type()));
  m.def("set_slot_type", [](const py::type& type) {
    set_slot_type(reinterpret_cast<PyTypeObject*>(type.ptr()));
  });
  m.def("compile_program", &compile_program);
  m.def("program_units", &program_units);
  m.def("has_failed", [](const py::handle& x) {
    return require_tensor(x.ptr(), kOp).storage->dependence().failure() != nullptr;
  });
}

}  // namespace ofl::python
