#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "base/error.h"
#include "ops/buffering.h"
#include "ops/elementwise/exponents.h"
#include "ops/elementwise/short_lines.h"
#include "ops/loop_args.h"
#include "ops/loops.h"
#include "ops/pieces.h"

namespace ofl::ops {

namespace {

/// True when an element of a signed integer operand is negative.
bool any_negative(const LoopArgs& args, int operand) {
  return visit_dtype(args.dtype[operand], [&](auto sample) {
    using T = decltype(sample);
    bool negative = false;
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      Iteration own = args.iteration;  // a broadcast operand is looked at once
      for (int d = 0; d < own.ndim; ++d) {
        if (own.rows[d].strides[operand] == 0) own.rows[d].dim = 1;
      }
      const Iteration::Row& inner = inner_row(own);
      for_each_row(own, outer_rows(own), args.data, [&](char* const* pointers) {
        const char* from = pointers[operand];
        if (inner.strides[operand] == sizeof(T)) {  // by vectors
          const T* values = reinterpret_cast<const T*>(from);
          T bits = 0;
          for (int64_t i = 0; i < inner.dim; ++i) bits |= values[i];
          negative |= bits < 0;
          return;
        }
        for (int64_t i = 0; i < inner.dim; ++i, from += inner.strides[operand]) {
          negative |= *reinterpret_cast<const T*>(from) < 0;
        }
      });
    }
    return negative;
  });
}

DType wanted_dtype(const LoopArgs& args, int operand) {
  const Resolution& resolution = *args.resolution;
  return operand == args.iteration.operands - 1 ? resolution.out : resolution.in[operand];
}

/// What the loop steps by in memory. Not 0 for a single element: some loops then compute as if the
/// operand were broadcast, and round differently.
int64_t memory_step(const LoopArgs& args, int operand) {
  const Iteration& iteration = args.iteration;
  return iteration.ndim > 0 ? inner_row(iteration).strides[operand]
                            : static_cast<int64_t>(size_of(args.dtype[operand]));
}

/// One operand of a block-wise call.
struct BlockOperand {
  CastFn cast = nullptr;       // between memory and the block; nullptr: the loop touches the memory
  int64_t step = 0;            // what the loop steps by
  int64_t item_size = 0;       // in the block
  bool laid_out = false;       // an input that the caller has put there as each block has it
  const char* held = nullptr;  // an input whose block was read from here, with `held_cores` steps
  int64_t held_cores = 0;
};

/// Bits of the loop depend on where its vectors begin and end.
bool is_by_lanes(const LoopArgs& args) {
  return args.op->by_lanes && info(args.resolution->out).kind == DTypeKind::floating;
}

/// Elements in a block: where they decide the bits, as many as NumPy's.
int64_t block_elements(const LoopArgs& args) { return is_by_lanes(args) ? kNumpyBuffer : kBlock; }

/// Runs the loop block by block where operands are cast or walk their rows in jumps. A block is
/// some steps of row `outer_` with everything inside it. Its inputs are read before its output is
/// written, so an operand may be the output itself.
class BlockRunner {
 public:
  BlockRunner(const LoopArgs& args, const Piecewise& whole)
      : args_(args), iteration_(args.iteration), out_(args.iteration.operands - 1) {
    const Buffering& buffering = whole.buffering;
    most_ = block_elements(args);
    const bool fits = buffering.core <= most_;
    outer_ = iteration_.ndim - 1 - (fits ? buffering.depth : 0);
    core_ = fits ? buffering.core : 1;
    for (int k = 0; k <= out_; ++k) {
      BlockOperand& operand = operands_[k];
      const DType wanted = wanted_dtype(args, k);
      const bool single = buffering.is_single(k);
      operand.step = memory_step(args, k);
      if (single && !whole.buffered[k]) continue;
      operand.item_size = static_cast<int64_t>(size_of(wanted));
      if (!single || operand.step != 0) operand.step = operand.item_size;
      operand.laid_out = whole.laid_out && whole.repeated[k];
      operand.cast =
          k == out_ ? cast_function(wanted, args.dtype[k]) : cast_function(args.dtype[k], wanted);
    }
  }

  /// Lays out a block of an input that is the same in all blocks.
  void lay_out(int k, char* to) {
    gather_rows(k, outer_, std::min(most_ / core_, iteration_.rows[outer_].dim), args_.data[k], to);
  }

