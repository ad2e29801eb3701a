// __cuda_array_interface__, version 3: memory of cuda devices to and from other libraries.
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>

#include "ep/cuda/cuda_context.h"
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

namespace py = pybind11;

namespace ofl::python {

namespace {

constexpr const char* kInterface = "__cuda_array_interface__";

vm::Stream& compute_of(Device device) {
  return runtime().machine.stream(device, vm::StreamType::compute);
}

uintptr_t queue_of(Device device) {
  vm::Stream& stream = compute_of(device);
  return stream.device().interop()->handle_of(stream.queue());
}

/// The compute queue of a cuda device, for producers that are to order themselves before it.
uintptr_t cuda_queue(int index) {
  return queue_of({DeviceType::cuda, static_cast<int16_t>(index)});
}

/// Makes a cuda device in use the current one of the calling thread, in a `with` block: producers
/// may ask for that.
class CurrentCuda {
 public:
  explicit CurrentCuda(int index) : index_(index) {}
  void enter() {
    ep::cuda::DeviceContext* context = ep::cuda::DeviceContext::find(index_);
    if (!context) fail(ErrorKind::runtime, "[cuda:", index_, "] the device is not in use");
    current_.emplace(*context);
  }
  void exit() { current_.reset(); }

 private:
  const int index_;
  std::optional<ep::cuda::Current> current_;
};

/// (address, read-only, queue): who uses the memory waits for the queue first.
py::tuple export_cuda(const py::object& object) {
  const Tensor& x = require_tensor(object.ptr(), kInterface);
  if (x.device().type != DeviceType::cuda) {
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
  Device device{DeviceType::cuda, 0};
  if (x.size() == 0) return wrapped(empty(issuer(), device, x.dtype, x.shape));
  device.index = static_cast<int16_t>(std::max(ep::cuda_owner(first), 0));
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

void bind_cuda_array(py::module_& m) {
  m.def("cuda_queue", &cuda_queue);
  m.def("export_cuda", &export_cuda);
  m.def("import_cuda", &import_cuda);
  py::class_<CurrentCuda>(m, "CurrentCuda", initialised<CurrentCuda>())
      .def(py::init<int>(), py::arg("index"))
      .def("__enter__", &CurrentCuda::enter)
      .def("__exit__", [](CurrentCuda& self, const py::args&) { self.exit(); });
}

}  // namespace ofl::python
