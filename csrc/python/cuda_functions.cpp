// What there is to know of CUDA without a tensor.
#include <pybind11/stl.h>

#include "ep/cuda/cuda_device.h"
#include "ops/through_host.h"
#include "python/bind.h"

namespace ofl::python {

namespace py = pybind11;

namespace {

py::dict device_properties(int index) {
  const ep::CudaProperties found = ep::cuda_properties(index);
  py::dict properties;
  properties["name"] = found.name;
  properties["compute_capability"] = py::make_tuple(found.major, found.minor);
  properties["total_memory"] = found.total_memory;
  properties["multiprocessor_count"] = found.multiprocessors;
  properties["max_threads_per_multiprocessor"] = found.threads_per_multiprocessor;
  properties["l2_cache_size"] = found.l2_cache_bytes;
  properties["memory_bus_width"] = found.memory_bus_bits;
  properties["memory_clock_rate"] = found.memory_clock_khz;
  properties["clock_rate"] = found.clock_khz;
  return properties;
}

}  // namespace

void bind_cuda_functions(py::module_& m) {
  m.def("cuda_problem", &ep::cuda_problem);
  m.def("cuda_device_properties", &device_properties);
  m.def("cuda_host_operations", &ops::host_operations);
}

}  // namespace ofl::python
