#include "python/engine/device_call.h"

#include <cstring>

#include "ep/interop.h"
#include "python/convert.h"
#include "python/machine/device_object.h"
#include "python/tensor/object.h"

namespace ofl::python {

namespace {

uintptr_t handle_of(vm::Stream& stream) {
  ep::Interop* const interop = stream.device().interop();
  return interop ? interop->handle_of(stream.queue()) : 0;
}

/// An array where the host may use the memory; else a tensor, which the function gets no hold of.
PyObject* memory_of(const Tensor& x, bool writable) {
  if (x.storage->on_host()) return checked(array_over(x, writable));
  if (x.storage->state().device.runs_host_kernels()) {
    return checked(array_over_device(x, writable));
  }
  return checked(wrap(Tensor(x)));
}

void* address_of(const Tensor& x) {
  ep::Device& device = x.storage->state().device;
  const bool is_mapped = !x.storage->on_host() && device.runs_host_kernels();
  return is_mapped && x.size() ? device.host_address(x.address()) : x.address();
}

template <typename... Arguments>
int call_code(const CFunction& code, Arguments... arguments) {
  if (code.has_status) return reinterpret_cast<int (*)(Arguments...)>(code.address)(arguments...);
  reinterpret_cast<void (*)(Arguments...)>(code.address)(arguments...);
  return 0;
}

}  // namespace

Reference device_arguments(const Function& function, vm::Stream& stream) {
  const size_t tensors = function.reads.size() + function.writes.size();
  Reference arguments(checked(PyTuple_New(static_cast<Py_ssize_t>(3 + tensors))));
  Py_ssize_t i = 0;
  const auto add = [&](PyObject* object) { PyTuple_SET_ITEM(arguments.get(), i++, object); };
  add(checked(device_object(function.device)));
  add(checked(PyLong_FromSize_t(handle_of(stream))));
  add(checked(PyLong_FromSize_t(function.reads.size())));
  for (const Tensor& x : function.reads) add(memory_of(x, false));
  for (const Tensor& x : function.writes) add(memory_of(x, true));
  return arguments;
}

void call_native(const Function& function, vm::Stream& stream) {
  const CFunction& code = function.code;
  SmallVector<void*, 16> memory;
  for (const Tensor& x : function.reads) memory.push_back(address_of(x));
  for (const Tensor& x : function.writes) memory.push_back(address_of(x));
  const bool on_device = function.device != Device{};
  const int status = on_device ? call_code(code, code.argument, memory.begin(),
                                           reinterpret_cast<void*>(handle_of(stream)))
                               : call_code(code, code.argument, memory.begin());
  if (status != 0) fail(ErrorKind::runtime, "[", function.name, "] returned status ", status);
}

void launch_kernel(const KernelCall& kernel, ep::Stream& queue) {
  std::vector<std::byte> args = kernel.args;
  for (const auto& [offset, x] : kernel.pointers) {
    void* const address = x.size() ? x.address() : nullptr;
    std::memcpy(args.data() + offset, &address, sizeof address);
  }
  ep::UserKernel launched = {kernel.function,     {},          {},
                             kernel.shared_bytes, args.data(), args.size()};
  std::copy(std::begin(kernel.grid), std::end(kernel.grid), launched.grid);
  std::copy(std::begin(kernel.block), std::end(kernel.block), launched.block);
  queue.launch(launched);
}

std::shared_ptr<void> enter(vm::Stream& stream) {
  ep::Device& device = stream.device();
  if (device.is_host()) return nullptr;
  if (device.runs_host_kernels()) stream.queue().sync();
  ep::Interop* const interop = device.interop();
  return interop ? interop->make_current() : nullptr;
}

}  // namespace ofl::python
