// Memory of devices to and from other libraries: the queues that they order themselves by, and
// __cuda_array_interface__, version 3.
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>

#include "ep/cuda/cuda_device.h"
#include "ep/event_pool.h"
#include "ep/interop.h"
#include "python/bind.h"
#include "python/convert.h"
#include "python/gil.h"
#include "python/initialised.h"
#include "python/interop/foreign_memory.h"
#include "python/machine/device_object.h"
#include "python/runtime.h"
#include "python/tensor/object.h"
#include "tensor/sharing.h"
#include "tensor/submit.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

constexpr const char* kInterface = "__cuda_array_interface__";

vm::Stream& compute_of(Device device) {
  vm::VirtualMachine& machine = runtime().machine;
  return compute_stream(machine, machine.state(device));
}

ep::Interop& interop_of(ep::Device& device) {
  if (ep::Interop* interop = device.interop()) return *interop;
  fail(ErrorKind::buffer, "[", device.id().str(), "] other libraries cannot use its queues");
}

/// The queue of the thread's compute lane of a device, for producers that are to order themselves
/// before it.
uintptr_t queue_of(Device device) {
  vm::Stream& stream = compute_of(device);
  return interop_of(stream.device()).handle_of(stream.queue());
}

/// Makes a device the current one of the calling thread, in a `with` block: producers may ask for
/// that.
class CurrentDevice {
 public:
  explicit CurrentDevice(Device device) : device_(device) {}
  void enter() { current_ = interop_of(runtime().machine.state(device_).device).make_current(); }
  void exit() { current_.reset(); }

 private:
  const Device device_;
  std::shared_ptr<void> current_;
};

/// (address, read-only, queue): who uses the memory waits for the queue first.
py::tuple export_cuda(const py::object& object) {
  const Tensor& x = require_tensor(object.ptr(), kInterface);
  if (x.device().type != ep::cuda_type()) {
    fail(ErrorKind::type, "[", kInterface, "] expected a tensor of a cuda device, got one of ",
         x.device().str());
  }
  const ep::EventLease ready = hand_over(issuer(), x, kInterface);
  // For consumers that know of no streams in this protocol: their work is on the legacy one.
  constexpr uintptr_t kLegacyQueue = 1;
  if (ready) compute_of(x.device()).device().interop()->make_wait(kLegacyQueue, *ready);
  const auto address = x.size() ? reinterpret_cast<uintptr_t>(x.address()) : uintptr_t{0};
  return py::make_tuple(address, !may_be_written(x), queue_of(x.device()));
}

Tensor described(const py::object& dtype, const py::object& shape, const py::object& strides) {
  Tensor x;
  x.dtype = parse_dtype(dtype.ptr(), kInterface);
  x.shape = parse_dims(shape.ptr(), kInterface);
  for (int64_t dim : x.shape) {
    if (dim < 0) {
      fail(ErrorKind::buffer, "[", kInterface, "] negative dimension in shape ",
           shape_str(x.shape));
    }
  }
  const auto itemsize = static_cast<int64_t>(size_of(x.dtype));
  count_elements(x.shape, itemsize, kInterface);
  x.strides = strides.is_none() ? contiguous_strides(x.shape, itemsize)
                                : parse_dims(strides.ptr(), kInterface);
  if (x.strides.size() != x.ndim()) {
    fail(ErrorKind::buffer, "[", kInterface, "] expected ", x.ndim(), " strides, got ",
         x.strides.size());
  }
  return x;
}

/// A tensor over the memory of a producer, which it keeps; `queue` (None: nothing to wait for) is
/// what the producer has put its work into.
py::object import_cuda(const py::object& producer, uintptr_t address, const py::object& dtype,
                       const py::object& shape, const py::object& strides, bool read_only,
                       std::optional<uintptr_t> queue) {
  Tensor x = described(dtype, shape, strides);
  const auto wrapped = [](Tensor&& made) {
    return py::reinterpret_steal<py::object>(wrap(std::move(made)));
  };
  auto* first = reinterpret_cast<char*>(address);
  Device device{ep::cuda_type(), 0};
  if (x.size() == 0) return wrapped(empty(issuer(), device, x.dtype, x.shape));
  device.index = static_cast<int16_t>(std::max(ep::backend_of(device.type).owner(first), 0));
  const MemoryRange range = range_of(x, device, first, kInterface);
  require_memory_of(device, range, kInterface);
  x.offset = range.offset;
  ep::Device& backend = compute_of(device).device();
  ep::EventLease ready;
  if (queue) {
    ready = backend.events().lease();
    backend.interop()->record(*queue, *ready);
  }
  x.storage =
      take_over(issuer(), device, range.begin, range.bytes,
                keep_object(py::object(producer).release().ptr()), !read_only, std::move(ready));
  return wrapped(std::move(x));
}

}  // namespace

void bind_device_arrays(py::module_& m) {
  m.def("device_queue", &queue_of);
  m.def("export_cuda", &export_cuda);
  m.def("import_cuda", &import_cuda);
  py::class_<CurrentDevice>(m, "CurrentDevice", initialised<CurrentDevice>())
      .def(py::init<Device>(), py::arg("device"))
      .def("__enter__", &CurrentDevice::enter)
      .def("__exit__", [](CurrentDevice& self, const py::args&) { self.exit(); });
}

}  // namespace ofl::python
