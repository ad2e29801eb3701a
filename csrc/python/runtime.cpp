#include "python/runtime.h"

#include <mutex>
#include <unordered_set>
#include <utility>

#include "ep/memory/caching_allocator.h"
#include "ep/memory/staging_pool.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/issue_site.h"
#include "tensor/op_call.h"

namespace ofl::python {

namespace {

std::mutex devices_mutex;  // guards the array below
// They end with the process: workers may still run, where Ctrl-C has ended the wait for them, and
// CUDA's driver may be gone before us.
ep::Device* devices[kMaxDeviceTypes][vm::kMaxDevicesPerType];

ep::Device& find_device(Device device) {
  const ep::Backend& backend = ep::backend_of(device.type);
  const int count = backend.count();
  if (device.index < 0 || device.index >= count) {
    fail(ErrorKind::value, "[device] ", device.str(), " does not exist, there ",
         count == 1 ? "is 1 " : concat("are ", count, " "), backend.name,
         count == 1 ? " device" : " devices", backend.hint ? backend.hint() : "");
  }
  ep::Device* const host = device == Device{} ? nullptr : &find_device(Device{});
  std::lock_guard<std::mutex> lock(devices_mutex);
  auto& known = devices[static_cast<int>(device.type)][device.index];
  if (!known) {
    known = backend.make(device).release();
    known->allocator().set_limit(runtime().memory_limit.load());
    if (host) known->staging().set_helpers(host->helpers());
  }
  return *known;
}

std::atomic<Device> process_device{Device{}};      // any thread reads, the flag sets
thread_local std::optional<Device> thread_device;  // its own choice; none: the process's

}  // namespace

Runtime::Runtime() : machine(find_device) {
  machine.set_hooks(std::make_unique<GilHooks>());
  machine.set_format_site(format_site);
}

Runtime& runtime() {
  static Runtime* the_runtime = new Runtime;
  return *the_runtime;
}

namespace {

thread_local Sink* thread_sink = nullptr;

}  // namespace

Issuer issuer() {
  vm::VirtualMachine& machine = runtime().machine;
  return {machine, capture_site(), machine.is_recorded() ? thread_sink : nullptr};
}

Sink* exchange_sink(Sink* sink) { return std::exchange(thread_sink, sink); }

bool is_recording() { return runtime().machine.is_recorded() && thread_sink; }

void refuse_while_recording(const char* op, const Tensor* x) {
  if (!is_recording()) return;
  thread_sink->refuse(capture_site(), op, x);
}

void refuse_while_recording(const char* op, const char* why) {
  if (!is_recording()) return;
  throw vm::OperationError(vm::Failure{ErrorKind::recording,
                                       concat("[", op, "] cannot be recorded: ", why), op,
                                       capture_site(), 0, Device{}, nullptr});
}

const char* intern(const std::string& name) {
  static std::unordered_set<std::string>* names = new std::unordered_set<std::string>;
  return names->insert(name).first->c_str();
}

Device default_device() {
  return thread_device ? *thread_device : process_device.load(std::memory_order_relaxed);
}

void set_process_device(Device device) {
  runtime().machine.state(device);  // throws when there is none
  process_device.store(device, std::memory_order_relaxed);
}

void set_naive(NaiveReason reason, bool on) {
  static std::atomic<unsigned> reasons{0};  // a bit for each; changed with the GIL
  const unsigned bit = 1U << static_cast<unsigned>(reason);
  const unsigned now = on ? reasons.load() | bit : reasons.load() & ~bit;
  reasons.store(now);
  runtime().machine.options().naive.store(now != 0);
}

std::optional<Device> exchange_thread_device(std::optional<Device> device) {
  if (device) runtime().machine.state(*device);
  return std::exchange(thread_device, device);
}

namespace {

void report_implicit_wait(const Tensor& x, const char* method) {
  const Implicit mode = runtime().implicit_sync.load(std::memory_order_relaxed);
  if (mode != Implicit::allow && !runtime().machine.is_ready(x.storage->dependence())) {
    const std::string text = concat("[", method, "] waits for a tensor that is not ready");
    if (mode == Implicit::error) fail(ErrorKind::runtime, text);
    const int level = site_level();
    if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), level) < 0) throw PythonErrorSet{};
  }
}

}  // namespace

Tensor look_from_python(const Tensor& x, const char* method) {
  report_implicit_wait(x, method);
  return look(issuer(), x, method);
}

PyObject* failure_of(Tensor x, const char* method) {
  report_implicit_wait(x, method);
  try {
    runtime().machine.wait_for_value(x.storage->dependence(), method);
  } catch (const vm::OperationError& error) {
    return checked(python_exception(error));
  }
  return nullptr;
}

void settle_from_python(Tensor x, const char* method) {
  refuse_while_recording(method, &x);
  report_implicit_wait(x, method);
  vm::VirtualMachine& machine = runtime().machine;
  machine.wait_for_value(x.storage->dependence(), method);
  machine.wait_for_access(x.storage->dependence(), method);
  x.storage->enter_shared(machine);
}

void set_memory_limit(size_t bytes) {
  runtime().memory_limit.store(bytes);
  for (ep::Device* device : known_devices()) device->allocator().set_limit(bytes);
}

std::vector<ep::Device*> known_devices() {
  std::lock_guard<std::mutex> lock(devices_mutex);
  std::vector<ep::Device*> known;
  for (auto& type : devices) {
    for (ep::Device* device : type) {
      if (device) known.push_back(device);
    }
  }
  return known;
}

}  // namespace ofl::python
