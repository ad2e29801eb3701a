// The extension module oneflow_lite._C.
#define OFL_IMPORT_NUMPY
#include "python/bind.h"

#include <pybind11/pybind11.h>

#include "python/distributed/global_object.h"
#include "python/errors.h"
#include "python/native/function.h"
#include "python/ops/registry.h"
#include "python/random/many.h"
#include "python/random/source.h"
#include "python/tensor/type.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

bool import_numpy() {
  if (PyArray_ImportNumPyAPI() < 0) return false;
  return PyUFunc_ImportUFuncAPI() >= 0;
}

void translate(std::exception_ptr pointer) {
  try {
    if (pointer) std::rethrow_exception(pointer);
  } catch (const PythonErrorSet&) {
    return;
  } catch (const Error& error) {
    set_python_error(error);
  }
}

}  // namespace

PYBIND11_MODULE(_C, m) {
  m.doc() = "The machine, the tensor and the call path of oneflow_lite.";
  if (!import_numpy()) throw py::error_already_set();
  py::register_exception_translator(&translate);
  bind_backends(m);
  bind_device(m);
  init_tensor_type(m.ptr());
  init_op_type(m.ptr());
  init_native_function(m.ptr());
  init_random(m.ptr());
  init_many_numbers(m.ptr());
  m.add_object("OutOfMemoryError", out_of_memory_type());
  m.add_object("TraceError", recording_error_type());
  init_dtypes(m.ptr());
  init_tensor_functions(m.ptr());
  init_views(m.ptr());
  init_array_functions(m.ptr());
  init_indexing(m.ptr());
  bind_machine_functions(m);
  init_fork(m.ptr());
  init_on_complete(m.ptr());
  init_completion(m.ptr());
  init_pushing(m.ptr());
  init_kernels(m.ptr());
  init_host_function(m.ptr());
  init_dlpack(m.ptr());
  bind_device_arrays(m);
  bind_layouts(m);
  init_global_type(m.ptr());
  bind_world(m);
  bind_sums(m);
  init_pinned_memory(m.ptr());
  bind_profiler(m);
  init_vectors(m.ptr());
  init_graph_analyses(m.ptr());
  init_donation(m.ptr());
  init_watched(m.ptr());
  init_known_calls(m.ptr());
  init_executable(m.ptr());
  bind_recorder(m);
  bind_compile(m);
  init_blas(m.ptr());
  bind_cuda_functions(m);
  bind_mock_functions(m);
}

}  // namespace ofl::python
