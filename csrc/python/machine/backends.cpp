// The list of the backends that are built in, and the way in for others.
#include <pybind11/pybind11.h>

#include "ep/cpu/cpu_device.h"
#include "ep/cuda/cuda_device.h"
#include "ep/mock/mock_device.h"
#include "ops/cuda/background.h"
#include "python/arguments.h"
#include "python/bind.h"
#include "python/initialised.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

constexpr const char* kCapsuleName = "oneflow_lite.backend";

/// The rows, each by its name, for as long as the process.
PyObject* rows() {
  static PyObject* const known = checked(PyDict_New());
  return known;
}

void enter(const ep::Backend& given) {
  const ep::Backend& row = ep::backend_of(ep::register_backend(given));
  const py::object view = py::cast(&row, py::return_value_policy::reference);
  if (PyDict_SetItemString(rows(), row.name, view.ptr()) < 0) throw PythonErrorSet{};
}

/// In this order devices are listed; the host is the first.
void enter_built_in() {
  enter(ep::cpu_backend());
  enter(ep::mock_backend());
  ep::Backend cuda = ep::cuda_backend();
  cuda.leave = ops::cuda::stop_background;
  enter(cuda);
}

/// Of a capsule of this name over an ep::Backend; what it points to stays for good.
void register_backend(const py::capsule& capsule) {
  const void* const row = PyCapsule_GetPointer(capsule.ptr(), kCapsuleName);
  if (!row) throw PythonErrorSet{};
  enter(*static_cast<const ep::Backend*>(row));
}

PyObject* device_types(Arguments) { return checked(PyDictProxy_New(rows())); }

}  // namespace

void bind_backends(py::module_& m) {
  py::class_<ep::Backend>(m, "Backend", "What is known of a type of devices.",
                          initialised<ep::Backend>())
      .def_property_readonly("count", [](const ep::Backend& row) { return row.count(); })
      .def_readonly("has_interop", &ep::Backend::has_interop)
      .def_readonly("runs_host_kernels", &ep::Backend::runs_host_kernels);
  static PyMethodDef functions[] = {positional<device_types, 0>("device_types"),
                                    {nullptr, nullptr, 0, nullptr}};
  if (PyModule_AddFunctions(m.ptr(), functions) < 0) throw PythonErrorSet{};
  m.def("register_backend", &register_backend);
  enter_built_in();
}

}  // namespace ofl::python
