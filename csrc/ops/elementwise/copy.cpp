#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/vectors.h"
#include "ops/elementwise/block_transpose.h"
#include "ops/elementwise/short_lines.h"
#include "ops/loop_args.h"
#include "ops/loops.h"
#include "ops/pieces.h"

#ifdef OFL_X86_VECTORS
#include <immintrin.h>
#endif

namespace ofl::ops {

namespace {

constexpr int kIn = 0;
constexpr int kOut = 1;
constexpr int64_t kLine = 64;
/// Outputs of so many bytes would push all else out of the caches, and hardly stay there
/// themselves.
constexpr int64_t kStreamedBytes = int64_t{16} << 20;
constexpr int64_t kStreamBlock = 8192;

/// A tile of a transposed copy: the source lines of kTileAlong output elements stay in the L1 cache
/// for the kTileAcross output lines that share them, also when they lie a power of two apart.
constexpr int64_t kTileAlong = 16;
constexpr int64_t kTileAcross = 64;

/// Whether the lines that a row of the input touches stay in the L1 cache for the next row: it is
/// taken as 64 sets of 8 lines, of which the input may have so many. Strides near a multiple of
/// 4096 bytes fall into one set.
bool row_stays(int64_t dim, int64_t stride, int64_t lines_of_set) {
  constexpr int64_t kLine = 64, kTurn = 4096;
  const int64_t rest = std::abs(stride) % kTurn;
  const int64_t step = std::min(rest, kTurn - rest);
  if (step < kLine) return dim <= lines_of_set;
  return dim <= lines_of_set * kTurn / std::max(step & -step, kLine);
}

/// The row whose input stride is smallest, when reading along the innermost row jumps from cache
/// line to cache line and this one does not. -1 where tiles would not help.
int tile_row(const Iteration& iteration, int64_t item_size) {
  const int inner = iteration.ndim - 1;
  const int64_t inner_stride = std::abs(iteration.rows[inner].strides[kIn]);
  const int64_t inner_dim = iteration.rows[inner].dim;
  if (inner_dim < kTileAlong || inner_stride < 64) return -1;
  // Half of the cache. Where the output has gaps, no block is turned by vectors: tiles gain less.
  const int64_t lines_of_set = iteration.rows[inner].strides[kOut] == item_size ? 4 : 7;
  if (row_stays(inner_dim, inner_stride, lines_of_set)) return -1;
  int best = -1;
  for (int d = 0; d < inner; ++d) {
    const Iteration::Row& row = iteration.rows[d];
    const int64_t stride = std::abs(row.strides[kIn]);
    if (row.dim < 4 || stride == 0 || stride > 2 * item_size) continue;
    if (best < 0 || stride < std::abs(iteration.rows[best].strides[kIn])) best = d;
  }
  return best;
}

/// The row along which the input is dense, where blocks of it and of the innermost row, along which
/// the output is dense, are transposed by vectors. -1: there is none.
int transposed_row(const LoopArgs& args) {
  const Iteration& iteration = args.iteration;
  const Iteration::Row& inner = inner_row(iteration);
  const auto item = static_cast<int64_t>(size_of(args.dtype[kIn]));
  if (args.dtype[kIn] != args.dtype[kOut] || inner.strides[kOut] != item) return -1;
  if (inner.strides[kIn] == item || inner.strides[kIn] == 0) return -1;
  const int64_t side = block_transpose(size_of(args.dtype[kIn])).side;
  if (side == 0 || inner.dim < side) return -1;
  for (int d = 0; d + 1 < iteration.ndim; ++d) {
    if (iteration.rows[d].strides[kIn] == item && iteration.rows[d].dim >= side) return d;
  }
  return -1;
}

/// Copies planes of two rows tile by tile. Each step across may be one of pairs (or more) of lines,
/// the steps of `within`, which then has no gaps; else it is null.
class PlaneCopy {
 public:
  PlaneCopy(const LoopArgs& args, const Iteration::Row& across, const Iteration::Row* within,
            const Iteration::Row& along)
      : cast_(cast_function(args.dtype[kIn], args.dtype[kOut])),
        across_(across),
        within_(within),
        along_(along),
        lines_(across.dim * (within ? within->dim : 1)),
        step_(within ? within->strides[kIn] : across.strides[kIn]) {
    const auto item = static_cast<int64_t>(size_of(args.dtype[kIn]));
    if (args.dtype[kIn] == args.dtype[kOut] && step_ == item && along.strides[kOut] == item) {
      block_ = block_transpose(size_of(args.dtype[kIn]));
    }
  }

