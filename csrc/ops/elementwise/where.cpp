#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/vectors.h"
#include "ops/elementwise/short_lines.h"
#include "ops/loop_args.h"
#include "ops/loops.h"
#include "ops/pieces.h"

namespace ofl::ops {

namespace {

enum Operand { kCondition, kTrue, kFalse, kOut };

struct Word16 {
  uint64_t halves[2];
};

template <typename Word>
Word load_word(const char* from) {
  Word word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

/// Contiguous condition and output; each choice is contiguous (step 1) or one value (step 0).
template <typename Word, int TrueStep, int FalseStep>
void select_contiguous(char* const* pointers, int64_t n) {
  constexpr int64_t size = sizeof(Word);
  const char* condition = pointers[kCondition];
  const char* if_true = pointers[kTrue];
  const char* if_false = pointers[kFalse];
  char* out = pointers[kOut];
  for (int64_t i = 0; i < n; ++i) {
    const Word a = load_word<Word>(if_true + i * TrueStep * size);
    const Word b = load_word<Word>(if_false + i * FalseStep * size);
    const Word chosen = condition[i] != 0 ? a : b;
    std::memcpy(out + i * size, &chosen, sizeof(chosen));
  }
}

/// Both choices are read, so that no branch is left.
template <typename Word>
void select_strided(char* const* pointers, const int64_t* strides, int64_t n) {
  const char *condition = pointers[kCondition], *if_true = pointers[kTrue];
  const char* if_false = pointers[kFalse];
  char* out = pointers[kOut];
  const int64_t step = strides[kCondition], true_step = strides[kTrue];
  const int64_t false_step = strides[kFalse], out_step = strides[kOut];
  for (int64_t i = 0; i < n; ++i) {
    const Word a = load_word<Word>(if_true + i * true_step);
    const Word b = load_word<Word>(if_false + i * false_step);
    const Word chosen = condition[i * step] != 0 ? a : b;
    std::memcpy(out + i * out_step, &chosen, sizeof(chosen));
  }
}

template <typename Word>
void select(char* const* pointers, const int64_t* strides, int64_t n) {
  constexpr int64_t size = sizeof(Word);
  const bool a = strides[kTrue] == size;
  const bool b = strides[kFalse] == size;
  const bool simple = strides[kCondition] == 1 && strides[kOut] == size &&
                      (a || strides[kTrue] == 0) && (b || strides[kFalse] == 0);
  if (!simple) return select_strided<Word>(pointers, strides, n);
  if (a && b) return select_contiguous<Word, 1, 1>(pointers, n);
  if (a) return select_contiguous<Word, 1, 0>(pointers, n);
  if (b) return select_contiguous<Word, 0, 1>(pointers, n);
  select_contiguous<Word, 0, 0>(pointers, n);
}

using SelectFn = void (*)(char* const* pointers, const int64_t* strides, int64_t n);

// The same code for the vectors of each CPU: all that they call is inlined into them.
template <typename Word>
OFL_AVX512 OFL_FLAT void select_512(char* const* pointers, const int64_t* strides, int64_t n) {
  select<Word>(pointers, strides, n);
}
template <typename Word>
OFL_AVX2 OFL_FLAT void select_256(char* const* pointers, const int64_t* strides, int64_t n) {
  select<Word>(pointers, strides, n);
}

template <typename Word>
SelectFn function_here() {
  static const auto function =
      choose_by_isa<SelectFn>("where", select<Word>, select_256<Word>, select_512<Word>);
  return function;
}

SelectFn select_function(size_t size) {
  switch (size) {
    case 1: return function_here<uint8_t>();
    case 2: return function_here<uint16_t>();
    case 4: return function_here<uint32_t>();
    case 8: return function_here<uint64_t>();
    default: return function_here<Word16>();
  }
}

/// Rows of fewer elements are not worth a call for each.
constexpr int64_t kFewChosen = 64;

/// Choices with gaps are put beside each other first, block by block: what chooses among neighbours
/// has vectors.
class GatheringSelect {
 public:
  GatheringSelect(const LoopArgs& args, SelectFn select) : args_(args), select_(select) {
    const Iteration::Row& inner = inner_row(args.iteration);
    const auto size = static_cast<int64_t>(size_of(args.dtype[kOut]));
    for (int k = kCondition; k <= kOut; ++k) strides_[k] = inner.strides[k];
    if (inner.dim < kFewChosen || strides_[kCondition] != 1 || strides_[kOut] != size) return;
    for (const int k : {kTrue, kFalse}) {
      gathered_[k] = strides_[k] != 0 && strides_[k] != size;
      if (gathered_[k]) strides_[k] = size;
      any_ |= gathered_[k];
    }
  }

  void run(char* const* pointers) const {
    const Iteration::Row& inner = inner_row(args_.iteration);
    if (!any_) return select_(pointers, inner.strides, inner.dim);
    const CastFn copy = cast_function(args_.dtype[kOut], args_.dtype[kOut]);
    for (int64_t start = 0; start < inner.dim; start += kBlock) {
      const int64_t n = std::min(kBlock, inner.dim - start);
      char* at[kOut + 1];
      for (int k = kCondition; k <= kOut; ++k) {
        at[k] = pointers[k] + start * inner.strides[k];
        if (!gathered_[k]) continue;
        char* const block = thread_scratch().bytes + k * kBlockBytes;
        copy(at[k], inner.strides[k], block, strides_[k], n);
        at[k] = block;
      }
      select_(at, strides_, n);
    }
  }

 private:
  const LoopArgs& args_;
  const SelectFn select_;
  int64_t strides_[kOut + 1];  // of what is chosen from
  bool gathered_[kOut + 1] = {};
  bool any_ = false;
};

/// Chooses many short rows at once, where they follow each other in the output. An input that is a
/// column or a line beside them is written out, block by block.
class NarrowSelect {
 public:
  NarrowSelect(const LoopArgs& args, SelectFn select)
      : args_(args), select_(select), inner_(inner_row(args.iteration)) {
    if (args.iteration.ndim < 2) return;
    outer_ = &args.iteration.rows[args.iteration.ndim - 2];
    fits_ = inner_.dim > 0 && inner_.dim < kFewChosen && form_of(kOut) == Form::flat;
    for (int k = kCondition; k < kOut; ++k) {
      forms_[k] = form_of(k);
      fits_ &= forms_[k] != Form::other;
    }
  }

  bool fits() const { return fits_; }

  /// Of the two innermost rows.
  void run(char* const* pointers) const {
    const int64_t most = kBlock / inner_.dim;
    for (int64_t start = 0; start < outer_->dim; start += most) {
      const int64_t rows = std::min(most, outer_->dim - start);
      char* at[kOut + 1];
      int64_t strides[kOut + 1];
      for (int k = kCondition; k <= kOut; ++k) {
        at[k] = pointers[k] + start * outer_->strides[k];
        strides[k] = forms_[k] == Form::single ? 0 : size(k);
        const bool is_beside = forms_[k] == Form::column || forms_[k] == Form::lines;
        if (is_beside) at[k] = written_out(k, at[k], rows);
      }
      select_(at, strides, rows * inner_.dim);
    }
  }

 private:
  /// How an operand lies along the two innermost rows.
  enum class Form { flat, single, column, lines, other };

  int64_t size(int k) const { return static_cast<int64_t>(size_of(args_.dtype[k])); }

  Form form_of(int k) const {
    const int64_t step = inner_.strides[k], line = size(k) * inner_.dim;
    if (step == 0) return outer_->strides[k] == 0 ? Form::single : Form::column;
    if (step != size(k)) return Form::other;
    if (outer_->strides[k] == line) return Form::flat;
    return line <= kLongestShortLine ? Form::lines : Form::other;
  }

  char* written_out(int k, const char* from, int64_t rows) const {
    char* const to = thread_scratch().bytes + k * kBlockBytes;
    const int64_t bytes = inner_.dim * size(k), step = outer_->strides[k];
    if (forms_[k] == Form::lines) {
      copy_short_lines(from, step, to, bytes, rows, bytes);
      return to;
    }
    char* const items = to + rows * (bytes - size(k));  // the end of what they become
    cast_function(args_.dtype[k], args_.dtype[k])(from, step, items, size(k), rows);
    repeat_items(items, size(k), rows, inner_.dim, to);
    return to;
  }

  const LoopArgs& args_;
  const SelectFn select_;
  const Iteration::Row& inner_;
  const Iteration::Row* outer_ = nullptr;
  Form forms_[kOut + 1] = {};
  bool fits_ = false;
};

void where_piece(const LoopArgs& args, const Piecewise&) {
  const SelectFn function = select_function(size_of(args.dtype[kOut]));
  const NarrowSelect narrow(args, function);
  if (narrow.fits()) {
    return for_each_row(args.iteration, outer_rows(args.iteration) - 1, args.data,
                        [&](char* const* pointers) { narrow.run(pointers); });
  }
  const GatheringSelect select(args, function);
  for_each_row(args.iteration, outer_rows(args.iteration), args.data,
               [&](char* const* pointers) { select.run(pointers); });
}

}  // namespace

Piecewise where_pieces(const LoopArgs& args) { return cut_anywhere(args, 1, where_piece); }

void where_kernel(const LoopArgs& args) { run_pieces(args, where_pieces(args)); }

}  // namespace ofl::ops
