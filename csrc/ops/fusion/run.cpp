#include <algorithm>
#include <tuple>

#include "ops/fusion/fusion.h"
#include "ops/leased_memory.h"

namespace ofl::ops {

namespace {

MemoryPool& tile_memory() {
  static MemoryPool* pool = new MemoryPool;
  return *pool;
}

}  // namespace

/// Runs tiles in one thread: the kernels' arguments with the addresses of a tile.
class FusionGroup::TileRunner {
 public:
  explicit TileRunner(FusionGroup& group)
      : group_(group),
        memory_(tile_memory(), group.buffers_ * group.buffer_size_),
        buffers_(memory_.data()) {
    pieces_.reserve(group.kernels_.size());
    starts_.reserve(group.kernels_.size());
    for (const Member& kernel : group.kernels_) {
      pieces_.push_back(*kernel.args);
      LoopArgs& piece = pieces_.back();
      piece.helpers = nullptr;
      for (int d = 0; d < kernel.cut; ++d) piece.iteration.rows[d].dim = 1;
      starts_.push_back(find_start(kernel));
    }
    for (int i = 0; i < group.size(); ++i) find_ahead(i);
  }

  void find_ahead(int number) {
    const Member& kernel = group_.kernels_[number];
    const Iteration& iteration = kernel.args->iteration;
    if (kernel.reduction || kernel.scale != 1 || iteration.ndim == 0) return;
    for (int k = 0; k < iteration.operands; ++k) {
      if (kernel.memory[k] < 0) continue;
      const Memory& memory = group_.memories_[kernel.memory[k]];
      if (!memory.address || memory.first != number) continue;
      const int64_t stride = iteration.rows[kernel.cut].strides[k];
      if (stride == memory.item_size * kernel.inner)
        ahead_.push_back({number, k, memory.item_size});
    }
  }

  void run(int64_t tile) {
    const Tiling& tiling = group_.tiling_;
    int64_t first, count;
    if (const TiledReduction* sum = group_.sum()) {
      first = sum->sum()->start(static_cast<int>(tile));
      count = sum->sum()->count(static_cast<int>(tile));
    } else {
      const int64_t start = tile % tiling.per_run * tiling.size;
      first = tile / tiling.per_run * tiling.run + start;
      count = std::min(tiling.size, tiling.run - start);
    }
    for (int i = 0; i < group_.size(); ++i) {
      try {
        run_kernel(i, tile, first, count);
      } catch (...) {
        group_.failed_.store(i, std::memory_order_relaxed);
        throw;
      }
    }
  }

 private:
  void run_kernel(int number, int64_t tile, int64_t first, int64_t count) {
    const Member& kernel = group_.kernels_[number];
    LoopArgs& piece = pieces_[number];
    if (kernel.scale != 1) {
      first /= kernel.scale;
      count /= kernel.scale;
    }
    bind(kernel, starts_[number], first, &piece);
    if (kernel.reduction) {
      return kernel.reduction->take(static_cast<int>(tile), count, piece.data[kReduceIn],
                                    piece.data[kReduceOut]);
    }
    if (kernel.args->iteration.ndim > 0) {
      piece.iteration.rows[kernel.cut].dim = kernel.inner == 1 ? count : count / kernel.inner;
    }
    if (!ahead_.empty()) fetch_ahead(number, count);
    kernel.whole.run(piece, kernel.whole);
  }

  /// Where the operands of a kernel begin, and which of them lie there in every tile.
  struct Start {
    char* data[kMaxOperands];
    bool stays[kMaxOperands];
  };

  Start find_start(const Member& kernel) const {
    Start start;
    for (int k = 0; k < kernel.args->iteration.operands; ++k) {
      start.stays[k] = true;
      if (kernel.memory[k] < 0) {
        start.data[k] =
            reinterpret_cast<char*>(const_cast<unsigned char*>(kernel.args->scalars[k].bytes));
        continue;
      }
      const Memory& memory = group_.memories_[kernel.memory[k]];
      start.stays[k] = memory.buffer >= 0;
      start.data[k] = start.stays[k]
                          ? buffers_ + memory.buffer * group_.buffer_size_
                          : memory.address + reinterpret_cast<intptr_t>(kernel.args->data[k]);
    }
    return start;
  }

  /// Where the operands of a kernel have element `first`.
  static void bind(const Member& kernel, const Start& start, int64_t first, LoopArgs* piece) {
    const Iteration& iteration = kernel.args->iteration;
    int64_t offsets[kMaxOperands] = {};
    if (kernel.cut == 0 && kernel.inner == 1 && iteration.ndim > 0) {
      for (int k = 0; k < iteration.operands; ++k) {
        offsets[k] = first * iteration.rows[0].strides[k];
      }
    } else {
      find_offsets(kernel, first, offsets);
    }
    for (int k = 0; k < iteration.operands; ++k) {
      piece->data[k] = start.data[k] + (start.stays[k] ? 0 : offsets[k]);
    }
  }

