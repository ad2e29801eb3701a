#include "python/engine/on_complete.h"

#include "python/bind.h"
#include "python/engine/native_object.h"
#include "python/gil.h"

namespace ofl::python {

PyTypeObject* on_complete_type = nullptr;

namespace {

// Retirement runs with the baton of a pool, where no Python code may run. Without the GIL it puts
// off the release of Python's objects. The lock before it is taken with the GIL: a thread that
// forks has the GIL, so the child finds the lock free.
bool complete(const OnComplete& self, std::optional<Error> error) {
  return self.pending->complete(std::move(error), [](const auto& retire) {
    PyThreadState* const state = PyEval_SaveThread();
    retire();
    PyEval_RestoreThread(state);
  });
}

Error error_of(PyObject* exception) {
  if (!PyExceptionInstance_Check(exception)) {
    fail(ErrorKind::type, "[on_complete] error: expected an exception, got ",
         Py_TYPE(exception)->tp_name);
  }
  Py_INCREF(Py_TYPE(exception));
  Py_INCREF(exception);
  PyErr_Restore(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception, nullptr);
  return take_python_error("");
}

[[noreturn]] void refuse_again() {
  fail(ErrorKind::runtime, "[on_complete] the function had completed before");
}

/// on_complete(result=None, error=None)
PyObject* call_it(PyObject* self, PyObject* args, PyObject* names) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    static const char* keywords[] = {"result", "error", nullptr};
    PyObject *result = Py_None, *error = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, names, "|OO:on_complete", const_cast<char**>(keywords),
                                     &result, &error)) {
      throw PythonErrorSet{};
    }
    const OnComplete own = value_of<OnComplete>(self);
    if (!own.call) refuse_again();
    std::optional<Error> failure;
    if (error != Py_None) failure = error_of(error);
    std::shared_ptr<void> kept;
    if (!failure) {
      Py_INCREF(result);
      kept = keep_object(result);
    }
    // The first to come gives the result; the others find it given, or the call over.
    if (own.call->is_given.exchange(true, std::memory_order_acq_rel)) refuse_again();
    own.call->result = std::move(kept);
    value_of<OnComplete>(self) = {};  // the result may lead back to it, past the garbage collector
    if (!complete(own, std::move(failure))) refuse_again();
    Py_RETURN_NONE;
  });
}

/// When nobody can call it any more, the function has failed.
void dealloc(PyObject* self) {
  const OnComplete own = value_of<OnComplete>(self);
  if (own.call && !own.call->is_given.exchange(true, std::memory_order_acq_rel)) {
    complete(own, Error(ErrorKind::runtime, "its on_complete was dropped without a call"));
  }
  dealloc_native<OnComplete>(self);
}

PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(call_it)},
                       {Py_tp_new, reinterpret_cast<void*>(refuse_new)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {0, nullptr}};
PyType_Spec spec = {"oneflow_lite._C.OnComplete", sizeof(NativeObject<OnComplete>), 0,
                    Py_TPFLAGS_DEFAULT, slots};

}  // namespace

void init_on_complete(PyObject* module) {
  on_complete_type = add_type(module, &spec, "OnComplete");
}

}  // namespace ofl::python
