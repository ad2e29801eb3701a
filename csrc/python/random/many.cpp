#include "python/random/many.h"

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>

#include "python/runtime.h"

namespace ofl::python {

namespace {

// --- the state of numpy.random.PCG64, as its property has it

using State = ops::Pcg64::State;

static_assert(sizeof(ops::BitGenerator) == sizeof(bitgen_t));
static_assert(offsetof(ops::BitGenerator, next_uint64) == offsetof(bitgen_t, next_uint64));
static_assert(offsetof(ops::BitGenerator, next_uint32) == offsetof(bitgen_t, next_uint32));
static_assert(offsetof(ops::BitGenerator, next_double) == offsetof(bitgen_t, next_double));
static_assert(offsetof(ops::BitGenerator, next_raw) == offsetof(bitgen_t, next_raw));

struct Names {
  PyObject* const state = method_name("state");
  PyObject* const increment = method_name("inc");
  PyObject* const has_half = method_name("has_uint32");
  PyObject* const half = method_name("uinteger");
  PyObject* const kind = method_name("bit_generator");
  PyObject* const pcg64 = method_name("PCG64");
};

const Names& names() {
  static const Names* const made = new Names;
  return *made;
}

PyObject* item(PyObject* dict, PyObject* name) {
  PyObject* const found = PyDict_GetItemWithError(dict, name);
  if (found) return found;
  if (!PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, name);
  throw PythonErrorSet{};
}

State wide_integer(PyObject* integer) {
  const Reference bytes(checked(PyObject_CallMethod(integer, "to_bytes", "is", 16, "little")));
  State value;
  static_assert(sizeof value == 16);
  std::memcpy(&value, PyBytes_AS_STRING(bytes.get()), sizeof value);
  return value;
}

Reference wide_object(State value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  auto* const type = reinterpret_cast<PyObject*>(&PyLong_Type);
  return Reference(checked(
      PyObject_CallMethod(type, "from_bytes", "y#s", bytes, Py_ssize_t{sizeof value}, "little")));
}

ops::NumpyBits bits_from(PyObject* bit_generator) {
  const Reference all(checked(PyObject_GetAttr(bit_generator, names().state)));
  PyObject* const words = item(all.get(), names().state);
  ops::NumpyBits bits;
  bits.words.state = wide_integer(item(words, names().state));
  bits.words.increment = wide_integer(item(words, names().increment));
  bits.has_half = PyLong_AsLong(item(all.get(), names().has_half)) == 1;
  bits.half = static_cast<uint32_t>(PyLong_AsUnsignedLong(item(all.get(), names().half)));
  if (PyErr_Occurred()) throw PythonErrorSet{};
  return bits;
}

void set_bits(PyObject* bit_generator, const ops::NumpyBits& bits) {
  const Names& name = names();
  const Reference state = wide_object(bits.words.state);
  const Reference increment = wide_object(bits.words.increment);
  const Reference all(checked(Py_BuildValue(
      "{O:O,O:{O:O,O:O},O:i,O:I}", name.kind, name.pcg64, name.state, name.state, state.get(),
      name.increment, increment.get(), name.has_half, int{bits.has_half}, name.half, bits.half)));
  if (PyObject_SetAttr(bit_generator, name.state, all.get()) < 0) throw PythonErrorSet{};
}

/// The answer of NumPy to a question, asked once. The GIL guards it. A thread that asks may give up
/// the GIL, and then another one asks, too: so no lock of C++ is held.
template <bool (*ask)()>
bool answer() {
  static std::optional<bool> known;
  if (!known) {
    const bool found = ask();
    known = found;
  }
  return *known;
}

/// Whether the words of PCG64 are those of the installed NumPy.
bool words_agree() {
  const Reference module(checked(PyImport_ImportModule("numpy.random")));
  const Reference generator(checked(PyObject_CallMethod(module.get(), "PCG64", "i", 5)));
  const Reference capsule(checked(PyObject_GetAttrString(generator.get(), "capsule")));
  auto* const numpys = static_cast<bitgen_t*>(PyCapsule_GetPointer(capsule.get(), "BitGenerator"));
  if (!numpys) throw PythonErrorSet{};
  ops::NumpyBits bits = bits_from(generator.get());
  const uint32_t first = numpys->next_uint32(numpys->state);
  bool same = first == static_cast<uint32_t>(bits.words.next());
  for (int i = 0; i < 100; ++i) same &= numpys->next_uint64(numpys->state) == bits.words.next();
  const ops::NumpyBits left = bits_from(generator.get());
  return same && left.has_half && left.words.state == bits.words.state;
}

// --- tables

constexpr const char* kSymbols[ops::kNumbers] = {
    "random_standard_uniform", "random_standard_normal", "random_standard_exponential"};

/// Null: NumPy draws in another way.
const ops::NumberTables* tables_of(ops::Numbers kind, DType dtype) {
  struct Known {
    bool is_made = false;
    std::shared_ptr<const ops::NumberTables> tables;
  };
  static Known known[ops::kNumbers][2];  // the GIL guards it
  const bool is_single = dtype == DType::f32;
  Known& entry = known[static_cast<int>(kind)][is_single];
  if (!entry.is_made) {
    const std::string name = kSymbols[static_cast<int>(kind)], single = is_single ? "_f" : "";
    const ops::NumpyFunctions functions{numpy_function((name + single).c_str()),
                                        numpy_function((name + "_fill" + single).c_str())};
    const bool agree = answer<words_agree>();  // meanwhile another thread may have been here
    if (agree && !entry.tables) entry.tables = ops::number_tables(kind, dtype, functions);
    entry.is_made = true;
  }
  return entry.tables.get();
}

bool integers_agree() {
  return answer<words_agree>() && ops::integers_agree(numpy_function("random_bounded_uint64_fill"),
                                                      numpy_function("random_bounded_uint32_fill"));
}

/// own_numbers(): for each kind of numbers, whether many are drawn by threads of ours.
PyObject* own_numbers(Arguments) {
  constexpr const char* kNames[ops::kNumbers] = {"uniform", "normal", "exponential"};
  Reference kinds(checked(PyDict_New()));
  const auto add = [&](const std::string& name, bool is_own) {
    if (PyDict_SetItemString(kinds.get(), name.c_str(), is_own ? Py_True : Py_False) < 0) {
      throw PythonErrorSet{};
    }
  };
  for (int kind = 0; kind < ops::kNumbers; ++kind) {
    for (const DType dtype : {DType::f64, DType::f32}) {
      add(concat(kNames[kind], " ", name_of(dtype)), tables_of(ops::Numbers(kind), dtype));
    }
  }
  add("integers", answer<integers_agree>());
  return kinds.release();
}

PyMethodDef functions[] = {positional<own_numbers, 0>("own_numbers"),
                           {nullptr, nullptr, 0, nullptr}};

// --- draws

/// While it lives, the garbage collector does not start, and so no finalizer runs. The GIL is kept.
class WithoutCollection {
 public:
  WithoutCollection() : was_on_(PyGC_Disable()) {}
  ~WithoutCollection() {
    if (was_on_) PyGC_Enable();
  }
  WithoutCollection(const WithoutCollection&) = delete;