  void run() {
    const Iteration::Row& row = outer_ >= 0 ? iteration_.rows[outer_] : inner_row(iteration_);
    const int64_t most = most_ / core_;
    for_each_row(iteration_, std::max(outer_, 0), args_.data, [&](char* const* pointers) {
      for (int64_t start = 0; start < row.dim; start += most) {
        char* at[kMaxOperands];
        for (int k = 0; k <= out_; ++k) at[k] = pointers[k] + start * row.strides[k];
        run_block(at, std::min(most, row.dim - start));
      }
    });
  }

 private:
  char* block(int k) const { return thread_scratch().bytes + k * kBlockBytes; }

  void run_block(char* const* at, int64_t cores) {
    char* data[kMaxOperands];
    intptr_t steps[kMaxOperands];
    for (int k = 0; k <= out_; ++k) {
      const bool lies_there = !operands_[k].cast || operands_[k].laid_out;
      data[k] = lies_there ? at[k] : block(k);
      steps[k] = operands_[k].step;
      if (!lies_there && k != out_) gather(k, at[k], cores);
    }
    const intptr_t n = core_ * cores;
    args_.resolution->loop(data, &n, steps, args_.resolution->data);
    if (operands_[out_].cast) scatter(at[out_], cores);
  }

  /// Reads a block of an input; not again where a broadcast input stayed at the same place.
  void gather(int k, char* from, int64_t cores) {
    BlockOperand& operand = operands_[k];
    if (operand.held == from && operand.held_cores >= cores) return;
    operand.held = from;
    operand.held_cores = cores;
    char* to = block(k);
    if (operand.step == 0) return operand.cast(from, 0, to, 0, 1);
    gather_rows(k, std::max(outer_, 0), cores, from, to);
  }

  /// Reads `count` steps of row `d` with everything inside it; returns where they end in the block.
  /// What repeats is read once.
  char* gather_rows(int k, int d, int64_t count, const char* from, char* to) {
    const BlockOperand& operand = operands_[k];
    const bool innermost = d >= iteration_.ndim - 1;
    const int64_t stride = iteration_.ndim > 0 ? iteration_.rows[d].strides[k] : 0;
    if (innermost && (stride != 0 || count == 1)) {
      operand.cast(from, stride, to, operand.item_size, count);
      return to + count * operand.item_size;
    }
    const int64_t inner = innermost ? 1 : iteration_.rows[d + 1].dim;
    if (d == iteration_.ndim - 2) {
      const int64_t inner_stride = iteration_.rows[d + 1].strides[k],
                    bytes = inner * operand.item_size;
      if (inner_stride == 0) return gather_repeated(operand, count, inner, from, stride, to);
      const bool lies_so =
          inner_stride == operand.item_size && args_.dtype[k] == wanted_dtype(args_, k);
      if (stride != 0 && lies_so && bytes <= kLongestShortLine) {
        copy_short_lines(from, stride, to, bytes, count, bytes);
        return to + count * bytes;
      }
    }
    if (stride != 0) {
      for (int64_t i = 0; i < count; ++i) {
        to = gather_rows(k, d + 1, inner, from + i * stride, to);
      }
      return to;
    }
    char* end = to + operand.item_size;
    if (innermost) {
      operand.cast(from, 0, to, 0, 1);
    } else {
      end = gather_rows(k, d + 1, inner, from, to);
    }
    const int64_t whole = (end - to) * count;
    if (end - to == 1) {
      std::memset(to, *to, whole);
      return to + whole;
    }
    for (int64_t done = end - to; done < whole;) {
      const int64_t more = std::min(done, whole - done);
      std::memcpy(to + done, to, more);
      done += more;
    }
    return to + whole;
  }

  /// Reads `count` items, and each `times` times. They lie at the end of what they become, and each
  /// is read before it is overwritten: item i ends there, and times * (i + 1) are written up to it.
  static char* gather_repeated(const BlockOperand& operand, int64_t count, int64_t times,
                               const char* from, int64_t stride, char* to) {
    const int64_t size = operand.item_size;
    char* const items = to + count * (times - 1) * size;
    operand.cast(from, stride, items, size, count);
    repeat_items(items, size, count, times, to);
    return to + count * times * size;
  }

  void scatter(char* to, int64_t cores) {
    const BlockOperand& operand = operands_[out_];
    const char* from = block(out_);
    for_each_run(iteration_, std::max(outer_, 0), cores, out_, to,
                 [&](char* run, int64_t stride, int64_t n) {
                   operand.cast(from, operand.item_size, run, stride, n);
                   from += n * operand.item_size;
                 });
  }

