// Var, CFunction and Operator: what is pushed, and the push. Python's classes extend them
// (oneflow_lite/engine/).
#include <algorithm>
#include <cstdint>

#include "python/arguments.h"
#include "python/bind.h"
#include "python/engine/function.h"
#include "python/engine/native_object.h"
#include "python/gil.h"
#include "python/runtime.h"

namespace ofl::python {

PyTypeObject* variable_type = nullptr;
PyTypeObject* c_function_type = nullptr;

namespace {

using VariablePtr = std::shared_ptr<Variable>;
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

const VariablePtr& variable_of(PyObject* self) { return value_of<VariablePtr>(self); }

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

PyObject* code_address(PyObject* self, void*) {
  return PyLong_FromVoidPtr(value_of<CFunction>(self).address);
}

PyGetSetDef c_function_properties[] = {
    {"address", code_address, nullptr, "Of its code.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot c_function_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(make_c_function)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_native<CFunction>)},
    {Py_tp_getset, c_function_properties},
    {0, nullptr}};
PyType_Spec c_function_spec = {"oneflow_lite._C.CFunction", sizeof(NativeObject<CFunction>), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, c_function_slots};

// --- what a function reads and writes

std::string label_of(const Variable& variable, const char* list, Py_ssize_t i) {
  if (!variable.name.empty()) return concat("variable \"", variable.name, "\"");
  return concat(list, "[", i, "]");
}

bool is_same(const Tensor& a, const Tensor& b) {
  return a.storage.get() == b.storage.get() && a.offset == b.offset && a.shape == b.shape &&
         a.strides == b.strides && a.dtype == b.dtype;
}

class Lists {
 public:
  Lists(Function* function, const char* op) : function_(function), op_(op) {}

  void add(PyObject* list, const char* name, vm::Access access) {
    const Reference items(
        checked(PySequence_Fast(list, "reads and writes are sequences of Var and Tensor")));
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.get());
    for (Py_ssize_t i = 0; i < count; ++i) {
      add_item(PySequence_Fast_GET_ITEM(items.get(), i), name, i, access);
    }
  }

  /// Of the variables, for reports; null where none has a name.
  std::shared_ptr<const std::string> names() const {
    return names_.empty() ? nullptr : std::make_shared<const std::string>(names_);
  }

 private:
  void add_item(PyObject* item, const char* list, Py_ssize_t i, vm::Access access) {
    if (PyObject_TypeCheck(item, variable_type)) {
      add_variable(variable_of(item), list, i, access);
    } else if (is_tensor(item)) {
      refuse_twice(tensor_of(item), list, i);
      add_tensor(function_, tensor_of(item), access, op_);
    } else {
      fail(ErrorKind::type, "[", op_, "] ", list, "[", i, "]: expected a Var or a Tensor, got ",
           Py_TYPE(item)->tp_name);
    }
  }

  void add_variable(const VariablePtr& variable, const char* list, Py_ssize_t i,
                    vm::Access access) {
    const auto& known = function_->variables;
    if (std::find(known.begin(), known.end(), variable) != known.end()) {
      fail(ErrorKind::value, "[", op_, "] ", label_of(*variable, list, i),
           " is given twice; a variable is in one of reads and writes, and once");
    }
    if (variable->deleted.load(std::memory_order_acquire)) {
      fail(ErrorKind::runtime, "[", op_, "] ", label_of(*variable, list, i), " has been deleted");
    }
    function_->variables.push_back(variable);
    function_->operands.push_back({&variable->dependence, access});
    if (!variable->name.empty()) {
      const bool is_write = access == vm::Access::write;
      const bool is_first = last_named_ != list;
      const char* const verb = is_write ? "writes " : "reads ";
      names_ += is_first ? concat(names_.empty() ? "" : "; ", verb) : ", ";
      names_ += variable->name;
      last_named_ = list;
    }
  }

  void refuse_twice(const Tensor& x, const char* list, Py_ssize_t i) const {
    const auto is_x = [&](const Tensor& other) { return is_same(x, other); };
    for (const auto* known : {&function_->reads, &function_->writes}) {
      if (std::any_of(known->begin(), known->end(), is_x)) {
        fail(ErrorKind::value, "[", op_, "] ", list, "[", i, "], a tensor of shape ",
             shape_str(x.shape),
             ", is given twice; a tensor is in one of reads and writes, and once");
      }
    }
  }

  Function* function_;
  const char* op_;
  std::string names_;
  const char* last_named_ = nullptr;
};

void refuse_strided(const Function& function, const char* op) {
  for (const auto* list : {&function.reads, &function.writes}) {
    for (const Tensor& x : *list) {
      if (x.contiguous()) continue;
      fail(ErrorKind::value, "[", op, "] a C function gets pointers to row-major memory, and this "
           "view of shape ", shape_str(x.shape), " is not row-major; pass a copy of it");
    }
  }
}

struct How {
  const char* op;
  PyObject* name;
  int priority;
  bool is_blocking, is_later;
};

/// With the GIL.
std::shared_ptr<Function> function_of(PyObject* callable, PyObject* reads, PyObject* writes,
                                      const How& how) {
  auto function = std::make_shared<Function>();
  function->name = name_argument(how.name);
  function->priority = how.priority;
  function->type = how.is_blocking ? vm::StreamType::blocking : vm::StreamType::engine;
  Lists lists(function.get(), how.op);
  lists.add(reads, "reads", vm::Access::read);
  lists.add(writes, "writes", vm::Access::write);
  function->variable_names = lists.names();
  if (PyObject_TypeCheck(callable, c_function_type)) {
    if (how.is_later) {
      fail(ErrorKind::type, "[", how.op, "] fn: a C function ends when it returns; use push");
    }
    refuse_strided(*function, how.op);
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

Issuer issuer_of(const char* op) {
  refuse_while_recording(op, "functions of the engine are in no program; use vm.host_func, which a "
                             "program records, or do it outside of the function");
  return issuer();
}

// --- pushes

/// _push(fn, reads, writes, name, priority, is_blocking, is_later)
PyObject* push(Arguments given) {
  const bool is_later = truth(given[6]);
  const char* const op = is_later ? "push_async" : "push";
  const int64_t priority = integer_argument(given[4]);
  if (priority != static_cast<int32_t>(priority)) {
    fail(ErrorKind::overflow, "[", op, "] priority: expected 32 bits, got ", priority);
  }
  const How how{op, given[3], static_cast<int>(priority), truth(given[5]), is_later};
  return completion_of(
      issue_function(issuer_of(op), function_of(given[0], given[1], given[2], how)));
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
  if (variable->deleted.exchange(true, std::memory_order_acq_rel)) {
    fail(ErrorKind::runtime, "[delete] ", label_of(*variable, "var", 0), " has been deleted");
  }
  return completion_of(issue_function(from, std::move(function)));
}

/// _clear_error(variable)
PyObject* clear_error(Arguments given) {
  const Issuer from = issuer_of("clear_error");
  auto function = std::make_shared<Function>();
  Lists lists(function.get(), "clear_error");
  const Reference one(checked(PyTuple_Pack(1, given[0])));
  lists.add(one.get(), "variable", vm::Access::write);
  function->kind = Function::Kind::forgive;
  function->name = "clear_error";
  function->order = Function::Order::in_any_case;
  function->variable_names = lists.names();
  issue_function(from, std::move(function));
  Py_RETURN_NONE;
}

/// _wait_for(a Var or a Tensor): all its uses so far.
PyObject* wait_for(Arguments given) {
  refuse_while_recording("wait", "a program does not wait; do it before or after the call");
  VariablePtr variable;
  vm::Dependence* object = nullptr;
  if (PyObject_TypeCheck(given[0], variable_type)) {
    variable = variable_of(given[0]);
    object = &variable->dependence;
  } else if (is_tensor(given[0])) {
    object = &tensor_of(given[0]).storage->dependence();
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
  return completion_of(issue_function(from, std::move(function)));
}

namespace {

PyMethodDef functions[] = {positional<push, 7>("_push"),
                           positional<delete_variable, 3>("_delete"),
                           positional<clear_error, 1>("_clear_error"),
                           positional<wait_for, 1>("_wait_for"),
                           {nullptr, nullptr, 0, nullptr}};

// --- operators

/// Operator(fn, reads, writes, name, priority, is_blocking)
PyObject* make_operator(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    PyObject *callable, *reads, *writes, *name;
    int priority, is_blocking;
    if (!PyArg_ParseTuple(args, "OOOOip:Operator", &callable, &reads, &writes, &name, &priority,
                          &is_blocking)) {
      throw PythonErrorSet{};
    }
    const How how{"Operator", name, priority, is_blocking != 0, false};
    return new_native<FunctionPtr>(type, function_of(callable, reads, writes, how));
  });
}

PyObject* push_operator(PyObject* self, PyObject*) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const FunctionPtr function = value_of<FunctionPtr>(self);
    for (const VariablePtr& variable : function->variables) {
      if (!variable->deleted.load(std::memory_order_acquire)) continue;
      fail(ErrorKind::runtime, "[push] ", label_of(*variable, "a variable of the operator", 0),
           " has been deleted");
    }
    return completion_of(issue_function(issuer_of("push"), function));
  });
}

// The callable is this object's own unless a push of it is in flight.
int traverse_operator(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const FunctionPtr& function = value_of<FunctionPtr>(self);
  if (function && function.use_count() == 1 && function->callable.use_count() == 1) {
    Py_VISIT(static_cast<PyObject*>(function->callable.get()));
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
