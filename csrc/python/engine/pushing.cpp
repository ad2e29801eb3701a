// Var, CFunction and Operator: what is pushed, and the push. Python's classes extend them
// (oneflow_lite/engine/).
#include <algorithm>
#include <cstdint>

#include "python/arguments.h"
#include "python/bind.h"
#include "python/engine/issue.h"
#include "python/engine/native_object.h"
#include "python/engine/operands.h"
#include "python/gil.h"
#include "python/runtime.h"

namespace ofl::python {

PyTypeObject* variable_type = nullptr;
PyTypeObject* c_function_type = nullptr;

namespace {

using FunctionPtr = std::shared_ptr<const Function>;

// --- variables

PyObject* make_variable(PyTypeObject* type, PyObject* args, PyObject* names) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    static const char* keywords[] = {"name", nullptr};
    const char* name;
    if (!PyArg_ParseTupleAndKeywords(args, names, "s:Var", const_cast<char**>(keywords), &name)) {
      throw PythonErrorSet{};
    }
    auto variable = std::make_shared<Variable>();
    variable->name = name;
    return new_native<VariablePtr>(type, std::move(variable));
  });
}

PyObject* variable_name(PyObject* self, void*) {
  return PyUnicode_FromString(variable_of(self)->name.c_str());
}

PyObject* is_deleted(PyObject* self, void*) {
  return PyBool_FromLong(variable_of(self)->deleted.load());
}

PyGetSetDef variable_properties[] = {
    {"name", variable_name, nullptr, "The name that it was given, or \"\".", nullptr},
    {"deleted", is_deleted, nullptr, "No function may use it any more.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot variable_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(make_variable)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_native<VariablePtr>)},
    {Py_tp_getset, variable_properties},
    {0, nullptr}};
PyType_Spec variable_spec = {"oneflow_lite._C.Var", sizeof(NativeObject<VariablePtr>), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, variable_slots};

// --- C functions

/// CFunction(address, argument, has_status, keeps)
PyObject* make_c_function(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    unsigned long long address, argument;
    int has_status;
    PyObject* keeps;
    if (!PyArg_ParseTuple(args, "KKpO:CFunction", &address, &argument, &has_status, &keeps)) {
      throw PythonErrorSet{};
    }
    Py_INCREF(keeps);
    CFunction code{reinterpret_cast<void*>(static_cast<uintptr_t>(address)),
                   reinterpret_cast<void*>(static_cast<uintptr_t>(argument)), has_status != 0,
                   keep_object(keeps)};
    return new_native<CFunction>(type, std::move(code));
  });
}

int traverse_code(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const std::shared_ptr<void>& keeps = value_of<CFunction>(self).keeps;
  if (keeps.use_count() == 1) Py_VISIT(static_cast<PyObject*>(keeps.get()));
  return 0;
}

int clear_code(PyObject* self) {
  value_of<CFunction>(self).keeps.reset();
  return 0;
}

PyObject* code_address(PyObject* self, void*) {
  return PyLong_FromVoidPtr(value_of<CFunction>(self).address);
}

PyGetSetDef c_function_properties[] = {{"address", code_address, nullptr, "Of its code.", nullptr},
                                       {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot c_function_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(make_c_function)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_native<CFunction>)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_code)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_code)},
    {Py_tp_getset, c_function_properties},
    {0, nullptr}};
PyType_Spec c_function_spec = {"oneflow_lite._C.CFunction", sizeof(NativeObject<CFunction>), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                               c_function_slots};

// --- what a function is

struct How {
  const char* op;
  PyObject* name;
  int priority;
  bool is_blocking, is_later;
  Device device;
  vm::StreamType stream;  // of the device
};

vm::StreamType stream_argument(PyObject* name, const char* op) {
  if (!PyUnicode_Check(name)) {
    fail(ErrorKind::type, "[", op, "] stream: expected a string, got ", Py_TYPE(name)->tp_name);
  }
  const std::string given = utf8(name);
  for (vm::StreamType type : {vm::StreamType::compute, vm::StreamType::h2d, vm::StreamType::d2h}) {
    if (given == vm::info(type).name) return type;
  }
  fail(ErrorKind::value, "[", op, "] stream: expected \"compute\", \"h2d\" or \"d2h\", got \"",
       given, "\"");
}

