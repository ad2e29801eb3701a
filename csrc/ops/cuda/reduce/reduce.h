// Reductions of what a fused kernel makes: shared by threads as launch_reduce would share them, so
// that they have the same bits.
#pragma once

#include <cstdint>
#include <optional>

#include "ops/cuda/launching.h"
#include "ops/cuda/programs.h"
#include "ops/loop_args.h"

namespace ofl::ops::cuda {

/// How outputs of contiguous elements are shared. Of rows, an output's elements lie one after the
/// other; of columns, those of all outputs that have the same number do.
struct SharedReduction {
  bool columns;
  int64_t outputs, count;  // elements of each output
  int64_t chunks, chunk;   // parts of an output, elements in one
  int64_t lanes;           // columns that a thread takes side by side
  int64_t blocks;
  int block_threads;
  int32_t threads;  // of a row, or of a chunk of one; beside each other, of columns

  bool is_like(const SharedReduction& other) const {
    return columns == other.columns && outputs == other.outputs && count == other.count &&
           chunks == other.chunks && chunk == other.chunk && lanes == other.lanes &&
           threads == other.threads && block_threads == other.block_threads;
  }
};

/// Where the input has that address, or as if it had; nullopt: it is neither rows nor columns in
/// the order of the elements.
std::optional<SharedReduction> shared_reduction(const LoopArgs& args, char* input);

/// The kind, the row and the dtypes of its request, `has_initial`: between input and output those
/// of what it begins with.
KernelRequest reduction_request(const LoopArgs& args, bool has_initial);

/// What is enqueued behind a kernel that makes values of chunks, to make results of them.
class LastStage {
 public:
  /// `args` outlive it. An input that is nowhere has the address that it would have.
  LastStage(Launching& launching, const LoopArgs& args);
  /// Where values go, [row][chunk] or [chunk][column]; nullptr: there is no kernel for it.
  void* values() const { return values_; }
  void launch();

 private:
  Launching& launching_;
  const LoopArgs& args_;
  void* kernel_ = nullptr;
  void* values_ = nullptr;
};

}  // namespace ofl::ops::cuda
