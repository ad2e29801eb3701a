// The instruction set of our own loops, as module functions.
#include "base/vectors.h"

#include <pybind11/stl.h>

#include "python/bind.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

py::dict loops_chosen() {
  py::dict chosen;
  for (const auto& [name, isa] : choices()) chosen[name.c_str()] = name_of(isa);
  return chosen;
}

/// By its place among CPU_ISAS.
void limit_cpu_isa(int isa) { limit_isa(static_cast<Isa>(isa)); }

}  // namespace

void bind_vectors(py::module_& m) {
  py::tuple names(kIsaCount);
  for (int i = 0; i < kIsaCount; ++i) names[i] = kIsaNames[i];
  m.attr("CPU_ISAS") = names;
  m.def("widest_cpu_isa", [] { return name_of(widest_isa()); });
  m.def("cpu_isa", [] { return name_of(isa_in_use()); });
  m.def("limit_cpu_isa", &limit_cpu_isa);
  m.def("loops_chosen", &loops_chosen);
  m.def("cpu_is_intel", &is_intel);
  m.def("cpu_features", &cpu_features);
}

}  // namespace ofl::python
