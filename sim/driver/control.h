// What the simulation itself exports, for tests and for the simulated libraries. Plain C, by dlsym.
#pragma once

#include <cstddef>

#include "driver/abi.h"

namespace simcuda {

/// Applies ONEFLOW_LITE_CUDA_SIM, once. False, with a message on stderr, if it cannot be read.
bool read_environment();

}  // namespace simcuda

extern "C" {

/// Sets knobs, after those of the environment. nullptr, or what is wrong (until the thread's next
/// call).
const char* simcuda_configure(const char* text);
/// Forgets the failures that have not happened.
void simcuda_reset_faults();
/// What a planned failure says of this call of a library: its status, or 0.
int simcuda_planned_failure(const char* name);
/// Writes counts as JSON {"calls": {...}, "live": {...}, "run": {...}}; returns the bytes that it
/// takes.
size_t simcuda_counters(char* buffer, size_t capacity);
/// Queues `function` as a kernel of a library. `describe` names it in errors.
int simcuda_enqueue(void* stream, void (*function)(void*), void* data, const char* describe);
/// The host's address of `bytes` of device (or pinned) memory; nullptr if it is not that.
void* simcuda_host_address(unsigned long long pointer, size_t bytes);
/// The device of the current context, -1 if there is none.
int simcuda_current_device();
}
