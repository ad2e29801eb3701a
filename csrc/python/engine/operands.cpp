#include "python/engine/operands.h"

#include <algorithm>

#include "python/runtime.h"
#include "python/tensor/object.h"

namespace ofl::python {

namespace {

bool is_same(const Tensor& a, const Tensor& b) {
  return a.storage.get() == b.storage.get() && a.offset == b.offset && a.shape == b.shape &&
         a.strides == b.strides && a.dtype == b.dtype;
}

}  // namespace

std::string label_of(const Variable& variable, const char* list, Py_ssize_t i) {
  if (!variable.name.empty()) return concat("variable \"", variable.name, "\"");
  return concat(list, "[", i, "]");
}

void refuse_no_list(PyObject* list, const char* op, const char* name, const char* wanted) {
  const bool is_list = Py_TYPE(list)->tp_iter || PySequence_Check(list);
  if (is_list && !is_tensor(list) && !PyArray_Check(list) && !PyUnicode_Check(list) &&
      !PyBytes_Check(list)) {
    return;
  }
  const std::string type = Py_TYPE(list)->tp_name;
  fail(ErrorKind::type, "[", op, "] ", name, ": expected a sequence of ", wanted, ", got ",
       type.substr(type.rfind('.') + 1));
}

void Operands::add(PyObject* list, const char* name, vm::Access access) {
  refuse_no_list(list, op_, name, "Var and Tensor");
  const Reference items(checked(PySequence_Fast(list, "")));
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.get());
  for (Py_ssize_t i = 0; i < count; ++i) {
    add_item(PySequence_Fast_GET_ITEM(items.get(), i), name, i, access);
  }
}

void Operands::add_item(PyObject* item, const char* list, Py_ssize_t i, vm::Access access) {
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

void Operands::add_variable(const VariablePtr& variable, const char* list, Py_ssize_t i,
                            vm::Access access) {
  if (!known_.insert(variable.get()).second) {
    fail(ErrorKind::value, "[", op_, "] ", label_of(*variable, list, i),
         " is given twice; a variable is in one of reads and writes, and once");
  }
  if (variable->deleted.load(std::memory_order_acquire)) {
    fail(ErrorKind::runtime, "[", op_, "] ", label_of(*variable, list, i), " has been deleted");
  }
  function_->variables.push_back(variable);
  function_->operands.push_back({&variable->dependence, access});
  if (variable->name.empty()) return;
  const bool is_first = last_named_ != list;
  const char* const verb = access == vm::Access::write ? "writes " : "reads ";
  names_ += is_first ? concat(names_.empty() ? "" : "; ", verb) : ", ";
  names_ += variable->name;
  last_named_ = list;
}

/// Different parts of one storage may be given.
void Operands::refuse_twice(const Tensor& x, const char* list, Py_ssize_t i) {
  if (known_.insert(x.storage.get()).second) return;
  const auto is_x = [&](const Tensor& other) { return is_same(x, other); };
  for (const auto* known : {&function_->reads, &function_->writes}) {
    if (std::any_of(known->begin(), known->end(), is_x)) {
      fail(ErrorKind::value, "[", op_, "] ", list, "[", i, "], a tensor of shape ",
           shape_str(x.shape),
           ", is given twice; a tensor is in one of reads and writes, and once");
    }
  }
}

void refuse_strided(const Function& function, const char* op, const char* who) {
  for (const auto* list : {&function.reads, &function.writes}) {
    for (const Tensor& x : *list) {
      if (x.contiguous()) continue;
      fail(ErrorKind::value, "[", op, "] ", who,
           " gets pointers to row-major memory, and this "
           "view of shape ",
           shape_str(x.shape), " is not row-major; pass a copy of it");
    }
  }
}

Issuer issuer_of(const char* op) {
  refuse_while_recording(op,
                         "functions of the engine are in no program; use vm.host_func, which a "
                         "program records, or do it outside of the function");
  return issuer();
}

}  // namespace ofl::python