  const LoopArgs& args_;
  const Iteration& iteration_;
  const int out_;
  int outer_;
  int64_t core_, most_;
  BlockOperand operands_[kMaxOperands];
};

/// Elements with gaps that loops of comparisons take as they lie.
constexpr int64_t kFewCompared = 64;

/// A bool output with gaps. NumPy 2.4's isnan, isfinite and signbit write wrong values to those, so
/// loops only see contiguous ones.
bool is_spread_bool(const LoopArgs& args) {
  const int out = args.iteration.operands - 1;
  const Iteration::Row& row = inner_row(args.iteration);
  return args.dtype[out] == DType::b1 && row.dim > 1 && row.strides[out] != 1;
}

/// Calls the loop on one row. The count is a constant because copying three pointers in a counted
/// loop costs as much as the rest of a small call.
template <int Operands>
void call_loop(const LoopArgs& args, char* const* pointers, const int64_t* strides) {
  char* data[Operands];  // a loop may change what it is given
  intptr_t steps[Operands];
  for (int k = 0; k < Operands; ++k) {
    data[k] = pointers[k];
    steps[k] = strides[k];
  }
  const intptr_t n = inner_row(args.iteration).dim;
  args.resolution->loop(data, &n, steps, args.resolution->data);
}

void call_loop(const LoopArgs& args, char* const* pointers, const int64_t* strides) {
  switch (args.iteration.operands) {
    case 2: return call_loop<2>(args, pointers, strides);
    case 3: return call_loop<3>(args, pointers, strides);
    default: return call_loop<kMaxOperands>(args, pointers, strides);
  }
}

/// Row by row, as the operands lie in memory.
void run_in_place(const LoopArgs& args) {
  const Iteration& iteration = args.iteration;
  if (iteration.ndim == 1) return call_loop(args, args.data, iteration.rows[0].strides);
  int64_t steps[kMaxOperands];
  for (int k = 0; k < iteration.operands; ++k) steps[k] = memory_step(args, k);
  for_each_row(iteration, outer_rows(iteration), args.data,
               [&](char* const* pointers) { call_loop(args, pointers, steps); });
}

/// An input of a comparison of floats with gaps: NumPy's loops take them one by one, which costs
/// more than to put them beside each other first. (Those of the logical operations, which are
/// associative, as no comparison is, are fast.)
inline bool is_compared_with_gaps(const LoopArgs& args, int k) {
  const int out = args.iteration.operands - 1;
  if (out != 2 || args.resolution->out != DType::b1 || args.iteration.ndim == 0) return false;
  if (args.op->associative) return false;
  const Iteration::Row& row = inner_row(args.iteration);
  const int64_t step = std::abs(row.strides[k]);
  return info(args.dtype[k]).kind == DTypeKind::floating && row.dim > kFewCompared && step != 0 &&
         step != static_cast<int64_t>(size_of(args.dtype[k]));
}

/// Marks the operands that go through a block; returns whether there are any.
inline bool mark_buffered(const LoopArgs& args, bool* buffered) {
  const int out = args.iteration.operands - 1;
  bool any = false;
  for (int k = 0; k < out; ++k) {
    buffered[k] = args.dtype[k] != args.resolution->in[k] || is_compared_with_gaps(args, k);
    any |= buffered[k];
  }
  buffered[out] = args.dtype[out] != args.resolution->out || is_spread_bool(args);
  return any | buffered[out];
}

bool is_empty(const Iteration& iteration) {
  for (int d = 0; d < iteration.ndim; ++d) {
    if (iteration.rows[d].dim == 0) return true;
  }
  return false;
}

}  // namespace

