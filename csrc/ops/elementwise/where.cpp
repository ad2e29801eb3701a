#include <cstdint>
#include <cstring>

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

template <typename Word>
void select_strided(char* const* pointers, const int64_t* strides, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const int chosen = pointers[kCondition][i * strides[kCondition]] != 0 ? kTrue : kFalse;
    std::memcpy(pointers[kOut] + i * strides[kOut], pointers[chosen] + i * strides[chosen],
                sizeof(Word));
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

SelectFn select_function(size_t size) {
  switch (size) {
    case 1: return &select<uint8_t>;
    case 2: return &select<uint16_t>;
    case 4: return &select<uint32_t>;
    case 8: return &select<uint64_t>;
    default: return &select<Word16>;
  }
}

void where_piece(const LoopArgs& args, const Piecewise&) {
  const SelectFn select_row = select_function(size_of(args.dtype[kOut]));
  const Iteration::Row& inner = inner_row(args.iteration);
  for_each_row(args.iteration, outer_rows(args.iteration), args.data,
               [&](char* const* pointers) { select_row(pointers, inner.strides, inner.dim); });
}

}  // namespace

Piecewise where_pieces(const LoopArgs& args) { return cut_anywhere(args, 1, where_piece); }

void where_kernel(const LoopArgs& args) { run_pieces(args, where_pieces(args)); }

}  // namespace ofl::ops
