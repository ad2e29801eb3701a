// Masks on a device: copies from and to where they are true, and where that is. The steps are those
// of oneflow_lite/cuda/kernels/index/mask.cuh.
#include <algorithm>
#include <cstdlib>

#include "ops/cuda/layout/mask.h"
#include "ops/cuda/nest.h"
#include "ops/index/places.h"

namespace ofl::ops::cuda {

namespace {

using layout::kMaskThreads;
using layout::kMaskTile;
using layout::MaskArgs;
using layout::NonzeroArgs;
using layout::NumberArgs;
using layout::SelectArgs;

constexpr int kBlocksPerMultiprocessor = 8;

enum class Step : int32_t { count, sum, gather, scatter, nonzero };

/// What the kernels of one call have in common.
struct Form {
  DType dtype;
  bool flat, wide;
};

constexpr Form kAnyForm = {DType::b1, true, false};  // of the sum: it knows no elements

void* mask_program(Launching& launching, Step step, const Form& form, int64_t word = 0) {
  static Programs<IndexingKey>& programs = *new Programs<IndexingKey>;
  const IndexingKey key{static_cast<int32_t>(step),
                        static_cast<int32_t>(word),
                        0,
                        static_cast<uint8_t>(form.dtype),
                        form.flat,
                        form.wide,
                        0};
  return programs.get(launching, key, [&] {
    constexpr struct {
      const char* op;
      size_t args_bytes;
    } kSteps[] = {{"count", sizeof(MaskArgs)},
                  {"sum", sizeof(layout::SumArgs)},
                  {"gather", sizeof(SelectArgs)},
                  {"scatter", sizeof(SelectArgs)},
                  {"nonzero", sizeof(NonzeroArgs)}};
    KernelRequest request;
    request.kind = "mask";
    request.op = kSteps[static_cast<int>(step)].op;
    request.args_bytes = kSteps[static_cast<int>(step)].args_bytes;
    request.flat = form.flat;
    request.wide = form.wide;
    if (word) {
      request.options = {word};
    } else {
      request.dtypes = {form.dtype};
    }
    return request;
  });
}

/// False: too many dimensions.
bool store_steps(Dims shape, const Dims& strides, layout::Steps* out) {
  std::vector<Dims> merged{strides};
  merge_dims(&shape, &merged);
  if (shape.size() > kNestDims) return false;
  out->ndim = shape.size();
  std::copy(shape.begin(), shape.end(), out->dims);
  std::copy(merged[0].begin(), merged[0].end(), out->strides);
  return true;
}

/// A mask, or any tensor whose elements are true when they are not zero.
class Mask {
 public:
  /// False: there is no kernel for it.
  bool describe(const ArrayView& view) {
    const auto itemsize = static_cast<int64_t>(size_of(view.dtype));
    uint64_t bits = bits_of(view.data);
    for (int64_t stride : view.strides) bits |= bits_of(stride);
    if (bits % info(view.dtype).align != 0) return false;
    args_.data = view.data;
    args_.size = element_count(view.shape);
    args_.tiles = (args_.size + kMaskTile - 1) / kMaskTile;
    form_ = {view.dtype, is_contiguous(view.shape, view.strides, itemsize),
             is_wide(view) || args_.size >= kNarrow};
    return args_.size > 0 && store_steps(view.shape, view.strides, &args_.steps);
  }

  const MaskArgs& args() const { return args_; }
  const Form& form() const { return form_; }
  void widen() { form_.wide = true; }

  /// The kernels by which true elements get their numbers; false: there are none.
  bool compile(Launching& launching) {
    if (args_.tiles == 1) return true;
    count_ = mask_program(launching, Step::count, form_);
    sum_ = mask_program(launching, Step::sum, kAnyForm);
    return count_ && sum_;
  }

  /// Before anything is enqueued.
  void allocate(Launching& launching) {
    if (args_.tiles == 1) return;
    args_.counts = launching.scratch_of<layout::int64>(args_.tiles + 1);
  }

  void number(Launching& launching) {
    if (args_.tiles == 1) return;
    launching.run_blocks(count_, blocks(launching, args_.tiles), kMaskThreads, 0, args_);
    launching.run_blocks(sum_, 1, kMaskThreads, 0, layout::SumArgs{args_.counts, args_.tiles});
  }

  static int64_t blocks(Launching& launching, int64_t jobs) {
    return std::min<int64_t>(jobs, launching.device().multiprocessors() * kBlocksPerMultiprocessor);
  }

 private:
  MaskArgs args_;
  Form form_ = {};
  void* count_ = nullptr;
  void* sum_ = nullptr;
};

using Describe = Error (*)(const char* name, int64_t expected, int64_t found);

/// Expects a number of true elements, or else the error that `describe` gives.
void expect(Launching& launching, int64_t expected, Describe describe, NumberArgs* numbers) {
  const char* name = launching.name();
  numbers->expected = expected;
  numbers->fault =
      launching.report(1, [=](int, int64_t found) { return describe(name, expected, found); });
}

/// Between x at the true elements of a mask and a line of their own.
class Select {
 public:
  Select(const ArrayView& mask, const ArrayView& x, const ArrayView* lined, const int64_t* scalar)
      : mask_view_(mask), x_(x), lined_(lined), scalar_(scalar) {}

