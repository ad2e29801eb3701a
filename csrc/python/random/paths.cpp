// The native paths of random/generator.py and random/random_state.py; those of orders are beside
// them. Few numbers of a Generator are drawn here, by NumPy's functions on its generator's bits,
// under the bit generator's own lock; many by threads of ours (many.h). So is what a RandomState
// draws from the bits alone. All else is drawn by NumPy's method of the same name. A thread that
// records draws nothing here: numbers would be the same in each run.
#include <algorithm>
#include <cstring>

#include "python/convert.h"
#include "python/native/function.h"
#include "python/native/lists.h"
#include "python/random/distributions.h"
#include "python/random/many.h"
#include "python/random/orders.h"
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
  machine.state(device);  // an error before anything is drawn for a device that is not there
  Tensor drawn = make_tensor(machine.state(Device{}), dtype, shape, issuer().site);
  drawn.storage->materialize_waiting(machine, "room in memory");
  draw(drawn.storage->data());
  return wrap(device == Device{} ? std::move(drawn) : to_device(issuer(), drawn, device, false));
}

/// A tensor whose elements draw(bits, memory) writes: few with the GIL.
template <typename Draw>
PyObject* drawn_from(PyObject* generator, DType dtype, const Dims& shape, Device device,
                     const Draw& draw) {
  const Source source(generator);
  const Bits& bits = source.bits();
  runtime().machine.state(device);
  if (element_count(shape) <= kMostDrawn) {
    Drawn numbers;
    {
      const Holding holding(bits.lock);
      draw(bits.generator, &numbers);
    }
    return tensor_of_numbers(&numbers, dtype, shape, device);
  }
  return tensor_drawn(dtype, shape, device, [&](void* out) {
    const Holding holding(bits.lock);
    const WithoutGil without;
    draw(bits.generator, out);
  });
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
    return drawn_from(call[0], dtype, shape, device,
                      [&, found = found, dtype = dtype, p = parameters](bitgen_t* bits, void* out) {
                        draw_some(*found, bits, p, dtype, count, out);
                      });
  }
  const auto kind = found->row->many;
  if (!kind || count < many_of(*kind) || !draws_many(source, *found, dtype)) return nullptr;
  const double* const p = parameters;
  return tensor_drawn(dtype, shape, device, [&, found = found, dtype = dtype](void* out) {
    draw_many(source, *found, p, dtype, count, out);
  });
}

bool is_plain_number(PyObject* argument) {
  return PyFloat_CheckExact(argument) || PyLong_CheckExact(argument);
}

/// Whether to convert the items of a sequence runs Python code.
bool runs_code(PyObject* argument) {
  const Reference held(held_data(argument, "random"));
  return held.get() != argument;
}

/// A tensor of the numbers that NumPy's method has drawn; of that shape where it is one.
PyObject* tensor_of_drawn(const Reference& numbers, const Dims& shape) {
  if (PyArray_CheckExact(numbers.get())) {
    return wrap(from_array(as_array(numbers), default_device()));
  }
  Scalar number;
  for (DType dtype : {DType::f64, DType::i64}) {
    const bool is_python =
        dtype == DType::f64 ? PyFloat_CheckExact(numbers.get()) : PyLong_CheckExact(numbers.get());
    if (!is_python || !store_number(numbers.get(), dtype, &number)) continue;
    return tensor_of_numbers(number.bytes, dtype, shape, default_device());
  }
  return wrap(from_any(numbers.get(), default_device()));
}

/// Draws by NumPy's method of that name with these arguments; null where one is a tensor, or runs
/// code when it is read.
PyObject* drawn_by_numpy(PyObject* generator, PyObject* name, Arguments args, Py_ssize_t count) {
  const auto is_read_here = [](PyObject* x) {
    return x != Py_None && !is_plain_number(x) && (is_tensor(x) || runs_code(x));
  };
  if (std::any_of(args, args + count, is_read_here)) return nullptr;
  return tensor_of_drawn(Reference(draw_numbers(generator, name, args, count)), Dims{});
}

/// The same where the last argument is the size. NumPy takes less time for a number than for an
/// array of one.
PyObject* sized_by_numpy(PyObject* generator, PyObject* name, Arguments args, Py_ssize_t count) {
  PyObject* const size = args[count - 1];
  if (size != Py_None && std::all_of(args, args + count - 1, is_plain_number)) {
    const std::optional<Dims> shape = known_size(size);
    if (shape && element_count(*shape) == 1) {
      return tensor_of_drawn(Reference(draw_numbers(generator, name, args, count - 1)), *shape);
    }
  }
  return drawn_by_numpy(generator, name, args, count);
}

