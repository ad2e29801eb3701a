// Functions of ops/creation/ranges.py.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "python/convert.h"
#include "python/machine/device_object.h"
#include "python/native/signature.h"
#include "python/runtime.h"
#include "python/sequences.h"
#include "python/tensor/functions.h"
#include "python/tensor/unknown_extents.h"

namespace ofl::python {

namespace {

constexpr int64_t kSmallRange = 1024;  // longer ones are left to NumPy

/// A new tensor of the host, with its memory, for this thread to write to; false where there is
/// none at once, or calls are recorded.
bool make_here(Device device, DType dtype, int64_t count, Tensor* out) {
  vm::VirtualMachine& machine = runtime().machine;
  if (full_here(machine, device, dtype, {count}, nullptr, out)) return true;
  vm::DeviceState& state = machine.state(device);
  if (!state.device.is_host() || machine.is_recorded()) return false;
  return make_tensor_now(state, dtype, {count}, issuer().site, out);
}

/// The integers from `first` on, before `last`; null when they are too many or far.
PyObject* integer_range(int64_t first, int64_t last, int64_t step, Device device) {
  constexpr int64_t kFar = int64_t{1} << 60, kLong = 1 << 30;
  const auto is_far = [](int64_t x) { return x < -kFar || x > kFar; };
  if (step == 0 || is_far(first) || is_far(last) || is_far(step)) return nullptr;
  const int64_t span = step > 0 ? last - first : first - last;
  const int64_t stride = std::abs(step);
  const int64_t count = span > 0 ? (span - 1) / stride + 1 : 0;
  if (count > kLong) return nullptr;
  const auto write = [=](int64_t* values) {
    for (int64_t i = 0; i < count; ++i) values[i] = first + i * step;
  };
  Tensor made;
  if (make_here(device, DType::i64, count, &made)) {
    write(reinterpret_cast<int64_t*>(made.address()));
    return wrap(std::move(made));
  }
  if (count > kSmallRange) return nullptr;
  int64_t values[kSmallRange];
  write(values);
  return wrap(from_host(issuer(), values, DType::i64, {count}, device));
}

/// A float, or an integer that is one exactly.
std::optional<double> exact_double(PyObject* value) {
  constexpr int64_t kExact = int64_t{1} << 53;
  if (PyFloat_CheckExact(value)) return PyFloat_AS_DOUBLE(value);
  const std::optional<int64_t> number = known_integer(value);
  if (!number || *number < -kExact || *number > kExact) return std::nullopt;
  return static_cast<double>(*number);
}

/// How many numbers NumPy has in a range.
int64_t count_of(double span, double step) {
  const double count = span / step;
  if (count == 0 && span != 0) return std::signbit(count) ? 0 : 1;  // it was too small
  return std::max<int64_t>(static_cast<int64_t>(std::ceil(count)), 0);
}

/// NumPy's float64 range, by its loop; null when it is too long or has no length.
PyObject* float_range(double first, double last, double step, Device device) {
  constexpr double kLong = 1 << 30;
  if (!(std::abs((last - first) / step) < kLong)) return nullptr;
  const int64_t count = count_of(last - first, step);
  PyArray_FillFunc* const fill = PyDataType_GetArrFuncs(descr_of(DType::f64))->fill;
  Tensor made;
  if (fill && make_here(device, DType::f64, count, &made)) {
    auto* const values = reinterpret_cast<double*>(made.address());
    if (count > 0) values[0] = first;
    if (count > 1) values[1] = first + step;
    if (count > 2 && fill(values, count, nullptr) < 0) throw PythonErrorSet{};
    return wrap(std::move(made));
  }
  const Reference array(checked(PyArray_Arange(first, last, step, NPY_DOUBLE)));
  return wrap(from_array(reinterpret_cast<PyArrayObject*>(array.get()), device));
}

/// Of Python's integers and floats, as int64 and float64; null for all else.
PyObject* plain_range(PyObject* start, PyObject* stop, PyObject* step, std::optional<DType> dtype,
                      Device device) {
  const auto first = known_integer(start), last = known_integer(stop), stride = known_integer(step);
  if (first && last && stride) {
    const bool integers = dtype.value_or(DType::i64) == DType::i64;
    return integers ? integer_range(*first, *last, *stride, device) : nullptr;
  }
  if (dtype.value_or(DType::f64) != DType::f64) return nullptr;
  const auto begin = exact_double(start), end = exact_double(stop), by = exact_double(step);
  return begin && end && by ? float_range(*begin, *end, *by, device) : nullptr;
}

/// The same number as an object that NumPy counts with. NumPy would hand a tensor back to the
/// function that asked it, and does not know bfloat16.
PyObject* number_for_range(PyObject* given) {
  if (!is_tensor(given)) return held_data(given, "arange");
  const Tensor& x = tensor_of(given);
  const bool is_wide = x.dtype != DType::bf16;
  const Tensor wide = is_wide ? x : cast_copy(issuer(), x, DType::f32, "arange");
  return array_over(look_from_python(wide, "arange"), true);
}

PyObject* numpys_range(PyObject* start, PyObject* stop, PyObject* step, std::optional<DType> dtype,
                       Device device) {
  const Reference first(number_for_range(start)), last(number_for_range(stop));
  const Reference stride(number_for_range(step));
  PyArray_Descr* counted = nullptr;
  if (dtype) counted = descr_of(*dtype == DType::bf16 ? DType::f32 : *dtype);
  Reference values(checked(PyArray_ArangeObj(first.get(), last.get(), stride.get(), counted)));
  if (dtype) {
    PyArray_Descr* wanted = descr_of(*dtype);
    Py_INCREF(wanted);
    values = Reference(
        checked(PyArray_FromAny(values.get(), wanted, 0, 0, NPY_ARRAY_FORCECAST, nullptr)));
  }
  return wrap(from_array(reinterpret_cast<PyArrayObject*>(values.get()), device));
}

PyObject* arange(const Given& start, const Given& stop, const Given& step, const Given& dtype,
                 const Given& device) {
  static PyObject* const zero = checked(PyLong_FromLong(0));
  if (start == Py_None && stop == Py_None) {
    fail(ErrorKind::type, "[arange] expected start or stop, got neither");
  }
  std::optional<DType> wanted;
  if (dtype != Py_None) wanted = parse_dtype(dtype, "arange");
  Device home = device_or(device, default_device());
  for (PyObject* end : {step.object, stop.object, start.object}) {  // the first that is a tensor
    if (device == Py_None && is_tensor(end)) home = tensor_of(end).device();
  }
  PyObject* const first = start == Py_None ? zero : start;
  const bool has_one = stop == Py_None;
  PyObject* const from = has_one ? zero : first;
  PyObject* const to = has_one ? start.object : stop.object;
  if (PyObject* const plain = plain_range(from, to, step, wanted, home)) return plain;
  for (PyObject* number : {to, from, step.object}) {
    if (!stand_in_of(number)) continue;
    const Reference place(checked(device_object(home)));
    return checked(PyObject_CallMethod(number, "arange", "OOOOO", from, to, step.object,
                                       dtype.object, place.get()));
  }
  return numpys_range(first, stop, step, wanted, home);
}

/// linspace(start, stop, num, endpoint, dtype, device), of float64 on the host: NumPy's steps.
PyObject* linspace_path(const Call& call) {
  constexpr int64_t kLong = 1 << 30;
  const std::optional<double> first = exact_double(call[0]), last = exact_double(call[1]);
  const std::optional<int64_t> count = known_integer(call[2]);
  if (!first || !last || !count || !is_flag(call[3])) return nullptr;
  if (call[4] != Py_None && known_dtype(call[4]) != DType::f64) return nullptr;
  const bool has_end = call[3] == Py_True;
  const int64_t parts = *count - (has_end ? 1 : 0);
  const double span = *last - *first;
  const double step = parts == 0 ? span : span / static_cast<double>(parts);
  if (*count < 1 || *count > kLong || !std::isfinite(span)) return nullptr;
  if (parts > 0 && step == 0) return nullptr;  // NumPy divides first
  Tensor made;
  if (!make_here(device_or(call[5], default_device()), DType::f64, *count, &made)) return nullptr;
  auto* const values = reinterpret_cast<double*>(made.address());
  for (int64_t i = 0; i < *count; ++i) values[i] = static_cast<double>(i) * step + *first;
  if (has_end && *count > 1) values[*count - 1] = *last;
  return wrap(std::move(made));
}

}  // namespace

const NativeRow kRangePaths[] = {
    whole<arange>("arange"), {"linspace", linspace_path}, {nullptr, nullptr}};

}  // namespace ofl::python