/// Reads the arguments name, priority, blocking, later, device (None: the host) and stream.
How how_of(PyObject* const* given) {
  const bool is_later = truth(given[3]);
  const char* const op = is_later ? "push_async" : "push";
  const int64_t priority = integer_argument(given[1]);
  if (priority != static_cast<int32_t>(priority)) {
    fail(ErrorKind::overflow, "[", op, "] priority: expected 32 bits, got ", priority);
  }
  How how{op,
          given[0],
          static_cast<int>(priority),
          truth(given[2]),
          is_later,
          device_or(given[4], Device{}),
          stream_argument(given[5], op)};
  if (how.device == Device{}) {
    if (how.stream != vm::StreamType::compute) {
      fail(ErrorKind::value, "[", op, "] stream: it is of a device, and none is given");
    }
    how.stream = how.is_blocking ? vm::StreamType::blocking : vm::StreamType::engine;
  } else if (how.is_later) {
    fail(ErrorKind::value, "[", op, "] device: a function that completes later runs on the host");
  } else if (how.priority != 0 || how.is_blocking) {
    fail(ErrorKind::value, "[", op, "] ", how.is_blocking ? "blocking" : "priority",
         ": a stream of ", how.device.str(),
         " runs its functions in the order in which they get "
         "ready, and nothing behind one that waits");
  }
  return how;
}

/// With the GIL.
std::shared_ptr<Function> function_of(PyObject* callable, PyObject* reads, PyObject* writes,
                                      const How& how) {
  auto function = std::make_shared<Function>();
  function->name = name_argument(how.name);
  function->priority = how.priority;
  function->device = how.device;
  function->type = how.stream;
  Operands operands(function.get(), how.op);
  operands.add(reads, "reads", vm::Access::read);
  operands.add(writes, "writes", vm::Access::write);
  function->variable_names = operands.names();
  if (PyObject_TypeCheck(callable, c_function_type)) {
    if (how.is_later) {
      fail(ErrorKind::type, "[", how.op, "] fn: a C function ends when it returns; use push");
    }
    refuse_strided(*function, how.op, "a C function");
    function->kind = Function::Kind::native;
    function->code = value_of<CFunction>(callable);
  } else if (PyCallable_Check(callable)) {
    function->kind = how.is_later ? Function::Kind::later : Function::Kind::python;
    Py_INCREF(callable);
    function->callable = keep_object(callable);
  } else {
    fail(ErrorKind::type, "[", how.op, "] fn: expected a callable or a CFunction, got ",
         Py_TYPE(callable)->tp_name);
  }
  return function;
}

// --- pushes

/// _push(fn, reads, writes, name, priority, is_blocking, is_later, device, stream)
PyObject* push(Arguments given) {
  const How how = how_of(given + 3);
  return push_once(issuer_of(how.op), function_of(given[0], given[1], given[2], how));
}

/// _delete(variable, fn or None, name): runs fn after all that was pushed before.
PyObject* delete_variable(Arguments given) {
  if (!PyObject_TypeCheck(given[0], variable_type)) {
    fail(ErrorKind::type, "[delete] var: expected a Var, got ", Py_TYPE(given[0])->tp_name);
  }
  const Issuer from = issuer_of("delete");
  const VariablePtr variable = variable_of(given[0]);
  const bool has_function = given[1] != Py_None;
  auto function = std::make_shared<Function>();
  function->name = name_argument(given[2]);
  function->variables.push_back(variable);
  function->operands.push_back({&variable->dependence, vm::Access::write});
  if (!variable->name.empty()) {
    function->variable_names = std::make_shared<const std::string>("deletes " + variable->name);
  }
  function->order = Function::Order::in_any_case;
  if (has_function) {
    if (!PyCallable_Check(given[1])) {
      fail(ErrorKind::type, "[delete] fn: expected a callable, got ", Py_TYPE(given[1])->tp_name);
    }
    function->kind = Function::Kind::python;
    Py_INCREF(given[1]);
    function->callable = keep_object(given[1]);
  }
  const std::shared_ptr<Call> call = new_call();
  Reference completion(completion_of(call));
  if (variable->deleted.exchange(true, std::memory_order_acq_rel)) {
    fail(ErrorKind::runtime, "[delete] ", label_of(*variable, "var", 0), " has been deleted");
  }
  try {
    issue_once(from, std::move(function), call);
  } catch (...) {
    // In naive mode the function may have run, and what interrupted it is raised here.
    if (!call->is_over()) variable->deleted.store(false, std::memory_order_release);
    throw;
  }
  return completion.release();
}