  static void find_offsets(const Member& kernel, int64_t first, int64_t* offsets) {
    const Iteration& iteration = kernel.args->iteration;
    int64_t step = first / kernel.inner;
    for (int d = kernel.cut; d >= 0 && step > 0; --d) {
      const Iteration::Row& row = iteration.rows[d];
      const int64_t index = step % row.dim;
      step /= row.dim;
      for (int k = 0; k < iteration.operands; ++k) offsets[k] += index * row.strides[k];
    }
  }

  /// Asks for a part of what the next tile needs, while this one is computed: memory and arithmetic
  /// then take the time of the slower one, not of both.
  void fetch_ahead(int number, int64_t count) {
    for (Ahead& ahead : ahead_) {
      if (ahead.kernel == number) {
        const int64_t bytes = count * ahead.item_size;
        ahead.at = pieces_[number].data[ahead.operand] + bytes;
        ahead.end = ahead.at + bytes;
        ahead.step = bytes / group_.size() + kLine;
      }
      const char* stop = std::min(ahead.end, ahead.at + ahead.step);
      for (; ahead.at < stop; ahead.at += kLine) __builtin_prefetch(ahead.at, 0, 2);
    }
  }

  static constexpr int64_t kLine = 64;
  /// An operand whose tiles follow each other in memory, and the part not yet asked for.
  struct Ahead {
    int kernel, operand;
    int64_t item_size;
    const char* at = nullptr;
    const char* end = nullptr;
    int64_t step = 0;
  };

  FusionGroup& group_;
  LeasedMemory memory_;
  std::vector<Ahead> ahead_;
  char* const buffers_;
  std::vector<LoopArgs> pieces_;
  std::vector<Start> starts_;
};

void FusionGroup::run(ep::HelperPool* helpers) {
  for (Member& kernel : kernels_) std::tie(kernel.cut, kernel.inner) = row_of(kernel, tiling_.unit);
  assign_buffers();
  run_tiles(helpers);
  if (TiledReduction* reduction = sum()) {
    const Member& last = kernels_.back();
    reduction->finish(memories_[last.memory[kReduceOut]].address +
                      reinterpret_cast<intptr_t>(last.args->data[kReduceOut]));
  }
}

/// A memory without an address gets the first buffer that no other one needs at the same time.
void FusionGroup::assign_buffers() {
  std::vector<int> busy_until;  // by buffer: the last kernel that uses it
  int64_t item_size = 1;
  for (Memory& memory : memories_) {  // by first use
    if (memory.address) continue;
    item_size = std::max(item_size, memory.item_size);
    size_t i = 0;
    while (i < busy_until.size() && busy_until[i] >= memory.first) ++i;
    if (i == busy_until.size()) busy_until.push_back(0);
    busy_until[i] = memory.last;
    memory.buffer = static_cast<int>(i);
  }
  int64_t longest = tiling_.size;
  if (const TiledReduction* reduction = sum()) longest = reduction->sum()->longest();
  buffers_ = static_cast<int>(busy_until.size());
  buffer_size_ = static_cast<size_t>((longest * item_size + 63) & ~int64_t{63});
}

int64_t FusionGroup::tile_count() const {
  if (const TiledReduction* reduction = sum()) return reduction->sum()->leaves();
  return elements_ / tiling_.run * tiling_.per_run;
}

void FusionGroup::run_tiles(ep::HelperPool* helpers) {
  const int64_t tiles = tile_count();
  double work = 0;
  for (const Member& kernel : kernels_) work += kernel.whole.cost * static_cast<double>(elements_);
  if (!is_divisible(helpers, work)) {
    TileRunner runner(*this);
    for (int64_t tile = 0; tile < tiles; ++tile) runner.run(tile);
    return;
  }
  // Long pieces of long work: the hardware's prefetch starts anew with each.
  const auto piece = std::max<int64_t>(1, static_cast<int64_t>(piece_work(work) / work * tiles));
  const int64_t group = std::max(piece, std::min(4 * piece, tiles / (16 * helpers->threads())));
  helpers->parallel_for((tiles + group - 1) / group, [&](int64_t i) {
    TileRunner runner(*this);
    for (int64_t tile = i * group; tile < std::min((i + 1) * group, tiles); ++tile) {
      runner.run(tile);
    }
  });
}

}  // namespace ofl::ops
