// Counts elements that are no finite numbers, by their bits.
#include <algorithm>
#include <cstring>

#include "ops/array_args.h"

namespace ofl::ops {

namespace {

template <typename Word>
constexpr auto kSign = static_cast<Word>(Word{1} << (sizeof(Word) * 8 - 1));

/// Of words that follow each other: an exponent of ones alone reaches the sign. Compilers make
/// vectors of it.
template <typename Word, Word infinity>
bool are_finite(const char* from, int64_t words) {
  Word reached = 0;
  for (int64_t i = 0; i < words; ++i) {
    Word word;
    std::memcpy(&word, from + i * sizeof word, sizeof word);
    const auto magnitude = static_cast<Word>(word & ~kSign<Word>);
    reached |= static_cast<Word>(magnitude + (kSign<Word> - infinity));
  }
  return (reached & kSign<Word>) == 0;
}

/// n elements of `parts` words; `infinity` is that of the type, without the sign.
template <typename Word, Word infinity, int parts>
void count_row(const char* from, int64_t stride, int64_t n, Nonfinite* found) {
  if (stride == parts * int64_t{sizeof(Word)} && are_finite<Word, infinity>(from, n * parts))
    return;
  for (int64_t i = 0; i < n; ++i) {
    Word largest = 0;
    for (int part = 0; part < parts; ++part) {
      Word word;
      std::memcpy(&word, from + i * stride + part * sizeof(Word), sizeof word);
      largest = std::max(largest, static_cast<Word>(word & ~kSign<Word>));
    }
    found->nan += largest > infinity;
    found->infinite += largest == infinity;
  }
}

using CountFn = void (*)(const char* from, int64_t stride, int64_t n, Nonfinite* found);

/// Null: all numbers of the type are finite.
CountFn count_function(DType dtype) {
  constexpr uint32_t kSingle = 0x7f800000;
  constexpr uint64_t kDouble = 0x7ff0000000000000;
  switch (dtype) {
    case DType::f16: return count_row<uint16_t, 0x7c00, 1>;
    case DType::bf16: return count_row<uint16_t, 0x7f80, 1>;
    case DType::f32: return count_row<uint32_t, kSingle, 1>;
    case DType::f64: return count_row<uint64_t, kDouble, 1>;
    case DType::c64: return count_row<uint32_t, kSingle, 2>;
    case DType::c128: return count_row<uint64_t, kDouble, 2>;
    default: return nullptr;
  }
}

void count_along(const ArrayView& x, int axis, const char* from, CountFn count, Nonfinite* found) {
  const int last = x.shape.size() - 1;
  if (axis >= last) {
    const bool is_row = axis == last;
    return count(from, is_row ? x.strides[axis] : 0, is_row ? x.shape[axis] : 1, found);
  }
  for (int64_t i = 0; i < x.shape[axis]; ++i) {
    count_along(x, axis + 1, from + i * x.strides[axis], count, found);
  }
}

}  // namespace

Nonfinite count_nonfinite(const ArrayView& x) {
  Nonfinite found;
  const CountFn count = count_function(x.dtype);
  if (count && element_count(x.shape) > 0) count_along(x, 0, x.data, count, &found);
  return found;
}

void note_nonfinite_kernel(const ArrayArgs& args) {
  bool any = false;
  for (int k = 0; k < args.inputs && !any; ++k) any = count_nonfinite(args.input(k)).count() > 0;
  *args.output(0).data = static_cast<char>(any);
}

void refuse_nonfinite(const char* name, const ArrayView& x) {
  const Nonfinite found = count_nonfinite(x);
  if (found.count() == 0) return;
  fail(ErrorKind::floating_point, "[", name, "] made ", found.nan, " NaN and ", found.infinite,
       " infinite of ", element_count(x.shape), " elements, in a result of shape ",
       shape_str(x.shape), " and dtype ", name_of(x.dtype), "; its operands had none");
}

void require_finite_kernel(const ArrayArgs& args) {
  if (args.inputs > 0 && *args.input(0).data) return;
  for (int k = 0; k < args.outputs(); ++k) refuse_nonfinite(args.loop.name, args.output(k));
}

}  // namespace ofl::ops
