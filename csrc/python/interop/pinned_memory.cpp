// Tensors of the cpu in pinned memory: copies to and from cuda devices use it as it is.
#include "ep/cuda/cuda_device.h"
#include "python/arguments.h"
#include "python/bind.h"
#include "python/convert.h"
#include "python/runtime.h"
#include "python/tensor/object.h"
#include "tensor/sharing.h"

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

/// empty_pinned(shape, dtype)
PyObject* empty_pinned_of(Arguments given) {
  const Dims dims = parse_dims(given[0], "empty");
  for (int64_t dim : dims) {
    if (dim < 0) fail(ErrorKind::value, "[empty] negative dimension in shape ", shape_str(dims));
  }
  return wrap(empty_pinned(issuer(), pinning_device(), parse_dtype(given[1], "empty"), dims));
}

PyObject* is_pinned(Arguments given) {
  return PyBool_FromLong(require_tensor(given[0], "is_pinned").storage->is_pinned());
}

PyMethodDef functions[] = {positional<empty_pinned_of, 2>("empty_pinned"),
                           positional<is_pinned, 1>("is_pinned"),
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_pinned_memory(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
