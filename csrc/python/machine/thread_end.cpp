// A thread that CPython ends does not unwind our frames; it sleeps instead.
//
// CPython before 3.14 calls pthread_exit in a thread that asks for the GIL while the interpreter
// ends. glibc then unwinds the stack of that thread: a forced unwinding, which runs destructors and
// which noexcept functions answer with std::terminate. Any call of Python from C++ may ask for the
// GIL: a host function that sleeps, a __del__, the garbage collector.
//
// For each frame with something to do, the unwinder calls the personality routine of C++. The
// linker puts the routine below in its place (--wrap, setup.py) for all frames of this library. So
// the innermost of them stops a forced unwinding, before any destructor has run.
#include "python/gil.h"

#if defined(__linux__)

#include <unistd.h>
#include <unwind.h>

extern "C" {

_Unwind_Reason_Code __real___gxx_personality_v0(int version, _Unwind_Action actions,
                                                _Unwind_Exception_Class kind,
                                                _Unwind_Exception* exception,
                                                _Unwind_Context* context);

_Unwind_Reason_Code __wrap___gxx_personality_v0(int version, _Unwind_Action actions,
                                                _Unwind_Exception_Class kind,
                                                _Unwind_Exception* exception,
                                                _Unwind_Context* context) {
  if (actions & _UA_FORCE_UNWIND) {
    while (ofl::python::interpreter_ends()) pause();
  }
  return __real___gxx_personality_v0(version, actions, kind, exception, context);
}

}  // extern "C"

#endif