 private:
  const int was_on_;
};

/// draw(bits, helpers), under the lock of the bits. The thread itself passes the lock: a finalizer
/// that drew from these bits between bits_from() and set_bits() would draw what is drawn here.
template <typename Draw>
void with_bits(const Source& source, const Draw& draw) {
  const Holding holding(source.bits().lock);
  ops::NumpyBits bits;
  {
    const WithoutCollection quiet;
    bits = bits_from(source.bits().owner);
  }
  {
    const WithoutGil without;
    draw(&bits, runtime().machine.state(Device{}).device.helpers());
  }
  const WithoutCollection quiet;
  set_bits(source.bits().owner, bits);
}

/// low + width * x; of random(), standard_normal() and standard_exponential() nothing is moved.
ops::Moved moved_by(const Found& found, const double* p) {
  switch (found.row->parameters) {
    case 0: return {};
    case 1: return {true, 0, p[0]};
    default: return {true, p[0], p[1]};
  }
}

}  // namespace

void init_many_numbers(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
}

bool draws_many(const Source& source, const Found& found, DType dtype) {
  return source.bits().is_pcg64 && found.row->many && tables_of(*found.row->many, dtype);
}

void draw_many(const Source& source, const Found& found, const double* p, DType dtype,
               int64_t count, void* out) {
  const ops::NumberTables& tables = *tables_of(*found.row->many, dtype);
  const ops::Moved moved = moved_by(found, p);
  with_bits(source, [&](ops::NumpyBits* bits, ep::HelperPool* helpers) {
    ops::draw_numbers(bits, tables, moved, count, out, helpers);
  });
}

bool draws_many_integers(const Source& source) {
  return source.bits().is_pcg64 && answer<integers_agree>();
}

void draw_many_integers(const Source& source, DType dtype, uint64_t low, uint64_t range,
                        int64_t count, void* out) {
  with_bits(source, [&](ops::NumpyBits* bits, ep::HelperPool* helpers) {
    ops::draw_integers(bits, dtype, low, range, count, out, helpers);
  });
}

}  // namespace ofl::python
