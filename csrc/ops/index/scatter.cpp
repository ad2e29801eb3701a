// Writes by index arrays and masks.
#include <limits>

#include "ops/index/indexed_copy.h"
#include "ops/index/places.h"

namespace ofl::ops {

namespace {

/// What is written: an input, or one scalar that does not step.
ArrayView value_of(const ArrayArgs& args, int input, size_t scalar, const ArrayView& x, int lead,
                   int block_dims) {
  if (input < args.inputs) return args.input(input);
  ArrayView value;
  value.data = reinterpret_cast<char*>(const_cast<int64_t*>(&args.attr[scalar]));
  value.dtype = x.dtype;
  value.strides = Dims(lead + block_dims, 0);
  return value;
}

}  // namespace

void scatter_kernel(const ArrayArgs& args) {
  const ArrayView& x = args.output(0);
  const ArrayView* indices = &args.input(0);
  const auto count = static_cast<int>(args.attr[1]);
  std::vector<IndexedAxis> axes;
  for (int k = 0; k < count; ++k) {
    axes.push_back({x.shape[k], x.strides[k], args.attr[2 + k],
                    static_cast<OutOfRange>(args.attr[0]), args.name});
  }
  const int picked = indices[0].shape.size();
  const ArrayView value = value_of(args, count, 2 + count, x, picked, x.shape.size() - count);
  const IndexedCopy copy(CopyDirection::scatter, x, count, value, picked);
  for_each_place(axes, indices, value.strides, nullptr, [&](const Places& places) {
    copy.run(x.data, places.offsets, places.n, value.data + places.lined, places.step);
  });
}

void mask_scatter_kernel(const ArrayArgs& args) {
  const ArrayView &mask = args.input(0), &x = args.output(0);
  const int dims = mask.shape.size();
  const ArrayView value = value_of(args, 1, 1, x, 1, x.shape.size() - dims);
  if (args.attr[0] >= 0) {
    const int64_t found = count_nonzero(mask);
    if (found != args.attr[0]) {
      fail(ErrorKind::value, "[", args.name, "] cannot assign ", args.attr[0],
           " values where the mask has ", found, " true elements");
    }
  }
  const IndexedCopy copy(CopyDirection::scatter, x, dims, value, 1);
  const bool is_one = value.strides[0] == 0;  // for all places
  int64_t rows = is_one ? std::numeric_limits<int64_t>::max() : value.shape[0];
  for_each_true(mask, x, value.strides[0], [&](const Places& places) {
    rows -= places.n;
    if (rows < 0) return;
    copy.run(x.data, places.offsets, places.n, value.data + places.lined, places.step);
  });
  if (rows >= 0) return;
  fail(ErrorKind::runtime, "[", args.name, "] expected ", value.shape[0],
       " true elements in the mask, got ", value.shape[0] - rows, ": another thread wrote to it");
}

}  // namespace ofl::ops
