// Between tensors and nested lists of Python's numbers, without an array of NumPy's between them.
#include "python/native/lists.h"

#include <cstring>

#include "python/convert.h"
#include "python/native/function.h"
#include "python/runtime.h"

namespace ofl::python {

namespace {

bool is_sequence(PyObject* object) {
  return PyList_CheckExact(object) || PyTuple_CheckExact(object);
}

/// The lengths of nested sequences, by the first of each; null where they hold no element.
PyObject* first_element(PyObject* data, Dims* shape) {
  while (is_sequence(data)) {
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(data);
    if (count == 0 || shape->size() == kMaxDims) return nullptr;
    shape->push_back(count);
    data = PySequence_Fast_GET_ITEM(data, 0);
  }
  return data;
}

/// All of them have these lengths.
bool is_regular(PyObject* data, const Dims& shape, int axis) {
  if (!is_sequence(data) || PySequence_Fast_GET_SIZE(data) != shape[axis]) return false;
  for (int64_t i = 0; axis + 1 < shape.size() && i < shape[axis]; ++i) {
    if (!is_regular(PySequence_Fast_GET_ITEM(data, i), shape, axis + 1)) return false;
  }
  return true;
}

/// Copies what is in sequences to where `out` points, which moves on; false where it is something
/// else than `store(object, out)` takes.
template <typename Store>
bool copy_elements(PyObject* data, const Dims& shape, int axis, size_t size, const Store& store,
                   char** out) {
  PyObject* const* const items = PySequence_Fast_ITEMS(data);
  for (int64_t i = 0; i < shape[axis]; ++i) {
    if (axis + 1 < shape.size()) {
      if (!copy_elements(items[i], shape, axis + 1, size, store, out)) return false;
    } else {
      if (!store(items[i], *out)) return false;
      *out += size;
    }
  }
  return true;
}

bool store_float(PyObject* item, char* out) {
  if (!PyFloat_CheckExact(item)) return false;
  const double number = PyFloat_AS_DOUBLE(item);
  std::memcpy(out, &number, sizeof number);
  return true;
}

bool store_integer(PyObject* item, char* out) {
  const std::optional<int64_t> number = known_integer(item);
  if (number) std::memcpy(out, &*number, sizeof *number);
  return number.has_value();
}

bool store_bool(PyObject* item, char* out) {
  *out = item == Py_True;
  return PyBool_Check(item);
}

/// The dtype that NumPy gives elements of one kind; nullopt for others.
std::optional<DType> dtype_of_kind(PyObject* first) {
  if (PyFloat_CheckExact(first)) return DType::f64;
  if (PyBool_Check(first)) return DType::b1;
  return PyLong_CheckExact(first) ? std::optional<DType>(DType::i64) : std::nullopt;
}

bool copy_all(PyObject* data, const Dims& shape, DType own, DType dtype, char* out) {
  const auto copy = [&](const auto& store) {
    return copy_elements(data, shape, 0, size_of(dtype), store, &out);
  };
  if (dtype != own) {
    return copy([dtype](PyObject* item, char* to) {
      Scalar value;
      if (!store_number(item, dtype, &value)) return false;
      std::memcpy(to, value.bytes, size_of(dtype));
      return true;
    });
  }
  if (own == DType::f64) return copy(store_float);
  return own == DType::b1 ? copy(store_bool) : copy(store_integer);
}

PyObject* list_of(const Tensor& x, int axis, const char* from) {
  if (axis == x.ndim()) return checked(to_python(from, x.dtype));
  Reference list(checked(PyList_New(x.shape[axis])));
  for (int64_t i = 0; i < x.shape[axis]; ++i) {
    PyList_SET_ITEM(list.get(), i, list_of(x, axis + 1, from + i * x.strides[axis]));
  }
  return list.release();
}

/// x.tolist()
PyObject* tolist_method(const Call& call) {
  constexpr int64_t kManyBytes = 65536;
  const Tensor* x = tensor_or_null(call[0]);
  vm::VirtualMachine& machine = runtime().machine;
  if (!x || !readable_here(machine, *x, kManyBytes)) return nullptr;
  machine.note_look();
  return list_of(*x, 0, x->address());
}

}  // namespace

PyObject* tensor_of_lists(PyObject* data, std::optional<DType> dtype, Device device) {
  vm::VirtualMachine& machine = runtime().machine;
  Dims shape;
  PyObject* const first = first_element(data, &shape);
  const std::optional<DType> own = first ? dtype_of_kind(first) : std::nullopt;
  if (!own || shape.size() == 0 || !is_regular(data, shape, 0)) return nullptr;
  vm::DeviceState& state = machine.state(device);
  if (!state.device.is_host() || machine.is_recorded()) return nullptr;
  const DType target = dtype.value_or(*own);
  Tensor made;
  if (!full_here(machine, device, target, shape, nullptr, &made)) {
    // The site takes a new object of Python, which may start the garbage collector; what it
    // finalizes may change the lists. From here on no code of Python runs.
    const vm::SiteId site = issuer().site;
    if (!is_regular(data, shape, 0)) return nullptr;
    if (!make_tensor_now(state, target, shape, site, &made)) return nullptr;
  }
  return copy_all(data, shape, *own, target, made.address()) ? wrap(std::move(made)) : nullptr;
}

const NativeRow kListPaths[] = {{"tolist", tolist_method}, {nullptr, nullptr}};

}  // namespace ofl::python
