#include "tensor/turned.h"

#include <algorithm>

namespace ofl {

namespace {

/// The stride along an axis that is counted from the last, which is 1; 0 where x does not step.
int64_t step_of(const Tensor& x, int from_end) {
  const int d = x.ndim() - from_end;
  return d >= 0 && x.shape[d] > 1 ? x.strides[d] : 0;
}

bool goes_back(const Tensor& x) {
  for (int d = 0; d < x.ndim(); ++d) {
    if (x.strides[d] < 0 && x.shape[d] > 1) return true;
  }
  return false;
}

}  // namespace

bool is_turned(const Input* inputs, int count, const Tensor& out) {
  if (!goes_back(out)) return false;
  return std::none_of(inputs, inputs + count, [&](const Input& input) {
    return input.tensor && overlap(*input.tensor, out) == Overlap::partial;
  });
}

Turned::Turned(const Input* inputs, int count, const Tensor& out) {
  for (int k = 0; k < count; ++k) {
    tensors_.push_back(inputs[k].tensor ? *inputs[k].tensor : Tensor());
  }
  tensors_.push_back(out);
  for (int axis = 1; axis <= out.ndim(); ++axis) {
    const bool all_back =
        step_of(out, axis) < 0 && std::none_of(
                                      tensors_.begin(), tensors_.end(),
                                      [=](const Tensor& x) { return step_of(x, axis) > 0; });
    if (!all_back) continue;
    for (Tensor& x : tensors_) {
      const int64_t step = step_of(x, axis);
      if (step == 0) continue;
      const int d = x.ndim() - axis;
      x.offset += (x.shape[d] - 1) * step;
      x.strides[d] = -step;
    }
  }
  for (int k = 0; k < count; ++k) {
    inputs_[k] = inputs[k];
    if (inputs[k].tensor) inputs_[k].tensor = &tensors_[k];
  }
}

}  // namespace ofl