  void run(const char* in, char* out) const {
    char* places[kTileAcross];
    for (int64_t j = 0; j < lines_; j += kTileAcross) {
      const int64_t lines = std::min(kTileAcross, lines_ - j);
      for (int64_t k = 0; k < lines; ++k) places[k] = out + offset(j + k);
      for (int64_t i = 0; i < along_.dim; i += kTileAlong) {
        const int64_t n = std::min(kTileAlong, along_.dim - i);
        run_tile(in + i * along_.strides[kIn] + j * step_, places, lines, n);
        for (int64_t k = 0; k < lines; ++k) places[k] += n * along_.strides[kOut];
      }
    }
  }

 private:
  /// Where a line of the output begins.
  int64_t offset(int64_t line) const {
    if (!within_) return line * across_.strides[kOut];
    return line / within_->dim * across_.strides[kOut] +
           line % within_->dim * within_->strides[kOut];
  }

  /// Writes n elements at each of the places.
  void run_tile(const char* in, char* const* places, int64_t lines, int64_t n) const {
    const int64_t step = along_.strides[kIn], out_step = along_.strides[kOut], side = block_.side;
    if (side == 0) {
      for (int64_t line = 0; line < lines; ++line) {
        cast_(in + line * step_, step, places[line], out_step, n);
      }
      return;
    }
    const int64_t whole_lines = lines - lines % side, whole = n - n % side;
    for (int64_t line = 0; line < whole_lines; line += side) {
      for (int64_t i = 0; i < whole; i += side) {
        block_.run(in + line * step_ + i * step, step, places + line, i * out_step);
      }
    }
    block_.some(in + whole * step, step, places, whole * out_step, whole_lines, n - whole);
    block_.some(in + whole_lines * step_, step, places + whole_lines, 0, lines - whole_lines, n);
  }

  const CastFn cast_;
  const Iteration::Row& across_;
  const Iteration::Row* const within_;
  const Iteration::Row& along_;
  const int64_t lines_, step_;
  BlockTranspose block_;
};

/// The row whose steps lie between those across, without gaps; -1: there is none.
int row_within(const Iteration& iteration, int across, int64_t item_size) {
  for (int d = 0; d + 1 < iteration.ndim; ++d) {
    const Iteration::Row& row = iteration.rows[d];
    const bool fills = iteration.rows[across].strides[kIn] == row.dim * item_size;
    if (d != across && row.strides[kIn] == item_size && fills) return d;
  }
  return -1;
}

void copy_tiled(const LoopArgs& args, int across) {
  const Iteration& iteration = args.iteration;
  const int along = iteration.ndim - 1;
  const int within = row_within(iteration, across, static_cast<int64_t>(size_of(args.dtype[kIn])));
  Iteration rest;
  rest.operands = iteration.operands;
  for (int d = 0; d < along; ++d) {
    if (d != across && d != within) rest.rows[rest.ndim++] = iteration.rows[d];
  }
  const PlaneCopy plane(args, iteration.rows[across],
                        within < 0 ? nullptr : &iteration.rows[within], iteration.rows[along]);
  for_each_row(rest, rest.ndim, args.data,
               [&](char* const* pointers) { plane.run(pointers[kIn], pointers[kOut]); });
}

template <typename Word>
void fill_words(const unsigned char* value, char* out, int64_t stride, int64_t n) {
  Word word;
  std::memcpy(&word, value, sizeof(word));
  if (stride == static_cast<int64_t>(sizeof(Word))) {
    const bool is_one_byte = std::all_of(value, value + sizeof(Word),
                                         [value](unsigned char byte) { return byte == *value; });
    if (is_one_byte) {
      std::memset(out, *value, static_cast<size_t>(n) * sizeof(Word));
      return;
    }
    for (int64_t i = 0; i < n; ++i) std::memcpy(out + i * sizeof(Word), &word, sizeof(Word));
    return;
  }
  for (int64_t i = 0; i < n; ++i) std::memcpy(out + i * stride, &word, sizeof(Word));
}

struct Word16 {
  uint64_t halves[2];
};

using FillFn = void (*)(const unsigned char* value, char* out, int64_t stride, int64_t n);

FillFn fill_function(size_t size) {
  switch (size) {
    case 1: return &fill_words<uint8_t>;
    case 2: return &fill_words<uint16_t>;
    case 4: return &fill_words<uint32_t>;
    case 8: return &fill_words<uint64_t>;
    default: return &fill_words<Word16>;
  }
}

/// Each of n words `times` times, side by side.
template <typename Word>
void repeat_words(const char* in, int64_t stride, int64_t n, int64_t times, char* out) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(Word));
  const auto load = [in](int64_t place) {
    Word word;
    std::memcpy(&word, in + place, sizeof(word));
    return word;
  };
  const auto repeat = [&](int64_t step, int64_t count) {
    for (int64_t i = 0; i < n; ++i) {
      const Word word = load(i * step);
      char* const to = out + i * count * kSize;
      for (int64_t k = 0; k < count; ++k) std::memcpy(to + k * kSize, &word, sizeof(word));
    }
  };
  const bool is_dense = stride == kSize;  // a known number is unrolled, and vectorized
  if (is_dense && times == 2) return repeat(kSize, 2);
  if (is_dense && times == 3) return repeat(kSize, 3);
  if (is_dense && times == 4) return repeat(kSize, 4);
  repeat(stride, times);
}

