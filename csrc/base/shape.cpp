#include "base/shape.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"

namespace ofl {

int64_t count_elements(const Dims& shape, int64_t itemsize, const char* op) {
  int64_t bytes = itemsize;  // zero dimensions left out: strides must fit for empty shapes, too
  bool is_empty = false;
  for (int64_t d : shape) {
    if (d < 0) {
      fail(ErrorKind::value, "[", op, "] negative dimension ", d, " in shape ", shape_str(shape));
    }
    is_empty = is_empty || d == 0;
    if (d > 0 && __builtin_mul_overflow(bytes, d, &bytes)) {
      fail(ErrorKind::value, "[", op, "] shape ", shape_str(shape), " with ", itemsize,
           " bytes an element is too big: the byte count does not fit in 64 bits");
    }
  }
  return is_empty ? 0 : bytes / itemsize;
}

void set_contiguous_strides(const Dims& shape, int64_t itemsize, Dims* strides) {
  strides->resize(shape.size());
  int64_t stride = itemsize;
  for (int i = shape.size() - 1; i >= 0; --i) {
    (*strides)[i] = stride;
    stride *= std::max<int64_t>(shape[i], 1);
  }
}

Dims contiguous_strides(const Dims& shape, int64_t itemsize) {
  Dims strides;
  set_contiguous_strides(shape, itemsize, &strides);
  return strides;
}

bool is_contiguous(const Dims& shape, const Dims& strides, int64_t itemsize) {
  bool dense = true;
  int64_t expected = itemsize;
  for (int i = shape.size() - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] == 1) continue;
    dense = dense && strides[i] == expected;
    expected *= shape[i];
  }
  return dense;
}

Dims broadcast_shapes(const Dims& a, const Dims& b, const char* op) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  const int lead = longer.size() - shorter.size();
  Dims out = longer;
  for (int i = 0; i < shorter.size(); ++i) {
    const int64_t d = shorter[i];
    int64_t& target = out[lead + i];
    if (d == target || d == 1) continue;
    if (target != 1) {
      fail(ErrorKind::value, "[", op, "] shapes ", shape_str(a), " and ", shape_str(b),
           " do not broadcast");
    }
    target = d;
  }
  return out;
}

Dims broadcast_strides(const Dims& shape, const Dims& strides, const Dims& target, const char* op) {
  const int lead = target.size() - shape.size();
  bool fits = lead >= 0;
  Dims out(target.size(), 0);
  for (int i = 0; fits && i < shape.size(); ++i) {
    if (shape[i] == target[lead + i]) {
      out[lead + i] = strides[i];
    } else {
      fits = shape[i] == 1;
    }
  }
  if (!fits) {
    fail(ErrorKind::value, "[", op, "] shape ", shape_str(shape), " does not broadcast to ",
         shape_str(target));
  }
  return out;
}

namespace {

// True when the elements of dimensions [first, last) in row-major order have one distance.
bool is_evenly_spaced(const Dims& shape, const Dims& strides, int first, int last) {
  for (int i = first; i + 1 < last; ++i) {
    if (strides[i] != shape[i + 1] * strides[i + 1]) return false;
  }
  return true;
}

}  // namespace

// Both shapes are cut into the shortest runs of dimensions with equal products; each old run must
// be evenly spaced, and gives its last stride to the last dimension of the new run.
bool reshape_strides(const Dims& shape, const Dims& strides, const Dims& new_shape,
                     int64_t itemsize, Dims* new_strides) {
  *new_strides = contiguous_strides(new_shape, itemsize);
  if (element_count(shape) == 0) return true;
  Dims old_shape, old_strides;  // without the dimensions of size 1
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    old_shape.push_back(shape[i]);
    old_strides.push_back(strides[i]);
  }
  int old_first = 0, new_first = 0;
  while (old_first < old_shape.size()) {
    int old_last = old_first + 1, new_last = new_first + 1;
    int64_t old_count = old_shape[old_first], new_count = new_shape[new_first];
    while (old_count != new_count) {
      if (old_count < new_count) {
        old_count *= old_shape[old_last++];
      } else {
        new_count *= new_shape[new_last++];
      }
    }
    if (!is_evenly_spaced(old_shape, old_strides, old_first, old_last)) return false;
    int64_t stride = old_strides[old_last - 1];
    for (int i = new_last - 1; i >= new_first; --i) {
      (*new_strides)[i] = stride;
      stride *= new_shape[i];
    }
    old_first = old_last;
    new_first = new_last;
  }
  return true;
}

Extent extent_of(const Dims& shape, const Dims& strides, int64_t itemsize) {
  if (element_count(shape) == 0) return {0, 0};
  Extent extent{0, itemsize};
  bool fits = true;
  for (int i = 0; i < shape.size() && fits; ++i) {
    int64_t& bound = strides[i] < 0 ? extent.low : extent.high;
    int64_t way;
    fits = !__builtin_mul_overflow(shape[i] - 1, strides[i], &way) &&
           !__builtin_add_overflow(bound, way, &bound);
  }
  int64_t bytes;
  if (fits && !__builtin_sub_overflow(extent.high, extent.low, &bytes)) return extent;
  fail(ErrorKind::value, "shape ", shape_str(shape), " and strides ", shape_str(strides),
       " reach further than 64 bits count");
}

bool may_self_overlap(const Dims& shape, const Dims& strides, int64_t itemsize) {
  if (element_count(shape) == 0) return false;
  struct Axis {
    int64_t step, size;
  };
  SmallVector<Axis, 4> axes;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] > 1) axes.push_back({std::abs(strides[i]), shape[i]});
  }
  std::sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.step < b.step; });
  int64_t extent = itemsize;  // bytes spanned by the axes so far
  for (const Axis& axis : axes) {
    if (axis.step < extent) return true;
    extent += (axis.size - 1) * axis.step;
  }
  return false;
}

std::string shape_str(const Dims& shape) {
  std::string text = "(";
  for (int i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace ofl
