// Fork, in three steps. Python's own hook (os.register_at_fork) waits for what is in flight, as
// long as that takes, without the GIL. Hooks of other libraries may run after it, and other threads
// with them, which issue; so the locks are taken only in the C library's hook (pthread_atfork),
// when nothing of Python runs any more before the fork itself, and given back in the same way. What
// lets go of Python objects in the child waits until Python has seen to itself there.
//
// Python forks whatever its hook raises. So an interrupted wait leaves the functions in flight to
// the parent, the rest is waited for with the locks, and the parent is interrupted after the fork.
#include <pthread.h>
#include <unistd.h>

#include <utility>

#include "ops/cuda/background.h"
#include "python/arguments.h"
#include "python/bind.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/machine/fork.h"
#include "python/machine/profiler.h"
#include "python/runtime.h"
#include "vm/board/running_scope.h"

namespace ofl::python {

namespace {

// Set in the thread that forks; a fork without Python's hooks, on the way to exec, is not our
// business.
thread_local bool fork_announced = false;
thread_local bool fork_prepared = false;

int forks = 0;  // counted in a child that has one thread, so it needs no lock

/// The exception that interrupted the wait for a fork, and the frame that forks. Both are owned.
/// The GIL guards them. Only the main thread is interrupted.
struct Interrupt {
  PyObject* exception = nullptr;
  PyFrameObject* frame = nullptr;
};
Interrupt interrupt;

// A function does not wait for others: they may wait for it.
void wait_for_work() {
  if (vm::RunningScope::any()) {
    runtime().machine.drain_but_functions("fork");
  } else {
    runtime().machine.drain_but_pending("fork");
  }
}

PyObject* before_fork(Arguments) {
  fork_announced = false;
  try {
    wait_for_work();
  } catch (const Error& error) {
    fork_announced = true;
    if (error.kind() != ErrorKind::interrupted) throw;
    Py_XSETREF(interrupt.exception, python_exception(error));
    Py_XSETREF(interrupt.frame, PyThreadState_GetFrame(PyThreadState_Get()));
    if (!interrupt.exception) throw PythonErrorSet{};
  }
  fork_announced = true;
  Py_RETURN_NONE;
}

/// The main thread is in a function that the frame has called, such as another hook.
bool is_below(PyFrameObject* frame) {
  PyFrameObject* inner = PyThreadState_GetFrame(PyThreadState_Get());
  bool is_innermost = true;
  while (inner && inner != frame) {
    is_innermost = false;
    PyFrameObject* const caller = PyFrame_GetBack(inner);
    Py_DECREF(inner);
    inner = caller;
  }
  Py_XDECREF(inner);
  return inner && !is_innermost;
}

/// A pending call of Python, in its main thread. Python only reports what its hooks raise, so it is
/// raised after the last of them.
int raise_interrupt(void*) {
  if (!interrupt.exception) return 0;
  const bool is_early = interrupt.frame && is_below(interrupt.frame);
  if (is_early && Py_AddPendingCall(&raise_interrupt, nullptr) == 0) return 0;
  PyObject* const exception = std::exchange(interrupt.exception, nullptr);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
  Py_DECREF(exception);
  Py_CLEAR(interrupt.frame);
  return -1;
}

void prepare() {
  if (!fork_announced || !has_gil()) return;
  KeepGil keep;
  runtime().machine.fork().before();
  lock_observers();
  ops::cuda::publishing_mutex().lock();
  thread_state_mutex().lock();
  fork_prepared = true;
}

void unlock_prepared() {
  if (!std::exchange(fork_prepared, false)) return;
  thread_state_mutex().unlock();
  ops::cuda::publishing_mutex().unlock();
  unlock_observers();
}

void after_in_parent() {
  if (!fork_announced) return;
  fork_announced = false;
  unlock_prepared();
  runtime().machine.fork().after_in_parent();
  if (!interrupt.exception || Py_AddPendingCall(&raise_interrupt, nullptr) == 0) return;
  PyErr_SetInterrupt();  // there are too many pending calls
  Py_CLEAR(interrupt.exception);
  Py_CLEAR(interrupt.frame);
}

void after_in_child() {
  if (!fork_announced) return;
  ops::cuda::forget_background();
  unlock_prepared();
  runtime().machine.fork().after_in_child();
  ++forks;
}

PyObject* fail_lost_host_functions(Arguments) {
  Py_CLEAR(interrupt.exception);  // it is the parent's, like its signals
  Py_CLEAR(interrupt.frame);
  if (std::exchange(fork_announced, false)) runtime().machine.fork().fail_lost_functions();
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {positional<before_fork, 0>("before_fork"),
                           positional<fail_lost_host_functions, 0>("after_fork_in_child"),
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

int fork_count() { return forks; }

void leave_forked_child(PyObject* value) {
  if (!value) PyErr_Print();  // ends the process itself for SystemExit
  for (const char* name : {"stdout", "stderr"}) {
    PyObject* const stream = PySys_GetObject(name);
    if (!stream || stream == Py_None) continue;
    const Reference flushed(PyObject_CallMethod(stream, "flush", nullptr));
    if (!flushed.get()) PyErr_Clear();  // nobody is left to tell
  }
  _exit(value ? 0 : 1);
}

void init_fork(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
  static const int failed = pthread_atfork(&prepare, &after_in_parent, &after_in_child);
  if (failed) fail(ErrorKind::runtime, "pthread_atfork failed with error ", failed);
}

}  // namespace ofl::python
