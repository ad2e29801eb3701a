// The two helpers for the GIL, and what the machine does about it while a thread waits.
#pragma once

#include "python/numpy_api.h"
#include "vm/virtual_machine.h"

namespace ofl::python {

/// Takes the GIL back. While the interpreter ends, threads other than the one that ends it do not
/// return from here, as in CPython 3.14: older versions end such a thread by unwinding its stack,
/// whose objects would then touch the interpreter without the GIL.
void take_gil_back(PyThreadState* state);

/// Takes the GIL in any thread, for the lifetime of the object. Not during interpreter shutdown.
class WithGil {
 public:
  WithGil() : state_(PyGILState_Ensure()) {}
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Runs `release(object)`, which may need the GIL: here when the calling thread has it, else soon
/// in the main thread. Never waits for the GIL, so it may be called with any lock of the machine.
void release_with_gil(void (*release)(void*), void* object);

/// An owned Python object that any thread may let go.
std::shared_ptr<void> keep_object(PyObject* stolen);

/// While it lives, waits of this thread keep the GIL, so that no other Python thread issues. Only
/// for waits for work that needs no GIL.
class KeepGil {
 public:
  KeepGil() { active = true; }
  ~KeepGil() { active = false; }
  KeepGil(const KeepGil&) = delete;
  static thread_local bool active;
};

class GilHooks final : public vm::HostHooks {
 public:
  void* release() override;
  void acquire(void* token) override;
  std::optional<Error> interrupt(void* token) override;
};

}  // namespace ofl::python