using RepeatFn = void (*)(const char* in, int64_t stride, int64_t n, int64_t times, char* out);

RepeatFn repeat_function(size_t size) {
  switch (size) {
    case 1: return &repeat_words<uint8_t>;
    case 2: return &repeat_words<uint16_t>;
    case 4: return &repeat_words<uint32_t>;
    case 8: return &repeat_words<uint64_t>;
    default: return &repeat_words<Word16>;
  }
}

/// Whether each element of the second row from inside is repeated along the innermost, short one,
/// and what comes of it is dense.
bool repeats(const LoopArgs& args) {
  constexpr int64_t kShort = 64;
  const Iteration& iteration = args.iteration;
  if (iteration.ndim < 2 || args.dtype[kIn] != args.dtype[kOut]) return false;
  const Iteration::Row &inner = inner_row(iteration), &line = iteration.rows[iteration.ndim - 2];
  const auto item = static_cast<int64_t>(size_of(args.dtype[kOut]));
  return inner.strides[kIn] == 0 && inner.dim <= kShort && inner.strides[kOut] == item &&
         line.strides[kOut] == inner.dim * item;
}

void copy_repeated(const LoopArgs& args) {
  const Iteration& iteration = args.iteration;
  const int64_t times = inner_row(iteration).dim;
  const Iteration::Row& line = iteration.rows[iteration.ndim - 2];
  const RepeatFn repeat = repeat_function(size_of(args.dtype[kOut]));
  for_each_row(iteration, iteration.ndim - 2, args.data, [&](char* const* pointers) {
    repeat(pointers[kIn], line.strides[kIn], line.dim, times, pointers[kOut]);
  });
}

/// Whether many short lines are copied as they lie.
bool has_short_lines(const LoopArgs& args) {
  const Iteration& iteration = args.iteration;
  if (iteration.ndim < 2 || args.dtype[kIn] != args.dtype[kOut]) return false;
  const Iteration::Row& inner = inner_row(iteration);
  const auto item = static_cast<int64_t>(size_of(args.dtype[kOut]));
  return inner.strides[kIn] == item && inner.strides[kOut] == item &&
         inner.dim * item <= kLongestShortLine;
}

void copy_lines(const LoopArgs& args) {
  const Iteration& iteration = args.iteration;
  const Iteration::Row& line = iteration.rows[iteration.ndim - 2];
  const int64_t bytes = inner_row(iteration).dim * static_cast<int64_t>(size_of(args.dtype[kOut]));
  for_each_row(iteration, iteration.ndim - 2, args.data, [&](char* const* pointers) {
    copy_short_lines(pointers[kIn], line.strides[kIn], pointers[kOut], line.strides[kOut], line.dim,
                     bytes);
  });
}

/// The row across which it is copied tile by tile; -1: it is not.
int row_across(const LoopArgs& args) {
  if (args.iteration.ndim < 2) return -1;
  if (const int row = transposed_row(args); row >= 0) return row;
  return tile_row(args.iteration, static_cast<int64_t>(size_of(args.dtype[kIn])));
}

/// A short innermost row gives its place to the longest one.
Iteration with_long_row_inside(const Iteration& iteration) {
  constexpr int64_t kShort = 8;
  Iteration turned = iteration;
  if (turned.ndim < 2 || inner_row(turned).dim >= kShort) return turned;
  auto* const rows = turned.rows;
  const auto is_shorter = [](const Iteration::Row& a, const Iteration::Row& b) {
    return a.dim < b.dim;
  };
  std::swap(*std::max_element(rows, rows + turned.ndim, is_shorter), rows[turned.ndim - 1]);
  return turned;
}

