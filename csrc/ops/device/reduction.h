// Reductions of rows that a fused kernel makes: shared by threads as launch_reduce would share
// them, so that they have the same bits.
#pragma once

#include <cstdint>
#include <optional>

#include "ops/device/launching.h"
#include "ops/device/programs.h"
#include "ops/kernel.h"

namespace ofl::ops::device {

/// Rows of contiguous elements, each of which becomes one of an output.
struct RowReduction {
  int64_t rows, count;    // outputs, elements of each
  int64_t chunks, chunk;  // parts of a row, elements in one
  int64_t blocks;
  int block_threads;
  int32_t threads;  // of a row or, where it has several, of a chunk

  bool is_shared_like(const RowReduction& other) const {
    return rows == other.rows && count == other.count && chunks == other.chunks &&
           chunk == other.chunk && threads == other.threads && block_threads == other.block_threads;
  }
};

/// nullopt: the input is not such rows, one after the other.
std::optional<RowReduction> row_reduction(const KernelArgs& args);

/// The kind, the row and the dtypes of its request, `has_initial`: between input and output those
/// of what it begins with.
KernelRequest reduction_request(const KernelArgs& args, bool has_initial);

/// What is enqueued behind a kernel that makes values of chunks, to make results of them.
class LastStage {
 public:
  /// Of args.data only the output counts. `args` outlive it.
  LastStage(Launching& launching, const KernelArgs& args);
  /// Where values go, [row][chunk]; nullptr: there is no kernel for it.
  void* values() const { return values_; }
  void launch();

 private:
  Launching& launching_;
  const KernelArgs& args_;
  void* kernel_ = nullptr;
  void* values_ = nullptr;
};

}  // namespace ofl::ops::device
