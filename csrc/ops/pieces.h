// Pieces: large work divided along one row of its iteration, for the helpers of the device.
#pragma once

#include <algorithm>

#include "ops/buffering.h"
#include "ops/loop_args.h"
#include "ops/loops.h"

namespace ofl::ops {

/// How a kernel call may be cut into pieces: rows outside the one that is cut have one step left.
/// What decides its bits is decided for the whole, and here.
struct Piecewise {
  void (*run)(const LoopArgs& piece, const Piecewise& whole) = nullptr;
  int end = 0;           // rows [0, end) may be cut
  int64_t multiple = 1;  // of steps of row end - 1 in a piece
  double cost = 1;       // of one element
  // Where pieces are not multiples of `multiple`, they start at multiples of so many elements; or
  // they may not do so at all.
  int64_t alignment = 1;
  bool rigid = false;
  bool alone =
      false;  // it walks its arrays in an order of its own, which a group's tiles would cut
  bool buffered[kMaxOperands] = {};
  // Inputs of which every block has the same, as of a row beside a narrow matrix. A caller that
  // runs several pieces may lay a block of each out before: it puts the address of the block into
  // the pieces, and sets laid_out.
  bool repeated[kMaxOperands] = {};
  bool laid_out = false;
  Buffering buffering;
};

// Of calls that are not empty. Kernels without one of these do not run in pieces.
Piecewise elementwise_pieces(const LoopArgs& args);
Piecewise copy_pieces(const LoopArgs& args);
Piecewise where_pieces(const LoopArgs& args);
Piecewise fill_pieces(const LoopArgs& args);

/// Writes what every block has of a repeated input: repeated_bytes() of them.
void lay_out_repeated(const LoopArgs& args, const Piecewise& whole, int k, char* to);
int64_t repeated_bytes(const LoopArgs& args, int k);
/// Whether a piece of so many elements, of one row of steps, is one call of the loop, once repeated
/// inputs are laid out; `steps` between elements.
bool is_one_call(const LoopArgs& args, const Piecewise& whole, int64_t elements, intptr_t* steps);

/// Float32 additions in a piece: some 20 us. Waking a helper costs as much, so less than four
/// pieces are not worth it.
inline constexpr double kPieceWork = 65536;
inline constexpr double kSplitWork = 4 * kPieceWork;

/// No helper has to be woken while one is awake, or a thread stands by.
inline constexpr double kShareWork = kPieceWork;

/// True when work of this size is to be divided.
inline bool is_divisible(ep::HelperPool* helpers, double work) {
  if (!helpers || work < kShareWork || helpers->threads() < 2) return false;
  return work >= kSplitWork || helpers->is_helped();
}

/// That is done in one piece where it is so much in all.
inline double piece_work(double work) { return std::min(kPieceWork, work / 8); }

/// The output shares memory with an input, other than element by element: pieces would read what
/// other pieces have written.
bool reads_what_it_writes(const LoopArgs& args);

/// The row to divide, of rows [0, end): the outermost that is long enough, else the longest.
int row_to_divide(const Iteration& iteration, int end, int threads);

/// Steps of a row of `dim` in one piece, a multiple of `multiple`.
inline int64_t steps_in_piece(int64_t dim, double work, int64_t multiple) {
  const auto steps = static_cast<int64_t>(piece_work(work) / (work / static_cast<double>(dim)));
  return std::max(multiple, steps - steps % multiple);
}

/// Calls run(piece) for pieces of `args` that together are the whole, or run(args) where it is too
/// small. `cost` is of one element. Only rows [0, end) are divided; `multiple(row)` is what the
/// lengths of its pieces are multiples of.
template <typename Multiple, typename Run>
void for_each_piece(const LoopArgs& args, double cost, int end, const Multiple& multiple,
                    const Run& run) {
  const double work = static_cast<double>(iteration_size(args.iteration)) * cost;
  if (!is_divisible(args.helpers, work) || end == 0 || reads_what_it_writes(args)) {
    return run(args);
  }
  const int row = row_to_divide(args.iteration, end, args.helpers->threads());
  const int64_t dim = args.iteration.rows[row].dim;
  const int64_t steps = steps_in_piece(dim, work, multiple(row));
  args.helpers->parallel_for((dim + steps - 1) / steps, [&](int64_t i) {
    LoopArgs piece = args;
    Iteration::Row& part = piece.iteration.rows[row];
    part.dim = std::min(steps, dim - i * steps);
    for (int k = 0; k < piece.iteration.operands; ++k) {
      piece.data[k] += i * steps * part.strides[k];
    }
    run(piece);
  });
}

/// Of a kernel that may be cut anywhere; pieces of the innermost row are whole blocks.
inline Piecewise cut_anywhere(const LoopArgs& args, double cost,
                              void (*run)(const LoopArgs& piece, const Piecewise& whole)) {
  Piecewise whole;
  whole.run = run;
  whole.end = args.iteration.ndim;
  whole.multiple = kBlock;
  whole.cost = cost;
  return whole;
}

/// Runs all pieces, on the helpers where that pays.
inline void run_pieces(const LoopArgs& args, const Piecewise& whole) {
  for_each_piece(
      args, whole.cost, whole.end,
      [&](int row) { return row == whole.end - 1 ? whole.multiple : 1; },
      [&](const LoopArgs& piece) { whole.run(piece, whole); });
}

}  // namespace ofl::ops
