// The one machine of the process, its devices, and what the Python layer keeps beside them.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "python/numpy_api.h"
#include "tensor/issue.h"
#include "vm/virtual_machine.h"

namespace ofl::python {

/// What is done about something that a program does not say, and that takes time.
enum class Implicit : uint8_t { allow, warn, error };

struct Runtime {
  Runtime();
  vm::VirtualMachine machine;
  std::atomic<Implicit> implicit_sync{Implicit::allow};
  std::atomic<Implicit> implicit_boxing{Implicit::allow};
  std::atomic<size_t> memory_limit{0};  // of each device; 0: what it has
  uint64_t settings = 0;  // counts changes of what recorded programs depend on; with the GIL
};

/// Made at import and never destroyed: tensors may outlive the interpreter's other objects.
Runtime& runtime();

/// Machine and issue site of the calling thread. With the GIL.
Issuer issuer();

/// Sets what takes the calling thread's calls instead of the machine (null: nothing); the former.
Sink* exchange_sink(Sink* sink);
bool is_recording();
/// Throws while the calling thread records: what `op` does cannot be recorded.
void refuse_while_recording(const char* op, const Tensor* x = nullptr);
/// The same, with a reason and a way out of the operation's own.
void refuse_while_recording(const char* op, const char* why);

/// A copy of a name that outlives the machine. With the GIL.
const char* intern(const std::string& name);

/// The calling thread's.
/// The calling thread's, or that of the process where the thread has chosen none.
Device default_device();
void set_process_device(Device device);
/// Returns the former choice; nullopt: none.
std::optional<Device> exchange_thread_device(std::optional<Device> device);

/// look() for a method of this name: counted, and refused or reported where the program forbids it.
Tensor look_from_python(const Tensor& x, const char* method);

/// Waits until nothing issued so far uses the memory of a cpu tensor, counted and refused like a
/// look; throws what made it fail. Where it is shared already, operations leave it settled. `x` is
/// a copy here and below: another thread may donate the tensor during the wait.
void settle_from_python(Tensor x, const char* method);

/// Waits for the last write of `x`, counted and refused like a look. The exception that a look at
/// it raises, new and owned; null when there is none.
PyObject* failure_of(Tensor x, const char* method);

/// The machine is naive while there is a reason.
enum class NaiveReason : uint8_t { sync, benchmark };
void set_naive(NaiveReason reason, bool on);

void set_memory_limit(size_t bytes);
/// Devices that have been used.
std::vector<ep::Device*> known_devices();

}  // namespace ofl::python