namespace {

/// Every loop gives the same bits, whatever the strides: integers and truths have one right result,
/// and so have the float operations that IEEE 754 defines.
bool is_exact(const LoopArgs& args) {
  const DType out = args.resolution->out;
  if (is_integer(out) || out == DType::b1) return true;
  return args.op->exact && info(out).kind == DTypeKind::floating;
}

/// Rows long enough that copying them together is not worth it, where the loops compute the same
/// from memory: it lies there as it would in the buffer, or the result does not depend on that.
bool goes_by_rows(const LoopArgs& args) {
  constexpr int64_t kLongRow = 128;
  const Iteration::Row& inner = inner_row(args.iteration);
  if (inner.dim < kLongRow || is_by_lanes(args)) return false;
  const bool exact = is_exact(args);
  for (int k = 0; k < args.iteration.operands; ++k) {
    const bool lies_as_in_buffer = inner.strides[k] == static_cast<int64_t>(size_of(args.dtype[k]));
    const bool is_fast = args.dtype[k] != DType::b1;  // NumPy's loops of bool want neighbours
    if (!lies_as_in_buffer && !(exact && is_fast && inner.strides[k] == 0)) return false;
  }
  return true;
}

/// Operand k is the same in each step of the rows before `end`, and moves in those after it.
bool is_repeated(const Iteration& iteration, int end, int k) {
  const auto stays = [&](const Iteration::Row& row) { return row.strides[k] == 0; };
  const Iteration::Row *rows = iteration.rows, *last = rows + iteration.ndim;
  return std::all_of(rows, rows + end, stays) && !std::all_of(rows + end, last, stays);
}

}  // namespace

// Several rows, or operands that must be buffered: by blocks where NumPy's iterator would use its
// buffer, else row by row.
Piecewise elementwise_pieces(const LoopArgs& args) {
  const Iteration& iteration = args.iteration;
  Piecewise whole =
      cut_anywhere(args, args.resolution->cost,
                   [](const LoopArgs& piece, const Piecewise&) { run_in_place(piece); });
  std::fill_n(whole.buffering.single, kMaxOperands, 1);
  if (is_by_lanes(args)) whole.alignment = kVectors;
  const bool any_buffered = mark_buffered(args, whole.buffered);
  if (iteration.ndim > 1) whole.buffering = choose_buffering(iteration, whole.buffered, false);
  if (!any_buffered && (whole.buffering.depth == 0 || goes_by_rows(args))) return whole;
  const int64_t block = block_elements(args);
  const bool fits = whole.buffering.core <= block;
  whole.end = iteration.ndim - (fits ? whole.buffering.depth : 0);
  whole.multiple = fits ? block / whole.buffering.core : block;
  whole.rigid = is_by_lanes(args) && iteration.ndim > 1;
  whole.run = [](const LoopArgs& piece, const Piecewise& plan) { BlockRunner(piece, plan).run(); };
  for (int k = 0; k + 1 < iteration.operands; ++k) {
    whole.repeated[k] = is_repeated(iteration, whole.end, k);
  }
  return whole;
}

int64_t repeated_bytes(const LoopArgs& args, int k) {
  return block_elements(args) * static_cast<int64_t>(size_of(wanted_dtype(args, k)));
}

void lay_out_repeated(const LoopArgs& args, const Piecewise& whole, int k, char* to) {
  BlockRunner(args, whole).lay_out(k, to);
}

bool is_one_call(const LoopArgs& args, const Piecewise& whole, int64_t elements, intptr_t* steps) {
  if (!whole.laid_out || elements > block_elements(args)) return false;
  for (int k = 0; k < args.iteration.operands; ++k) {
    const bool is_single = whole.buffering.is_single(k);
    if (whole.buffered[k] || whole.repeated[k] == is_single) return false;
    steps[k] = is_single ? memory_step(args, k) : static_cast<int64_t>(size_of(args.dtype[k]));
  }
  return true;
}

bool is_one_call(const LoopArgs& args) {
  bool buffered[kMaxOperands];
  return args.iteration.ndim == 1 && !is_empty(args.iteration) && !args.op->checks_exponent &&
         !mark_buffered(args, buffered);
}

void call_once(const LoopArgs& args) { call_loop(args, args.data, args.iteration.rows[0].strides); }

void elementwise_kernel(const LoopArgs& args) {
  if (is_empty(args.iteration)) return;
  if (args.op->checks_exponent && is_integer(args.resolution->in[1]) && any_negative(args, 1)) {
    throw negative_exponent(args.op->name);
  }
  bool buffered[kMaxOperands];
  if (args.iteration.ndim != 1 || mark_buffered(args, buffered)) {
    return run_pieces(args, elementwise_pieces(args));
  }
  const auto multiple = [](int) { return kBlock; };
  for_each_piece(args, args.resolution->cost, 1, multiple, [](const LoopArgs& piece) {
    call_loop(piece, piece.data, piece.iteration.rows[0].strides);
  });
}

}  // namespace ofl::ops