/// Of (..., dtype, device): whether both are left out, and no program is recorded.
bool is_plain_draw(const Call& call) {
  return call[call.count - 2] == Py_None && call[call.count - 1] == Py_None && !is_recording();
}

/// Null for what NumPy's method draws.
PyObject* legacy_drawn_here(const Call& call, PyObject* name, Arguments args, int count,
                            const std::optional<Dims>& shape) {
  const Found* const found = shape ? find_legacy_distribution(name) : nullptr;
  double p[3];
  if (!found || count != found->row->parameters || !read_parameters(*found, args, p)) {
    return nullptr;
  }
  const DType dtype = found->row->dtype;
  return drawn_from(call[0], dtype, *shape, default_device(), [&](bitgen_t* bits, void* out) {
    draw_some(*found, bits, p, dtype, element_count(*shape), out);
  });
}

/// draw(self, the distribution's parameters, size, dtype, device) by NumPy's method
PyObject* plain_draw(const Call& call) {
  return is_plain_draw(call) ? sized_by_numpy(call[0], call.name, call.values + 1, call.count - 3)
                             : nullptr;
}

/// draw(self, the distribution's parameters, size, dtype, device) of a RandomState
PyObject* legacy_draw_path(const Call& call) {
  if (!is_plain_draw(call)) return nullptr;
  const Arguments args = call.values + 1;
  const int count = call.count - 4;
  PyObject* const drawn = legacy_drawn_here(call, call.name, args, count, known_size(args[count]));
  return drawn ? drawn : plain_draw(call);
}

/// vonmises(self, mu, kappa, size, dtype, device): for others, NumPy's method may not end.
PyObject* legacy_vonmises_path(const Call& call) {
  if (!is_plain_draw(call)) return nullptr;
  return legacy_drawn_here(call, call.name, call.values + 1, 2, known_size(call[3]));
}

/// zipf(self, a, size, dtype, device)
PyObject* legacy_zipf_path(const Call& call) {
  constexpr double kMost = 1024;  // NumPy's method ends
  if (!is_plain_draw(call) || !is_plain_number(call[1])) return nullptr;
  Scalar a;
  double number;
  if (!store_number(call[1], DType::f64, &a)) return nullptr;
  std::memcpy(&number, a.bytes, sizeof number);
  if (!(number <= kMost)) return nullptr;
  return sized_by_numpy(call[0], call.name, call.values + 1, 2);
}

/// rand(self, *dims, dtype, device), and randn
PyObject* legacy_dims_path(const Call& call) {
  static PyObject* const uniform = method_name("random_sample");
  static PyObject* const normal = method_name("standard_normal");
  if (!is_plain_draw(call)) return nullptr;
  const bool is_normal = PyUnicode_CompareWithASCIIString(call.name, "randn") == 0;
  if (call.rest_count == 0) {
    PyObject* const drawn =
        is_normal ? nullptr : legacy_drawn_here(call, uniform, call.rest, 0, Dims{});
    return drawn ? drawn : drawn_by_numpy(call[0], call.name, call.rest, 0);
  }
  const Reference size(checked(PyTuple_New(call.rest_count)));
  for (Py_ssize_t i = 0; i < call.rest_count; ++i) {
    PyTuple_SET_ITEM(size.get(), i, Py_NewRef(call.rest[i]));
  }
  PyObject* const given = size.get();
  PyObject* const drawn =
      is_normal ? nullptr : legacy_drawn_here(call, uniform, call.rest, 0, known_size(given));
  return drawn ? drawn : sized_by_numpy(call[0], is_normal ? normal : uniform, &given, 1);
}

/// The same of a Generator.
PyObject* draw_path(const Call& call) {
  if (is_recording()) return nullptr;
  PyObject* const drawn = drawn_here(call);
  return drawn ? drawn : plain_draw(call);
}

/// standard_exponential(self, size, dtype, method, device)
PyObject* standard_exponential_path(const Call& call) {
  PyObject* const method = call[3];
  const bool is_own =
      PyUnicode_Check(method) && PyUnicode_CompareWithASCIIString(method, "zig") == 0;
  if (!is_own) return nullptr;
  PyObject* const others[4] = {call[0], call[1], call[2], call[4]};
  Call draw = call;
  draw.values = others;
  draw.count = 4;
  return draw_path(draw);
}

