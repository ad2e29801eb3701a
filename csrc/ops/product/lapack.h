// Linear algebra by the library of products, which makes no threads: small matrices in the calling
// thread, the parts of large ones by the helpers of the device.
#pragma once

#include "ops/op_def.h"
#include "ops/product/lapack_call.h"

namespace ofl::ops {

/// A loop that stands for that of one of numpy.linalg's ufuncs, with its signature, of this dtype
/// and for matrices of so many elements; nullptr: NumPy's own is to be taken. It sets the thread's
/// invalid flag where NumPy's does, and fills its results with NaN then. The bits do not depend on
/// the helpers.
LoopFn lapack_loop(const char* ufunc, DType dtype, int64_t elements);

}  // namespace ofl::ops
