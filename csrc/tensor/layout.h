// Where an elementwise result lies in memory, by NumPy's rules: some of its loops round differently
// for other strides, or for outputs that are also inputs, so equal bits need equal layouts.
#pragma once

#include "tensor/issue.h"

namespace ofl {

/// All inputs have this shape and lie in row-major order, and so does a result like them.
bool are_row_major(const Input* inputs, int count, const Dims& shape);

/// A new tensor laid out like the inputs, as NumPy's order "K" has it.
Tensor make_like(const Input* inputs, int count, const Dims& shape, DType dtype,
                 vm::DeviceState& state, vm::SiteId site);

/// A new tensor with x's order of axes in memory, as NumPy's empty_like makes it. So no part of x
/// is turned when it is copied.
Tensor make_as_it_lies(const Tensor& x, vm::SiteId site);

/// True when `out` overlaps an input in a way that needs the result to be made elsewhere first.
/// `in_order`: the kernel takes elements in the order of memory.
bool has_harmful_overlap(const Input* inputs, int count, const ops::Resolution& resolution,
                         const Tensor& out, bool in_order);

}  // namespace ofl
