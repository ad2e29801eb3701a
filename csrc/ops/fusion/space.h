// The space of kernels that run as one, element by element or tile by tile: the memories that their
// operands are in, and where; what two kernels share decides whether they may be together.
//
// Kernels have no addresses here. An operand is an offset from a base, and bases are numbers in a
// table of the caller's (as in KernelCall, launch.h): those of one number are one memory, those of
// different numbers share no byte that a kernel writes.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/loop_args.h"

namespace ofl::ops {

/// Its loop raises errors, which are those of the whole.
bool may_fail(const LoopArgs& args);

class FusionSpace {
 public:
  static constexpr int64_t kMostElements = int64_t{1} << 36;  // more fit in no memory

  /// What the kernels share: memory that operands are in.
  struct Memory {
    int16_t base;             // the number of its base
    int uses = 0;             // operands in it
    bool written = false;     // by a kernel of the group
    bool begins = false;      // the first use writes it
    bool reduced = false;     // the first use is a reduction, which writes before it has read
    bool plain = true;        // all uses are in one place, in the order of the elements
    bool unseen = false;      // by others, before and after: it is never in memory
    int first = 0, last = 0;  // kernels that use it
    int64_t offset = 0, item_size = 0;  // of the place, where it is plain
    DType dtype = DType::f64;           // the same
    Dims dims;                          // the same
    int buffer = -1;                    // number, where it is in tiles alone

    /// It need not be in memory.
    bool internal() const { return begins && plain; }
    /// It may lie where `other` lay, which is not needed any more: tile by tile, the last kernel
    /// that reads the one is not after the first that writes the other.
    bool may_follow(const Memory& other) const {
      return internal() && other.plain && !other.written && may_follow_in_tiles(other) &&
             other.offset == offset;
    }
    /// The same of two memories whose elements lie one after the other in buffers of a tile.
    bool may_follow_in_tiles(const Memory& other) const {
      return (reduced ? other.last < first : other.last <= first) && other.item_size == item_size &&
             other.dims == dims;
    }
  };

  /// By first use.
  const std::vector<Memory>& memories() const { return memories_; }
  /// When all kernels have been added: memories that need not be in memory, and that nobody else
  /// sees before or after (is_unseen(memory) tells), stay out of it.
  template <typename IsUnseen>
  void leave_out(const IsUnseen& is_unseen) {
    for (Memory& memory : memories_) memory.unseen = memory.internal() && is_unseen(memory);
  }

 protected:
  /// Where an operand lies, as the loops walk it: rows that step together are one.
  struct Place {
    int memory;
    bool written;
    int64_t offset, low, high, item_size;  // bytes
    DType dtype;
    Dims dims, strides;

    bool same_as(const Place& other) const {
      return memory == other.memory && offset == other.offset && dtype == other.dtype &&
             dims == other.dims && strides == other.strides;
    }
  };

  /// A kernel that may become the next one. One of its elements stands for `scale` of the space's.
  struct Newcomer {
    const LoopArgs* args = nullptr;
    int64_t scale = 1;
    int memory[kMaxOperands];   // number; -1: a scalar
    std::vector<Place> places;  // of the operands in memory
  };

  void place_operands(const int16_t* bases, Newcomer* newcomer) const;
  /// Element by element is program order: what two kernels share, where one of them writes, they
  /// reach at the same time (the same place), or they share nothing of it.
  bool is_in_order(const Newcomer& newcomer) const;
  /// Notes what kernel `number` uses; `reduces`: it writes what it has reduced, in a memory that
  /// begins here unless it is `late`.
  void add_uses(const Newcomer& newcomer, const int16_t* bases, int number, bool reduces,
                bool late);
  /// Its elements lie one after the other: those of the space, or one for each row.
  bool is_flat(const Place& place) const;

  /// Elements inside each row of an iteration, from the innermost one, and of all.
  static void add_bounds(const Iteration& iteration, int64_t scale, std::vector<int64_t>* bounds);
  /// Sorts them; false unless each divides the next.
  static bool make_chain(std::vector<int64_t>* bounds);

  std::vector<Memory> memories_;
  std::vector<Place> places_;
  std::vector<int64_t> bounds_;  // elements inside the rows of all kernels: each divides the next
  int64_t elements_ = 0;
  int64_t row_ = 0;  // elements in a row that is reduced; 0: none is

 private:
  static Place make_place(const Newcomer& newcomer, int k, int memory);
  void add_use(const Place& place, int16_t base, int number, bool reduces, bool late);
  int find(int16_t base) const;
};

}  // namespace ofl::ops
