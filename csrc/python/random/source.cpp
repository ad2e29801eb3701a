#include "python/random/source.h"

#include <algorithm>

namespace ofl::python {

namespace {

constexpr char kBits[] = "oneflow_lite.bits";

void forget_bits(PyObject* capsule) {
  auto* bits = static_cast<Bits*>(PyCapsule_GetPointer(capsule, kBits));
  Py_DECREF(bits->owner);
  Py_DECREF(bits->lock);
  delete bits;
}

/// Exactly NumPy's: a class that is derived from it may make other words.
bool is_pcg64(PyObject* bit_generator) {
  const Reference module(checked(PyImport_ImportModule("numpy.random")));
  const Reference type(checked(PyObject_GetAttrString(module.get(), "PCG64")));
  return reinterpret_cast<PyObject*>(Py_TYPE(bit_generator)) == type.get();
}

/// bits_of(bit_generator)
PyObject* bits_of(Arguments given) {
  PyObject* const bit_generator = given[0];
  const Reference capsule(checked(PyObject_GetAttrString(bit_generator, "capsule")));
  Reference lock(checked(PyObject_GetAttrString(bit_generator, "lock")));
  void* const generator = PyCapsule_GetPointer(capsule.get(), "BitGenerator");
  if (!generator) throw PythonErrorSet{};
  const bool words_are_known = is_pcg64(bit_generator);
  Py_INCREF(bit_generator);
  auto* bits =
      new Bits{static_cast<bitgen_t*>(generator), bit_generator, lock.release(), words_are_known};
  PyObject* const made = PyCapsule_New(bits, kBits, forget_bits);
  if (made) return made;
  Py_DECREF(bits->owner);
  Py_DECREF(bits->lock);
  delete bits;
  throw PythonErrorSet{};
}

PyMethodDef functions[] = {positional<bits_of, 1>("bits_of"), {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* method_name(const char* name) { return checked(PyUnicode_InternFromString(name)); }

Holding::Holding(PyObject* lock) : lock_(lock) {
  static PyObject* const acquire = method_name("acquire");
  Py_DECREF(checked(PyObject_CallMethodNoArgs(lock, acquire)));
}

Holding::~Holding() {
  static PyObject* const release = method_name("release");
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  Py_XDECREF(PyObject_CallMethodNoArgs(lock_, release));
  PyErr_Restore(type, value, trace);
}

Source::Source(PyObject* generator) {
  static PyObject* const source = method_name("_source");
  held_ = Reference(checked(PyObject_GetAttr(generator, source)));
}

const Bits& Source::bits() const {
  PyObject* const capsule = PyTuple_GET_ITEM(held_.get(), 1);
  const auto* const bits = static_cast<const Bits*>(PyCapsule_GetPointer(capsule, kBits));
  if (!bits) throw PythonErrorSet{};
  return *bits;
}

PyObject* draw_numbers(PyObject* generator, PyObject* name, Arguments args, Py_ssize_t count) {
  constexpr Py_ssize_t kMost = 8;
  const Source source(generator);
  PyObject* given[1 + kMost] = {source.numpys()};
  std::copy_n(args, count, given + 1);
  return checked(PyObject_VectorcallMethod(name, given, 1 + count, nullptr));
}

void init_random(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