  bool describe() {
    const int dims = mask_view_.shape.size();
    if (!mask_.describe(mask_view_)) return false;
    if (is_wide(x_) || (lined_ && is_wide(*lined_))) mask_.widen();
    Nest block;
    add_block(x_, dims, lined_, 1, &block);
    block.sort();
    uint64_t bits = bits_of(x_.data) | (lined_ ? bits_of(lined_->data) : 0);
    args_.lined_step = lined_ ? lined_->strides[0] : 0;
    bits |= bits_of(args_.lined_step);
    Dims strides;
    for (int d = 0; d < dims; ++d) {
      strides.push_back(x_.strides[d]);
      if (mask_view_.shape[d] > 1) bits |= bits_of(x_.strides[d]);
    }
    const auto itemsize = static_cast<int64_t>(size_of(x_.dtype));
    word_ = block.into_words(itemsize, bits, !lined_);
    if (!block.fits() || !store_steps(mask_view_.shape, strides, &args_.places)) return false;
    if (!lined_ && word_ < itemsize) return false;
    store_block(block);
    args_.placed = x_.data;
    if (lined_) {
      args_.lined = lined_->data;
    } else {
      repeat_scalar(scalar_, itemsize, args_.scalar);
    }
    return true;
  }

  NumberArgs* numbers() { return &args_.numbers; }

  /// Compiles, before anything is allocated; false: there is no kernel.
  bool compile(Launching& launching, Step step) {
    // Counts of a tile times words of a block.
    if (args_.block >= kNarrow / kMaskTile) mask_.widen();
    program_ = mask_program(launching, step, mask_.form(), word_);
    return program_ && mask_.compile(launching);
  }

  void run(Launching& launching) {
    mask_.allocate(launching);
    mask_.number(launching);
    args_.numbers.mask = mask_.args();
    // Long blocks at few places are shared by several of the grid's blocks.
    const int64_t tiles = mask_.args().tiles;
    const int64_t wanted = Mask::blocks(launching, INT64_MAX);
    args_.numbers.parts = std::clamp<int64_t>(wanted / tiles, 1, std::max<int64_t>(args_.block, 1));
    const int64_t jobs = tiles * args_.numbers.parts;
    launching.run_blocks(program_, Mask::blocks(launching, jobs), kMaskThreads, 0, args_);
  }

 private:
  void store_block(const Nest& block) {
    args_.block = block.count();
    args_.block_placed.ndim = args_.block_lined.ndim = static_cast<int64_t>(block.rows().size());
    for (size_t d = 0; d < block.rows().size(); ++d) {
      const NestRow& row = block.rows()[d];
      args_.block_placed.dims[d] = args_.block_lined.dims[d] = row.dim;
      args_.block_placed.strides[d] = row.placed;
      args_.block_lined.strides[d] = row.lined;
    }
    if (block.rows().empty()) return;
    args_.is_long = std::abs(args_.lined_step) < std::abs(block.rows().back().lined);
  }

  const ArrayView& mask_view_;
  const ArrayView& x_;
  const ArrayView* const lined_;  // null: the scalar
  const int64_t* const scalar_;
  Mask mask_;
  SelectArgs args_;
  int64_t word_ = 0;
  void* program_ = nullptr;
};

}  // namespace

bool launch_mask_gather(Launching& launching, const ArrayArgs& args) {
  const ArrayView& out = args.output(0);
  if (element_count(args.input(1).shape) == 0 && out.shape[0] == 0) return true;
  Select select(args.input(1), args.input(0), &out, nullptr);
  if (!select.describe() || !select.compile(launching, Step::gather)) return false;
  expect(
      launching, out.shape[0],
      [](const char* name, int64_t expected, int64_t found) {
        return Error(ErrorKind::runtime,
                     concat("[", name, "] expected ", expected, " true elements in the mask, ",
                            "got ", found, ": another thread wrote to it"));
      },
      select.numbers());
  select.run(launching);
  return true;
}

bool launch_mask_scatter(Launching& launching, const ArrayArgs& args) {
  const ArrayView* value = args.inputs > 1 ? &args.input(1) : nullptr;
  if (element_count(args.input(0).shape) == 0 && args.attr[0] <= 0) return true;
  Select select(args.input(0), args.output(0), value, &args.attr[1]);
  if (!select.describe() || !select.compile(launching, Step::scatter)) return false;
  if (args.attr[0] >= 0) {
    expect(
        launching, args.attr[0],
        [](const char* name, int64_t expected, int64_t found) {
          return Error(ErrorKind::value,
                       concat("[", name, "] cannot assign ", expected,
                              " values where the mask has ", found, " true elements"));
        },
        select.numbers());
  }
  select.run(launching);
  return true;
}

bool launch_nonzero(Launching& launching, const ArrayArgs& args) {
  const ArrayView &x = args.input(0), &out = args.output(0);
  if (element_count(x.shape) == 0 && out.shape[1] == 0) return true;
  Mask mask;
  if (!mask.describe(x) || !mask.compile(launching)) return false;
  void* const program = mask_program(launching, Step::nonzero, mask.form());
  if (!program) return false;
  NonzeroArgs numbering;
  expect(
      launching, out.shape[1],
      [](const char* name, int64_t expected, int64_t found) {
        return Error(ErrorKind::runtime,
                     concat("[", name, "] expected ", expected, " elements, got ", found,
                            ": another thread wrote to the tensor"));
      },
      &numbering.numbers);
  mask.allocate(launching);
  mask.number(launching);
  numbering.numbers.mask = mask.args();
  numbering.out = out.data;
  numbering.row = out.strides[0];
  numbering.step = out.strides[1];
  numbering.ndim = x.shape.size();
  std::copy(x.shape.begin(), x.shape.end(), numbering.dims);
  launching.run_blocks(program, Mask::blocks(launching, mask.args().tiles), kMaskThreads, 0,
                       numbering);
  return true;
}

}  // namespace ofl::ops::cuda
