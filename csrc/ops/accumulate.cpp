// Running sums and products by NumPy's binary loops.
#include "ops/array_kernel.h"
#include "ops/lanes.h"

namespace ofl::ops {

// One element goes over as it is; the loop then reads what it wrote a step before, as NumPy's own
// accumulate lets it.
void accumulate_kernel(const ArrayArgs& args) {
  const ArrayView &in = args.input(0), &out = args.output(0);
  const auto axis = static_cast<int>(args.attr[0]);
  const int64_t n = in.shape[axis];
  if (n == 0) return;
  const size_t itemsize = size_of(in.dtype);
  for_each_lane({&in, &out}, axis, [&](char* const* first) {
    std::memcpy(first[1], first[0], itemsize);
    if (n == 1) return;
    const int64_t in_step = in.strides[axis], out_step = out.strides[axis];
    char* pointers[3] = {first[1], first[0] + in_step, first[1] + out_step};
    const intptr_t count = n - 1;
    const intptr_t steps[3] = {out_step, in_step, out_step};
    args.loop.function(pointers, &count, steps, args.loop.data);
  });
}

}  // namespace ofl::ops
