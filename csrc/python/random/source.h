// The bits of NumPy's generators: what a flow.random.Generator draws from.
#pragma once

#include <numpy/random/bitgen.h>

#include "python/arguments.h"

namespace ofl::python {

/// Adds bits_of(): what the native paths of a generator draw from, for one of NumPy's bit
/// generators.
void init_random(PyObject* module);

/// An interned string.
PyObject* method_name(const char* name);

/// Holds one of Python's locks.
class Holding {
 public:
  explicit Holding(PyObject* lock);
  /// The error of what was done meanwhile stays.
  ~Holding();
  Holding(const Holding&) = delete;

 private:
  PyObject* lock_;
};

/// While it lives, the thread does without the GIL.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { PyEval_RestoreThread(state_); }
  WithoutGil(const WithoutGil&) = delete;

 private:
  PyThreadState* const state_;
};

struct Bits {
  bitgen_t* generator;
  PyObject* owner;  // whose memory that is
  PyObject* lock;
  bool is_pcg64;
};

/// The bits of a flow.random.Generator, and what holds them.
class Source {
 public:
  explicit Source(PyObject* generator);

  const Bits& bits() const;
  /// NumPy's generator.
  PyObject* numpys() const { return PyTuple_GET_ITEM(held_.get(), 0); }

 private:
  Reference held_;
};

/// The result of the method of that name of the generator's NumPy generator. At most 8 arguments.
PyObject* draw_numbers(PyObject* generator, PyObject* name, Arguments args, Py_ssize_t count);

inline PyArrayObject* as_array(const Reference& object) {
  return reinterpret_cast<PyArrayObject*>(object.get());
}

}  // namespace ofl::python
