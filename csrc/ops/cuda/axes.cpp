#include "ops/cuda/axes.h"

#include <algorithm>
#include <cstdlib>

namespace ofl::ops::cuda {

namespace {

bool steps_into(const Axis& outer, const Axis& inner) {
  return outer.in == inner.in * inner.dim && outer.out == inner.out * inner.dim &&
         outer.position == inner.position * inner.dim;
}

}  // namespace

Shift order_axes(std::vector<Axis>* axes) {
  Shift shift;
  for (Axis& axis : *axes) {
    if (axis.in >= 0 || axis.dim == 0) continue;
    shift.in += (axis.dim - 1) * axis.in;
    shift.out += (axis.dim - 1) * axis.out;
    shift.position += (axis.dim - 1) * axis.position;
    axis.in = -axis.in;
    axis.out = -axis.out;
    axis.position = -axis.position;
  }
  std::stable_sort(axes->begin(), axes->end(),
                   [](const Axis& a, const Axis& b) { return a.in > b.in; });
  std::vector<Axis> merged;
  for (const Axis& axis : *axes) {
    if (!merged.empty() && steps_into(merged.back(), axis)) {
      merged.back() = {merged.back().dim * axis.dim, axis.in, axis.out, axis.position};
    } else {
      merged.push_back(axis);
    }
  }
  axes->swap(merged);
  return shift;
}

Reach reach_of(const std::vector<Axis>& axes) {
  Reach reach;
  for (const Axis& axis : axes) {
    reach.elements *= axis.dim;
    reach.in += (axis.dim - 1) * std::abs(axis.in);
    reach.out += (axis.dim - 1) * std::abs(axis.out);
  }
  return reach;
}

}  // namespace ofl::ops::cuda