/// _clear_error(variable)
PyObject* clear_error(Arguments given) {
  const Issuer from = issuer_of("clear_error");
  auto function = std::make_shared<Function>();
  Operands operands(function.get(), "clear_error");
  const Reference one(checked(PyTuple_Pack(1, given[0])));
  operands.add(one.get(), "variable", vm::Access::write);
  function->kind = Function::Kind::forgive;
  function->name = "clear_error";
  function->order = Function::Order::in_any_case;
  function->variable_names = operands.names();
  issue_once(from, std::move(function), new_call());
  Py_RETURN_NONE;
}

/// _wait_for(a Var or a Tensor): all its uses so far.
PyObject* wait_for(Arguments given) {
  refuse_while_recording("wait", "a program does not wait; do it before or after the call");
  VariablePtr variable;
  StorageRef storage;  // another thread may donate the tensor meanwhile
  vm::Dependence* object = nullptr;
  if (PyObject_TypeCheck(given[0], variable_type)) {
    variable = variable_of(given[0]);
    object = &variable->dependence;
  } else if (is_tensor(given[0])) {
    storage = tensor_of(given[0]).storage;
    object = &storage->dependence();
  } else {
    fail(ErrorKind::type, "[wait] expected a Var or a Tensor, got ", Py_TYPE(given[0])->tp_name);
  }
  runtime().machine.wait_for_access(*object, "engine.wait");
  if (const vm::FailurePtr failure = object->failure()) throw vm::OperationError(*failure);
  Py_RETURN_NONE;
}

}  // namespace

PyObject* ready_of(const Tensor& x) {
  const Issuer from = issuer_of("ready");
  auto function = std::make_shared<Function>();
  function->name = "ready";
  function->type = vm::StreamType::blocking;
  function->held.push_back(x);
  function->operands.push_back({&x.storage->dependence(), vm::Access::read});
  return push_once(from, std::move(function));
}

namespace {

PyMethodDef functions[] = {positional<push, 9>("_push"),
                           positional<delete_variable, 3>("_delete"),
                           positional<clear_error, 1>("_clear_error"),
                           positional<wait_for, 1>("_wait_for"),
                           {nullptr, nullptr, 0, nullptr}};

// --- operators

/// Operator(fn, reads, writes, name, priority, is_blocking, is_later, device, stream)
PyObject* make_operator(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    PyObject* given[9];
    if (!PyArg_ParseTuple(args, "OOOOOOOOO:Operator", &given[0], &given[1], &given[2], &given[3],
                          &given[4], &given[5], &given[6], &given[7], &given[8])) {
      throw PythonErrorSet{};
    }
    How how = how_of(given + 3);
    how.op = "Operator";
    std::shared_ptr<Function> function = function_of(given[0], given[1], given[2], how);
    // It holds the CFunction, which is a reference that the garbage collector sees.
    if (function->kind == Function::Kind::native) {
      function->code.keeps = keep_object(Py_NewRef(given[0]));
    }
    return new_native<FunctionPtr>(type, std::move(function));
  });
}

PyObject* push_operator(PyObject* self, PyObject*) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const FunctionPtr& function = value_of<FunctionPtr>(self);
    for (const VariablePtr& variable : function->variables) {
      if (!variable->deleted.load(std::memory_order_acquire)) continue;
      fail(ErrorKind::runtime, "[push] ", label_of(*variable, "a variable of the operator", 0),
           " has been deleted");
    }
    return push_function(issuer_of("push"), function);
  });
}

// The callable is this object's own unless a push of it is in flight.
int traverse_operator(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const FunctionPtr& function = value_of<FunctionPtr>(self);
  if (!function || function.use_count() != 1) return 0;
  for (const auto* object : {&function->callable, &function->code.keeps}) {
    if (object->use_count() == 1) Py_VISIT(static_cast<PyObject*>(object->get()));
  }
  return 0;
}

int clear_operator(PyObject* self) {
  value_of<FunctionPtr>(self).reset();
  return 0;
}

PyMethodDef operator_methods[] = {
    {"push", push_operator, METH_NOARGS, "push(): issue it once more."},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot operator_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(make_operator)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_native<FunctionPtr>)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_operator)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_operator)},
    {Py_tp_methods, operator_methods},
    {0, nullptr}};
PyType_Spec operator_spec = {"oneflow_lite._C.Operator", sizeof(NativeObject<FunctionPtr>), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                             operator_slots};

}  // namespace

void init_pushing(PyObject* module) {
  variable_type = add_type(module, &variable_spec, "Var");
  c_function_type = add_type(module, &c_function_spec, "CFunction");
  add_type(module, &operator_spec, "Operator");
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
