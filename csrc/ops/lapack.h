// Linear algebra of small matrices by the library of products, which makes no threads.
#pragma once

#include "ops/array_kernel.h"
#include "ops/blas.h"

namespace ofl::ops {

/// What these loops get as their data.
struct LapackCall {
  const Blas* blas;
  ep::HelperPool* helpers;  // share many right sides of one equation
};

/// A loop that can stand for that of one of NumPy's ufuncs (`det`, `slogdet`, `solve`, `solve1`,
/// `inv`, `cholesky_lo`, `cholesky_up`), with its signature, of this dtype and for matrices of so
/// many rows; nullptr where there is none. It sets the thread's invalid flag where a matrix is
/// singular or not positive definite, and fills its result with NaN, as NumPy's do. The bits do not
/// depend on the helpers.
LoopFn lapack_loop(const char* ufunc, DType dtype, int64_t rows);

}  // namespace ofl::ops
