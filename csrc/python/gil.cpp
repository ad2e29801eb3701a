#include "python/gil.h"

#include <mutex>
#include <vector>

namespace ofl::python {

bool interpreter_ends() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() || !Py_IsInitialized();
#else
  return _Py_IsFinalizing() || !Py_IsInitialized();
#endif
}

// PyGILState_Check() is true after the interpreter's end.
bool has_gil() { return PyGILState_GetThisThreadState() && PyGILState_Check(); }

// The thread that ends the interpreter has the GIL.
WithGil::WithGil() {
  if (interpreter_ends() && !has_gil()) {
    fail(ErrorKind::runtime, "the interpreter has ended before this ran");
  }
  state_ = PyGILState_Ensure();
}

namespace {

struct Release {
  void (*release)(void*);
  void* object;
};

struct DeferredReleases {
  std::mutex mutex;  // guards `waiting`
  std::vector<Release> waiting;
};

DeferredReleases& deferred_releases() {
  static DeferredReleases* deferred = new DeferredReleases;
  return *deferred;
}

int run_deferred_releases(void*) {
  std::vector<Release> waiting;
  {
    std::lock_guard<std::mutex> lock(deferred_releases().mutex);
    waiting.swap(deferred_releases().waiting);
  }
  for (const Release& one : waiting) one.release(one.object);
  return 0;
}

}  // namespace

void release_with_gil(void (*release)(void*), void* object) {
  if (interpreter_ends()) return;  // it takes its objects with it
  if (has_gil()) {
    release(object);
    run_deferred_releases(nullptr);
    return;
  }
  {
    std::lock_guard<std::mutex> lock(deferred_releases().mutex);
    deferred_releases().waiting.push_back({release, object});
  }
  Py_AddPendingCall(run_deferred_releases, nullptr);  // refused: the next release takes it along
}

thread_local bool KeepGil::active = false;

std::shared_ptr<void> keep_object(PyObject* stolen) {
  return std::shared_ptr<void>(stolen, [](void* object) {
    release_with_gil([](void* one) { Py_DECREF(static_cast<PyObject*>(one)); }, object);
  });
}

// While the interpreter ends, the thread that ends it keeps the GIL: nobody else may have it any
// more, and it would not get it back.
void* GilHooks::release() {
  const bool mine = !KeepGil::active && !interpreter_ends() && has_gil();
  return mine ? PyEval_SaveThread() : nullptr;
}

void GilHooks::acquire(void* token) {
  if (token) PyEval_RestoreThread(static_cast<PyThreadState*>(token));
}

std::optional<Error> GilHooks::interrupt(void* token) {
  if (!token) return std::nullopt;
  acquire(token);
  std::optional<Error> error;
  if (PyErr_CheckSignals() < 0) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback) PyException_SetTraceback(value, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    error.emplace(ErrorKind::interrupted, "interrupted", keep_object(value));
  }
  PyEval_SaveThread();
  return error;
}

}  // namespace ofl::python
