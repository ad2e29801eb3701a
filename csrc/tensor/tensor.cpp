#include "tensor/tensor.h"

#include <algorithm>

#include "ep/memory/caching_allocator.h"

namespace ofl {

namespace {

/// Makes `out` a new tensor, row-major, not yet materialized.
void set_new(vm::DeviceState& state, DType dtype, const Dims& shape, vm::SiteId site, Tensor* out) {
  const auto itemsize = static_cast<int64_t>(size_of(dtype));
  const int64_t bytes = count_elements(shape, itemsize, "tensor") * itemsize;
  out->storage = StorageRef::adopt(TensorStorage::make(state, static_cast<size_t>(bytes), site));
  out->dtype = dtype;
  out->shape = shape;
  set_contiguous_strides(shape, itemsize, &out->strides);
  out->offset = 0;
}

}  // namespace

Tensor make_tensor(vm::DeviceState& state, DType dtype, const Dims& shape, vm::SiteId site) {
  Tensor tensor;
  set_new(state, dtype, shape, site, &tensor);
  return tensor;
}

bool make_tensor_now(vm::DeviceState& state, DType dtype, const Dims& shape, vm::SiteId site,
                     Tensor* out) {
  set_new(state, dtype, shape, site, out);
  try {
    out->storage->materialize_on_host();
  } catch (const ep::CapacityError&) {
    return false;
  }
  return true;
}

std::optional<Tensor> reshape_view(const Tensor& x, const Dims& shape) {
  Tensor view{x.storage, x.dtype, shape, {}, x.offset};
  const auto itemsize = static_cast<int64_t>(size_of(x.dtype));
  if (x.contiguous()) {
    set_contiguous_strides(shape, itemsize, &view.strides);
  } else if (!reshape_strides(x.shape, x.strides, shape, itemsize, &view.strides)) {
    return std::nullopt;
  }
  return view;
}

Tensor permute_view(const Tensor& x, const SmallVector<int, 4>& axes) {
  Tensor view = x;
  for (int i = 0; i < axes.size(); ++i) {
    view.shape[i] = x.shape[axes[i]];
    view.strides[i] = x.strides[axes[i]];
  }
  return view;
}

Tensor reversed_view(const Tensor& x) {
  Tensor view = x;
  std::reverse(view.shape.begin(), view.shape.end());
  std::reverse(view.strides.begin(), view.strides.end());
  return view;
}

Tensor broadcast_view(const Tensor& x, const Dims& shape, const char* op) {
  count_elements(shape, static_cast<int64_t>(size_of(x.dtype)), op);
  Tensor view = x;
  view.strides = broadcast_strides(x.shape, x.strides, shape, op);
  view.shape = shape;
  return view;
}

Tensor diagonal_view(const Tensor& x, int64_t offset, int axis1, int axis2) {
  Tensor view = x;
  view.shape.clear();
  view.strides.clear();
  for (int d = 0; d < x.ndim(); ++d) {
    if (d == axis1 || d == axis2) continue;
    view.shape.push_back(x.shape[d]);
    view.strides.push_back(x.strides[d]);
  }
  offset = std::clamp(offset, -x.shape[axis1], x.shape[axis2]);
  const int64_t rows = x.shape[axis1] - (offset < 0 ? -offset : 0);
  const int64_t columns = x.shape[axis2] - (offset > 0 ? offset : 0);
  const int64_t size = std::max<int64_t>(0, std::min(rows, columns));
  // No elements have no place: a far offset must not leave the storage.
  if (size > 0) view.offset += offset < 0 ? -offset * x.strides[axis1] : offset * x.strides[axis2];
  view.shape.push_back(size);
  view.strides.push_back(x.strides[axis1] + x.strides[axis2]);
  return view;
}

Tensor component_view(const Tensor& x, int part) {
  Tensor view = x;
  view.dtype = x.dtype == DType::c64 ? DType::f32 : DType::f64;
  view.offset += part * static_cast<int64_t>(size_of(view.dtype));
  return view;
}

Dims resolve_shape(const Tensor& x, Dims shape) {
  if (shape.size() > kMaxDims) {
    fail(ErrorKind::value, "[reshape] at most ", kMaxDims, " dimensions, got ", shape.size());
  }
  int inferred = -1;
  int64_t known = 1;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1 && inferred < 0) {
      inferred = i;
    } else if (shape[i] < 0) {
      fail(ErrorKind::value, "[reshape] one dimension may be -1, got shape ", shape_str(shape));
    } else if (__builtin_mul_overflow(known, shape[i], &known)) {
      fail(ErrorKind::value, "[reshape] shape ", shape_str(shape), " is too large");
    }
  }
  const int64_t size = x.size();
  const bool fits = inferred < 0 ? known == size : known != 0 && size % known == 0;
  if (!fits) {
    fail(ErrorKind::value, "[reshape] cannot reshape ", shape_str(x.shape), " (", size,
         " elements) into ", shape_str(shape));
  }
  if (inferred >= 0) shape[inferred] = size / known;
  return shape;
}

int normalize_axis(int64_t axis, int ndim, const char* op) {
  if (axis < -ndim || axis >= ndim) {
    fail(ErrorKind::axis, "[", op, "] axis ", axis, " is out of bounds for ", ndim,
         ndim == 1 ? " dimension" : " dimensions");
  }
  return static_cast<int>(axis < 0 ? axis + ndim : axis);
}

std::optional<int64_t> distance(const Tensor& a, const Tensor& b) {
  if (a.storage.get() == b.storage.get()) return b.offset - a.offset;
  if (a.storage->is_alone() || b.storage->is_alone()) return std::nullopt;
  const auto first = reinterpret_cast<uintptr_t>(a.storage->data());
  const auto second = reinterpret_cast<uintptr_t>(b.storage->data());
  const bool apart = first + a.storage->bytes() <= second || second + b.storage->bytes() <= first;
  if (apart) return std::nullopt;
  return static_cast<int64_t>(second - first) + b.offset - a.offset;
}

Overlap overlap(const Tensor& a, const Tensor& b) {
  const std::optional<int64_t> from_a_to_b = distance(a, b);
  if (!from_a_to_b) return Overlap::none;
  if (*from_a_to_b == 0 && a.shape == b.shape && a.strides == b.strides && a.dtype == b.dtype) {
    return Overlap::same;
  }
  const Extent bytes_a = extent_of(a.shape, a.strides, static_cast<int64_t>(size_of(a.dtype)));
  const Extent bytes_b = extent_of(b.shape, b.strides, static_cast<int64_t>(size_of(b.dtype)));
  const bool apart =
      bytes_a.high <= *from_a_to_b + bytes_b.low || *from_a_to_b + bytes_b.high <= bytes_a.low;
  return apart ? Overlap::none : Overlap::partial;
}

}  // namespace ofl
