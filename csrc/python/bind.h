// The parts of the module, by file. Those that need no classes of pybind11 take the module as
// Python does: its headers cost more time to compile than any of these files.
#pragma once

#include "python/numpy_api.h"

namespace pybind11 {
class module_;
}

namespace ofl::python {

void init_tensor_functions(PyObject* module);  // tensor/functions.cpp
void init_dtypes(PyObject* module);            // dtypes.cpp
void init_views(PyObject* module);             // tensor/views.cpp
void init_indexing(PyObject* module);          // tensor/indexing.cpp
void init_array_functions(PyObject* module);   // ops/array_functions.cpp
void init_blas(PyObject* module);              // ops/blas.cpp
void init_dlpack(PyObject* module);            // interop/dlpack.cpp
void init_pinned_memory(PyObject* module);     // interop/pinned_memory.cpp
void init_fork(PyObject* module);              // machine/fork.cpp
void init_on_complete(PyObject* module);       // engine/on_complete.cpp
void init_completion(PyObject* module);        // engine/completion.cpp
void init_pushing(PyObject* module);           // engine/pushing.cpp
void init_kernels(PyObject* module);           // engine/kernels.cpp
void init_host_function(PyObject* module);     // machine/host_function.cpp
void init_vectors(PyObject* module);           // vectors.cpp
void init_graph_analyses(PyObject* module);    // graph/analyses.cpp
void init_donation(PyObject* module);          // graph/donation.cpp
void init_known_calls(PyObject* module);       // graph/known_calls.cpp
void init_watched(PyObject* module);           // graph/watched.cpp
void init_executable(PyObject* module);        // graph/executable.cpp

void bind_backends(pybind11::module_& module);           // machine/backends.cpp
void bind_device(pybind11::module_& module);             // machine/device_object.cpp
void bind_machine_functions(pybind11::module_& module);  // machine/functions.cpp
void bind_profiler(pybind11::module_& module);           // machine/profiler.cpp
void bind_recorder(pybind11::module_& module);           // graph/recorder.cpp
void bind_compile(pybind11::module_& module);            // graph/compile.cpp
void bind_cuda_functions(pybind11::module_& module);     // machine/cuda.cpp
void bind_mock_functions(pybind11::module_& module);     // machine/mock.cpp
void bind_device_arrays(pybind11::module_& module);      // interop/device_arrays.cpp
void bind_layouts(pybind11::module_& module);            // distributed/layouts.cpp
void bind_world(pybind11::module_& module);              // distributed/world.cpp
void bind_sums(pybind11::module_& module);               // distributed/sums.cpp

}  // namespace ofl::python
