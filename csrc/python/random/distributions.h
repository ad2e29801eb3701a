// The distributions of NumPy's generators, with the functions that its extension module exports.
#pragma once

#include <optional>

#include "ops/random/numpy_numbers.h"
#include "python/arguments.h"
#include "python/random/source.h"

namespace ofl::python {

using Fill = void (*)(bitgen_t*, npy_intp, double*);
using FillSingle = void (*)(bitgen_t*, npy_intp, float*);
using FillIntegers = void (*)(bitgen_t*, uint64_t, uint64_t, npy_intp, bool, uint64_t*);

/// The function that NumPy's extension module exports, or null. Other packages call these
/// functions in the same way (see "Extending" in NumPy's documentation of random numbers).
void* numpy_function(const char* name);

struct Distribution {
  const char* method;
  const char* symbol;
  int parameters;
  bool (*fits)(const double*);
  DType dtype = DType::f64;
  const char* fill = nullptr;                       // draws some
  const char* fill_single = nullptr;                // and many float32
  std::optional<ops::Numbers> many = std::nullopt;  // what very many are drawn as
  void* own = nullptr;                              // instead of NumPy's function
};

/// A row with what its names stand for in this process.
struct Found {
  const Distribution* row;
  PyObject* method;
  void* draw;
  Fill fill;
  FillSingle fill_single;
};

/// Of a method of a Generator that is called with its own, interned name; null where there is no
/// function.
const Found* find_distribution(PyObject* method);
/// The same of a RandomState: of those that it draws from the bits alone. Others also have a normal
/// number that was left over, which only NumPy's method knows.
const Found* find_legacy_distribution(PyObject* method);

/// Finite parameters, as the function takes them; false where NumPy's method does more than call
/// it.
bool read_parameters(const Found& found, Arguments args, double* out);

constexpr int64_t kMostDrawn = 512;  // more take so long that other threads should run meanwhile

union Drawn {
  double reals[kMostDrawn];
  float singles[kMostDrawn];
  int64_t integers[kMostDrawn];
};

/// By NumPy's function, to memory of `count` elements. The caller has the lock of the bits.
void draw_some(const Found& found, bitgen_t* bits, const double* p, DType dtype, int64_t count,
               void* out);

}  // namespace ofl::python
