// Lines through given points, by NumPy's way and with its bits.
#include <algorithm>
#include <cmath>

#include "ops/sort/binary_search.h"
#include "ops/sort/order.h"

namespace ofl::ops {

namespace {

/// The elements one after the other, where they are or in `copy`.
const double* packed(const ArrayView& view, std::vector<double>* copy) {
  if (view.strides[0] == sizeof(double)) return reinterpret_cast<const double*>(view.data);
  copy->resize(view.shape[0]);
  for (int64_t i = 0; i < view.shape[0]; ++i) {
    (*copy)[i] = load_element<double>(view.data + i * view.strides[0]);
  }
  return copy->data();
}

struct Lines {
  const double* points;
  const double* values;
  int64_t count;
  double left, right;  // of what is beyond the points
  bool by_inverse;     // NumPy multiplies the slopes of complex values with 1 / width

  /// How many points are not above each x.
  void count_up_to(const double* x, int64_t* found) const {
    const auto is_not_above = [](double point, double x) { return point <= x; };
    search_together(points, 0, count, x, is_not_above, found);
  }

  /// `place`: of the last point that is not above x; any, where the points do not ascend.
  double at(double x, int64_t place) const {
    const int64_t last = count - 1;
    if (std::isnan(x) && last > 0) return x;
    if (x < points[0]) return left;
    if (x > points[last]) return right;
    if (place >= last) return values[last];
    return points[place] == x ? values[place] : on_line(x, place);
  }

  /// From the other end where the first gives NaN, as an infinite value does.
  double on_line(double x, int64_t i) const {
    const double width = points[i + 1] - points[i], rise = values[i + 1] - values[i];
    const double slope = by_inverse ? rise * (1.0 / width) : rise / width;
    const double near = slope * (x - points[i]) + values[i];
    if (!std::isnan(near)) return near;
    const double far = slope * (x - points[i + 1]) + values[i + 1];
    return std::isnan(far) && values[i] == values[i + 1] ? values[i] : far;
  }
};

}  // namespace

void interpolate_kernel(const ArrayArgs& args) {
  const ArrayView &x = args.input(1), &out = args.output(0);
  std::vector<double> copies[2];
  const Lines lines{packed(args.input(0), &copies[0]),
                    packed(args.input(2), &copies[1]),
                    args.input(0).shape[0],
                    load_element<double>(args.input(3).data),
                    load_element<double>(args.input(4).data),
                    args.attr[0] != 0};
  double together[kTogether];
  int64_t found[kTogether];
  for (int64_t i = 0; i < x.shape[0]; i += kTogether) {
    const int n = static_cast<int>(std::min<int64_t>(kTogether, x.shape[0] - i));
    for (int k = 0; k < n; ++k) {
      together[k] = load_element<double>(x.data + (i + k) * x.strides[0]);
    }
    std::fill(together + n, together + kTogether, together[n - 1]);
    lines.count_up_to(together, found);
    for (int k = 0; k < n; ++k) {
      const double y = lines.at(together[k], std::max<int64_t>(found[k] - 1, 0));
      std::memcpy(out.data + (i + k) * out.strides[0], &y, sizeof(y));
    }
  }
}

}  // namespace ofl::ops
