// Every call of the API goes through one door: it is counted, refused where the driver refuses it,
// may be made to fail, and what the implementation throws becomes its result.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <new>
#include <type_traits>

#include "driver/abi.h"
#include "driver/faults.h"

namespace simcuda {

/// When a function may be called.
enum class Needs : uint8_t {
  nothing,         // from anywhere, always
  a_sound_caller,  // not in a host function, not in the child of a process that used CUDA
  initialization,  // that, and cuInit before
  no_capture,      // that, and what is not safe while a stream is captured
};

/// What the door knows of one function.
struct Door {
  const char* name = nullptr;  // set by the table before anyone can get the function
  Needs needs = Needs::initialization;
  std::atomic<int64_t> calls{0};
  std::atomic<int64_t> cost_ns{0};  // what a call takes at least, of the calling thread's time
};

/// Counts the call. Not SUCCESS when it must not go on; kOmitted when nobody is to notice.
Result enter(Door& door);

/// Set while a thread runs a host function, which must not call CUDA.
bool& is_in_host_function();

/// The C function for an implementation, which returns a Result or nothing and may throw a Failure.
template <auto implementation>
struct Entry;

template <typename Returned, typename... Args, Returned (*implementation)(Args...)>
struct Entry<implementation> {
  static inline Door door;

  static int call(Args... args) noexcept {
    try {
      const Result refused = enter(door);
      if (refused == kOmitted) return SUCCESS;
      if (refused != SUCCESS) return refused;
      if constexpr (std::is_void_v<Returned>) {
        implementation(args...);
        return SUCCESS;
      } else {
        return implementation(args...);
      }
    } catch (const Failure& failure) {
      return failure.code;
    } catch (const std::bad_alloc&) {
      return ERROR_OUT_OF_MEMORY;
    } catch (const std::exception&) {  // of the operating system: a thread that cannot be made
      return ERROR_UNKNOWN;
    }
  }
};

}  // namespace simcuda
