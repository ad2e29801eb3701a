// How arrays that indices pick from lie, as kernels of a device take it: words in a nest of
// dimensions.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "ops/array_args.h"
#include "ops/cuda/layout/index.h"
#include "ops/cuda/programs.h"

namespace ofl::ops::cuda {

using layout::kIndexArrays;
using layout::kNarrow;
using layout::kNestDims;

/// Bytes of an argument whose kernel takes so many arrays.
template <template <int> class Args>
constexpr size_t args_bytes(int arrays) {
  static_assert(sizeof(Args<2>) - sizeof(Args<1>) == sizeof(layout::IndexArray));
  return sizeof(Args<1>) + static_cast<size_t>(arrays - 1) * sizeof(layout::IndexArray);
}

/// With room for all arrays.
using Indexing = layout::Indexing<kIndexArrays>;

/// A dimension: its size, and the strides of everything that is walked.
struct NestRow {
  int64_t dim = 1;
  int64_t placed = 0, lined = 0, number = 0;
  std::array<int64_t, kIndexArrays> indices = {};
  int64_t rank = 0;  // for sorting
};

/// Dimensions, outermost first; those of size 1 are left out.
class Nest {
 public:
  void add(const NestRow& row) {
    if (row.dim != 1) rows_.push_back(row);
  }
  /// rank_of(number of the row, row)
  template <typename Rank>
  void rank(const Rank& rank_of) {
    for (size_t d = 0; d < rows_.size(); ++d) rows_[d].rank = rank_of(d, rows_[d]);
  }
  /// From row `first` on: those of the highest rank become the outermost.
  void sort(size_t first = 0);
  /// Adds the bytes of an element, and merges the neighbours over which everything steps evenly.
  /// Then words take the place of bytes: the largest that all of `bits` (addresses and strides
  /// ored) and the rows allow; their size. `scalar`: what is lined does not step.
  int64_t into_words(int64_t itemsize, uint64_t bits, bool scalar);
  void merge();

  const std::vector<NestRow>& rows() const { return rows_; }
  int64_t count() const;
  bool fits() const { return rows_.size() <= kNestDims; }
  /// The rows; they fit.
  void store(Indexing* out) const;

 private:
  std::vector<NestRow> rows_;
};

/// Addresses and strides ored: a power of 2 that divides the result divides them all.
inline uint64_t bits_of(const void* address) { return reinterpret_cast<uintptr_t>(address); }
inline uint64_t bits_of(int64_t stride) { return static_cast<uint64_t>(stride); }

/// The array in a kernel; its strides are those of rows. False: it is not aligned for that.
bool describe_indices(const ArrayView& indices, int64_t size, int64_t step,
                      layout::IndexArray* out);

inline layout::IndexMode mode_of(OutOfRange mode) {
  constexpr layout::IndexMode kModes[] = {layout::kFault, layout::kWrap, layout::kClip};
  return kModes[static_cast<size_t>(mode)];
}

/// Adds the dimensions of index arrays: `lined` are the first strides of the other array, `placed`
/// (or null) those of places without what indices add.
void add_places(const ArrayView* indices, int arrays, const Dims& lined, const Dims* placed,
                Nest* nest);
/// And the dimensions that a place has: of `placed` from `placed_dims` on, with those of `lined`
/// from `lined_dims` on.
void add_block(const ArrayView& placed, int placed_dims, const ArrayView* lined, int lined_dims,
               Nest* nest);

/// Bytes reach 2^31.
bool is_wide(const ArrayView& view);

/// Launching::report with a word for each index array; `sizes` and `numbers` are those of their
/// axes. `error` is what an index out of range is.
layout::int64* report_indices(Launching& launching, const std::vector<int64_t>& sizes,
                              const std::vector<int64_t>& numbers, ErrorKind error);

/// One scalar over and over, as words of any size read it.
void repeat_scalar(const int64_t* words, int64_t itemsize, unsigned char* out);

/// The programs of gather, scatter and mask.
struct IndexingKey {
  int32_t step;  // kernels that differ in more than the rest
  int32_t word, arrays;
  uint8_t dtype, flat, wide, unused;
};

}  // namespace ofl::ops::cuda
