#include "python/arguments.h"

#include "python/machine/device_object.h"
#include "python/runtime.h"

namespace ofl::python {

std::optional<Device> known_device(PyObject* object) {
  if (object == Py_None) return default_device();
  return device_or_none(object);
}

Device named_device(PyObject* object) {
  if (const std::optional<Device> known = device_or_none(object)) return *known;
  if (PyUnicode_Check(object)) return parse_device(utf8(object));
  const Reference cpu(device_object({}));
  auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(cpu.get()));
  const Reference made(checked(PyObject_CallOneArg(type, object)));
  return *device_or_none(made.get());
}

std::optional<int> known_axis(PyObject* object, int ndim) {
  const std::optional<int64_t> axis = known_integer(object);
  if (!axis || *axis < -ndim || *axis >= ndim) return std::nullopt;
  return static_cast<int>(*axis < 0 ? *axis + ndim : *axis);
}

bool read_shape(PyObject* object, Dims* shape) {
  const bool sequence = PyTuple_CheckExact(object) || PyList_CheckExact(object);
  const Py_ssize_t count = sequence ? PySequence_Fast_GET_SIZE(object) : 1;
  if (count > kMaxDims) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const auto size = known_integer(sequence ? PySequence_Fast_GET_ITEM(object, i) : object);
    if (!size || *size < 0) return false;
    shape->push_back(*size);
  }
  return true;
}

const char* name_argument(PyObject* object) { return intern(utf8(object)); }

}  // namespace ofl::python
