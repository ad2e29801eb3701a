#include "tensor/layout.h"

#include <algorithm>
#include <cstdlib>

namespace ofl {

namespace {

using Order = SmallVector<int, 8>;  // of axes, innermost first

/// Sorts axes by insertion. `in_order`: whether the second of two axes may stay before the first;
/// nullopt: it does not matter.
template <typename InOrder>
Order sort_axes(const Order& given, const InOrder& in_order) {
  Order sorted;
  for (int axis : given) {
    int place = sorted.size();
    for (int i = sorted.size() - 1; i >= 0; --i) {
      const std::optional<bool> stays = in_order(axis, sorted[i]);
      if (!stays) continue;
      if (*stays) break;
      place = i;
    }
    sorted.push_back(axis);
    for (int i = sorted.size() - 1; i > place; --i) std::swap(sorted[i], sorted[i - 1]);
  }
  return sorted;
}

Order axes_from_inside(int ndim) {
  Order axes;
  for (int axis = ndim - 1; axis >= 0; --axis) axes.push_back(axis);
  return axes;
}

Dims dense_strides(const Dims& shape, const Order& order, int64_t item_size) {
  Dims strides(shape.size(), 0);
  int64_t stride = item_size;
  for (int axis : order) {
    strides[axis] = stride;
    stride *= std::max<int64_t>(shape[axis], 1);
  }
  return strides;
}

/// True when axis `a` should be outside axis `b`: its strides are larger in the first input that
/// steps along both. nullopt: no input does.
std::optional<bool> outside(const Dims* strides, int count, int a, int b) {
  std::optional<bool> answer;
  for (int k = 0; k < count; ++k) {
    if (strides[k].empty() || strides[k][a] == 0 || strides[k][b] == 0) continue;
    if (std::abs(strides[k][b]) <= std::abs(strides[k][a])) return true;
    if (!answer) answer = false;
  }
  return answer;
}

}  // namespace

bool are_row_major(const Input* inputs, int count, const Dims& shape) {
  for (int k = 0; k < count; ++k) {
    const Tensor* tensor = inputs[k].tensor;
    if (tensor && !(tensor->shape == shape && tensor->contiguous())) return false;
  }
  return true;
}

Tensor make_like(const Input* inputs, int count, const Dims& shape, DType dtype,
                 vm::DeviceState& state, vm::SiteId site) {
  Tensor result = make_tensor(state, dtype, shape, site);
  if (are_row_major(inputs, count, shape)) return result;
  Dims strides[ops::kMaxInputs];
  for (int k = 0; k < count; ++k) {
    const Tensor* tensor = inputs[k].tensor;
    if (!tensor) continue;
    strides[k] = broadcast_strides(tensor->shape, tensor->strides, shape, "layout");
    for (int d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1) strides[k][d] = 0;  // no steps to compare
    }
  }
  const Order order = sort_axes(axes_from_inside(shape.size()),
                                [&](int a, int b) { return outside(strides, count, a, b); });
  result.strides = dense_strides(shape, order, static_cast<int64_t>(size_of(dtype)));
  return result;
}

namespace {

/// Of axes with these steps; those of extent 1 have none to compare.
Order order_like(const Dims& shape, Dims steps) {
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) steps[d] = 0;
  }
  return sort_axes(axes_from_inside(shape.size()),
                   [&](int a, int b) { return outside(&steps, 1, a, b); });
}

}  // namespace

Dims strides_like(const Dims& shape, const Dims& steps, int64_t item_size) {
  return dense_strides(shape, order_like(shape, steps), item_size);
}

Dims strides_as_it_lies(const Tensor& x, const Dims& shape, int64_t item_size) {
  if (x.contiguous()) return contiguous_strides(shape, item_size);
  Order order = axes_from_inside(x.ndim());
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return std::abs(x.strides[a]) < std::abs(x.strides[b]); });
  return dense_strides(shape, order, item_size);
}

bool lies_densely(const Dims& shape, const Dims& strides, int64_t item_size) {
  if (strides.size() != shape.size()) return false;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
  Order order = axes_from_inside(shape.size());
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return strides[a] < strides[b]; });
  int64_t step = item_size;
  for (int axis : order) {
    if (shape[axis] == 1) continue;
    if (strides[axis] != step) return false;
    step *= shape[axis];
  }
  return true;
}

Tensor make_as_it_lies(const Tensor& x, DType dtype, const Dims& shape, vm::SiteId site) {
  Tensor made = make_tensor(x.storage->state(), dtype, shape, site);
  if (!x.contiguous()) {
    made.strides = strides_as_it_lies(x, shape, static_cast<int64_t>(size_of(dtype)));
  }
  return made;
}

