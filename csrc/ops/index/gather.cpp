// Elements by index arrays, masks, and indices along an axis.
#include "ops/index/indexed_copy.h"
#include "ops/index/places.h"

namespace ofl::ops {

void gather_kernel(const ArrayArgs& args) {
  const ArrayView &x = args.input(0), &out = args.output(0);
  const ArrayView* indices = &args.input(1);
  const int count = args.inputs - 1;
  std::vector<IndexedAxis> axes;
  for (int k = 0; k < count; ++k) {
    axes.push_back({x.shape[k], x.strides[k], args.attr[1 + k],
                    static_cast<OutOfRange>(args.attr[0]), args.name});
  }
  const IndexedCopy copy(CopyDirection::gather, x, count, out, indices[0].shape.size());
  for_each_place(axes, indices, out.strides, nullptr, [&](const Places& places) {
    copy.run(x.data, places.offsets, places.n, out.data + places.lined, places.step);
  });
}

void mask_gather_kernel(const ArrayArgs& args) {
  const ArrayView &x = args.input(0), &mask = args.input(1), &out = args.output(0);
  const IndexedCopy copy(CopyDirection::gather, x, mask.shape.size(), out, 1);
  int64_t room = out.shape[0];
  for_each_true(mask, x, out.strides[0], [&](const Places& places) {
    room -= places.n;
    if (room < 0) return;
    copy.run(x.data, places.offsets, places.n, out.data + places.lined, places.step);
  });
  if (room == 0) return;
  fail(ErrorKind::runtime, "[", args.name, "] expected ", out.shape[0],
       " true elements in the mask, ", "got ", out.shape[0] - room, ": another thread wrote to it");
}

void take_along_axis_kernel(const ArrayArgs& args) {
  const ArrayView &x = args.input(0), &index = args.input(1), &out = args.output(0);
  const auto axis = static_cast<int>(args.attr[0]);
  const IndexedAxis along{x.shape[axis],     x.strides[axis], axis,
                          OutOfRange::raise, args.name,       index_error(args)};
  const IndexedCopy copy(CopyDirection::gather, x, x.shape.size(), out, x.shape.size());
  Dims own = x.strides;
  own[axis] = 0;
  for_each_place({along}, &index, out.strides, &own, [&](const Places& places) {
    copy.run(x.data, places.offsets, places.n, out.data + places.lined, places.step);
  });
}

}  // namespace ofl::ops
