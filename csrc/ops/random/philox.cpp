// Counted random numbers on the host: many counters at a time, by the CPU's vectors.
#include "ops/random/philox.h"

#include <algorithm>
#include <type_traits>

#include "base/half.h"
#include "base/vectors.h"
#include "ops/pieces.h"

// Both sides of a choice may be computed: then loops vectorize.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif
#include "ops/random/philox_numbers.h"
#include "ops/random/window.h"

namespace ofl::ops {

namespace {

using philox::Parameters;
using philox::Word;
using philox::Word64;

template <typename Out, typename Value>
Out rounded(Value value) {
  if constexpr (std::is_same_v<Out, Half>) {
    return narrow_to_half<FloatFormat>(value);
  } else {
    return static_cast<Out>(value);
  }
}

/// The words of counters [first, first + count) of a call.
inline void make_words(const ArrayArgs& args, Word64 first, int count, Word* words) {
  const auto key = static_cast<Word64>(args.attr[kKey]);
  const Word64 start = static_cast<Word64>(args.attr[kLow]);
  const Word64 low = start + first;
  const Word64 high = static_cast<Word64>(args.attr[kHigh]) + (low < start);
  const bool carries = low + static_cast<Word64>(count) < low;
  for (int i = 0; i < count; ++i) {
    const Word64 one = low + static_cast<Word64>(i);
    const philox::Block block = philox::block_of(key, one, high + (carries && one < low));
    for (int j = 0; j < kCounterWords; ++j) words[kCounterWords * i + j] = block.word[j];
  }
}

template <typename Draw, typename Out>
inline void fill_plainly(const ArrayArgs& args, const DrawRange& range, const DrawWindow* window) {
  constexpr int kPerCounter = kCounterWords / Draw::words;
  constexpr int64_t kAtATime = kCounters * kPerCounter;
  const Parameters parameters{static_cast<Word64>(args.attr[kFirst]),
                              static_cast<Word64>(args.attr[kSecond])};
  auto* out = reinterpret_cast<Out*>(args.output(0).data);
  Word words[(kCounters + 1) * kCounterWords];
  for (int64_t i = range.begin; i < range.end; i += kAtATime) {
    const auto count = static_cast<int>(std::min(range.end - i, kAtATime));
    const Word* own = words;
    if (window) {
      make_window_words(args, *window, Draw::words, i, count, words);
    } else {
      const auto number = static_cast<Word64>(range.number + (i - range.begin));
      const int before = static_cast<int>(number % kPerCounter);
      make_words(args, number / kPerCounter, (before + count + kPerCounter - 1) / kPerCounter,
                 words);
      own += before * Draw::words;
    }
    for (int j = 0; j < count; ++j) {
      out[i + j] = rounded<Out>(Draw::draw(own + j * Draw::words, parameters));
    }
  }
}

using FillFn = void (*)(const ArrayArgs&, const DrawRange&, const DrawWindow*);

// The same code for the vectors of each CPU: all that it calls is inlined into it.
template <typename Draw, typename Out>
OFL_AVX512 OFL_FLAT void fill_512(const ArrayArgs& args, const DrawRange& range,
                                  const DrawWindow* window) {
  fill_plainly<Draw, Out>(args, range, window);
}
template <typename Draw, typename Out>
OFL_AVX2 OFL_FLAT void fill_256(const ArrayArgs& args, const DrawRange& range,
                                const DrawWindow* window) {
  fill_plainly<Draw, Out>(args, range, window);
}

template <typename Draw, typename Out>
FillFn choose() {
  return choose_by_isa<FillFn>("philox", fill_plainly<Draw, Out>, fill_256<Draw, Out>,
                               fill_512<Draw, Out>);
}

template <typename Draw, typename Out>
void fill(const ArrayArgs& args, const DrawRange& range, const DrawWindow* window) {
  static const FillFn fill_here = choose<Draw, Out>();
  fill_here(args, range, window);
}

template <typename Draw, typename Out>
constexpr DrawRow row(Distribution distribution, DType dtype, const char* name) {
  return {distribution, dtype, name, Draw::words, fill<Draw, Out>};
}

#define OFL_DRAW(distribution, dtype, Draw, Out) \
  row<philox::Draw, Out>(Distribution::distribution, DType::dtype, #Draw)
#define OFL_DRAW_INTEGERS(distribution, Draw)                                                 \
  OFL_DRAW(distribution, i8, Draw, int8_t), OFL_DRAW(distribution, i16, Draw, int16_t),       \
      OFL_DRAW(distribution, i32, Draw, int32_t), OFL_DRAW(distribution, i64, Draw, int64_t), \
      OFL_DRAW(distribution, u8, Draw, uint8_t), OFL_DRAW(distribution, u16, Draw, uint16_t), \
      OFL_DRAW(distribution, u32, Draw, uint32_t), OFL_DRAW(distribution, u64, Draw, uint64_t)

constexpr DrawRow kRows[] = {
    OFL_DRAW(words, u32, Words32, uint32_t),
    OFL_DRAW(words, u64, Words64, uint64_t),
    OFL_DRAW(uniform, f16, UniformHalf, Half),
    OFL_DRAW(uniform, f32, UniformFloat, float),
    OFL_DRAW(uniform, f64, UniformDouble, double),
    OFL_DRAW(normal, f16, NormalFloat, Half),
    OFL_DRAW(normal, f32, NormalFloat, float),
    OFL_DRAW(normal, f64, NormalDouble, double),
    OFL_DRAW(exponential, f16, ExponentialFloat, Half),
    OFL_DRAW(exponential, f32, ExponentialFloat, float),
    OFL_DRAW(exponential, f64, ExponentialDouble, double),
    OFL_DRAW(bernoulli, b1, Bernoulli, bool),
    OFL_DRAW_INTEGERS(small, SmallRange),
    OFL_DRAW(large, i64, LargeRange, int64_t),
    OFL_DRAW(large, u64, LargeRange, uint64_t),
};

/// Numbers of a row for which it is worth a call of its own.
constexpr int64_t kLongRow = 256;

/// Elements [begin, end) of a window.
void fill_window(const ArrayArgs& args, const DrawRow& row, const DrawWindow& window, int64_t begin,
                 int64_t end) {
  if (window.length < kLongRow) return row.fill(args, {0, begin, end}, &window);
  while (begin < end) {
    const int64_t column = begin % window.length;
    const int64_t stop = std::min(end, begin + window.length - column);
    row.fill(args, {window.start_of(begin / window.length) + column, begin, stop}, nullptr);
    begin = stop;
  }
}

}  // namespace

const DrawRow& draw_row(const ArrayArgs& args) {
  const DType dtype = args.output(0).dtype;
  for (const DrawRow& row : kRows) {
    if (static_cast<int64_t>(row.distribution) == args.attr[kDistribution] && row.dtype == dtype) {
      return row;
    }
  }
  fail(ErrorKind::type, "[", args.name, "] there are no such numbers of dtype ", name_of(dtype));
}

void philox_kernel(const ArrayArgs& args) {
  constexpr int64_t kPiece = 1 << 14;
  const DrawRow& row = draw_row(args);
  const int64_t count = element_count(args.output(0).shape);
  if (count == 0) return;
  const DrawWindow window = has_window(args) ? window_of(args) : DrawWindow{};
  const auto piece = [&](int64_t i) {
    const int64_t begin = i * kPiece, end = std::min(count, begin + kPiece);
    if (has_window(args)) {
      fill_window(args, row, window, begin, end);
    } else {
      row.fill(args, {begin, begin, end}, nullptr);
    }
  };
  const int64_t pieces = (count + kPiece - 1) / kPiece;
  if (is_divisible(args.helpers, static_cast<double>(count) * 4)) {
    args.helpers->parallel_for(pieces, piece, 2);
  } else {
    for (int64_t i = 0; i < pieces; ++i) piece(i);
  }
}

}  // namespace ofl::ops
