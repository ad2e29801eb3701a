// What there is to know of CUDA without a tensor.
#include <pybind11/stl.h>

#include "ep/cuda/cublas.h"
#include "ep/cuda/cuda_device.h"
#include "ep/cuda/nccl.h"
#include "graph/running/captured.h"
#include "ops/cuda/background.h"
#include "ops/cuda/programs.h"
#include "ops/through_host.h"
#include "python/bind.h"
#include "python/errors.h"
#include "python/gil.h"

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

py::tuple dtype_names(const std::vector<DType>& dtypes) {
  py::tuple names(dtypes.size());
  for (size_t k = 0; k < dtypes.size(); ++k) names[k] = name_of(dtypes[k]);
  return names;
}

/// Calls `make(kind, op, dtypes, loop, scalars, flat, wide, options, args_bytes, arch)`, on any
/// thread.
std::string make_image(PyObject* make, const ops::cuda::KernelRequest& request,
                       const std::string& arch) {
  WithGil gil;
  try {
    const py::object image = py::handle(make)(
        request.kind, request.op, dtype_names(request.dtypes), dtype_names(request.loop),
        py::tuple(py::cast(request.scalars)), request.flat, request.wide,
        py::tuple(py::cast(request.options)), request.args_bytes, arch, request.entry());
    return image.is_none() ? std::string() : image.cast<std::string>();
  } catch (py::error_already_set& error) {
    error.restore();
    throw take_python_error("");
  }
}

/// Kept for as long as the process: workers may ask until the machine has stopped.
void set_kernel_maker(const py::function& make) {
  PyObject* const kept = make.inc_ref().ptr();
  ops::cuda::set_kernel_maker(
      [kept](const ops::cuda::KernelRequest& request, const std::string& arch) {
        return make_image(kept, request, arch);
      });
}

/// Calls `find()`, on any thread. Kept for as long as the process.
std::function<std::string()> finder(const py::function& find) {
  PyObject* const kept = find.inc_ref().ptr();
  return [kept] {
    WithGil gil;
    try {
      return py::handle(kept)().cast<std::string>();
    } catch (py::error_already_set& error) {
      error.restore();
      throw take_python_error("");
    }
  };
}

void set_cublas_finder(const py::function& find) { ep::cuda::set_cublas_finder(finder(find)); }
void set_nccl_finder(const py::function& find) { ep::cuda::set_nccl_finder(finder(find)); }

/// Calls `tell(text)`, on any thread; what it throws goes to sys.unraisablehook.
std::function<void(const char*)> teller(const py::function& tell) {
  PyObject* const kept = tell.inc_ref().ptr();
  return [kept](const char* text) {
    WithGil gil;
    const Reference result(PyObject_CallFunction(kept, "s", text));
    if (!result.get()) PyErr_WriteUnraisable(kept);
  };
}

void set_host_operation_hook(const py::function& tell) {
  ops::set_host_operation_hook(teller(tell));
}

void set_kernel_failure_hook(const py::function& tell) {
  ops::cuda::set_kernel_failure_hook(teller(tell));
}

void wait_for_kernels() {
  GilHooks hooks;
  void* const token = hooks.release();
  ops::cuda::wait_for_background();
  hooks.acquire(token);
}

}  // namespace

void bind_cuda_functions(py::module_& m) {
  m.def("cuda_problem", &ep::cuda_problem);
  m.def("cuda_device_properties", &device_properties);
  m.def("cuda_host_operations", &ops::host_operations);
  m.def("set_host_operation_hook", &set_host_operation_hook);
  m.def("set_kernel_maker", &set_kernel_maker);
  m.def("set_cublas_finder", &set_cublas_finder);
  m.def("set_nccl_finder", &set_nccl_finder);
  m.def("let_nccl_share_devices", &ep::cuda::let_nccl_share_devices);
  m.def("use_nccl", &ep::cuda::use_nccl);
  m.def("use_cublas", &ep::cuda::use_cublas);
  m.def("allow_tf32", &ep::cuda::allow_tf32);
  m.def("cublas_version", &ep::cuda::cublas_version);
  m.def("set_kernel_failure_hook", &set_kernel_failure_hook);
  m.def("wait_for_kernels", &wait_for_kernels);
  m.def("use_device_kernels", &ops::cuda::use_kernels);
  m.def("use_device_graphs", &graph::use_device_graphs);
}

}  // namespace ofl::python
