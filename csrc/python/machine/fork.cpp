// Fork, in three steps. Python's own hook (os.register_at_fork) waits for what is in flight, as
// long as that takes, without the GIL. Hooks of other libraries may run after it, and other threads
// with them, which issue; so the locks are taken only in the C library's hook (pthread_atfork),
// when nothing of Python runs any more before the fork itself, and given back in the same way. What
// lets go of Python objects in the child waits until Python has seen to itself there.
#include <pthread.h>
#include <unistd.h>

#include <utility>

#include "ops/cuda/background.h"
#include "python/arguments.h"
#include "python/bind.h"
#include "python/gil.h"
#include "python/machine/fork.h"
#include "python/runtime.h"
#include "vm/board/running_scope.h"

namespace ofl::python {

namespace {

// Set in the thread that forks; a fork without Python's hooks, on the way to exec, is not our
// business.
thread_local bool fork_announced = false;
thread_local bool fork_prepared = false;

int forks = 0;  // counted in a child that has one thread, so it needs no lock

// A function does not wait for others: they may wait for it.
PyObject* before_fork(Arguments) {
  fork_announced = false;
  if (vm::RunningScope::any()) {
    runtime().machine.drain_but_functions("fork");
  } else {
    runtime().machine.drain_but_pending("fork");
  }
  fork_announced = true;
  Py_RETURN_NONE;
}

void prepare() {
  if (!fork_announced || !has_gil()) return;
  KeepGil keep;
  runtime().machine.fork().before();
  ops::cuda::publishing_mutex().lock();
  thread_state_mutex().lock();
  fork_prepared = true;
}

void unlock_prepared() {
  if (!std::exchange(fork_prepared, false)) return;
  thread_state_mutex().unlock();
  ops::cuda::publishing_mutex().unlock();
}

void after_in_parent() {
  if (!fork_announced) return;
  fork_announced = false;
  unlock_prepared();
  runtime().machine.fork().after_in_parent();
}

void after_in_child() {
  if (!fork_announced) return;
  ops::cuda::forget_background();
  unlock_prepared();
  runtime().machine.fork().after_in_child();
  ++forks;
}

PyObject* fail_lost_host_functions(Arguments) {
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
