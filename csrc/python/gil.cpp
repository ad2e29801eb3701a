#include "python/gil.h"

#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.h"

#if PY_VERSION_HEX < 0x030C0000
extern "C" int _PyEval_AddPendingCall(PyInterpreterState*, int (*)(void*), void*);
#endif
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
extern "C" void _PyThreadState_SetCurrent(PyThreadState*);
#endif

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

std::mutex& thread_state_mutex() {
  static std::mutex* mutex = new std::mutex;
  return *mutex;
}

namespace {

// The thread that ends the interpreter has the GIL.
void require_interpreter() {
  if (!interpreter_ends() || has_gil()) return;
  fail(ErrorKind::runtime, "the interpreter has ended before this ran");
}

/// Python's new state of this thread; null without memory.
PyThreadState* new_thread_state() {
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
  // PyThreadState_New() of 3.11 calls these two, the second one even with a null pointer.
  PyThreadState* state = _PyThreadState_Prealloc(PyInterpreterState_Main());
  if (state) _PyThreadState_SetCurrent(state);
  return state;
#else
  return PyThreadState_New(PyInterpreterState_Main());
#endif
}

/// Makes Python's state of the thread, if there is none. It is counted once.
bool make_thread_state() {
  require_interpreter();
  if (PyGILState_GetThisThreadState()) return false;
  const std::lock_guard<std::mutex> lock(thread_state_mutex());
  if (!new_thread_state()) {
    fail(ErrorKind::out_of_memory, "no memory for Python's state of a thread");
  }
  return true;
}

/// Gives back the GIL, and the state of the thread if it is new.
void give_back(PyGILState_STATE state, bool is_new) {
  if (is_new) PyGILState_Release(PyGILState_LOCKED);
  PyGILState_Release(state);  // with the last one, the state goes
}

}  // namespace

WithGil::WithGil() : is_new_(make_thread_state()), state_(PyGILState_Ensure()) {}

WithGil::~WithGil() {
  give_back(state_, is_new_);
  ++ep::foreign_code_count;
}

thread_local bool GilForCall::kept_ = false;
thread_local bool GilForCall::has_state_ = false;
thread_local PyGILState_STATE GilForCall::state_;
thread_local int64_t GilForCall::since_ = 0;

GilForCall::GilForCall(bool keeps) : keeps_(keeps) {
  if (kept_) {
    kept_ = false;
    own_ = state_;
    return;
  }
  const int64_t begin = now_ns();
  is_new_ = make_thread_state();
  own_ = PyGILState_Ensure();
  if (keeps_ && is_new_) has_state_ = true;
  since_ = now_ns();
  waited_ns_ = since_ - begin;
}

// Other threads ask for the GIL after 5 ms (sys.setswitchinterval). They get it sooner, and the
// thread that has them wait gives way to them then.
GilForCall::~GilForCall() {
  constexpr int64_t kLongestNs = 1'000'000;
  ++ep::foreign_code_count;
  if (!keeps_) {
    give_back(own_, is_new_);
    return;
  }
  state_ = own_;
  kept_ = true;
  if (now_ns() - since_ > kLongestNs) rest();
}

void GilForCall::rest() {
  if (!kept_) return;
  kept_ = false;
  PyGILState_Release(state_);
}

void GilForCall::end_thread() {
  if (!std::exchange(has_state_, false) || interpreter_ends()) return;
  give_back(PyGILState_Ensure(), true);
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

// Before 3.12, Py_AddPendingCall() looks for the interpreter in the state of the thread that has
// the GIL. That thread may end meanwhile, and its state with it.
void call_in_main_thread(int (*function)(void*)) {
#if PY_VERSION_HEX < 0x030C0000
  _PyEval_AddPendingCall(PyInterpreterState_Main(), function, nullptr);
#else
  Py_AddPendingCall(function, nullptr);
#endif
}

}  // namespace

void release_with_gil(void (*release)(void*), void* object) {
  if (interpreter_ends()) return;  // it takes its objects with it
  if (has_gil() && !KeepGil::active && !GilForCall::is_kept()) {
    release(object);
    run_deferred_releases(nullptr);
    return;
  }
  {
    std::lock_guard<std::mutex> lock(deferred_releases().mutex);
    deferred_releases().waiting.push_back({release, object});
  }
  call_in_main_thread(run_deferred_releases);  // refused: the next release takes it along
}

thread_local bool KeepGil::active = false;

std::shared_ptr<void> keep_object(PyObject* stolen) {
  if (!stolen) return nullptr;
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
