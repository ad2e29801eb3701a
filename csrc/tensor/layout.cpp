#include "tensor/layout.h"

#include <algorithm>
#include <cstdlib>

namespace ofl {

namespace {

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
  SmallVector<int, 4> order;  // of the axes, innermost first; insertion sort, stable
  for (int axis = shape.size() - 1; axis >= 0; --axis) {
    int place = order.size();
    for (int i = order.size() - 1; i >= 0; --i) {
      const std::optional<bool> sorted = outside(strides, count, axis, order[i]);
      if (!sorted) continue;
      if (*sorted) break;
      place = i;
    }
    order.push_back(axis);
    for (int i = order.size() - 1; i > place; --i) std::swap(order[i], order[i - 1]);
  }
  auto stride = static_cast<int64_t>(size_of(dtype));
  for (int axis : order) {
    result.strides[axis] = stride;
    stride *= std::max<int64_t>(shape[axis], 1);
  }
  return result;
}

Tensor make_as_it_lies(const Tensor& x, vm::SiteId site) {
  Tensor made = make_tensor(x.storage->state(), x.dtype, x.shape, site);
  SmallVector<int, 8> order;  // of the axes, the widest step first
  for (int axis = 0; axis < x.ndim(); ++axis) order.push_back(axis);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return std::abs(x.strides[a]) > std::abs(x.strides[b]); });
  auto stride = static_cast<int64_t>(size_of(x.dtype));
  for (int i = order.size() - 1; i >= 0; --i) {
    made.strides[order[i]] = stride;
    stride *= std::max<int64_t>(x.shape[order[i]], 1);
  }
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

}  // namespace ofl
