// Large matrices factored block by block of columns: one thread factors a block, and the columns
// beside it are brought up to date in parts that helpers share. The part next to the block comes
// first, and its thread factors it as the next block, so that nobody waits for that.
//
//   block | next | part | part | ...     part 0: next, then its factors; then the others
#pragma once

#include <atomic>

#include "ops/product/gemm_plan.h"
#include "ops/product/lapack_matrices.h"

namespace ofl::ops {

/// Up to so many rows the library factors all at once.
inline constexpr int kMostWhole = 256;
/// Columns in a part, and float32 additions for each byte of a multiplication.
inline constexpr int kPartColumns = 96;
inline constexpr double kMultiplicationWork = 0.02;

/// Calls body(i) for parts that take so many multiplications of T in all.
template <typename T, typename Body>
void share_parts(const LapackCall& call, int parts, double multiplications, const Body& body) {
  const double work = kMultiplicationWork * sizeof(T) * multiplications;
  share(is_divisible(call.helpers, work) ? call.helpers : nullptr, parts, work, body);
}

struct Blocks {
  int width;
  int diagonal;  // columns to factor
  int rows, columns;
};

/// `factor(first, count)` factors columns that are up to date, `update(first, count, from, some)`
/// brings `some` columns up to date with factored ones. False, and nothing more done, when factor()
/// is. How it is cut depends on the shape alone.
template <typename T, typename Factor, typename Update>
bool factor_blocks(const LapackCall& call, const Blocks& shape, const Factor& factor,
                   const Update& update) {
  std::atomic<bool> sound{factor(0, std::min(shape.width, shape.diagonal))};
  for (int first = 0; sound && first < shape.diagonal; first += shape.width) {
    const int count = std::min(shape.width, shape.diagonal - first), next = first + count;
    const int ahead = std::min(shape.width, shape.diagonal - next);  // columns of the next block
    const int rest = shape.columns - next - ahead;
    const int parts = 1 + (rest + kPartColumns - 1) / kPartColumns;
    const double multiplications = double(count) * (shape.rows - first) * (rest + ahead);
    share_parts<T>(call, parts, multiplications, [&](int64_t i) {
      if (i > 0) {
        const int from = next + ahead + (static_cast<int>(i) - 1) * kPartColumns;
        update(first, count, from, std::min(kPartColumns, shape.columns - from));
      } else if (ahead > 0) {
        update(first, count, next, ahead);
        if (!factor(next, ahead)) sound.store(false, std::memory_order_relaxed);
      }
    });
  }
  return sound;
}

}  // namespace ofl::ops
