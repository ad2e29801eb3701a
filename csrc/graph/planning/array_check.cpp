#include "graph/planning/array_check.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "ops/random/draw_attr.h"
#include "tensor/index/index.h"

namespace ofl {

namespace {

constexpr int kAny = 1 << 30;
constexpr int64_t kWays = 3;      // of an index out of range
constexpr int64_t kFailures = 7;  // that a generalized ufunc names
constexpr int64_t kMostCore = 8;
constexpr int kScalarWords = 2;
constexpr int kFirstCore = 5;  // in the attributes of a generalized ufunc

/// The NumPy code of an element, where there is more than one for a dtype.
char common_code(char code) { return code == 'q' ? 'l' : code == 'Q' ? 'L' : code; }

bool is_code_of(char code, DType dtype) { return common_code(code) == info(dtype).code; }

/// A call that is looked at.
struct Call {
  const ArrayPlan& plan;

  const Tensor& in(int k) const { return *plan.inputs[k]; }
  const Tensor& out(int k = 0) const { return *plan.outputs[k]; }
  int64_t attr(int k) const { return plan.attr[k]; }
  int inputs() const { return plan.inputs.size(); }

  template <typename... What>
  void require(bool is_so, const What&... what) const {
    if (is_so) return;
    fail(ErrorKind::value, "[", plan.name, "] ", ops::info(plan.kernel).name, " expected ",
         what...);
  }
  void require_between(int k, int64_t least, int64_t most) const {
    require(attr(k) >= least && attr(k) <= most, "attribute ", k, " from ", least, " to ", most,
            ", got ", attr(k));
  }
  void require_axis(int64_t axis) const {
    require(axis >= 0 && axis < in(0).ndim(), "an axis of its first operand");
  }
  void require_index(const Tensor& x) const {
    require(is_integer(x.dtype), "an index of integers");
  }
  /// Indices from input `first` on, along the leading dimensions of x. Attribute 0 is a mode, those
  /// from `axes` on are the numbers of these dimensions, and `rest` others follow.
  void require_indices(int first, int count, const Tensor& x, int axes, int rest) const {
    require(count > 0 && plan.attr.size() == axes + count + rest && attr(0) >= 0 && attr(0) < kWays,
            "a mode, and an axis for each index");
    for (int k = first; k < first + count; ++k) {
      require_index(in(k));
      require_like(in(first), in(k));
    }
    require(count <= x.ndim(), "an axis for each index");
    require_elements(plan.name, in(first).shape, x.shape, &plan.attr[axes], count);
  }
  void require_like(const Tensor& x, const Tensor& y) const {
    require(x.shape == y.shape, "operands of one shape");
  }
  void require_dtype(const Tensor& x, DType dtype) const {
    if (x.dtype != dtype) require(false, name_of(dtype));
  }
  void require_one_dtype(const Tensor& x, const Tensor& y) const {
    require(x.dtype == y.dtype, "operands of one dtype");
  }
  /// All operands from the first one on are of one dimension.
  void require_lines() const {
    for (int k = 0; k < plan.inputs.size() + plan.outputs.size(); ++k) {
      require(plan.operand(k)->ndim() == 1, "one dimension");
    }
  }
  void require_count(const char* what, int given, int least, int most) const {
    const char* const plural = least == 1 ? "" : "s";
    if (most == kAny) {
      require(given >= least, "at least ", least, " ", what, plural, ", got ", given);
    } else if (least == most) {
      require(given == least, least, " ", what, plural, ", got ", given);
    } else {
      require(given >= least && given <= most, least, " to ", most, " ", what, "s, got ", given);
    }
  }
  /// None, or a sort of elements of so many bytes.
  void require_sort(size_t bytes) const {
    if (!plan.loop.function && !plan.loop.data) return;
    bool is_sort = std::strcmp(plan.loop.name, "sort") == 0;
    for (const DTypeInfo& row : kDTypes) {
      if (is_sort && std::strcmp(row.name, plan.loop.signature) == 0) is_sort = row.size == bytes;
    }
    require(is_sort, "a sort of its elements as loop");
  }
};

size_t sorted_bytes(DType dtype) {
  return info(dtype).kind == DTypeKind::complex ? sizeof(uint64_t) : size_of(dtype);
}

/// The shape `lead`, then the extents of x from `from` on.
bool is_joined(const Dims& shape, const Dims& lead, const Dims& x, int from) {
  if (from > x.size() || shape.size() != lead.size() + x.size() - from) return false;
  return std::equal(lead.begin(), lead.end(), shape.begin()) &&
         std::equal(x.begin() + from, x.end(), shape.begin() + lead.size());
}

void check_accumulate(const Call& call) {
  call.require_axis(call.attr(0));
  call.require_like(call.in(0), call.out());
  call.require_one_dtype(call.in(0), call.out());
  const char* const codes = call.plan.loop.signature;
  const auto is_own = [&](char code) { return is_code_of(code, call.out().dtype); };
  call.require(call.plan.loop.function && std::strlen(codes) == 5 && is_own(codes[0]) &&
                   is_own(codes[1]) && is_own(codes[4]),
               "a binary loop of its dtype");
}

void check_sort(const Call& call) {
  call.require_axis(call.attr(0));
  call.require_like(call.in(0), call.out());
  call.require_one_dtype(call.in(0), call.out());
  call.require_sort(sorted_bytes(call.in(0).dtype));
}

void check_argsort(const Call& call) {
  call.require_axis(call.attr(0));
  call.require_like(call.in(0), call.out());
  call.require_dtype(call.out(), DType::i64);
  call.require_sort(sizeof(uint64_t));
}

/// The places are compared with the extent when it runs.
void check_places(const Call& call) {
  if (call.inputs() == 1) return;
  const Tensor &x = call.in(0), &places = call.in(1);
  call.require_dtype(places, DType::i64);
  Dims shape = places.shape;
  call.require(shape.size() == x.ndim(), "places for each lane");
  const auto axis = static_cast<int>(call.attr(0));
  shape[axis] = x.shape[axis];
  call.require(shape == x.shape, "places for each lane");
}

/// Elements to bits, and back.
void check_bits(const Call& call) {
  const Tensor &x = call.in(0), &out = call.out();
  const bool packs = call.plan.kernel == ops::KernelId::pack_bits;
  call.require_axis(call.attr(0));
  call.require_dtype(out, DType::u8);
  if (!packs) call.require_dtype(x, DType::u8);
  call.require(is_integer(x.dtype) || x.dtype == DType::b1, "integers or bools");
  const auto axis = static_cast<int>(call.attr(0));
  Dims shape = x.shape;
  if (out.ndim() == x.ndim()) shape[axis] = packs ? (shape[axis] + 7) / 8 : out.shape[axis];
  call.require(shape == out.shape, "a byte for eight elements, operands of one shape elsewhere");
}

void check_partition(const Call& call) {
  check_sort(call);
  check_places(call);
}

void check_argpartition(const Call& call) {
  check_argsort(call);
  check_places(call);
}

void check_search_sorted(const Call& call) {
  call.require_lines();
  call.require_one_dtype(call.in(0), call.in(1));
  call.require_like(call.in(1), call.out());
  call.require_dtype(call.out(), DType::i64);
  if (call.inputs() == 2) return;
  call.require_like(call.in(0), call.in(2));
  call.require_dtype(call.in(2), DType::i64);
}

void check_contains(const Call& call) {
  call.require_lines();
  call.require_one_dtype(call.in(0), call.in(1));
  call.require_like(call.in(1), call.out());
  call.require_dtype(call.out(), DType::b1);
}

void check_count(const Call& call, const Tensor& count) {
  call.require_dtype(count, DType::i64);
  call.require(count.size() == 1, "one number as count");
}

void check_members(const Call& call) {
  call.require_one_dtype(call.in(0), call.in(1));
  call.require_one_dtype(call.in(2), call.out());
  call.require(call.in(0).ndim() == 1 && call.in(1).ndim() == 1, "one dimension");
  call.require_like(call.in(1), call.in(2));
  call.require_like(call.in(2), call.out());
  check_count(call, call.out(1));
}

void check_run_starts(const Call& call) {
  call.require(call.in(0).ndim() == 1 && call.out().ndim() == 1, "one dimension");
  call.require(call.out().shape[0] == call.in(0).shape[0] + 1, "room for each start, and one more");
  call.require(call.out().contiguous(), "a contiguous result");
  call.require_dtype(call.out(), DType::i64);
  check_count(call, call.out(1));
}

void check_pick(const Call& call) {
  call.require_lines();
  call.require_dtype(call.in(1), DType::i64);
  call.require_one_dtype(call.in(0), call.out());
  call.require_like(call.in(1), call.out());
}

void check_histogram(const Call& call) {
  call.require_lines();
  call.require_dtype(call.out(), DType::i64);
  call.require(info(call.in(0).dtype).kind != DTypeKind::complex, "real numbers");
  call.require(call.in(1).dtype == DType::f64 || call.in(1).dtype == call.in(0).dtype,
               "edges of float64, or of the dtype of the numbers");
  call.require(call.in(1).size() > 0 && call.out().size() == call.in(1).size(),
               "a result for each edge");
}

void check_bincount(const Call& call) {
  call.require_lines();
  call.require_dtype(call.in(0), DType::i64);
  call.require(call.out().contiguous(), "a contiguous result");
  call.require_dtype(call.out(), call.inputs() == 1 ? DType::i64 : DType::f64);
  if (call.inputs() == 1) return;
  call.require_dtype(call.in(1), DType::f64);
  call.require_like(call.in(0), call.in(1));
}

/// Each core dimension has one extent, by its number.
void check_cores(const Call& call, int operands) {
  const ArrayPlan& plan = call.plan;
  const char* code = plan.loop.signature;
  int64_t extents[kMostCore];
  std::fill_n(extents, kMostCore, int64_t{-1});
  int next = kFirstCore;
  for (auto k = static_cast<int>(call.attr(0)); k < operands; ++k) {
    const Tensor& x = *plan.operand(k);
    while (*code == '-' || *code == '>') ++code;
    call.require(*code && is_code_of(*code++, x.dtype), "operands of the dtypes of its loop");
    call.require(next < plan.attr.size() && call.attr(next) >= 0 && call.attr(next) <= x.ndim() &&
                     next + call.attr(next) < plan.attr.size(),
                 "core dimensions that the operands have");
    const auto core = static_cast<int>(call.attr(next++));
    for (int d = x.ndim() - core; d < x.ndim(); ++d) {
      const int64_t number = call.attr(next++);
      call.require(number >= 0 && number < call.attr(4), "core dimensions by their numbers");
      if (extents[number] < 0) extents[number] = x.shape[d];
      call.require(extents[number] == x.shape[d], "core dimensions of one extent");
    }
  }
  call.require(!*code && next == plan.attr.size(), "operands for the whole loop");
}

/// The dimensions before the core ones broadcast to those of the last operand.
void check_batches(const Call& call, int operands) {
  std::vector<Dims> batches;
  const auto first = static_cast<int>(call.attr(0));
  int next = kFirstCore;
  for (int k = first; k < operands; ++k) {
    const auto core = static_cast<int>(call.attr(next));
    Dims own = call.plan.operand(k)->shape;
    own.resize(own.size() - core);
    batches.push_back(own);
    next += 1 + core;
  }
  const Dims& whole = batches.back();
  for (int k = first; k < operands; ++k) {
    const Dims& own = batches[k - first];
    call.require(
        k >= call.inputs() ? own == whole : broadcast_shapes(own, whole, call.plan.name) == whole,
        "batches that broadcast to that of the result");
  }
}

/// That the core dimensions are those of the loop's signature is a part of verifying the program.
void check_gufunc(const Call& call) {
  const int operands = call.inputs() + call.plan.outputs.size();
  call.require(call.attr(0) == 0 || (call.attr(0) == 1 && call.inputs() == 1),
               "attribute 0 to be 0, or 1 for a loop that changes its only input, got ",
               call.attr(0), " (inputs: ", call.inputs(), ")");
  call.require_between(1, 0, kFailures - 1);
  call.require_between(3, 0, std::numeric_limits<int64_t>::max());
  call.require_between(4, 0, kMostCore);
  if (call.attr(2)) {
    call.require(call.inputs() > 0 && call.in(0).ndim() > 0, "a matrix");
    const DType dtype = call.in(0).dtype;
    call.require(dtype == DType::f64 || dtype == DType::c128, "float64 or complex128");
  }
  call.require(call.plan.loop.function != nullptr, "a loop");
  check_cores(call, operands);
  check_batches(call, operands);
}

void check_correlate(const Call& call) {
  call.require_lines();
  call.require_one_dtype(call.in(0), call.in(1));
  call.require_one_dtype(call.in(0), call.out());
  call.require(call.in(1).size() > 0, "elements in its second operand, got none");
  call.require(call.in(1).size() <= call.in(0).size(), "at least ", call.in(1).size(),
               " elements in its first operand, as many as in the second one, got ",
               call.in(0).size());
  call.require(call.out().contiguous(), "a contiguous result");
  call.require(call.attr(0) >= 0 && call.attr(0) < call.in(1).size() &&
                   call.out().size() <= call.in(0).size() + call.in(1).size() - 1,
               "places that reach the operands");
  call.require(call.plan.loop.data && std::strcmp(call.plan.loop.name, "dot") == 0 &&
                   std::strcmp(call.plan.loop.signature, name_of(call.out().dtype)) == 0,
               "a dot of its dtype as loop");
}

void check_interpolate(const Call& call) {
  for (int k = 0; k < 6; ++k) call.require_dtype(*call.plan.operand(k), DType::f64);
  call.require(call.in(0).ndim() == 1 && call.in(1).ndim() == 1 && call.in(2).ndim() == 1,
               "one dimension");
  call.require_like(call.in(0), call.in(2));
  call.require_like(call.in(1), call.out());
  call.require(call.in(0).size() > 0 && call.in(3).size() == 1 && call.in(4).size() == 1,
               "a point, and one value on each side");
}

void check_gather(const Call& call) {
  const int count = call.inputs() - 1;
  call.require_one_dtype(call.in(0), call.out());
  call.require_indices(1, count, call.in(0), 1, 0);
  call.require(is_joined(call.out().shape, call.in(1).shape, call.in(0).shape, count),
               "a result of the shape of the indices and of what they choose");
}

void check_scatter(const Call& call) {
  const auto count = static_cast<int>(std::clamp<int64_t>(call.attr(1), 0, kMaxDims + 1));
  call.require(call.inputs() == count || call.inputs() == count + 1, "indices, and maybe a value");
  call.require_indices(0, count, call.out(), 2, kScalarWords);
  if (call.inputs() == count) return;
  call.require_one_dtype(call.in(count), call.out());
  call.require(is_joined(call.in(count).shape, call.in(0).shape, call.out().shape, count),
               "a value of the shape of the indices and of what they choose");
}

void check_scatter_add(const Call& call) {
  const Tensor &rows = call.in(1), &out = call.out();
  call.require_dtype(call.in(0), DType::i64);
  call.require_one_dtype(rows, out);
  call.require(out.dtype == DType::f32 || out.dtype == DType::f64, "float32 or float64");
  call.require(call.in(0).ndim() == 1 && out.ndim() == 2 && out.contiguous() &&
                   rows.shape == Dims{call.in(0).shape[0], out.shape[1]},
               "a row for each place, and a contiguous result");
}

/// The mask has the leading extents of x, or 0 in the place of some, and so chooses nothing.
void require_mask(const Call& call, const Tensor& mask, const Tensor& x) {
  const auto fits = [](int64_t own, int64_t extent) { return own == extent || own == 0; };
  call.require_dtype(mask, DType::b1);
  call.require(mask.ndim() <= x.ndim() &&
                   std::equal(mask.shape.begin(), mask.shape.end(), x.shape.begin(), fits),
               "a mask of the leading dimensions");
}

void check_mask_gather(const Call& call) {
  const Tensor &x = call.in(0), &mask = call.in(1), &out = call.out();
  require_mask(call, mask, x);
  call.require_one_dtype(x, out);
  call.require(out.ndim() > 0 && is_joined(out.shape, {out.shape[0]}, x.shape, mask.ndim()),
               "rows of what the mask chooses");
}

void check_mask_scatter(const Call& call) {
  const Tensor &mask = call.in(0), &x = call.out();
  require_mask(call, mask, x);
  call.require(call.plan.attr.size() == 1 + kScalarWords, "a count and a number");
  if (call.inputs() == 1) return;
  const Tensor& value = call.in(1);
  call.require_one_dtype(value, x);
  call.require(value.ndim() > 0 && is_joined(value.shape, {value.shape[0]}, x.shape, mask.ndim()),
               "rows for what the mask chooses");
  // Where the count is -1, the kernel looks at whether there are as many rows.
  const bool is_one = value.size() == 0 || value.strides[0] == 0;  // for all places
  call.require(is_one || call.attr(0) < 0 || value.shape[0] == call.attr(0),
               "a row for each place");
}

void check_take_along_axis(const Call& call) {
  const Tensor &x = call.in(0), &index = call.in(1);
  call.require_axis(call.attr(0));
  call.require_index(index);
  call.require_one_dtype(x, call.out());
  call.require_like(index, call.out());
  call.require(index.ndim() == x.ndim(), "operands of as many dimensions");
  Dims shape = index.shape;
  shape[static_cast<int>(call.attr(0))] = x.shape[static_cast<int>(call.attr(0))];
  call.require(shape == x.shape, "operands of one shape, but along the axis");
}

void check_count_nonzero(const Call& call) { check_count(call, call.out()); }

void check_nonzero(const Call& call) {
  call.require_dtype(call.out(), DType::i64);
  call.require(call.out().ndim() == 2 && call.out().shape[0] == call.in(0).ndim(),
               "a row for each dimension");
}

/// Which distributions there are for a dtype, the row says when it runs.
void check_philox(const Call& call) {
  const int attrs = call.plan.attr.size();
  call.require(attrs == ops::kFirstNumber || attrs == ops::kFirstStep + call.out().ndim(),
               "a draw, or a window of one");
  call.require(call.out().contiguous(), "a contiguous result");
}

void check_note_nonfinite(const Call& call) {
  call.require_dtype(call.out(), DType::b1);
  call.require(call.out().size() == 1, "one bool");
}

void check_require_finite(const Call& call) {
  if (call.inputs() == 0) return;
  call.require_dtype(call.in(0), DType::b1);
  call.require(call.in(0).size() == 1, "one bool");
}

void check_run_numbers(const Call& call) {
  call.require_lines();
  for (int k = 0; k < 3; ++k) call.require_dtype(*call.plan.operand(k), DType::i64);
  call.require_like(call.in(1), call.out());
}

void check_itself(const Call&) {}  // when it runs

struct Row {
  ops::KernelId id;
  int least_inputs, most_inputs, outputs;  // outputs: kAny: at least one
  int least_attrs;
  void (*check)(const Call& call);
};
using Id = ops::KernelId;
constexpr Row kRows[] = {
    {Id::accumulate, 1, 1, 1, 4, check_accumulate},
    {Id::argpartition, 1, 2, 1, 3, check_argpartition},
    {Id::argsort, 1, 1, 1, 2, check_argsort},
    {Id::bincount, 1, 2, 1, 0, check_bincount},
    {Id::contains, 2, 2, 1, 1, check_contains},
    {Id::conv2d, 2, 2, 1, 0, check_itself},
    {Id::conv2d_input_gradient, 2, 2, 1, 0, check_itself},
    {Id::conv2d_weight_gradient, 2, 2, 1, 0, check_itself},
    {Id::correlate, 2, 2, 1, 1, check_correlate},
    {Id::histogram, 2, 2, 1, 0, check_histogram},
    {Id::interpolate, 5, 5, 1, 1, check_interpolate},
    {Id::layout_transform, 1, 1, 1, 0, check_itself},
    {Id::members, 3, 3, 2, 1, check_members},
    {Id::pack_bits, 1, 1, 1, 2, check_bits},
    {Id::partition, 1, 2, 1, 3, check_partition},
    {Id::pick, 2, 2, 1, 0, check_pick},
    {Id::run_numbers, 2, 2, 1, 0, check_run_numbers},
    {Id::run_starts, 1, 1, 2, 1, check_run_starts},
    {Id::search_sorted, 2, 3, 1, 1, check_search_sorted},
    {Id::sort, 1, 1, 1, 3, check_sort},
    {Id::gufunc, 0, kAny, kAny, 5, check_gufunc},
    {Id::gather, 2, kAny, 1, 1, check_gather},
    {Id::scatter, 1, kAny, 1, 2, check_scatter},
    {Id::scatter_add, 2, 2, 1, 0, check_scatter_add},
    {Id::mask_gather, 2, 2, 1, 0, check_mask_gather},
    {Id::mask_scatter, 1, 2, 1, 1, check_mask_scatter},
    {Id::take_along_axis, 2, 2, 1, 1, check_take_along_axis},
    {Id::count_nonzero, 1, 1, 1, 0, check_count_nonzero},
    {Id::nonzero, 1, 1, 1, 0, check_nonzero},
    {Id::unpack_bits, 1, 1, 1, 2, check_bits},
    {Id::philox, 0, 0, 1, ops::kFirstNumber, check_philox},
    {Id::note_nonfinite, 0, kAny, 1, 0, check_note_nonfinite},
    {Id::require_finite, 0, 1, kAny, 0, check_require_finite},
};
constexpr int kFirst = static_cast<int>(kRows[0].id);
constexpr int kCount = sizeof(kRows) / sizeof(kRows[0]);
constexpr bool rows_are_in_order() {
  for (int k = 0; k < kCount; ++k) {
    if (static_cast<int>(kRows[k].id) != kFirst + k) return false;
  }
  return kFirst + kCount == ops::kKernelCount;
}
static_assert(rows_are_in_order());

}  // namespace

void check_arrays(const ArrayPlan& plan) {
  const Row& row = kRows[static_cast<int>(plan.kernel) - kFirst];
  const Call call{plan};
  call.require_count("operand", plan.inputs.size(), row.least_inputs, row.most_inputs);
  const bool is_any = row.outputs == kAny;
  call.require_count("result", plan.outputs.size(), is_any ? 1 : row.outputs, row.outputs);
  call.require_count("attribute", plan.attr.size(), row.least_attrs, kAny);
  row.check(call);
}

}  // namespace ofl
