// Sets of elements that are not many, in the thread that asks for them. Each function is false,
// without any effect, where an operand is not readable_here(). `sort` is that of ops::sort_kernel.
#pragma once

#include "ops/array_args.h"
#include "tensor/issue.h"

namespace ofl {

/// Distinct elements, and int64 numbers about them.
struct Distinct {
  Tensor values;
  Tensor first;    // where each occurs first
  Tensor inverse;  // of x's shape: which of them each element is
  Tensor counts;   // how often each occurs
};

/// The distinct elements of x, ascending, and (where it is not null) how often each occurs.
/// `equal_nan`: all NaN are one.
bool distinct_here(const Issuer& issuer, const Tensor& x, bool equal_nan, const ops::Loop& sort,
                   Tensor* values, Tensor* counts);
/// The same with all that is told of them; `sort`: of uint64.
bool distinct_here(const Issuer& issuer, const Tensor& x, bool equal_nan, const ops::Loop& sort,
                   Distinct* out);

enum class SetOperation : uint8_t { intersection, join, difference, exclusive };

/// Of the distinct elements of two tensors of one dtype and device, ascending. Each tensor counts
/// its NaN as one, which equals no other tensor's; a join has one NaN.
bool combined_here(const Issuer& issuer, const Tensor& a, const Tensor& b, SetOperation operation,
                   const ops::Loop& sort, Tensor* out);

}  // namespace ofl