void copy_piece(const LoopArgs& args, const Piecewise&) {
  const Iteration& iteration = args.iteration;
  const CastFn cast = cast_function(args.dtype[kIn], args.dtype[kOut]);
  const Iteration::Row& inner = inner_row(iteration);
  if (repeats(args)) return copy_repeated(args);
  if (has_short_lines(args)) return copy_lines(args);
  if (const int across = row_across(args); across >= 0) return copy_tiled(args, across);
  if (inner.strides[kIn] == 0 && args.dtype[kIn] == args.dtype[kOut]) {
    const FillFn fill = fill_function(size_of(args.dtype[kOut]));
    for_each_row(iteration, outer_rows(iteration), args.data, [&](char* const* pointers) {
      const auto* const value = reinterpret_cast<const unsigned char*>(pointers[kIn]);
      fill(value, pointers[kOut], inner.strides[kOut], inner.dim);
    });
    return;
  }
  const Iteration turned = with_long_row_inside(iteration);
  const Iteration::Row& row = inner_row(turned);
  for_each_row(turned, outer_rows(turned), args.data, [&](char* const* pointers) {
    cast(pointers[kIn], row.strides[kIn], pointers[kOut], row.strides[kOut], row.dim);
  });
}

#ifdef OFL_X86_VECTORS

/// Stores whole lines past the caches, which then need not read them before.
OFL_AVX2 void stream_out(const char* from, char* to, int64_t bytes) {
  const int64_t head = std::min(-reinterpret_cast<intptr_t>(to) & (kLine - 1), bytes);
  std::memcpy(to, from, head);
  int64_t i = head;
  for (; i + kLine <= bytes; i += kLine) {
    const auto* line = reinterpret_cast<const __m256i*>(from + i);
    auto* place = reinterpret_cast<__m256i*>(to + i);
    const __m256i low = _mm256_loadu_si256(line), high = _mm256_loadu_si256(line + 1);
    _mm256_stream_si256(place, low);
    _mm256_stream_si256(place + 1, high);
  }
  std::memcpy(to + i, from + i, bytes - i);
}

/// By way of the L1 cache. The fence: such stores are not ordered by those that publish the result.
void stream_piece(const LoopArgs& args, const Piecewise&) {
  const Iteration& iteration = args.iteration;
  const CastFn cast = cast_function(args.dtype[kIn], args.dtype[kOut]);
  const Iteration::Row& inner = inner_row(iteration);
  const auto item = static_cast<int64_t>(size_of(args.dtype[kOut]));
  alignas(kLine) char block[kStreamBlock];
  const int64_t most = kStreamBlock / item;
  for_each_row(iteration, outer_rows(iteration), args.data, [&](char* const* pointers) {
    for (int64_t i = 0; i < inner.dim; i += most) {
      const int64_t n = std::min(most, inner.dim - i);
      cast(pointers[kIn] + i * inner.strides[kIn], inner.strides[kIn], block, item, n);
      stream_out(block, pointers[kOut] + i * item, n * item);
    }
  });
  _mm_sfence();
}

/// Whether the output is too large for the caches, in long rows that do not go through tiles.
bool is_streamed(const LoopArgs& args) {
  static const bool is_able = choose_by_isa("stream_out", false, true);
  const Iteration& iteration = args.iteration;
  const auto item = static_cast<int64_t>(size_of(args.dtype[kOut]));
  const Iteration::Row& inner = inner_row(iteration);
  return is_able && iteration_size(iteration) * item >= kStreamedBytes &&
         inner.strides[kOut] == item && inner.dim * item >= kStreamBlock && row_across(args) < 0;
}

#else
constexpr auto stream_piece = copy_piece;
bool is_streamed(const LoopArgs&) { return false; }
#endif

void fill_piece(const LoopArgs& args, const Piecewise&) {
  const Iteration& iteration = args.iteration;
  const Iteration::Row& inner = inner_row(iteration);
  const FillFn fill = fill_function(size_of(args.dtype[0]));
  for_each_row(iteration, outer_rows(iteration), args.data, [&](char* const* pointers) {
    fill(args.scalars[0].bytes, pointers[0], inner.strides[0], inner.dim);
  });
}

}  // namespace

Piecewise copy_pieces(const LoopArgs& args) {
  Piecewise whole = cut_anywhere(args, 1, copy_piece);
  whole.alone = row_across(args) >= 0 && !repeats(args) && !has_short_lines(args);
  return whole;
}

Piecewise fill_pieces(const LoopArgs& args) { return cut_anywhere(args, 0.5, fill_piece); }

// Only here: what is copied in a fused group goes to tiles, which are read next.
void copy_kernel(const LoopArgs& args) {
  if (iteration_size(args.iteration) == 0) return;
  Piecewise whole = cut_anywhere(args, 1, copy_piece);
  if (is_streamed(args)) whole.run = stream_piece;
  run_pieces(args, whole);
}

void fill_kernel(const LoopArgs& args) { run_pieces(args, fill_pieces(args)); }

}  // namespace ofl::ops
