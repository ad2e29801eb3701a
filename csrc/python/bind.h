// The parts of the module, by file.
#pragma once

#include <pybind11/pybind11.h>

#include "python/numpy_api.h"

namespace ofl::python {

void bind_tensor_functions(pybind11::module_& module);   // tensor_functions.cpp
void bind_array_functions(pybind11::module_& module);    // array_functions.cpp
void bind_indexing(pybind11::module_& module);           // indexing.cpp
void bind_machine_functions(pybind11::module_& module);  // machine_functions.cpp
void bind_fork(pybind11::module_& module);               // fork.cpp
void bind_host_function(pybind11::module_& module);      // host_function.cpp
void bind_dlpack(pybind11::module_& module);             // dlpack.cpp
void bind_cuda_array(pybind11::module_& module);         // cuda_array.cpp
void bind_pinned_memory(pybind11::module_& module);      // pinned_memory.cpp
void bind_profiler(pybind11::module_& module);           // profiler_functions.cpp
void bind_vectors(pybind11::module_& module);            // vectors.cpp
void bind_blas(pybind11::module_& module);               // blas.cpp
void bind_cuda_functions(pybind11::module_& module);     // cuda_functions.cpp

}  // namespace ofl::python
