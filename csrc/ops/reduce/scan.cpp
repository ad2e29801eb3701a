// Running sums, products and the like by NumPy's binary loops.
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "ops/array_args.h"
#include "ops/lanes.h"

namespace ofl::ops {

namespace {

struct Plus {
  template <typename T>
  static T of(T a, T b) {
    return static_cast<T>(a + b);
  }
};
struct Times {
  template <typename T>
  static T of(T a, T b) {
    return static_cast<T>(a * b);
  }
};

/// Continues a running sum or product of integers, four elements at a time: the total takes one
/// operation for all four. Any grouping has the same bits. Returns how many results there are.
template <typename Operation, typename T>
int64_t run_up_fours(const char* in, int64_t in_step, char* out, int64_t out_step, int64_t n,
                     T* total) {
  int64_t i = 1;
  for (; i + 4 <= n; i += 4) {
    T next[4];
    for (int64_t k = 0; k < 4; ++k) std::memcpy(&next[k], in + (i + k) * in_step, sizeof(T));
    const T two = Operation::of(next[0], next[1]), last_two = Operation::of(next[2], next[3]);
    const T sums[4] = {next[0], two, Operation::of(two, next[2]), Operation::of(two, last_two)};
    for (int64_t k = 0; k < 4; ++k) {
      const T result = Operation::of(*total, sums[k]);
      std::memcpy(out + (i + k) * out_step, &result, sizeof(T));
    }
    *total = Operation::of(*total, sums[3]);
  }
  return i;
}

/// A running sum or product of n elements, the first of which is in its place. It is kept in a
/// register; NumPy's loop reads each one back from memory, which takes longer than the operation.
/// The bits are the same, but for a NaN: it ends before the first one that an operation makes.
/// Returns how many results there are.
template <typename Operation, typename T>
int64_t run_up(const char* in, int64_t in_step, char* out, int64_t out_step, int64_t n) {
  T total;
  std::memcpy(&total, in, sizeof total);
  int64_t i = 1;
  if constexpr (std::is_integral_v<T>) {
    i = run_up_fours<Operation>(in, in_step, out, out_step, n, &total);
  }
  for (; i < n; ++i) {
    T next;
    std::memcpy(&next, in + i * in_step, sizeof next);
    total = Operation::of(total, next);
    if (total != total) return i;
    std::memcpy(out + i * out_step, &total, sizeof total);
  }
  return n;
}

using RunningFn = int64_t (*)(const char* in, int64_t in_step, char* out, int64_t out_step,
                              int64_t n);

/// Integers wrap around, so those without a sign serve for all.
template <typename Operation>
RunningFn running_function(DType dtype) {
  switch (dtype) {
    case DType::f32: return run_up<Operation, float>;
    case DType::f64: return run_up<Operation, double>;
    case DType::i32:
    case DType::u32: return run_up<Operation, uint32_t>;
    case DType::i64:
    case DType::u64: return run_up<Operation, uint64_t>;
    default: return nullptr;
  }
}

/// Null for what NumPy's loop does.
RunningFn running_function(const ArrayArgs& args) {
  const DType dtype = args.input(0).dtype;
  if (args.attr[3]) return running_function<Plus>(dtype);
  const bool multiplies = std::strcmp(args.loop.name, "multiply") == 0;
  return multiplies ? running_function<Times>(dtype) : nullptr;
}

/// Along the axis, lane by lane. One element goes over as it is; the loop then reads what it wrote
/// a step before, as NumPy's own accumulate lets it.
void accumulate_lanes(const ArrayArgs& args, int axis) {
  const ArrayView &in = args.input(0), &out = args.output(0);
  const int64_t n = in.shape[axis];
  const size_t itemsize = size_of(in.dtype);
  const int64_t in_step = in.strides[axis], out_step = out.strides[axis];
  const RunningFn running = running_function(args);
  for_each_lane({&in, &out}, axis, [&](char* const* first) {
    std::memcpy(first[1], first[0], itemsize);
    const int64_t done = running ? running(first[0], in_step, first[1], out_step, n) : 1;
    if (done == n) return;
    char* const last = first[1] + (done - 1) * out_step;
    char* pointers[3] = {last, first[0] + done * in_step, last + out_step};
    const intptr_t count = n - done;
    const intptr_t steps[3] = {out_step, in_step, out_step};
    args.loop.function(pointers, &count, steps, args.loop.data);
  });
}

/// The other dimension along which neighbours of the output lie closest, or -1.
int closest_dimension(const ArrayView& out, int axis) {
  int closest = -1;
  for (int d = 0; d < out.shape.size(); ++d) {
    if (d == axis || out.shape[d] < 2) continue;
    if (closest < 0 || std::abs(out.strides[d]) < std::abs(out.strides[closest])) closest = d;
  }
  return closest;
}

/// Row by row, along another dimension: memory is read in its order, and the loop vectorizes.
void accumulate_rows(const ArrayArgs& args, int axis, int along) {
  ArrayView in = args.input(0), out = args.output(0);
  const size_t itemsize = size_of(in.dtype);
  const int64_t n = in.shape[axis];
  const intptr_t count = in.shape[along];
  const intptr_t in_step = in.strides[along], out_step = out.strides[along];
  in.shape[along] = out.shape[along] = 1;
  const intptr_t steps[3] = {out_step, in_step, out_step};
  for_each_lane({&in, &out}, axis, [&](char* const* first) {
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(first[1] + i * out_step, first[0] + i * in_step, itemsize);
    }
    for (int64_t k = 1; k < n; ++k) {
      char* row = first[1] + k * out.strides[axis];
      char* pointers[3] = {row - out.strides[axis], first[0] + k * in.strides[axis], row};
      args.loop.function(pointers, &count, steps, args.loop.data);
    }
  });
}

}  // namespace

void accumulate_kernel(const ArrayArgs& args) {
  const auto axis = static_cast<int>(args.attr[0]);
  const ArrayView& out = args.output(0);
  if (out.shape[axis] == 0) return;
  const int along = closest_dimension(out, axis);
  const bool by_rows =
      args.attr[1] != 0 && along >= 0 && std::abs(out.strides[along]) < std::abs(out.strides[axis]);
  if (by_rows) {
    accumulate_rows(args, axis, along);
  } else {
    accumulate_lanes(args, axis);
  }
}

}  // namespace ofl::ops
