// Many random numbers with the bits of numpy.random.Generator, from the words of PCG64, by several
// threads.
//
//   words:    ├─── piece 0 ───┼─── piece 1 ───┼─── piece 2 ───┤   each thread jumps to its own
//   numbers:  x x x x xx x x x┆x x x xxx x x x┆x x x ...          most take one word
//                            └─ the last one of a piece may take words of the next
//
// A number takes a word where that is accepted at once, and else some more. So a thread does not
// know where in its piece the first number begins. It begins with the first word. Once the piece
// before it is known, the few numbers until both ways of counting meet are drawn again. They meet
// as soon as a number of each begins at the same word: what follows depends on nothing else.
#pragma once

#include <cstdint>
#include <memory>

#include "base/dtype.h"
#include "ep/threads/helper_pool.h"
#include "ops/random/numpy_bits.h"

namespace ofl::ops {

/// NumPy's functions for one number of a distribution, and for many, of one dtype.
struct NumpyFunctions {
  void* draw;
  void* fill;
};

enum class Numbers : uint8_t { uniform, normal, exponential };
inline constexpr int kNumbers = 3;

/// By which limits NumPy accepts a word at once, and by which factors it makes a number of it: read
/// from its own functions. Any thread.
class NumberTables;

/// float64 or float32. Null: the installed NumPy draws in another way than this code knows, which a
/// comparison has found.
std::shared_ptr<const NumberTables> number_tables(Numbers kind, DType dtype,
                                                  const NumpyFunctions& functions);

/// low + width * x, where `moves`.
struct Moved {
  bool moves = false;
  double low = 0, width = 1;
};

/// Draws `count` numbers, and moves the bits on. `helpers` may be null.
void draw_numbers(NumpyBits* bits, const NumberTables& tables, const Moved& moved, int64_t count,
                  void* out, ep::HelperPool* helpers);

/// Whether integers of the installed NumPy, whose functions these are, are those of
/// draw_integers().
bool integers_agree(void* fill_64, void* fill_32);

/// Draws `count` integers from [low, low + range] of 32 or 64 bits, signed or not: D. Lemire, "Fast
/// Random Integer Generation in an Interval", ACM TOMACS 2019.
void draw_integers(NumpyBits* bits, DType dtype, uint64_t low, uint64_t range, int64_t count,
                   void* out, ep::HelperPool* helpers);

}  // namespace ofl::ops
