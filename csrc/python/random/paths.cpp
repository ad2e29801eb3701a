// The native paths of random/generator.py and random/random_state.py. Few numbers of a Generator
// are drawn here, by NumPy's functions on its generator's bits, under the bit generator's own lock;
// many by threads of ours (many.h); all else, and all numbers of a RandomState, by NumPy's method
// of the same name. A thread that records draws nothing here: numbers would be the same in each
// run.
#include <algorithm>
#include <cstring>

#include "python/convert.h"
#include "python/native/function.h"
#include "python/native/lists.h"
#include "python/random/distributions.h"
#include "python/random/many.h"
#include "python/runtime.h"
#include "python/sequences.h"
#include "python/tensor/basic_key.h"
#include "python/tensor/functions.h"
#include "tensor/index/elements.h"

namespace ofl::python {

namespace {

/// From here on it pays to read the state of the bits, and to write it.
constexpr int64_t kManyIntegers = 16384;
int64_t many_of(ops::Numbers kind) { return kind == ops::Numbers::uniform ? kManyIntegers : 4096; }

// --- results

/// The shape of `size`, None for one number; nullopt for what NumPy has to read, or refuse.
std::optional<Dims> known_size(PyObject* size) {
  constexpr int64_t kMost = int64_t{1} << 40;
  Dims shape;
  if (size != Py_None && !read_shape(size, &shape)) return std::nullopt;
  int64_t count = 1;
  for (const int64_t dim : shape) {
    if (dim > 0 && count > kMost / dim) return std::nullopt;
    count *= dim;
  }
  return shape;
}

/// The same where so few numbers are drawn here.
std::optional<Dims> few(PyObject* size) {
  const std::optional<Dims> shape = known_size(size);
  return shape && element_count(*shape) <= kMostDrawn ? shape : std::nullopt;
}

PyObject* tensor_of_numbers(const void* numbers, DType dtype, const Dims& shape, Device device) {
  if (shape.size() == 0 && device == Device{} && runtime().machine.may_act_at_once()) {
    TensorObject* object = new_element_object(dtype);
    copy_element(numbers, size_of(dtype), object->tensor.storage->data());
    return reinterpret_cast<PyObject*>(object);
  }
  return wrap(from_host(issuer(), numbers, dtype, shape, device));
}

/// A tensor on the host whose elements draw(memory) writes, on its way to the device.
template <typename Draw>
PyObject* tensor_drawn(DType dtype, const Dims& shape, Device device, const Draw& draw) {
  vm::VirtualMachine& machine = runtime().machine;
  Tensor drawn = make_tensor(machine.state(Device{}), dtype, shape, issuer().site);
  drawn.storage->materialize_waiting(machine, "room in memory");
  draw(drawn.storage->data());
  return wrap(device == Device{} ? std::move(drawn) : to_device(issuer(), drawn, device, false));
}

/// The arguments of a method that draws.
struct Request {
  const Found* found;
  double parameters[3];
  DType dtype;
  Dims shape;
  Device device;
};

/// Of draw(self, the distribution's parameters, size, dtype, device); nullopt for what NumPy has to
/// read.
std::optional<Request> request_of(const Call& call) {
  const Found* const found = find_distribution(call.name);
  const Arguments args = call.values + 1;
  const int count = call.count - 4;
  if (!found || count != found->row->parameters) return std::nullopt;
  const std::optional<Dims> shape = known_size(args[count]);
  const std::optional<Device> device = shape ? known_device(args[count + 2]) : std::nullopt;
  if (!device) return std::nullopt;
  Request request{found, {}, found->row->dtype, *shape, *device};
  if (!read_parameters(*found, args, request.parameters)) return std::nullopt;
  if (args[count + 1] != Py_None) {
    const std::optional<DType> given = known_dtype(args[count + 1]);
    const bool is_single = given == DType::f32 && found->fill_single && args[count] != Py_None;
    if (given != request.dtype && !is_single) return std::nullopt;
    request.dtype = *given;
  }
  return request;
}

/// Null for what NumPy's method draws.
PyObject* drawn_here(const Call& call) {
  const std::optional<Request> request = request_of(call);
  if (!request) return nullptr;
  const Source source(call[0]);
  const auto& [found, parameters, dtype, shape, device] = *request;
  const int64_t count = element_count(shape);
  if (count <= kMostDrawn) {
    Drawn numbers;
    {
      const Holding holding(source.bits().lock);
      draw_some(*found, source.bits().generator, parameters, dtype, count, &numbers);
    }
    return tensor_of_numbers(&numbers, dtype, shape, device);
  }
  const auto kind = found->row->many;
  if (!kind || count < many_of(*kind) || !draws_many(source, *found, dtype)) return nullptr;
  const double* const p = parameters;
  return tensor_drawn(dtype, shape, device, [&, found = found, dtype = dtype](void* out) {
    draw_many(source, *found, p, dtype, count, out);
  });
}

PyArrayObject* as_array(const Reference& object) {
  return reinterpret_cast<PyArrayObject*>(object.get());
}

/// Draws by the method of that name of the generator's NumPy generator.
PyObject* draw_numbers(PyObject* generator, PyObject* name, Arguments args, Py_ssize_t count) {
  const Source source(generator);
  const Reference method(checked(PyObject_GetAttr(source.numpys(), name)));
  return checked(PyObject_Vectorcall(method.get(), args, count, nullptr));
}

/// Whether to convert the items of a sequence runs Python code.
bool runs_code(PyObject* argument) {
  const Reference held(held_data(argument, "random"));
  return held.get() != argument;
}

/// Draws by NumPy's method with these arguments; null where one is a tensor, or runs code when it
/// is read.
PyObject* drawn_by_numpy(const Call& call, Arguments args, Py_ssize_t count) {
  if (std::any_of(args, args + count, [&](PyObject* x) { return is_tensor(x) || runs_code(x); })) {
    return nullptr;
  }
  const Reference numbers(draw_numbers(call[0], call.name, args, count));
  if (PyArray_CheckExact(numbers.get())) {
    return wrap(from_array(as_array(numbers), default_device()));
  }
  Scalar number;
  for (DType dtype : {DType::f64, DType::i64}) {
    const bool is_python =
        dtype == DType::f64 ? PyFloat_CheckExact(numbers.get()) : PyLong_CheckExact(numbers.get());
    if (!is_python || !store_number(numbers.get(), dtype, &number)) continue;
    return tensor_of_numbers(number.bytes, dtype, Dims{}, default_device());
  }
  return wrap(from_any(numbers.get(), default_device()));
}

/// Of (..., dtype, device): whether both are left out, and no program is recorded.
bool is_plain_draw(const Call& call) {
  return call[call.count - 2] == Py_None && call[call.count - 1] == Py_None && !is_recording();
}

/// draw(self, the distribution's parameters, size, dtype, device) of a RandomState
PyObject* legacy_draw_path(const Call& call) {
  return is_plain_draw(call) ? drawn_by_numpy(call, call.values + 1, call.count - 3) : nullptr;
}

/// rand(self, *dims, dtype, device)
PyObject* legacy_dims_path(const Call& call) {
  return is_plain_draw(call) ? drawn_by_numpy(call, call.rest, call.rest_count) : nullptr;
}

/// The same of a Generator.
PyObject* draw_path(const Call& call) {
  if (is_recording()) return nullptr;
  PyObject* const drawn = drawn_here(call);
  return drawn ? drawn : legacy_draw_path(call);
}

// --- integers

/// Draws few integers from [low, high]; false where NumPy has no such function.
bool draw_integers(PyObject* generator, int64_t low, int64_t high, int64_t count, Drawn* out) {
  static FillIntegers fill = nullptr;  // the GIL guards it
  if (!fill) fill = reinterpret_cast<FillIntegers>(numpy_function("random_bounded_uint64_fill"));
  if (!fill) return false;
  const uint64_t width = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const Source source(generator);
  const Holding holding(source.bits().lock);
  fill(source.bits().generator, static_cast<uint64_t>(low), width, count, false,
       reinterpret_cast<uint64_t*>(out->integers));
  return true;
}

struct Bounds {
  int64_t low, high;  // which may occur
};

bool are_within(const Bounds& bounds, DType dtype) {
  switch (dtype) {
    case DType::i64: return true;
    case DType::u64: return bounds.low >= 0;
    case DType::i32: return bounds.low >= INT32_MIN && bounds.high <= INT32_MAX;
    case DType::u32: return bounds.low >= 0 && bounds.high <= UINT32_MAX;
    default: return false;
  }
}

/// Of integers(self, low, high, size, dtype, endpoint, device); nullopt for what NumPy has to read,
/// or refuse.
std::optional<Bounds> bounds_of(const Call& call) {
  const bool from_zero = call[2] == Py_None;
  const auto low = from_zero ? std::optional<int64_t>(0) : known_integer(call[1]);
  const auto end = known_integer(call[from_zero ? 1 : 2]);
  if (!low || !end || !is_flag(call[5])) return std::nullopt;
  const bool has_end = call[5] == Py_True;
  if (has_end ? *end < *low : *end <= *low) return std::nullopt;
  return Bounds{*low, has_end ? *end : *end - 1};
}

/// integers(self, low, high, size, dtype, endpoint, device)
PyObject* integers_path(const Call& call) {
  if (is_recording()) return nullptr;
  const std::optional<Bounds> bounds = bounds_of(call);
  const std::optional<DType> dtype = known_dtype(call[4]);
  if (!bounds || !dtype || !are_within(*bounds, *dtype)) return nullptr;
  const std::optional<Dims> shape = known_size(call[3]);
  const std::optional<Device> device = shape ? known_device(call[6]) : std::nullopt;
  if (!device) return nullptr;
  const int64_t count = element_count(*shape);
  if (count <= kMostDrawn && dtype == DType::i64) {
    Drawn numbers;
    if (!draw_integers(call[0], bounds->low, bounds->high, count, &numbers)) return nullptr;
    return tensor_of_numbers(&numbers, DType::i64, *shape, *device);
  }
  const Source source(call[0]);
  if (count < kManyIntegers || !draws_many_integers(source)) return nullptr;
  const auto low = static_cast<uint64_t>(bounds->low);
  const uint64_t range = static_cast<uint64_t>(bounds->high) - low;
  return tensor_drawn(*dtype, *shape, *device, [&](void* out) {
    draw_many_integers(source, *dtype, low, range, count, out);
  });
}

/// randint(self, low, high, size, dtype, device)
PyObject* legacy_integers_path(const Call& call) {
  return call[5] == Py_None && !is_recording() ? drawn_by_numpy(call, call.values + 1, 4) : nullptr;
}

/// The elements of a tensor of one dimension at places that were drawn.
PyObject* chosen(const Tensor& x, const Drawn& places, const Dims& shape) {
  if (shape.size() == 0) return copied_element(x, x.offset + places.integers[0] * x.strides[0]);
  const Reference indices(tensor_of_numbers(&places, DType::i64, shape, x.device()));
  return take_along(x, indices.get(), 0, ops::OutOfRange::raise, "take");
}

/// choice(self, a, size, replace, p, axis, shuffle, device)
PyObject* choice_path(const Call& call) {
  if (is_recording()) return nullptr;
  const bool plain = call[3] == Py_True && call[4] == Py_None && is_flag(call[6]);
  const std::optional<Dims> shape =
      plain && known_integer(call[5]) == 0 ? few(call[2]) : std::nullopt;
  const std::optional<Device> device = shape ? known_device(call[7]) : std::nullopt;
  if (!device) return nullptr;
  const std::optional<int64_t> below = known_integer(call[1]);
  const bool is_list = PyList_CheckExact(call[1]) || PyTuple_CheckExact(call[1]);
  const Reference made(is_list ? tensor_of_lists(call[1], std::nullopt, *device) : nullptr);
  const Tensor* x = made.get() ? &tensor_of(made.get()) : tensor_or_null(call[1]);
  if (x && (x->ndim() != 1 || (!made.get() && call[7] != Py_None))) return nullptr;
  const int64_t many = x ? x->size() : below.value_or(0);
  Drawn places;
  if (many < 1 || !draw_integers(call[0], 0, many - 1, element_count(*shape), &places)) {
    return nullptr;
  }
  return x ? chosen(*x, places, *shape) : tensor_of_numbers(&places, DType::i64, *shape, *device);
}

/// choice(self, a, size, replace, p, device)
PyObject* legacy_choice_path(const Call& call) {
  if (known_integer(call[1])) return legacy_integers_path(call);
  const Arguments how = call.values + 2;
  const auto is_read_there = [](PyObject* x) { return is_tensor(x) || runs_code(x); };
  if (call[5] != Py_None || is_recording() || std::any_of(how, how + 3, is_read_there)) {
    return nullptr;
  }
  const bool is_list = PyList_CheckExact(call[1]) || PyTuple_CheckExact(call[1]);
  const Reference made(is_list ? tensor_of_lists(call[1], std::nullopt, default_device())
                               : nullptr);
  const Tensor* x = made.get() ? &tensor_of(made.get()) : tensor_or_null(call[1]);
  if (!x || x->ndim() != 1) return nullptr;
  const Reference many(checked(PyLong_FromLongLong(x->size())));
  PyObject* const given[4] = {many.get(), how[0], how[1], how[2]};
  const Reference places(draw_numbers(call[0], call.name, given, 4));
  if (const std::optional<int64_t> one = known_integer(places.get())) {
    return copied_element(*x, x->offset + *one * x->strides[0]);
  }
  const Reference indices(wrap(from_array(as_array(places), x->device())));
  return take_along(*x, indices.get(), 0, ops::OutOfRange::raise, "take");
}

// --- orders

constexpr int64_t kFewBytes = 1 << 20;  // a copy takes some percent of the shuffle

/// A copy of a tensor that is small and settled, and has this axis; else null.
PyObject* copy_of_few(const Tensor* x, PyObject* axis) {
  const bool here =
      x && known_axis(axis, x->ndim()) && readable_here(runtime().machine, *x, kFewBytes);
  return here ? array_of(*x) : nullptr;
}

/// The axis that all have but 0-d ones.
PyObject* first_axis() {
  static PyObject* const first = checked(PyLong_FromLong(0));
  return first;
}

/// NumPy's method takes `count` arguments: x, and the axis.
PyObject* permutation_along(const Call& call, PyObject* axis, PyObject* device, int count) {
  static PyObject* const name = method_name("permutation");
  if (is_recording() || device != Py_None) return nullptr;
  const Tensor* const x = tensor_or_null(call[1]);
  const Reference copy(copy_of_few(x, axis));
  if (!copy.get() && !known_integer(call[1])) return nullptr;
  PyObject* const given[2] = {copy.get() ? copy.get() : call[1], axis};
  const Reference order(draw_numbers(call[0], name, given, count));
  return wrap(from_array(as_array(order), x ? x->device() : default_device()));
}

/// permutation(self, x, axis, device)
PyObject* permutation_path(const Call& call) {
  return permutation_along(call, call[2], call[3], 2);
}

/// permutation(self, x, device)
PyObject* legacy_permutation_path(const Call& call) {
  return permutation_along(call, first_axis(), call[2], 1);
}

/// permuted(self, x, axis, device)
PyObject* permuted_path(const Call& call) {
  static PyObject* const name = method_name("permuted");
  static PyObject* const names = checked(Py_BuildValue("(s)", "axis"));
  if (is_recording() || call[3] != Py_None) return nullptr;
  const Tensor* const x = tensor_or_null(call[1]);
  const Reference copy(copy_of_few(x, call[2] == Py_None ? first_axis() : call[2]));
  if (!copy.get()) return nullptr;
  const Source source(call[0]);
  const Reference method(checked(PyObject_GetAttr(source.numpys(), name)));
  PyObject* const given[2] = {copy.get(), call[2]};
  const Reference order(checked(PyObject_Vectorcall(method.get(), given, 1, names)));
  return wrap(from_array(as_array(order), x->device()));
}

/// NumPy's method takes `count` arguments: x, and the axis.
PyObject* shuffle_along(const Call& call, PyObject* axis, int count) {
  static PyObject* const name = method_name("shuffle");
  if (is_recording()) return nullptr;
  const Tensor* const x = tensor_or_null(call[1]);
  const Reference copy(copy_of_few(x, axis));
  if (!copy.get() || !x->storage->writable() || x->size() == 0) return nullptr;
  PyObject* const given[2] = {copy.get(), axis};
  Py_DECREF(draw_numbers(call[0], name, given, count));
  if (readable_here(runtime().machine, *x, kFewBytes)) {
    const auto bytes = static_cast<size_t>(x->size()) * size_of(x->dtype);
    std::memcpy(x->address(), PyArray_DATA(as_array(copy)), bytes);
    Py_RETURN_NONE;
  }
  assign(issuer(), *x, from_array(as_array(copy), x->device()), "shuffle");
  Py_RETURN_NONE;
}

/// shuffle(self, x, axis)
PyObject* shuffle_path(const Call& call) { return shuffle_along(call, call[2], 2); }

/// shuffle(self, x)
PyObject* legacy_shuffle_path(const Call& call) { return shuffle_along(call, first_axis(), 1); }

}  // namespace

const NativeRow kRandomPaths[] = {{"draw", draw_path},
                                  {"integers", integers_path},
                                  {"choice", choice_path},
                                  {"permutation", permutation_path},
                                  {"shuffle", shuffle_path},
                                  {"permuted", permuted_path},
                                  {"legacy_draw", legacy_draw_path},
                                  {"legacy_integers", legacy_integers_path},
                                  {"legacy_dims", legacy_dims_path},
                                  {"legacy_choice", legacy_choice_path},
                                  {"legacy_permutation", legacy_permutation_path},
                                  {"legacy_shuffle", legacy_shuffle_path},
                                  {nullptr, nullptr}};

}  // namespace ofl::python
