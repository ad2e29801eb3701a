// Many numbers with the bits of NumPy's generators, by several threads: of PCG64, the generator of
// default_rng().
#pragma once

#include "python/random/distributions.h"

namespace ofl::python {

/// Adds own_numbers().
void init_many_numbers(PyObject* module);

/// Whether many numbers of the distribution are drawn here, from these bits and of this dtype.
bool draws_many(const Source& source, const Found& found, DType dtype);

/// They are. Without the GIL, and under the lock of the bits.
void draw_many(const Source& source, const Found& found, const double* p, DType dtype,
               int64_t count, void* out);

/// The same of integers, which NumPy's functions do not show: a comparison tells.
bool draws_many_integers(const Source& source);

/// Integers from [low, low + range], of 32 or 64 bits.
void draw_many_integers(const Source& source, DType dtype, uint64_t low, uint64_t range,
                        int64_t count, void* out);

}  // namespace ofl::python
