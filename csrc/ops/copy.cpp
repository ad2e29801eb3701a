#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "ops/kernel.h"
#include "ops/loops.h"
#include "ops/pieces.h"

namespace ofl::ops {

namespace {

constexpr int kIn = 0;
constexpr int kOut = 1;

/// A tile of a transposed copy: the source lines of kTileAlong output elements stay in the L1 cache
/// for the kTileAcross output lines that share them, also when they lie a power of two apart.
constexpr int64_t kTileAlong = 16;
constexpr int64_t kTileAcross = 64;

/// Whether the lines that a row of the input touches stay in the L1 cache for the next row: it is
/// taken as 64 sets of 8 lines, half of them for the input. Strides near a multiple of 4096 bytes
/// fall into one set.
bool row_stays(int64_t dim, int64_t stride) {
  constexpr int64_t kLine = 64, kTurn = 4096, kLinesOfSet = 4;
  const int64_t rest = std::abs(stride) % kTurn;
  const int64_t step = std::min(rest, kTurn - rest);
  if (step < kLine) return dim <= kLinesOfSet;
  return dim <= kLinesOfSet * kTurn / std::max(step & -step, kLine);
}

/// The row whose input stride is smallest, when reading along the innermost row jumps from cache
/// line to cache line and this one does not. -1 where tiles would not help.
int tile_row(const Iteration& iteration, int64_t item_size) {
  const int inner = iteration.ndim - 1;
  const int64_t inner_stride = std::abs(iteration.rows[inner].strides[kIn]);
  const int64_t inner_dim = iteration.rows[inner].dim;
  if (inner_dim < kTileAlong || inner_stride < 64 || row_stays(inner_dim, inner_stride)) return -1;
  int best = -1;
  for (int d = 0; d < inner; ++d) {
    const Iteration::Row& row = iteration.rows[d];
    const int64_t stride = std::abs(row.strides[kIn]);
    if (row.dim < 4 || stride == 0 || stride > 2 * item_size) continue;
    if (best < 0 || stride < std::abs(iteration.rows[best].strides[kIn])) best = d;
  }
  return best;
}

/// Copies the plane of two rows tile by tile.
void copy_plane(CastFn cast, const Iteration::Row& across, const Iteration::Row& along,
                const char* in, char* out) {
  for (int64_t j = 0; j < across.dim; j += kTileAcross) {
    const int64_t lines = std::min(kTileAcross, across.dim - j);
    for (int64_t i = 0; i < along.dim; i += kTileAlong) {
      const int64_t n = std::min(kTileAlong, along.dim - i);
      const char* from = in + i * along.strides[kIn] + j * across.strides[kIn];
      char* to = out + i * along.strides[kOut] + j * across.strides[kOut];
      for (int64_t line = 0; line < lines; ++line) {
        cast(from, along.strides[kIn], to, along.strides[kOut], n);
        from += across.strides[kIn];
        to += across.strides[kOut];
      }
    }
  }
}

void copy_tiled(CastFn cast, const KernelArgs& args, int across) {
  const Iteration& iteration = args.iteration;
  const int along = iteration.ndim - 1;
  Iteration rest;
  rest.operands = iteration.operands;
  for (int d = 0; d < along; ++d) {
    if (d != across) rest.rows[rest.ndim++] = iteration.rows[d];
  }
  for_each_row(rest, rest.ndim, args.data, [&](char* const* pointers) {
    copy_plane(cast, iteration.rows[across], iteration.rows[along], pointers[kIn], pointers[kOut]);
  });
}

template <typename Word>
void fill_words(const unsigned char* value, char* out, int64_t stride, int64_t n) {
  Word word;
  std::memcpy(&word, value, sizeof(word));
  if (stride == static_cast<int64_t>(sizeof(Word))) {
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

void copy_piece(const KernelArgs& args, const Piecewise&) {
  const Iteration& iteration = args.iteration;
  const CastFn cast = cast_function(args.dtype[kIn], args.dtype[kOut]);
  const Iteration::Row& inner = inner_row(iteration);
  if (iteration.ndim >= 2) {
    const int across = tile_row(iteration, static_cast<int64_t>(size_of(args.dtype[kIn])));
    if (across >= 0) return copy_tiled(cast, args, across);
  }
  for_each_row(iteration, outer_rows(iteration), args.data, [&](char* const* pointers) {
    cast(pointers[kIn], inner.strides[kIn], pointers[kOut], inner.strides[kOut], inner.dim);
  });
}

void fill_piece(const KernelArgs& args, const Piecewise&) {
  const Iteration& iteration = args.iteration;
  const Iteration::Row& inner = inner_row(iteration);
  const FillFn fill = fill_function(size_of(args.dtype[0]));
  for_each_row(iteration, outer_rows(iteration), args.data, [&](char* const* pointers) {
    fill(args.scalars[0].bytes, pointers[0], inner.strides[0], inner.dim);
  });
}

}  // namespace

Piecewise copy_pieces(const KernelArgs& args) { return cut_anywhere(args, 1, copy_piece); }

Piecewise fill_pieces(const KernelArgs& args) { return cut_anywhere(args, 0.5, fill_piece); }

void copy_kernel(const KernelArgs& args) {
  if (iteration_size(args.iteration) > 0) run_pieces(args, copy_pieces(args));
}

void fill_kernel(const KernelArgs& args) { run_pieces(args, fill_pieces(args)); }

}  // namespace ofl::ops
