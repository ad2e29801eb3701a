// Sorting on a device, for the kernels that need sorted elements on their way.
#pragma once

#include "ops/cuda/arrays.h"
#include "ops/cuda/layout/sort.h"

namespace ofl::ops::cuda {

/// What is wanted of lanes that lie row-major along their last axis; not of none.
struct SortedLanes {
  ArrayView in;
  ArrayView out;  // the elements; or, of int64, the positions that sort them
  bool positions = false;
  bool descending = false;
  int digits = 0;  // bytes of the keys that matter, the lowest ones; 0: all
};

/// The stable order. Finds its kernels and its memory when it is made.
class Sorter {
 public:
  Sorter(Launching& launching, const SortedLanes& lanes);
  /// False: a kernel is missing.
  explicit operator bool() const { return sort_ && (is_short_ || (counts_ && scan_)); }
  void enqueue();

 private:
  /// Divides each lane so that all of them keep the device busy.
  void divide_lanes();
  void find_memory();
  void enqueue_passes();

  Launching& launching_;
  const SortedLanes sorted_;
  const bool is_short_, wide_;
  const int passes_;
  layout::SortArgs args_;
  void* elements_[2] = {};
  void* places_[2] = {};
  void *sort_ = nullptr, *counts_ = nullptr, *scan_ = nullptr;
};

}  // namespace ofl::ops::cuda
