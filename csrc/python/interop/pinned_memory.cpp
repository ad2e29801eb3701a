// Tensors of the cpu in pinned memory: copies to and from cuda devices use it as it is.
#include "ep/cuda/cuda_device.h"
#include "python/bind.h"
#include "python/convert.h"
#include "python/runtime.h"
#include "python/tensor/object.h"
#include "tensor/sharing.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

/// The device whose driver pins memory: the thread's default, one that is in use, or the first.
Device pinning_device() {
  if (device_count(DeviceType::cuda) == 0) {
    const std::string problem = ep::cuda_problem();
    fail(ErrorKind::runtime, "[pin_memory] there is no CUDA device to pin memory for",
         problem.empty() ? "" : ": ", problem);
  }
  if (default_device().type == DeviceType::cuda) return default_device();
  for (const ep::Device* known : known_devices()) {
    if (known->id().type == DeviceType::cuda) return known->id();
  }
  return {DeviceType::cuda, 0};
}

py::object empty_pinned_of(const py::object& shape, const py::object& dtype) {
  const Dims dims = parse_dims(shape.ptr(), "empty");
  for (int64_t dim : dims) {
    if (dim < 0) fail(ErrorKind::value, "[empty] negative dimension in shape ", shape_str(dims));
  }
  Tensor x = empty_pinned(issuer(), pinning_device(), parse_dtype(dtype.ptr(), "empty"), dims);
  return py::reinterpret_steal<py::object>(wrap(std::move(x)));
}

bool is_pinned(const py::object& object) {
  return require_tensor(object.ptr(), "is_pinned").storage->is_pinned();
}

}  // namespace

void bind_pinned_memory(py::module_& m) {
  m.def("empty_pinned", &empty_pinned_of);
  m.def("is_pinned", &is_pinned);
}

}  // namespace ofl::python
