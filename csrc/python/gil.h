// The two helpers for the GIL, and what the machine does about it while a thread waits.
//
// While the interpreter ends, a thread that asks for the GIL does not return. CPython before 3.14
// ends such a thread in any function of its C API that takes the GIL: pthread_exit unwinds the
// stack, and our destructors would run without the GIL. The unwinding stops at the innermost frame
// of ours (thread_end.cpp), and the thread sleeps there, as it does in CPython 3.14.
#pragma once

#include "ep/foreign_code.h"
#include "python/numpy_api.h"
#include "vm/virtual_machine.h"

namespace ofl::python {

/// The interpreter ends, or has ended: only the thread that ends it still runs Python code.
bool interpreter_ends();

/// The calling thread has the GIL. Also after the interpreter's end, when no thread has.
bool has_gil();

/// Takes the GIL in any thread, for the lifetime of the object, after which Python's code may have
/// changed what belongs to the thread. Error(runtime) while the interpreter ends.
class WithGil {
 public:
  WithGil();
  ~WithGil() {
    PyGILState_Release(state_);
    ++ep::foreign_code_count;
  }
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
  bool ends() override { return interpreter_ends(); }
};

}  // namespace ofl::python
