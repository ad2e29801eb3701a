#include "ops/cuda/arrays.h"

#include "ops/cuda/programs.h"
#include "ops/loop_args.h"

namespace ofl::ops::cuda {

namespace {

constexpr int kMostDims = 8;

/// Compared as bytes.
struct Key {
  const char* kind;
  const char* op;
  DType dtype;
  bool wide;
  uint8_t unused[6];
};

void set_rows(const ArrayView& from, const ArrayView& to, Iteration* iteration) {
  iteration->operands = 2;
  iteration->ndim = to.shape.size();
  for (int d = 0; d < iteration->ndim; ++d) {
    iteration->rows[d] = {to.shape[d], {from.strides[d], to.strides[d]}};
  }
  coalesce(iteration);
}

}  // namespace

void* array_program(Launching& launching, const char* kind, const char* op, size_t args_bytes,
                    DType dtype, bool wide) {
  static Programs<Key>& programs = *new Programs<Key>;
  return programs.get(launching, Key{kind, op, dtype, wide, {}}, [&] {
    KernelRequest request;
    request.kind = kind;
    request.op = op;
    request.dtypes = {dtype};
    request.flat = true;
    request.wide = wide;
    request.args_bytes = args_bytes;
    return request;
  });
}

DType moved_as(DType dtype) {
  if (info(dtype).kind == DTypeKind::complex) return dtype;
  switch (size_of(dtype)) {
    case 1: return DType::u8;
    case 2: return DType::u16;
    case 4: return DType::u32;
    default: return DType::u64;
  }
}

ArrayView scratch_array(Launching& launching, DType dtype, const Dims& shape) {
  const auto size = static_cast<int64_t>(size_of(dtype));
  ArrayView view{nullptr, dtype, shape, contiguous_strides(shape, size)};
  view.data = static_cast<char*>(
      launching.scratch(static_cast<size_t>(std::max<int64_t>(1, element_count(shape)) * size)));
  return view;
}

bool copy_array(Launching& launching, const ArrayView& from, const ArrayView& to) {
  LoopArgs args;
  args.kernel = KernelId::copy;
  args.data[0] = from.data;
  args.data[1] = to.data;
  args.dtype[0] = from.dtype;
  args.dtype[1] = to.dtype;
  set_rows(from, to, &args.iteration);
  return launch_elementwise(launching, args);
}

bool can_copy(const ArrayView& view) {
  ArrayView dense = view;
  set_contiguous_strides(view.shape, static_cast<int64_t>(size_of(view.dtype)), &dense.strides);
  Iteration iteration;
  set_rows(view, dense, &iteration);
  return iteration.ndim <= kMostDims;
}

bool clear_array(Launching& launching, const ArrayView& view) {
  LoopArgs args;
  args.kernel = KernelId::fill;
  args.data[0] = view.data;
  args.dtype[0] = view.dtype;
  args.iteration.operands = 1;
  args.iteration.ndim = 1;
  args.iteration.rows[0] = {element_count(view.shape), {static_cast<int64_t>(size_of(view.dtype))}};
  return launch_elementwise(launching, args);
}

}  // namespace ofl::ops::cuda
