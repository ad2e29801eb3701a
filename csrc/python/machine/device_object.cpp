#include "python/machine/device_object.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "base/error.h"
#include "distributed/world/member.h"
#include "ep/registry.h"
#include "python/bind.h"
#include "python/initialised.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

std::optional<int> parse_index(const std::string& digits) {
  if (digits.empty() || digits.size() > 4) return std::nullopt;
  for (char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
  }
  return std::atoi(digits.c_str());
}

bool equals(const Device& device, const py::object& other) {
  if (py::isinstance<Device>(other)) return device == other.cast<Device>();
  if (!py::isinstance<py::str>(other)) return false;
  const char* const name = PyUnicode_AsUTF8(other.ptr());
  if (!name) {
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) throw py::error_already_set();
    PyErr_Clear();
    return false;
  }
  try {
    return device == parse_device(name);
  } catch (const Error&) {
    return false;  // no device's name
  }
}

std::string valid_forms() {
  std::string forms;
  const ep::BackendRange rows = ep::backends();
  for (const ep::Backend& row : rows) {
    if (&row != rows.begin()) forms += &row + 1 == rows.end() ? " or " : ", ";
    forms += concat("\"", row.name, row.type == DeviceType::cpu ? "\"" : ":N\"");
  }
  return forms;
}

/// Device(spec, index): of a device or its name, or of a type and an index.
Device made_of(const py::object& spec, const py::object& index) {
  if (py::isinstance<Device>(spec) && index.is_none()) return spec.cast<Device>();
  if (!py::isinstance<py::str>(spec)) {
    fail(ErrorKind::type, "[device] expected ", index.is_none() ? "a string or a device" : "a type",
         ", got ", Py_TYPE(spec.ptr())->tp_name);
  }
  const char* const characters = PyUnicode_AsUTF8(spec.ptr());
  if (!characters) throw py::error_already_set();
  const std::string text = characters;
  if (index.is_none()) return parse_device(text);
  if (!PyIndex_Check(index.ptr())) {
    fail(ErrorKind::type, "[device] expected an integer as index, got ",
         Py_TYPE(index.ptr())->tp_name);
  }
  const auto number = py::reinterpret_steal<py::object>(checked(PyNumber_Index(index.ptr())));
  return parse_device(text + ":" + std::string(py::str(number)));
}

/// (spec, index=None), as inspect.signature() has it.
py::object signature_of_device() {
  const py::module_ inspect = py::module_::import("inspect");
  const py::object parameter = inspect.attr("Parameter");
  const py::object kind = parameter.attr("POSITIONAL_OR_KEYWORD");
  py::list parameters;
  parameters.append(parameter("spec", kind));
  parameters.append(parameter("index", kind, py::arg("default") = py::none()));
  return inspect.attr("Signature")(parameters);
}

}  // namespace

Device parse_device(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string type = text.substr(0, colon);
  const std::optional<int> index =
      colon == std::string::npos ? std::optional<int>(0) : parse_index(text.substr(colon + 1));
  const ep::Backend* row = index ? ep::find_backend(type) : nullptr;
  if (!row || (row->type == DeviceType::cpu && *index != 0)) {
    fail(ErrorKind::value, "[device] no device \"", text, "\"; expected ", valid_forms());
  }
  if (colon == std::string::npos && row->type != DeviceType::cpu) {
    return distributed::Member::default_device(row->type, row->count);
  }
  return {row->type, static_cast<int16_t>(*index)};
}

std::optional<Device> device_or_none(PyObject* object) {
  static PyTypeObject* const type =
      reinterpret_cast<PyTypeObject*>(py::type::of<Device>().release().ptr());
  if (!PyObject_TypeCheck(object, type)) return std::nullopt;
  return py::handle(object).cast<Device>();
}

PyObject* device_object(Device device) {
  static std::map<std::pair<DeviceType, int16_t>, PyObject*> made;  // under the GIL, for good
  PyObject*& object = made[{device.type, device.index}];
  if (!object) object = py::cast(device).release().ptr();
  Py_INCREF(object);
  return object;
}

void bind_device(py::module_& module) {
  py::class_<Device> type(module, "Device",
                          "A device: type (such as ``cpu``) and index. Immutable; equals its "
                          "string.",
                          initialised<Device>());
  type.attr("__signature__") = signature_of_device();
  type.def(py::init(&made_of), py::arg("spec"), py::arg("index") = py::none())
      .def_property_readonly(
          "type", [](const Device& d) { return device_type_names[static_cast<int>(d.type)]; })
      .def_property_readonly("index", [](const Device& d) { return static_cast<int>(d.index); })
      .def("__str__", &Device::str)
      .def("__repr__", [](const Device& d) { return "device('" + d.str() + "')"; })
      .def("__eq__", &equals)
      .def("__ne__", [](const Device& d, const py::object& other) { return !equals(d, other); })
      .def("__hash__", [](const Device& d) { return py::hash(py::str(d.str())); })
      .def("__reduce__", [](const py::object& self) {
        return py::make_tuple(py::type::of(self), py::make_tuple(py::str(self)));
      });
}

}  // namespace ofl::python
