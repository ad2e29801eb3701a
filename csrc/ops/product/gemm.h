// Products of matrices, by kind of element. All take what the matmul kernel gets, with no dimension
// of size 0, and share large work with args.helpers; the bits do not depend on who finds time.
#pragma once

#include "ops/loop_args.h"
#include "ops/product/blas.h"

namespace ofl::ops {

/// Floating-point matrices by BLAS; float16 and bfloat16 are computed in float32 and
/// rounded once. False, and
/// nothing done, where a dimension does not fit in the routines' int.
bool blas_product(const Blas& blas, const LoopArgs& args);

/// Whether the kernel can add this product to what is in its result: attr[3] may be 1.
bool can_add_product(const LoopArgs& args);

/// Whether the kernel can conjugate the first operand of this product: attr[3] may be 2. Of two
/// vectors of complex numbers.
bool can_conjugate(const LoopArgs& args);

/// Integers modulo 2^n, and bool (any of all).
void integer_product(const LoopArgs& args);

}  // namespace ofl::ops
