// The strides of new results, by NumPy's rules. Equal bits need equal layouts: sums add in the
// order of memory, and some loops round differently for other strides, or in place.
#pragma once

#include <vector>

#include "tensor/issue.h"

namespace ofl {

/// All inputs have this shape and lie in row-major order, and so does a result like them.
bool are_row_major(const Input* inputs, int count, const Dims& shape);

/// A new tensor laid out like the inputs, as NumPy's order "K" has it.
Tensor make_like(const Input* inputs, int count, const Dims& shape, DType dtype,
                 vm::DeviceState& state, vm::SiteId site);

/// The strides of a new tensor in the order of axes of one input, whose strides are `steps`
/// (NumPy's order "K"). Axes with a step of 0 keep their place.
Dims strides_like(const Dims& shape, const Dims& steps, int64_t item_size);

/// The same as NumPy's empty_like: an axis with a step of 0 is the innermost. `shape` has as many
/// axes as x. A copy of x to such a tensor turns no part of it.
Dims strides_as_it_lies(const Tensor& x, const Dims& shape, int64_t item_size);
/// Whether the axes, in any order, leave no gap and share no byte.
bool lies_densely(const Dims& shape, const Dims& strides, int64_t item_size);
/// A new tensor on x's device with the strides of strides_as_it_lies().
Tensor make_as_it_lies(const Tensor& x, DType dtype, const Dims& shape, vm::SiteId site);

/// A new tensor for the parts one behind the other, in the order of axes that NumPy's concatenate
/// chooses.
Tensor make_joined(const std::vector<Tensor>& parts, const Dims& shape, vm::SiteId site);

/// The shape without the reduced axes, or with an extent of 1 for each.
Dims reduced_shape(const Dims& shape, AxisSet reduced, bool keepdims);
/// A new tensor for results along the axes of x that are not reduced, in x's order.
Tensor make_reduced(const Tensor& x, DType dtype, AxisSet reduced, bool keepdims, vm::SiteId site);

/// True when `out` overlaps an input in a way that needs the result to be made elsewhere first.
/// `in_order`: the kernel takes elements in the order of memory.
bool has_harmful_overlap(const Input* inputs, int count, const ops::Resolution& resolution,
                         const Tensor& out, bool in_order);

/// Whether a call is to be turned round: the output goes backwards somewhere, and no input shares
/// some of its elements in other places. (Then NumPy keeps the direction, too.)
bool is_turned(const Input* inputs, int count, const Tensor& out);

/// Views of the operands of a call, turned round along each axis of the output where none of them
/// goes forward. NumPy does so where the output is given, and some of its loops round by the sign
/// of their steps.
class Turned {
 public:
  /// The inputs broadcast to `out`.
  Turned(const Input* inputs, int count, const Tensor& out);

  const Input* inputs() const { return inputs_; }
  const Tensor& out() const { return tensors_.back(); }

 private:
  std::vector<Tensor> tensors_;  // those of the inputs, empty ones for numbers, and the output
  Input inputs_[ops::kMaxInputs];
};

}  // namespace ofl
