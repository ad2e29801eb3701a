// The window of a draw: the box of the whole that a call makes, as rows of numbers that follow each
// other. The numbers of a draw are counted row-major over the shape of the whole.
//
//   whole of (4, 6), box [1:3, 2:5]     . . . . . .
//                                       . . 8 9 10 .     two rows of 3, 6 numbers apart
//                                       . . 14 15 16 .
#pragma once

#include <cstdint>

#include "base/small_vector.h"
#include "ops/array_args.h"
#include "ops/random/draw_attr.h"
#include "ops/random/philox_numbers.h"

namespace ofl::ops {

struct DrawWindow {
  /// A dimension of the box: its extent, and how many numbers lie between two neighbours.
  struct Axis {
    int64_t extent, step;
  };

  int64_t first = 0;   // number of the first element
  int64_t length = 1;  // numbers of a row
  int64_t rows = 1;
  SmallVector<Axis, 4> axes;  // of the rows, outermost first; no two of which step together

  /// The number that a row begins with. For rows one after the other, DrawRows is faster.
  int64_t start_of(int64_t row) const {
    int64_t number = first;
    for (int d = axes.size() - 1; d >= 0; --d) {
      number += row % axes[d].extent * axes[d].step;
      row /= axes[d].extent;
    }
    return number;
  }
};

inline bool has_window(const ArrayArgs& args) { return args.attr.size() > kFirstNumber; }

/// Rows one after the other.
class DrawRows {
 public:
  DrawRows(const DrawWindow& window, int64_t row) : window_(window), row_(row) { seek(); }

  int64_t start() const { return start_; }
  void advance() {
    ++row_;
    if (--left_ > 0) {
      start_ += window_.axes.back().step;
    } else {
      seek();
    }
  }

 private:
  void seek() {
    start_ = window_.start_of(row_);
    const int64_t extent = window_.axes.empty() ? 1 : window_.axes.back().extent;
    left_ = extent - row_ % extent;
  }

  const DrawWindow& window_;
  int64_t row_;
  int64_t start_ = 0;
  int64_t left_ = 0;  // of the innermost axis, this row among them
};

/// Of a call that has one, whose output is not empty.
DrawWindow window_of(const ArrayArgs& args);

/// Writes the random words of elements [begin, begin + count) of the output, `each` for a number;
/// and up to three others behind them.
void make_window_words(const ArrayArgs& args, const DrawWindow& window, int each, int64_t begin,
                       int count, philox::Word* words);

}  // namespace ofl::ops
