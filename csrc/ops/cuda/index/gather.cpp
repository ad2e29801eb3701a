// Reads by index arrays on a device.
#include "ops/cuda/nest.h"

namespace ofl::ops::cuda {

namespace {

using GatherArgs = layout::GatherArgs<kIndexArrays>;

void* gather_program(Launching& launching, int64_t word, int arrays, bool wide) {
  static Programs<IndexingKey>& programs = *new Programs<IndexingKey>;
  const IndexingKey key{0, static_cast<int32_t>(word), arrays, 0, 0, wide, 0};
  return programs.get(launching, key, [&] {
    KernelRequest request;
    request.kind = "gather";
    request.wide = wide;
    request.options = {word, arrays};
    request.args_bytes = args_bytes<layout::GatherArgs>(arrays);
    return request;
  });
}

/// An axis with an index array.
struct Axis {
  const ArrayView* indices;
  int64_t size, step, number;
};

/// out = the elements of x that `axes` and `nest` say.
bool gather(Launching& launching, const ArrayView& x, const ArrayView& out, OutOfRange mode,
            const std::vector<Axis>& axes, Nest nest, ErrorKind error = ErrorKind::index) {
  GatherArgs args;
  bool wide = is_wide(x) || is_wide(out);
  uint64_t bits = bits_of(x.data) | bits_of(out.data);
  for (size_t k = 0; k < axes.size(); ++k) {
    const Axis& axis = axes[k];
    if (!describe_indices(*axis.indices, axis.size, axis.step, &args.nest.indices[k])) return false;
    wide = wide || is_wide(*axis.indices);
    bits |= bits_of(axis.step);
  }
  nest.sort();
  const auto arrays = static_cast<int>(axes.size());
  const int64_t word = nest.into_words(static_cast<int64_t>(size_of(x.dtype)), bits, false);
  if (!nest.fits()) return false;
  args.count = nest.count();
  if (args.count == 0) return true;
  nest.store(&args.nest);
  args.placed = x.data;
  args.lined = out.data;
  args.nest.mode = mode_of(mode);
  void* program = gather_program(launching, word, arrays, wide || args.count >= kNarrow);
  if (!program) return false;
  if (mode == OutOfRange::raise) {
    std::vector<int64_t> sizes, numbers;
    for (const Axis& axis : axes) {
      sizes.push_back(axis.size);
      numbers.push_back(axis.number);
    }
    args.nest.faults = report_indices(launching, sizes, numbers, error);
  }
  launching.run(program, args.count, args);
  return true;
}

}  // namespace

bool launch_gather(Launching& launching, const ArrayArgs& args) {
  const ArrayView &x = args.input(0), &out = args.output(0);
  const ArrayView* indices = &args.input(1);
  const int arrays = args.inputs - 1;
  std::vector<Axis> axes;
  for (int k = 0; k < arrays; ++k) {
    axes.push_back({&indices[k], x.shape[k], x.strides[k], args.attr[1 + static_cast<size_t>(k)]});
  }
  Nest nest;
  add_places(indices, arrays, out.strides, nullptr, &nest);
  add_block(x, arrays, &out, indices[0].shape.size(), &nest);
  return gather(launching, x, out, static_cast<OutOfRange>(args.attr[0]), axes, std::move(nest));
}

bool launch_take_along_axis(Launching& launching, const ArrayArgs& args) {
  const ArrayView &x = args.input(0), &index = args.input(1), &out = args.output(0);
  const auto axis = static_cast<int>(args.attr[0]);
  Dims own = x.strides;
  own[axis] = 0;
  Nest nest;
  add_places(&index, 1, out.strides, &own, &nest);
  return gather(launching, x, out, OutOfRange::raise,
                {{&index, x.shape[axis], x.strides[axis], axis}}, std::move(nest),
                index_error(args));
}

bool launch_pick(Launching& launching, const ArrayArgs& args) {
  const ArrayView &x = args.input(0), &index = args.input(1), &out = args.output(0);
  Nest nest;
  add_places(&index, 1, out.strides, nullptr, &nest);
  // All are in range: there is no fault to report.
  return gather(launching, x, out, OutOfRange::clip, {{&index, x.shape[0], x.strides[0], 0}},
                std::move(nest));
}

}  // namespace ofl::ops::cuda
