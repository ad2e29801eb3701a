// Objects of the Python type GlobalTensor: a tensor of many ranks, as this one has it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "distributed/boxing/assemble.h"
#include "python/ops/registry.h"

namespace ofl::python {

struct GlobalTensor {
  const distributed::Layout* layout;
  distributed::Part part;
  std::shared_ptr<distributed::Member> member;  // whose part it is

  bool is_here() const { return layout->placement().parallel_id(member->rank()) >= 0; }
};

struct GlobalObject {
  PyObject_HEAD PyObject* weakrefs;
  PyObject* part;  // of the type Tensor, or null: it has not been asked for
  GlobalTensor tensor;
};

extern PyTypeObject* global_type;

/// GlobalTensor has no subtypes.
inline bool is_global(PyObject* object) { return Py_TYPE(object) == global_type; }
inline const GlobalTensor& global_of(PyObject* object) {
  return reinterpret_cast<GlobalObject*>(object)->tensor;
}
/// Error(type) `[op] expected a GlobalTensor, got list` for anything else.
const GlobalTensor& require_global(PyObject* object, const char* op);
/// A new reference. `part`: its part as an object, which it takes, or null.
PyObject* wrap_global(GlobalTensor&& tensor, PyObject* part = nullptr);

/// This rank's part as an object of the type Tensor: a new reference. Outside the placement it has
/// no elements, and is on the host.
PyObject* part_object(const GlobalTensor& x);
/// The same of an object, which keeps it: a borrowed reference. For operations, and for nobody who
/// changes what it is.
PyObject* kept_part(PyObject* object);
/// The member's device in a placement.
Device home_of(const distributed::Member& member, const distributed::Placement& placement);
/// The tensor in another layout, as the program says; itself where that is its own.
GlobalTensor boxed(const GlobalTensor& x, const distributed::Layout& to, const char* op);

/// The same of many; partial values that are made whole share collectives.
std::vector<GlobalTensor> boxed_all(const std::vector<const GlobalTensor*>& tensors,
                                    const std::vector<const distributed::Layout*>& to,
                                    const char* op);

/// What this rank and all others give becomes one tensor; see distributed::assemble().
GlobalTensor assembled(const Tensor& local, const distributed::Placement& placement,
                       const distributed::Sbps& sbps, const std::string& caller);

/// Calls an elementwise operation on operands of which at least one is a GlobalTensor; `call` does
/// it on their parts, which are objects of the type Tensor or Python's numbers. `row`: that of the
/// table; null: there is none, and partial values are made whole first.
using CallOnParts = PyObject* (*)(PyObject* const* parts, int count, void* context);
PyObject* call_elementwise(const char* name, const OpObject* row, PyObject* const* operands,
                           int count, CallOnParts call, void* context);

/// Makes the type; adds it to the module.
void init_global_type(PyObject* module);
std::vector<PyType_Slot> global_number_slots();  // global_operators.cpp
PyObject* global_richcompare(PyObject* a, PyObject* b, int operation);
void serve_rows();  // elementwise functions take GlobalTensors from now on

}  // namespace ofl::python
