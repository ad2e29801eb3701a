#include "ops/random/window.h"

#include <algorithm>
#include <cstring>

#include "base/vectors.h"

namespace ofl::ops {

namespace {

using philox::Word;
using philox::Word64;

/// Counters, and which of their words are wanted.
struct Wanted {
  struct Span {
    int begin, count;
  };

  Word64 counters[kCounters];  // from the first one of the draw on
  Span spans[kCounters];       // of the words of all counters
  int counter_count = 0, span_count = 0;

  int room() const { return kCounters - counter_count; }
  /// Of `count` counters from this one on, for which there is room, some words.
  void add(Word64 counter, int count, int begin, int words) {
    spans[span_count++] = {counter_count * kCounterWords + begin, words};
    for (int i = 0; i < count; ++i) {
      counters[counter_count++] = counter + static_cast<Word64>(i);
    }
  }
};

/// The words of the counters, vector after vector.
inline void make_blocks_plainly(const ArrayArgs& args, const Wanted& wanted, Word* blocks) {
  const auto key = static_cast<Word64>(args.attr[kKey]);
  const auto low = static_cast<Word64>(args.attr[kLow]);
  const auto high = static_cast<Word64>(args.attr[kHigh]);
  const int count = wanted.counter_count;  // read once: a compiler takes it for one of the blocks
  for (int i = 0; i < count; ++i) {
    const Word64 one = low + wanted.counters[i];
    const philox::Block block = philox::block_of(key, one, high + (one < low));
    for (int j = 0; j < kCounterWords; ++j) blocks[kCounterWords * i + j] = block.word[j];
  }
}

using MakeFn = void (*)(const ArrayArgs&, const Wanted&, Word*);

OFL_AVX512 OFL_FLAT void make_blocks_512(const ArrayArgs& args, const Wanted& wanted,
                                         Word* blocks) {
  make_blocks_plainly(args, wanted, blocks);
}
OFL_AVX2 OFL_FLAT void make_blocks_256(const ArrayArgs& args, const Wanted& wanted, Word* blocks) {
  make_blocks_plainly(args, wanted, blocks);
}

/// Writes the words that are wanted, and then nothing is; returns the place behind them.
Word* take_words(const ArrayArgs& args, Wanted* wanted, Word* words) {
  static const MakeFn make_blocks =
      choose_by_isa<MakeFn>("philox_window", make_blocks_plainly, make_blocks_256, make_blocks_512);
  Word blocks[(kCounters + 1) * kCounterWords];
  make_blocks(args, *wanted, blocks);
  for (int i = 0; i < wanted->span_count; ++i) {
    const Wanted::Span& span = wanted->spans[i];
    // Four at a time, as most spans are short: what is too much, the next ones overwrite.
    for (int k = 0; k < span.count; k += kCounterWords) {
      std::memcpy(words + k, blocks + span.begin + k, kCounterWords * sizeof(Word));
    }
    words += span.count;
  }
  wanted->counter_count = wanted->span_count = 0;
  return words;
}

}  // namespace

DrawWindow window_of(const ArrayArgs& args) {
  const Dims& shape = args.output(0).shape;
  if (static_cast<int>(args.attr.size()) != kFirstStep + shape.size()) {
    fail(ErrorKind::value, "[", args.name, "] expected the first number of a window and ",
         shape.size(), " steps");
  }
  DrawWindow window;
  window.first = args.attr[kFirstNumber];
  const int64_t* const steps = args.attr.data() + kFirstStep;
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    const bool joins = !window.axes.empty() && window.axes.back().step == shape[d] * steps[d];
    const int64_t before = joins ? window.axes.back().extent : 1;
    if (joins) window.axes.pop_back();
    window.axes.push_back({before * shape[d], steps[d]});
  }
  if (!window.axes.empty() && window.axes.back().step == 1) {
    window.length = window.axes.back().extent;
    window.axes.pop_back();
  }
  for (const DrawWindow::Axis& axis : window.axes) window.rows *= axis.extent;
  return window;
}

void make_window_words(const ArrayArgs& args, const DrawWindow& window, int each, int64_t begin,
                       int count, Word* words) {
  Wanted wanted;
  DrawRows rows(window, begin / window.length);
  int64_t column = begin % window.length;
  // Words of a number: 1, 2 or 4. So none of them has words of two counters.
  const int shift = each == 1 ? 2 : each == 2 ? 1 : 0;
  for (int64_t left = count; left > 0; rows.advance(), column = 0) {
    const int64_t numbers = std::min(left, window.length - column);
    const int64_t number = rows.start() + column;
    left -= numbers;
    int64_t counter = number >> shift;
    int at = static_cast<int>(number - (counter << shift)) * each;
    for (int64_t missing = numbers * each; missing > 0; at = 0) {
      if (wanted.room() == 0) words = take_words(args, &wanted, words);
      const int64_t needed = (at + missing + kCounterWords - 1) / kCounterWords;
      const int taken = static_cast<int>(std::min<int64_t>(needed, wanted.room()));
      const int made = static_cast<int>(std::min<int64_t>(missing, taken * kCounterWords - at));
      wanted.add(static_cast<Word64>(counter), taken, at, made);
      counter += taken;
      missing -= made;
    }
  }
  take_words(args, &wanted, words);
}

}  // namespace ofl::ops
