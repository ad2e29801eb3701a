// What a function reads and writes, as Python gives it: lists of variables and tensors.
#pragma once

#include <string>
#include <unordered_set>

#include "python/engine/function.h"
#include "python/engine/native_object.h"

namespace ofl::python {

using VariablePtr = std::shared_ptr<Variable>;

inline const VariablePtr& variable_of(PyObject* self) { return value_of<VariablePtr>(self); }

/// By its name, or by its place in a list.
std::string label_of(const Variable& variable, const char* list, Py_ssize_t i);

/// Error(type) for what is no list of `wanted`: a tensor, an array and a string are sequences of
/// copies.
void refuse_no_list(PyObject* list, const char* op, const char* name, const char* wanted);

/// Fills in the operands of one function. With the GIL.
class Operands {
 public:
  Operands(Function* function, const char* op) : function_(function), op_(op) {}

  /// Error(type) for what is neither, Error(value) for what is given twice, Error(runtime) for a
  /// variable that has been deleted.
  void add(PyObject* list, const char* name, vm::Access access);
  /// Of the variables, for reports; null where none has a name.
  std::shared_ptr<const std::string> names() const {
    return names_.empty() ? nullptr : std::make_shared<const std::string>(names_);
  }

 private:
  void add_item(PyObject* item, const char* list, Py_ssize_t i, vm::Access access);
  void add_variable(const VariablePtr& variable, const char* list, Py_ssize_t i, vm::Access access);
  void refuse_twice(const Tensor& x, const char* list, Py_ssize_t i);

  Function* function_;
  const char* op_;
  std::unordered_set<const void*> known_;  // variables, and storages of tensors
  std::string names_;
  const char* last_named_ = nullptr;
};

/// Error(value) for a view: `who` gets pointers to row-major memory.
void refuse_strided(const Function& function, const char* op, const char* who);

/// The line that a push comes from; Error(recording) while the thread records.
Issuer issuer_of(const char* op);

}  // namespace ofl::python