// --- integers

struct Bounds {
  int64_t low, high;  // which may occur
};

/// Which numbers a generator draws for the same bits.
enum class Kind { generator, legacy };

/// NumPy's function that draws integers; null where it has none.
FillIntegers integer_filler() {
  static FillIntegers fill = nullptr;  // the GIL guards it
  if (!fill) fill = reinterpret_cast<FillIntegers>(numpy_function("random_bounded_uint64_fill"));
  return fill;
}

/// The caller has the lock of the bits.
void fill_integers(bitgen_t* bits, const Bounds& bounds, Kind kind, int64_t count, void* out) {
  const auto low = static_cast<uint64_t>(bounds.low);
  const uint64_t width = static_cast<uint64_t>(bounds.high) - low;
  integer_filler()(bits, low, width, count, kind == Kind::legacy, static_cast<uint64_t*>(out));
}

PyObject* integers_drawn(PyObject* generator, const Bounds& bounds, Kind kind, const Dims& shape,
                         Device device) {
  return drawn_from(generator, DType::i64, shape, device, [&](bitgen_t* bits, void* out) {
    fill_integers(bits, bounds, kind, element_count(shape), out);
  });
}

bool are_within(const Bounds& bounds, DType dtype) {
  switch (dtype) {
    case DType::i64: return true;
    case DType::u64: return bounds.low >= 0;
    case DType::i32: return bounds.low >= INT32_MIN && bounds.high <= INT32_MAX;
    case DType::u32: return bounds.low >= 0 && bounds.high <= UINT32_MAX;
    default: return false;
  }
}

/// Of (self, low, high, ...); nullopt for what NumPy has to read, or refuse.
std::optional<Bounds> bounds_of(const Call& call, bool has_end) {
  const bool from_zero = call[2] == Py_None;
  const auto low = from_zero ? std::optional<int64_t>(0) : known_integer(call[1]);
  const auto end = known_integer(call[from_zero ? 1 : 2]);
  if (!low || !end || (has_end ? *end < *low : *end <= *low)) return std::nullopt;
  return Bounds{*low, has_end ? *end : *end - 1};
}

