// Completion: what the thread that pushes a function holds of it. The parts that wait, and those
// that other libraries look at, are Python's (oneflow_lite/engine/completion.py).
#include <algorithm>

#include "python/bind.h"
#include "python/engine/issue.h"
#include "python/engine/native_object.h"
#include "python/gil.h"
#include "python/runtime.h"

namespace ofl::python {

namespace {

using CallPtr = std::shared_ptr<Call>;

PyTypeObject* completion_class = nullptr;  // Python's, which extends the native type

const Call& call_of(PyObject* self) { return *value_of<CallPtr>(self); }

PyObject* phase(PyObject* self, void*) {
  return PyLong_FromLong(static_cast<long>(call_of(self).phase.load(std::memory_order_acquire)));
}

/// _cancel(): true if it had not begun.
PyObject* cancel(PyObject* self, PyObject*) {
  return PyBool_FromLong(value_of<CallPtr>(self)->leave_queue(Phase::cancelled));
}

int64_t deadline_of(PyObject* timeout) {
  if (timeout == Py_None) return vm::kNoDeadline;
  const double seconds = PyFloat_AsDouble(timeout);
  if (PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonErrorSet{};
    PyErr_Clear();
    fail(ErrorKind::type, "[Completion] timeout: expected seconds or None, got ",
         Py_TYPE(timeout)->tp_name);
  }
  if (seconds >= 1e9) return vm::kNoDeadline;
  return now_ns() + static_cast<int64_t>(std::max(seconds, 0.0) * 1e9);
}

/// _wait(seconds or None): true once it is over.
PyObject* wait(PyObject* self, PyObject* timeout) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const CallPtr call = value_of<CallPtr>(self);
    const int64_t deadline = deadline_of(timeout);
    if (call->is_over()) Py_RETURN_TRUE;
    runtime().machine.wait_for_write(call->done, deadline, "Completion.result");
    return PyBool_FromLong(call->is_over());
  });
}

/// _failure(): the exception of one that failed, new each time, or None. Only once it is over.
PyObject* failure(PyObject* self, PyObject*) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const vm::FailurePtr failure = call_of(self).done.failure();
    if (!failure) Py_RETURN_NONE;
    return checked(python_exception(vm::OperationError(*failure)));
  });
}

/// _result(): what it returned. Only once it has.
PyObject* result(PyObject* self, PyObject*) {
  auto* object = static_cast<PyObject*>(call_of(self).result.get());
  if (!object) object = Py_None;
  Py_INCREF(object);
  return object;
}

/// _when_over(function): calls it on a thread of the machine once this is over.
PyObject* when_over(PyObject* self, PyObject* function) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    if (!PyCallable_Check(function)) {
      fail(ErrorKind::type, "expected a callable, got ", Py_TYPE(function)->tp_name);
    }
    auto notice = std::make_shared<Function>();
    notice->kind = Function::Kind::python;
    notice->name = "callbacks";
    notice->type = vm::StreamType::blocking;
    notice->order = Function::Order::notice;
    Py_INCREF(function);
    notice->callable = keep_object(function);
    notice->after = value_of<CallPtr>(self);
    notice->operands.push_back({&value_of<CallPtr>(self)->done, vm::Access::read});
    issue_once({runtime().machine, 0}, std::move(notice), new_call());
    Py_RETURN_NONE;
  });
}

PyTypeObject* completion_type = nullptr;

PyObject* set_class(PyObject*, PyObject* type) {
  if (!PyType_Check(type) ||
      !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), completion_type)) {
    PyErr_SetString(PyExc_TypeError, "expected a class that extends Completion");
    return nullptr;
  }
  completion_class = reinterpret_cast<PyTypeObject*>(type);
  Py_INCREF(type);
  Py_RETURN_NONE;
}

// The result is this object's own if nobody else has the call: then it is over.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const CallPtr& call = value_of<CallPtr>(self);
  if (call && call.use_count() == 1 && call->result.use_count() == 1) {
    Py_VISIT(static_cast<PyObject*>(call->result.get()));
  }
  return 0;
}

int clear(PyObject* self) {
  const CallPtr& call = value_of<CallPtr>(self);
  if (call && call.use_count() == 1) call->result.reset();
  return 0;
}

PyMethodDef methods[] = {
    {"_cancel", cancel, METH_NOARGS, "_cancel(): true if it had not begun."},
    {"_wait", wait, METH_O, "_wait(seconds or None): true once it is over."},
    {"_failure", failure, METH_NOARGS, "_failure(): the exception of one that failed, or None."},
    {"_result", result, METH_NOARGS, "_result(): what it returned."},
    {"_when_over", when_over, METH_O, "_when_over(function): calls it once this is over."},
    {"_set_class", set_class, METH_O | METH_STATIC, "_set_class(class): of completions."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef properties[] = {{"_phase", phase, nullptr, "A phase of csrc's Call.", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(refuse_new)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_native<CallPtr>)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {0, nullptr}};
PyType_Spec spec = {"oneflow_lite._C.Completion", sizeof(NativeObject<CallPtr>), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

PyObject* completion_of(CallPtr call) {
  return new_native<CallPtr>(completion_class, std::move(call));
}

void init_completion(PyObject* module) { completion_type = add_type(module, &spec, "Completion"); }

}  // namespace ofl::python
