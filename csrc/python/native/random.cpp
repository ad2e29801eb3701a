// The native paths of random/generator.py. Few numbers are drawn here, by NumPy's functions on its
// generator's bits, under the bit generator's own lock; all else by NumPy's method of the same
// name. A thread that records draws nothing here: numbers would be the same in each run.
#include "python/native/random.h"

#include <dlfcn.h>

#include <numpy/random/bitgen.h>
#include <algorithm>
#include <cmath>
#include <cstring>

#include "python/convert.h"
#include "python/native/function.h"
#include "python/native/lists.h"
#include "python/runtime.h"
#include "python/sequences.h"
#include "python/tensor/basic_key.h"
#include "python/tensor/functions.h"
#include "tensor/index/elements.h"

namespace ofl::python {

namespace {

constexpr int64_t kMostDrawn = 512;  // more take so long that other threads should run meanwhile

PyObject* method_name(const char* name) { return checked(PyUnicode_InternFromString(name)); }

/// Holds one of Python's locks.
class Holding {
 public:
  explicit Holding(PyObject* lock) : lock_(lock) {
    static PyObject* const acquire = method_name("acquire");
    Py_DECREF(checked(PyObject_CallMethodNoArgs(lock, acquire)));
  }
  /// The error of what was done meanwhile stays.
  ~Holding() {
    static PyObject* const release = method_name("release");
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    Py_XDECREF(PyObject_CallMethodNoArgs(lock_, release));
    PyErr_Restore(type, value, trace);
  }
  Holding(const Holding&) = delete;

 private:
  PyObject* lock_;
};

// --- the generator's bits

constexpr char kBits[] = "oneflow_lite.bits";

struct Bits {
  bitgen_t* generator;
  PyObject* owner;  // whose memory that is
  PyObject* lock;
};

void forget_bits(PyObject* capsule) {
  auto* bits = static_cast<Bits*>(PyCapsule_GetPointer(capsule, kBits));
  Py_DECREF(bits->owner);
  Py_DECREF(bits->lock);
  delete bits;
}

/// The bits of a flow.random.Generator, and what holds them.
struct Source {
  explicit Source(PyObject* generator) : held(checked(PyObject_GetAttr(generator, name()))) {
    PyObject* const capsule = PyTuple_GET_ITEM(held.get(), 1);
    bits = static_cast<Bits*>(PyCapsule_GetPointer(capsule, kBits));
    if (!bits) throw PythonErrorSet{};
  }
  static PyObject* name() {
    static PyObject* const source = method_name("_source");
    return source;
  }
  PyObject* numpys() const { return PyTuple_GET_ITEM(held.get(), 0); }

