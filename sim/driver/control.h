// What the simulation itself exports, for tests and for the simulated libraries. Plain C, by dlsym.
#pragma once

#include <cstddef>

#include "driver/abi.h"

namespace simcuda {

/// Applies ONEFLOW_LITE_CUDA_SIM, once. False, with a message on stderr, if it cannot be read.
bool read_environment();

}  // namespace simcuda

extern "C" {

/// Sets knobs, after those of the environment. nullptr, or what is wrong with them or, first of all,
/// with the environment's (until the thread's next call).
const char* simcuda_configure(const char* text);
/// Forgets the failures that have not happened.
void simcuda_reset_faults();
/// What a planned failure says of this call of a library: its status, or 0.
int simcuda_planned_failure(const char* name);
/// Writes counts as JSON {"calls": {...}, "live": {...}, "run": {...}}; returns the bytes that it
/// takes.
size_t simcuda_counters(char* buffer, size_t capacity);

/// What a library runs as a kernel.
struct SimWork {
  /// Returns what is wrong, which kills the context as a kernel's illegal address does, or nullptr.
  const char* (*run)(void* data);
  /// Called when nobody needs `data` any more, also where the work could not be queued.
  void (*release)(void* data);
  void* data;
  int is_repeatable;  // so that a graph may have it
};
int simcuda_enqueue(void* stream, const SimWork* work);
/// Takes memory of the current device for a library; nullptr where there is none. A number for
/// simcuda_give_back.
void* simcuda_take_memory(size_t bytes);
/// What a handle of a library takes (knob `library`).
size_t simcuda_library_bytes();
void simcuda_give_back(void* memory);
/// The host's address of `bytes` of device (or pinned) memory; nullptr if it is not that.
void* simcuda_host_address(unsigned long long pointer, size_t bytes);
/// The device of the current context, -1 if there is none.
int simcuda_current_device();
}