Tensor make_joined(const std::vector<Tensor>& parts, const Dims& shape, vm::SiteId site) {
  Tensor made = make_tensor(parts[0].storage->state(), parts[0].dtype, shape, site);
  const auto lies_in_rows = [](const Tensor& part) { return part.contiguous(); };
  if (std::all_of(parts.begin(), parts.end(), lies_in_rows)) return made;
  // Here axes are sorted from the outermost in, and steps of 0 count.
  const auto in_order = [&](int a, int b) -> std::optional<bool> {
    std::optional<bool> answer;
    for (const Tensor& part : parts) {
      if (part.shape[a] == 1 || part.shape[b] == 1) continue;
      if (std::abs(part.strides[a]) <= std::abs(part.strides[b])) return true;
      answer = false;
    }
    return answer;
  };
  Order axes = axes_from_inside(shape.size());
  std::reverse(axes.begin(), axes.end());
  Order order = sort_axes(axes, in_order);
  std::reverse(order.begin(), order.end());
  made.strides = dense_strides(shape, order, static_cast<int64_t>(size_of(made.dtype)));
  return made;
}

Dims reduced_shape(const Dims& shape, AxisSet reduced, bool keepdims) {
  Dims result;
  for (int d = 0; d < shape.size(); ++d) {
    if (!reduced.has(d)) {
      result.push_back(shape[d]);
    } else if (keepdims) {
      result.push_back(1);
    }
  }
  return result;
}

Tensor make_reduced(const Tensor& x, DType dtype, AxisSet reduced, bool keepdims, vm::SiteId site) {
  Tensor made =
      make_tensor(x.storage->state(), dtype, reduced_shape(x.shape, reduced, keepdims), site);
  if (made.ndim() < 2 || x.contiguous()) return made;
  Order order;
  int places[kMaxDims], place = 0;
  for (int d = 0; d < x.ndim(); ++d) places[d] = keepdims || !reduced.has(d) ? place++ : -1;
  for (int axis : order_like(x.shape, x.strides)) {
    if (places[axis] >= 0) order.push_back(places[axis]);
  }
  made.strides = dense_strides(made.shape, order, static_cast<int64_t>(size_of(dtype)));
  return made;
}

namespace {

bool column_major(const Tensor& x) {
  Tensor reversed = x;
  std::reverse(reversed.shape.begin(), reversed.shape.end());
  std::reverse(reversed.strides.begin(), reversed.strides.end());
  return reversed.contiguous();
}

/// One loop over all elements serves all operands, without casts: where NumPy takes its trivial
/// loop.
bool is_one_loop(const Input* inputs, int count, const ops::Resolution& resolution,
                 const Tensor& out) {
  bool rows = out.contiguous(), columns = column_major(out);
  for (int k = 0; k < count; ++k) {
    const Tensor* tensor = inputs[k].tensor;
    if (!tensor) continue;
    if (tensor->dtype != resolution.in[k]) return false;
    if (tensor->ndim() == 0) continue;
    if (tensor->shape != out.shape) return false;
    rows = rows && tensor->contiguous();
    columns = columns && column_major(*tensor);
  }
  return out.dtype == resolution.out && (out.ndim() == 1 || rows || columns);
}

/// Each element is read before the loop writes there: both step the same way, and the input is
/// ahead.
bool runs_ahead(const Tensor& input, const Tensor& out) {
  const int64_t read = input.ndim() == 1 ? input.strides[0] : int64_t(size_of(input.dtype));
  const int64_t write = out.ndim() == 1 ? out.strides[0] : int64_t(size_of(out.dtype));
  if ((read > 0) != (write > 0) || std::abs(write) > std::abs(read)) return false;
  const int64_t ahead = *distance(out, input);
  return read > 0 ? ahead >= 0 : ahead <= 0;
}

}  // namespace

bool has_harmful_overlap(const Input* inputs, int count, const ops::Resolution& resolution,
                         const Tensor& out, bool in_order) {
  bool partial = false, ahead = in_order;
  for (int k = 0; k < count; ++k) {
    const Tensor* tensor = inputs[k].tensor;
    if (!tensor || overlap(*tensor, out) != Overlap::partial) continue;
    partial = true;
    ahead = ahead && tensor->ndim() > 0 && runs_ahead(*tensor, out);
  }
  return partial && !(ahead && is_one_loop(inputs, count, resolution, out));
}

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