/// integers(self, low, high, size, dtype, endpoint, device)
PyObject* integers_path(const Call& call) {
  if (is_recording() || !is_flag(call[5])) return nullptr;
  const std::optional<Bounds> bounds = bounds_of(call, call[5] == Py_True);
  const std::optional<DType> dtype = known_dtype(call[4]);
  if (!bounds || !dtype || !are_within(*bounds, *dtype)) return nullptr;
  const std::optional<Dims> shape = known_size(call[3]);
  const std::optional<Device> device = shape ? known_device(call[6]) : std::nullopt;
  if (!device) return nullptr;
  const int64_t count = element_count(*shape);
  if (count <= kMostDrawn && dtype == DType::i64) {
    if (!integer_filler()) return nullptr;
    return integers_drawn(call[0], *bounds, Kind::generator, *shape, *device);
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
  if (call[5] != Py_None || is_recording()) return nullptr;
  auto* const number = reinterpret_cast<PyObject*>(&PyLong_Type);
  const bool is_own = call[4] == number || known_dtype(call[4]) == DType::i64;
  const std::optional<Bounds> bounds = is_own ? bounds_of(call, false) : std::nullopt;
  const std::optional<Dims> shape = bounds ? known_size(call[3]) : std::nullopt;
  if (shape && integer_filler()) {
    return integers_drawn(call[0], *bounds, Kind::legacy, *shape, default_device());
  }
  return drawn_by_numpy(call[0], call.name, call.values + 1, 4);
}

/// The elements of a tensor of one dimension at places that are drawn.
PyObject* chosen(PyObject* generator, const Tensor& x, Kind kind, const Dims& shape) {
  const Bounds bounds{0, x.size() - 1};
  if (shape.size() == 0) {
    int64_t place;
    const Source source(generator);
    {
      const Holding holding(source.bits().lock);
      fill_integers(source.bits().generator, bounds, kind, 1, &place);
    }
    return copied_element(x, x.offset + place * x.strides[0]);
  }
  const Reference indices(integers_drawn(generator, bounds, kind, shape, x.device()));
  return take_along(x, indices.get(), 0, ops::OutOfRange::raise, "take");
}

/// Of choice(self, a, size, replace=True, p=None, ...), on this device; null for what NumPy has to
/// read, or refuse.
PyObject* chosen_here(const Call& call, Kind kind, const Dims& shape, Device device) {
  const std::optional<int64_t> below = known_integer(call[1]);
  const bool is_list = PyList_CheckExact(call[1]) || PyTuple_CheckExact(call[1]);
  const Reference made(is_list ? tensor_of_lists(call[1], std::nullopt, device) : nullptr);
  const Tensor* x = made.get() ? &tensor_of(made.get()) : tensor_or_null(call[1]);
  if (x && x->ndim() != 1) return nullptr;
  const int64_t many = x ? x->size() : below.value_or(0);
  if (many < 1 || !integer_filler()) return nullptr;
  return x ? chosen(call[0], *x, kind, shape)
           : integers_drawn(call[0], Bounds{0, many - 1}, kind, shape, device);
}

/// choice(self, a, size, replace, p, axis, shuffle, device)
PyObject* choice_path(const Call& call) {
  if (is_recording()) return nullptr;
  const bool plain = call[3] == Py_True && call[4] == Py_None && is_flag(call[6]);
  const std::optional<Dims> shape =
      plain && known_integer(call[5]) == 0 ? few(call[2]) : std::nullopt;
  const std::optional<Device> device = shape ? known_device(call[7]) : std::nullopt;
  if (!device || (is_tensor(call[1]) && call[7] != Py_None)) return nullptr;
  return chosen_here(call, Kind::generator, *shape, *device);
}

/// choice(self, a, size, replace, p, device)
PyObject* legacy_choice_path(const Call& call) {
  if (call[5] != Py_None || is_recording()) return nullptr;
  const bool plain = call[3] == Py_True && call[4] == Py_None;
  const std::optional<Dims> shape = plain ? known_size(call[2]) : std::nullopt;
  if (shape) {
    PyObject* const drawn = chosen_here(call, Kind::legacy, *shape, default_device());
    if (drawn) return drawn;
  }
  if (known_integer(call[1])) return drawn_by_numpy(call[0], call.name, call.values + 1, 4);
  const Arguments how = call.values + 2;
  const auto is_read_there = [](PyObject* x) { return is_tensor(x) || runs_code(x); };
  if (std::any_of(how, how + 3, is_read_there)) return nullptr;
  const Tensor* const x = tensor_or_null(call[1]);
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

// --- bytes

/// bytes(self, length)
PyObject* bytes_path(const Call& call) {
  constexpr int64_t kMostBytes = 1 << 20;  // more take so long that other threads should run
  const std::optional<int64_t> length = known_integer(call[1]);
  if (is_recording() || !length || *length < 1 || *length > kMostBytes) return nullptr;
  Reference made(checked(PyBytes_FromStringAndSize(nullptr, *length)));
  char* const bytes = PyBytes_AS_STRING(made.get());
  const Source source(call[0]);
  const Holding holding(source.bits().lock);
  bitgen_t* const bits = source.bits().generator;
  constexpr int64_t kWord = sizeof(uint32_t);
  int64_t place = 0;
  for (; place + kWord <= *length; place += kWord) {
    const uint32_t word = bits->next_uint32(bits->state);
    std::memcpy(bytes + place, &word, kWord);
  }
  if (place < *length) {
    const uint32_t word = bits->next_uint32(bits->state);
    std::memcpy(bytes + place, &word, *length - place);
  }
  return made.release();
}

}  // namespace

const NativeRow kRandomPaths[] = {{"draw", draw_path},
                                  {"standard_exponential", standard_exponential_path},
                                  {"integers", integers_path},
                                  {"choice", choice_path},
                                  {"permutation", permutation_path},
                                  {"shuffle", shuffle_path},
                                  {"permuted", permuted_path},
                                  {"bytes", bytes_path},
                                  {"legacy_draw", legacy_draw_path},
                                  {"legacy_integers", legacy_integers_path},
                                  {"legacy_dims", legacy_dims_path},
                                  {"legacy_vonmises", legacy_vonmises_path},
                                  {"legacy_zipf", legacy_zipf_path},
                                  {"legacy_choice", legacy_choice_path},
                                  {"legacy_permutation", legacy_permutation_path},
                                  {"legacy_shuffle", legacy_shuffle_path},
                                  {nullptr, nullptr}};

}  // namespace ofl::python
