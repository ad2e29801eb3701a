// The two helpers for the GIL, and what the machine does about it while a thread waits.
//
// While the interpreter ends, a thread that asks for the GIL does not return. CPython before 3.14
// ends such a thread in any function of its C API that takes the GIL: pthread_exit unwinds the
// stack, and our destructors would run without the GIL. The unwinding stops at the innermost frame
// of ours (thread_end.cpp), and the thread sleeps there, as it does in CPython 3.14.
#pragma once

#include <mutex>

#include "ep/foreign_code.h"
#include "python/numpy_api.h"
#include "vm/virtual_machine.h"

namespace ofl::python {

/// The interpreter ends, or has ended: only the thread that ends it still runs Python code.
bool interpreter_ends();

/// The calling thread has the GIL. Also after the interpreter's end, when no thread has.
bool has_gil();

/// Held while Python makes its state of a thread, which takes a lock of Python without the GIL. A
/// fork holds it, too: before 3.12, the child would wait for that lock for ever.
std::mutex& thread_state_mutex();

/// Takes the GIL in any thread, for the lifetime of the object, after which Python's code may have
/// changed what belongs to the thread. Error(runtime) while the interpreter ends.
class WithGil {
 public:
  WithGil();
  ~WithGil();
  WithGil(const WithGil&) = delete;

 private:
  const bool is_new_;  // Python's state of the thread is, and goes with this object
  const PyGILState_STATE state_;
};

/// The GIL for one of many functions that a thread calls one after the other. It may stay with the
/// thread in between, which costs less than to take it anew; then rest() gives it back before the
/// thread does anything else. So does what Python keeps for the thread, until end_thread(): to make
/// it costs more than a short function. Error(runtime) while the interpreter ends.
class GilForCall {
 public:
  /// `keeps`: the thread calls rest(), and has no other function under way.
  explicit GilForCall(bool keeps);
  ~GilForCall();
  GilForCall(const GilForCall&) = delete;

  /// Gives back the GIL that the thread has kept.
  static void rest();
  /// By a thread that ends and may have kept something: lets go of Python's part of it.
  static void end_thread();
  /// The thread has kept the GIL, and is between two functions.
  static bool is_kept() { return kept_; }
  /// How long the thread waited for the GIL; 0 if it had it.
  int64_t waited_ns() const { return waited_ns_; }

 private:
  static thread_local bool kept_, has_state_;
  static thread_local PyGILState_STATE state_;
  static thread_local int64_t since_;
  const bool keeps_;
  bool is_new_ = false;
  PyGILState_STATE own_;
  int64_t waited_ns_ = 0;
};

/// Runs `release(object)`, which may need the GIL: here when the calling thread has it, and has not
/// only kept it; else soon in the main thread. Never waits for the GIL, so it may be called with
/// any lock of the machine.
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