  Reference held;
  Bits* bits;
};

// --- NumPy's functions

using Fill = void (*)(bitgen_t*, npy_intp, double*);
using FillSingle = void (*)(bitgen_t*, npy_intp, float*);
using Draw0 = double (*)(bitgen_t*);
using Draw1 = double (*)(bitgen_t*, double);
using Draw2 = double (*)(bitgen_t*, double, double);
using Draw3 = double (*)(bitgen_t*, double, double, double);
using Count1 = int64_t (*)(bitgen_t*, double);
using Count2 = int64_t (*)(bitgen_t*, double, double);
using FillIntegers = void (*)(bitgen_t*, uint64_t, uint64_t, npy_intp, bool, uint64_t*);

/// The function that NumPy's extension module exports, or null. Other packages call these
/// functions in the same way (see "Extending" in NumPy's documentation of random numbers).
void* numpy_function(const char* name) {
  static void* const library = [] {
    const Reference module(checked(PyImport_ImportModule("numpy.random._generator")));
    const Reference file(checked(PyObject_GetAttrString(module.get(), "__file__")));
    const char* const path = PyUnicode_AsUTF8(file.get());
    if (!path) throw PythonErrorSet{};
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }();
  return library ? dlsym(library, name) : nullptr;
}

/// Parameters with which NumPy's method does nothing but call the function.
bool always(const double*) { return true; }
bool one_positive(const double* p) { return p[0] > 0; }
bool two_positive(const double* p) { return p[0] > 0 && p[1] > 0; }
bool second_positive(const double* p) { return p[1] > 0; }
bool ordered(const double* p) { return p[0] <= p[1] && p[1] <= p[2] && p[0] < p[2]; }
bool is_mean(const double* p) { return p[0] > 0 && p[0] < 1e9; }
bool is_chance(const double* p) { return p[0] > 0 && p[0] <= 1; }
bool below_one(const double* p) { return p[0] >= 0 && p[0] < 1; }
bool above_one(const double* p) { return p[0] > 1; }
bool count_and_chance(const double* p) {
  return p[0] > 0 && is_chance(p + 1) && (1 - p[1]) / p[1] * (p[0] + 10 * std::sqrt(p[0])) < 1e9;
}
bool one_and_shift(const double* p) { return p[0] > 0 && p[1] >= 0; }
bool two_and_shift(const double* p) { return two_positive(p) && p[2] >= 0; }

struct Distribution {
  const char* method;
  const char* symbol;
  int parameters;
  bool (*fits)(const double*);
  DType dtype = DType::f64;
  const char* fill = nullptr;         // draws many
  const char* fill_single = nullptr;  // and many float32
};

constexpr Distribution kDistributions[] = {
    {"random", "random_standard_uniform", 0, always, DType::f64, "random_standard_uniform_fill",
     "random_standard_uniform_fill_f"},
    {"uniform", "random_uniform", 2, second_positive},
    {"normal", "random_normal", 2, second_positive},
    {"standard_normal", "random_standard_normal", 0, always, DType::f64,
     "random_standard_normal_fill", "random_standard_normal_fill_f"},
    {"exponential", "random_exponential", 1, one_positive},
    {"standard_exponential", "random_standard_exponential", 0, always, DType::f64,
     "random_standard_exponential_fill", "random_standard_exponential_fill_f"},
    {"poisson", "random_poisson", 1, is_mean, DType::i64},
    {"geometric", "random_geometric", 1, is_chance, DType::i64},
    {"logseries", "random_logseries", 1, below_one, DType::i64},
    {"zipf", "random_zipf", 1, above_one, DType::i64},
    {"negative_binomial", "random_negative_binomial", 2, count_and_chance, DType::i64},
    {"noncentral_chisquare", "random_noncentral_chisquare", 2, one_and_shift},
    {"noncentral_f", "random_noncentral_f", 3, two_and_shift},
    {"gamma", "random_gamma", 2, two_positive},
    {"standard_gamma", "random_standard_gamma", 1, one_positive},
    {"beta", "random_beta", 2, two_positive},
    {"lognormal", "random_lognormal", 2, second_positive},
    {"laplace", "random_laplace", 2, second_positive},
    {"logistic", "random_logistic", 2, second_positive},
    {"gumbel", "random_gumbel", 2, second_positive},
    {"chisquare", "random_chisquare", 1, one_positive},
    {"f", "random_f", 2, two_positive},
    {"standard_t", "random_standard_t", 1, one_positive},
    {"standard_cauchy", "random_standard_cauchy", 0, always},
    {"pareto", "random_pareto", 1, one_positive},
    {"power", "random_power", 1, one_positive},
    {"rayleigh", "random_rayleigh", 1, one_positive},
    {"weibull", "random_weibull", 1, one_positive},
    {"wald", "random_wald", 2, two_positive},
    {"vonmises", "random_vonmises", 2, second_positive},
    {"triangular", "random_triangular", 3, ordered},
};
constexpr int kCount = sizeof(kDistributions) / sizeof(kDistributions[0]);

/// A row with what its names stand for in this process.
struct Found {
  const Distribution* row;
  PyObject* method;
  void* draw;
  Fill fill;
  FillSingle fill_single;
};

/// Of a method that is called with its own, interned name; null where there is no function.
const Found* find_distribution(PyObject* method) {
  static Found table[kCount];
  static const bool filled = [] {
    const auto find = [](const char* name) { return name ? numpy_function(name) : nullptr; };
    for (int i = 0; i < kCount; ++i) {
      const Distribution& row = kDistributions[i];
      table[i] = {&row, method_name(row.method), find(row.symbol),
                  reinterpret_cast<Fill>(find(row.fill)),
                  reinterpret_cast<FillSingle>(find(row.fill_single))};
    }
    return true;
  }();
  static_cast<void>(filled);
  const Found* const found =
      std::find_if(table, table + kCount, [&](const Found& x) { return x.method == method; });
  return found == table + kCount || !found->draw ? nullptr : found;
}

double draw_one(const Found& found, bitgen_t* bits, const double* p) {
  switch (found.row->parameters) {
    case 0: return reinterpret_cast<Draw0>(found.draw)(bits);
    case 1: return reinterpret_cast<Draw1>(found.draw)(bits, p[0]);
    case 2: return reinterpret_cast<Draw2>(found.draw)(bits, p[0], p[1]);
    default: return reinterpret_cast<Draw3>(found.draw)(bits, p[0], p[1], p[2]);
  }
}

int64_t count_one(const Found& found, bitgen_t* bits, const double* p) {
  if (found.row->parameters == 1) return reinterpret_cast<Count1>(found.draw)(bits, p[0]);
  return reinterpret_cast<Count2>(found.draw)(bits, p[0], p[1]);
}

union Numbers {
  double reals[kMostDrawn];
  float singles[kMostDrawn];
  int64_t integers[kMostDrawn];
};

void draw_many(const Found& found, bitgen_t* bits, const double* p, DType dtype, int64_t count,
               Numbers* out) {
  if (dtype == DType::f32) return found.fill_single(bits, count, out->singles);
  if (found.fill) return found.fill(bits, count, out->reals);
  for (int64_t i = 0; i < count; ++i) {
    if (dtype == DType::i64) {
      out->integers[i] = count_one(found, bits, p);
    } else {
      out->reals[i] = draw_one(found, bits, p);
    }
  }
}

// --- results

/// The shape of `size`, None for one number, where so few numbers are drawn here.
std::optional<Dims> few(PyObject* size) {
  Dims shape;
  const bool is_known = size == Py_None || read_shape(size, &shape);
  return is_known && element_count(shape) <= kMostDrawn ? std::make_optional(shape) : std::nullopt;
}

PyObject* tensor_of_numbers(const void* numbers, DType dtype, const Dims& shape, Device device) {
  if (shape.size() == 0 && device == Device{} && runtime().machine.may_act_at_once()) {
    TensorObject* object = new_element_object(dtype);
    copy_element(numbers, size_of(dtype), object->tensor.storage->data());
    return reinterpret_cast<PyObject*>(object);
  }
  return wrap(from_host(issuer(), numbers, dtype, shape, device));
}

/// A finite number of Python's or NumPy's.
bool read_parameter(PyObject* object, double* out) {
  Scalar number;
  if (!store_number(object, DType::f64, &number)) return false;
  std::memcpy(out, number.bytes, sizeof *out);
  return std::isfinite(*out);
}

/// Of the distribution, as its function takes them.
bool read_parameters(const Found& found, Arguments args, double* out) {
  for (int i = 0; i < found.row->parameters; ++i) {
    if (!read_parameter(args[i], &out[i])) return false;
  }
  static const Found* const uniform = find_distribution(method_name("uniform"));
  if (&found == uniform) out[1] -= out[0];  // the width of the interval
  return (&found != uniform || std::isfinite(out[1])) && found.row->fits(out);
}

/// draw(self, the distribution's parameters, size, dtype, device), of few numbers.
PyObject* draw_few(const Call& call) {
  const Found* const found = find_distribution(call.name);
  const Arguments args = call.values + 1;
  const int count = call.count - 4;
  if (!found || count != found->row->parameters) return nullptr;
  const std::optional<Dims> shape = few(args[count]);
  const std::optional<Device> device = shape ? known_device(args[count + 2]) : std::nullopt;
  double parameters[3];
  if (!device || !read_parameters(*found, args, parameters)) return nullptr;
  DType dtype = found->row->dtype;
  if (args[count + 1] != Py_None) {
    const std::optional<DType> given = known_dtype(args[count + 1]);
    const bool is_single = given == DType::f32 && found->fill_single && args[count] != Py_None;
    if (given != dtype && !is_single) return nullptr;
    dtype = *given;
  }
  Numbers numbers;
  {
    const Source source(call[0]);
    const Holding holding(source.bits->lock);
    draw_many(*found, source.bits->generator, parameters, dtype, element_count(*shape), &numbers);
  }
  return tensor_of_numbers(&numbers, dtype, *shape, *device);
}

/// Draws by the method of that name of the generator's NumPy generator.
PyObject* draw_numbers(PyObject* generator, PyObject* name, Arguments args, int count) {
  const Source source(generator);
  const Reference method(checked(PyObject_GetAttr(source.numpys(), name)));
  return checked(PyObject_Vectorcall(method.get(), args, count, nullptr));
}

/// Whether to convert the items of a sequence runs Python code.
bool runs_code(PyObject* argument) {
  const Reference held(held_data(argument, "random"));
  return held.get() != argument;
}

/// draw(self, the distribution's parameters, size, dtype, device)
PyObject* draw_path(const Call& call) {
  if (is_recording()) return nullptr;
  if (PyObject* drawn = draw_few(call)) return drawn;
  const Arguments args = call.values + 1;
  const int count = call.count - 3;
  if (args[count] != Py_None || args[count + 1] != Py_None) return nullptr;
  if (std::any_of(args, args + count, [&](PyObject* x) { return is_tensor(x) || runs_code(x); })) {
    return nullptr;
  }
  const Reference numbers(draw_numbers(call[0], call.name, args, count));
  if (PyArray_CheckExact(numbers.get())) {
    return wrap(from_array(reinterpret_cast<PyArrayObject*>(numbers.get()), default_device()));
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

// --- integers

/// Draws few integers from [low, high]; false where NumPy has no such function.
bool draw_integers(PyObject* generator, int64_t low, int64_t high, int64_t count, Numbers* out) {
  static const auto fill =
      reinterpret_cast<FillIntegers>(numpy_function("random_bounded_uint64_fill"));
  if (!fill) return false;
  const uint64_t width = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const Source source(generator);
  const Holding holding(source.bits->lock);
  fill(source.bits->generator, static_cast<uint64_t>(low), width, count, false,
       reinterpret_cast<uint64_t*>(out->integers));
  return true;
}

/// integers(self, low, high, size, dtype, endpoint, device)
PyObject* integers_path(const Call& call) {
  if (is_recording()) return nullptr;
  const bool from_zero = call[2] == Py_None;
  const auto low = from_zero ? std::optional<int64_t>(0) : known_integer(call[1]);
  const auto end = known_integer(call[from_zero ? 1 : 2]);
  if (!low || !end || !is_flag(call[5]) || known_dtype(call[4]) != DType::i64) return nullptr;
  const bool has_end = call[5] == Py_True;
  if (has_end ? *end < *low : *end <= *low) return nullptr;
  const std::optional<Dims> shape = few(call[3]);
  const std::optional<Device> device = shape ? known_device(call[6]) : std::nullopt;
  Numbers numbers;
  if (!device ||
      !draw_integers(call[0], *low, has_end ? *end : *end - 1, element_count(*shape), &numbers)) {
    return nullptr;
  }
  return tensor_of_numbers(&numbers, DType::i64, *shape, *device);
}

/// The elements of a tensor of one dimension at places that were drawn.
PyObject* chosen(const Tensor& x, const Numbers& places, const Dims& shape) {
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
  Numbers places;
  if (many < 1 || !draw_integers(call[0], 0, many - 1, element_count(*shape), &places)) {
    return nullptr;
  }
  return x ? chosen(*x, places, *shape) : tensor_of_numbers(&places, DType::i64, *shape, *device);
}

// --- orders

constexpr int64_t kFewBytes = 1 << 20;  // a copy takes some percent of the shuffle

PyArrayObject* as_array(const Reference& object) {
  return reinterpret_cast<PyArrayObject*>(object.get());
}

/// A copy of a tensor that is small and settled, and has this axis; else null.
PyObject* copy_of_few(const Tensor* x, PyObject* axis) {
  const bool here =
      x && known_axis(axis, x->ndim()) && readable_here(runtime().machine, *x, kFewBytes);
  return here ? array_of(*x) : nullptr;
}

/// permutation(self, x, axis, device)
PyObject* permutation_path(const Call& call) {
  static PyObject* const name = method_name("permutation");
  if (is_recording() || call[3] != Py_None) return nullptr;
  const Tensor* const x = tensor_or_null(call[1]);
  const Reference copy(copy_of_few(x, call[2]));
  if (!copy.get() && !known_integer(call[1])) return nullptr;
  PyObject* const given[2] = {copy.get() ? copy.get() : call[1], call[2]};
  const Reference order(draw_numbers(call[0], name, given, 2));
  return wrap(from_array(as_array(order), x ? x->device() : default_device()));
}

/// permuted(self, x, axis, device)
PyObject* permuted_path(const Call& call) {
  static PyObject* const name = method_name("permuted");
  static PyObject* const names = checked(Py_BuildValue("(s)", "axis"));
  if (is_recording() || call[3] != Py_None) return nullptr;
  const Tensor* const x = tensor_or_null(call[1]);
  static PyObject* const first = checked(PyLong_FromLong(0));  // which all have but 0-d ones
  const Reference copy(copy_of_few(x, call[2] == Py_None ? first : call[2]));
  if (!copy.get()) return nullptr;
  const Source source(call[0]);
  const Reference method(checked(PyObject_GetAttr(source.numpys(), name)));
  PyObject* const given[2] = {copy.get(), call[2]};
  const Reference order(checked(PyObject_Vectorcall(method.get(), given, 1, names)));
  return wrap(from_array(as_array(order), x->device()));
}

/// shuffle(self, x, axis)
PyObject* shuffle_path(const Call& call) {
  static PyObject* const name = method_name("shuffle");
  if (is_recording()) return nullptr;
  const Tensor* const x = tensor_or_null(call[1]);
  const Reference copy(copy_of_few(x, call[2]));
  if (!copy.get() || !x->storage->writable() || x->size() == 0) return nullptr;
  PyObject* const given[2] = {copy.get(), call[2]};
  Py_DECREF(draw_numbers(call[0], name, given, 2));
  if (readable_here(runtime().machine, *x, kFewBytes)) {
    const auto bytes = static_cast<size_t>(x->size()) * size_of(x->dtype);
    std::memcpy(x->address(), PyArray_DATA(as_array(copy)), bytes);
    Py_RETURN_NONE;
  }
  assign(issuer(), *x, from_array(as_array(copy), x->device()), "shuffle");
  Py_RETURN_NONE;
}

}  // namespace

namespace {

/// bits_of(bit_generator)
PyObject* bits_of(Arguments given) {
  PyObject* const bit_generator = given[0];
  const Reference capsule(checked(PyObject_GetAttrString(bit_generator, "capsule")));
  Reference lock(checked(PyObject_GetAttrString(bit_generator, "lock")));
  void* const generator = PyCapsule_GetPointer(capsule.get(), "BitGenerator");
  if (!generator) throw PythonErrorSet{};
  Py_INCREF(bit_generator);
  auto* bits = new Bits{static_cast<bitgen_t*>(generator), bit_generator, lock.release()};
  PyObject* const made = PyCapsule_New(bits, kBits, forget_bits);
  if (made) return made;
  Py_DECREF(bits->owner);
  Py_DECREF(bits->lock);
  delete bits;
  throw PythonErrorSet{};
}

PyMethodDef functions[] = {positional<bits_of, 1>("bits_of"), {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_random(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
}

const NativeRow kRandomPaths[] = {{"draw", draw_path},       {"integers", integers_path},
                                  {"choice", choice_path},   {"permutation", permutation_path},
                                  {"shuffle", shuffle_path}, {"permuted", permuted_path},
                                  {nullptr, nullptr}};

}  // namespace ofl::python
