#include "python/gil.h"

#include <unistd.h>

#include <mutex>
#include <vector>

namespace ofl::python {

namespace {

bool finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

}  // namespace

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
  if (!Py_IsInitialized()) return;  // the interpreter has taken its objects with it
  if (PyGILState_Check()) {
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

// What comes out of PyEval_RestoreThread is the end of this thread, which stops on its way: leaving
// the handler would end the process.
void take_gil_back(PyThreadState* state) {
  while (finalizing()) pause();
  try {
    PyEval_RestoreThread(state);
  } catch (...) {
    for (;;) pause();
  }
}

thread_local bool KeepGil::active = false;

std::shared_ptr<void> keep_object(PyObject* stolen) {
  return std::shared_ptr<void>(stolen, [](void* object) {
    if (finalizing()) return;  // the interpreter takes its objects with it
    release_with_gil([](void* one) { Py_DECREF(static_cast<PyObject*>(one)); }, object);
  });
}

// While the interpreter ends, the thread that ends it keeps the GIL: nobody else may have it any
// more, and it would not get it back.
void* GilHooks::release() {
  const bool mine = !KeepGil::active && PyGILState_Check() && !finalizing();
  return mine ? PyEval_SaveThread() : nullptr;
}

void GilHooks::acquire(void* token) {
  if (token) take_gil_back(static_cast<PyThreadState*>(token));
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
