// Kernels of users on a device, and what functions there need of the device.
#include <algorithm>

#include "ep/event_pool.h"
#include "ep/interop.h"
#include "python/arguments.h"
#include "python/bind.h"
#include "python/engine/issue.h"
#include "python/engine/operands.h"
#include "python/runtime.h"

namespace ofl::python {

namespace {

std::string bytes_argument(PyObject* object) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(object, &data, &size) < 0) throw PythonErrorSet{};
  return std::string(data, static_cast<size_t>(size));
}

/// _load_kernel(device, image, name): its function, which is there as long as the device.
PyObject* load_kernel(Arguments given) {
  ep::Device& device = runtime().machine.state(named_device(given[0])).device;
  return checked(PyLong_FromVoidPtr(device.load_kernel(bytes_argument(given[1]), utf8(given[2]))));
}

/// _architecture(device): what its kernels are compiled for; "" where it has none.
PyObject* architecture(Arguments given) {
  const ep::Device& device = runtime().machine.state(named_device(given[0])).device;
  return checked(PyUnicode_FromString(device.architecture().c_str()));
}

void read_extents(PyObject* tuple, unsigned* out) {
  for (int d = 0; d < 3; ++d) {
    out[d] = static_cast<unsigned>(integer_argument(PyTuple_GET_ITEM(tuple, d)));
  }
}

/// From [(place, tensor), ...].
void fill_pointers(PyObject* tensors, KernelCall* kernel) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tensors); ++i) {
    PyObject* const pair = PyList_GET_ITEM(tensors, i);
    const auto place = static_cast<size_t>(integer_argument(PyTuple_GET_ITEM(pair, 0)));
    kernel->pointers.emplace_back(place, require_tensor(PyTuple_GET_ITEM(pair, 1), "push"));
  }
}

/// _push_kernel(device, function, (grid, block, shared bytes), args, [(place, tensor), ...],
///              reads, writes, name)
/// The parameters are in `args`, with room for the addresses of the tensors at their places.
PyObject* push_kernel(Arguments given) {
  const Issuer from = issuer_of("CudaKernel.push");
  auto kernel = std::make_shared<KernelCall>();
  kernel->function = PyLong_AsVoidPtr(given[1]);
  if (PyErr_Occurred()) throw PythonErrorSet{};
  read_extents(PyTuple_GET_ITEM(given[2], 0), kernel->grid);
  read_extents(PyTuple_GET_ITEM(given[2], 1), kernel->block);
  kernel->shared_bytes = static_cast<size_t>(integer_argument(PyTuple_GET_ITEM(given[2], 2)));
  const std::string args = bytes_argument(given[3]);
  kernel->args.resize(args.size());
  std::transform(args.begin(), args.end(), kernel->args.begin(),
                 [](char c) { return static_cast<std::byte>(c); });
  fill_pointers(given[4], kernel.get());
  auto function = std::make_shared<Function>();
  function->kind = Function::Kind::kernel;
  function->name = name_argument(given[7]);
  function->device = named_device(given[0]);
  function->type = vm::StreamType::compute;
  Operands operands(function.get(), "CudaKernel.push");
  operands.add(given[5], "reads", vm::Access::read);
  operands.add(given[6], "writes", vm::Access::write);
  function->variable_names = operands.names();
  refuse_strided(*function, "CudaKernel.push", "a kernel");
  function->kernel = std::move(kernel);
  return push_once(from, std::move(function));
}

/// _address(tensor): of its memory, in a function that reads or writes it. Nothing is waited for.
PyObject* address(Arguments given) {
  const Tensor& x = require_tensor(given[0], "__cuda_array_interface__");
  x.storage->note_export();
  return checked(PyLong_FromVoidPtr(x.size() ? x.address() : nullptr));
}

/// _queue_waits(device, queue, other queue): later work of the one comes after what the other has.
PyObject* queue_waits(Arguments given) {
  ep::Device& device = runtime().machine.state(named_device(given[0])).device;
  ep::Interop* const interop = device.interop();
  if (!interop) fail(ErrorKind::runtime, "[", device.id().str(), "] it has no queues for others");
  const ep::EventLease event = device.events().lease();
  interop->record(static_cast<uintptr_t>(integer_argument(given[2])), *event);
  interop->make_wait(static_cast<uintptr_t>(integer_argument(given[1])), *event);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    positional<load_kernel, 3>("_load_kernel"), positional<architecture, 1>("_architecture"),
    positional<push_kernel, 8>("_push_kernel"), positional<address, 1>("_address"),
    positional<queue_waits, 3>("_queue_waits"), {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_kernels(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
