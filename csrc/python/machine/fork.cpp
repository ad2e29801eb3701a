// Fork, in three steps. Python's own hook (os.register_at_fork) waits for what is in flight, as
// long as that takes, without the GIL. Hooks of other libraries may run after it, and other threads
// with them, which issue; so the locks are taken only in the C library's hook (pthread_atfork),
// when nothing of Python runs any more before the fork itself, and given back in the same way. What
// lets go of Python objects in the child waits until Python has seen to itself there.
#include <pthread.h>

#include <utility>

#include "ops/cuda/background.h"
#include "python/bind.h"
#include "python/gil.h"
#include "python/runtime.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

// Set in the thread that forks; a fork without Python's hooks, on the way to exec, is not our
// business.
thread_local bool fork_announced = false;
thread_local bool fork_prepared = false;

void before_fork() {
  fork_announced = false;
  runtime().machine.drain(std::nullopt);
  fork_announced = true;
}

void prepare() {
  if (!fork_announced || !has_gil()) return;
  KeepGil keep;
  runtime().machine.before_fork();
  ops::cuda::publishing_mutex().lock();
  fork_prepared = true;
}

void after_in_parent() {
  if (!fork_announced) return;
  fork_announced = false;
  if (std::exchange(fork_prepared, false)) ops::cuda::publishing_mutex().unlock();
  runtime().machine.after_fork_in_parent();
}

void after_in_child() {
  if (!fork_announced) return;
  ops::cuda::forget_background();
  if (std::exchange(fork_prepared, false)) ops::cuda::publishing_mutex().unlock();
  runtime().machine.after_fork_in_child();
}

void fail_lost_host_functions() {
  if (!fork_announced) return;
  fork_announced = false;
  runtime().machine.fail_lost_host_functions();
}

}  // namespace

void bind_fork(py::module_& m) {
  m.def("before_fork", &before_fork);
  m.def("after_fork_in_child", &fail_lost_host_functions);
  static const int failed = pthread_atfork(&prepare, &after_in_parent, &after_in_child);
  if (failed) fail(ErrorKind::runtime, "pthread_atfork failed with error ", failed);
}

}  // namespace ofl::python
