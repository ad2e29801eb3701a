#include <algorithm>
#include <atomic>
#include <memory>

#include "ops/fusion/plan.h"
#include "ops/leased_memory.h"

namespace ofl::ops {

namespace {

MemoryPool& tile_memory() {
  static MemoryPool* pool = new MemoryPool;
  return *pool;
}

}  // namespace

/// What belongs to one run of a plan: the addresses, the sums of leaves, and which kernel threw.
class FusionPlan::Run {
 public:
  Run(const FusionPlan& plan, char* const* bases)
      : plan_(plan), group_(plan.group_), bases_(bases) {
    if (const TiledReduction* reduction = group_.sum()) {
      sums_.reset(new Scalar[reduction->sum()->leaves()]);
    }
  }

  void run(ep::HelperPool* helpers);
  int failed() const { return failed_.load(std::memory_order_relaxed); }

 private:
  friend class FusionPlan::TileRunner;

  void run_tiles(ep::HelperPool* helpers);

  /// Of an operand that is in memory.
  char* address(const FusionGroup::Member& kernel, int k) const {
    const FusionSpace::Memory& memory = group_.memories_[kernel.memory[k]];
    return bases_[memory.base] + reinterpret_cast<intptr_t>(kernel.args->data[k]);
  }

  const FusionPlan& plan_;
  const FusionGroup& group_;
  char* const* const bases_;
  std::unique_ptr<Scalar[]> sums_;  // by leaf, where all elements are summed
  std::atomic<int> failed_{0};
};

/// Runs tiles in one thread: the kernels' arguments with the addresses of a tile.
class FusionPlan::TileRunner {
  using Member = FusionGroup::Member;
  using Memory = FusionSpace::Memory;

 public:
  explicit TileRunner(Run& run)
      : run_(run),
        plan_(run.plan_),
        group_(run.group_),
        memory_(tile_memory(), plan_.buffers_ * plan_.buffer_size_ + plan_.repeated_bytes_),
        buffers_(memory_.data()) {
    pieces_.reserve(group_.kernels_.size());
    starts_.reserve(group_.kernels_.size());
    for (const Member& kernel : group_.kernels_) {
      pieces_.push_back(*kernel.args);
      LoopArgs& piece = pieces_.back();
      piece.helpers = nullptr;
      for (int d = 0; d < kernel.cut; ++d) piece.iteration.rows[d].dim = 1;
      starts_.push_back(find_start(kernel));
    }
    for (const Repeated& repeated : plan_.repeated_) lay_out(repeated);
    for (int i = 0; i < group_.size(); ++i) find_ahead(i);
  }

  void lay_out(const Repeated& repeated) {
    const auto [number, k, offset] = repeated;
    const Member& kernel = group_.kernels_[number];
    LoopArgs args = pieces_[number];
    args.data[k] = starts_[number].data[k];
    int64_t& steps = args.iteration.rows[kernel.cut].dim;
    steps = std::min(steps, plan_.longest_tile() / kernel.scale / kernel.inner);
    char* const to = buffers_ + plan_.buffers_ * plan_.buffer_size_ + offset;
    lay_out_repeated(args, kernel.whole, k, to);
    starts_[number].data[k] = to;
  }

  void find_ahead(int number) {
    const Member& kernel = group_.kernels_[number];
    const Iteration& iteration = kernel.args->iteration;
    if (kernel.reduction || kernel.scale != 1 || iteration.ndim == 0) return;
    for (int k = 0; k < iteration.operands; ++k) {
      if (kernel.memory[k] < 0) continue;
      const Memory& memory = group_.memories_[kernel.memory[k]];
      if (memory.unseen || memory.first != number) continue;
      const int64_t stride = iteration.rows[kernel.cut].strides[k];
      if (stride == memory.item_size * kernel.inner)
        ahead_.push_back({number, k, memory.item_size});
    }
  }

  void run(int64_t tile) {
    const FusionGroup::Tiling& tiling = group_.tiling_;
    int64_t first, count;
    if (const TiledReduction* sum = group_.sum()) {
      first = sum->sum()->start(static_cast<int>(tile));
      count = sum->sum()->count(static_cast<int>(tile));
    } else {
      const bool is_one_run = tiling.run == group_.elements_;
      const int64_t start = (is_one_run ? tile : tile % tiling.per_run) * tiling.size;
      first = (is_one_run ? 0 : tile / tiling.per_run * tiling.run) + start;
      count = std::min(tiling.size, tiling.run - start);
    }
    for (int i = 0; i < group_.size(); ++i) {
      try {
        run_kernel(i, tile, first, count);
      } catch (...) {
        run_.failed_.store(i, std::memory_order_relaxed);
        throw;
      }
    }
  }

 private:
  void run_kernel(int number, int64_t tile, int64_t first, int64_t count) {
    const Member& kernel = group_.kernels_[number];
    if (kernel.is_call) return call_loop(kernel, number, first, count);
    LoopArgs& piece = pieces_[number];
    if (kernel.scale != 1) {
      first /= kernel.scale;
      count /= kernel.scale;
    }
    bind(kernel, starts_[number], first, &piece);
    if (kernel.reduction) {
      return kernel.reduction->take(static_cast<int>(tile), count, piece.data[kReduceIn],
                                    piece.data[kReduceOut], run_.sums_.get());
    }
    if (kernel.is_call_beside_repeated) {
      if (!ahead_.empty()) fetch_ahead(number, piece.data, count);
      return call_beside_repeated(kernel, piece.data, count);
    }
    if (kernel.args->iteration.ndim > 0) {
      piece.iteration.rows[kernel.cut].dim = kernel.inner == 1 ? count : count / kernel.inner;
    }
    if (!ahead_.empty()) fetch_ahead(number, piece.data, count);
    kernel.whole.run(piece, kernel.whole);
  }

  /// The usual case, with nothing else to do: in small tiles, all that is around a loop counts.
  void call_loop(const Member& kernel, int number, int64_t first, int64_t count) {
    const LoopArgs& args = *kernel.args;
    const int64_t* const strides = args.iteration.rows[0].strides;
    const Start& start = starts_[number];
    char* data[kMaxOperands];
    intptr_t steps[kMaxOperands];
    for (int k = 0; k < args.iteration.operands; ++k) {
      steps[k] = strides[k];
      data[k] = start.data[k] + (start.stays[k] ? 0 : first * strides[k]);
    }
    if (!ahead_.empty()) fetch_ahead(number, data, count);
    const intptr_t n = count;
    args.resolution->loop(data, &n, steps, args.resolution->data);
  }

  static void call_beside_repeated(const Member& kernel, char** data, int64_t count) {
    const intptr_t n = count;
    const Resolution& resolution = *kernel.args->resolution;
    resolution.loop(data, &n, kernel.steps, resolution.data);
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
      start.stays[k] = memory.unseen;
      start.data[k] =
          memory.unseen ? buffers_ + memory.buffer * plan_.buffer_size_ : run_.address(kernel, k);
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
      const int64_t index = d > 0 ? step % row.dim : step;  // divisions take as long as small loops
      step = d > 0 ? step / row.dim : 0;
      for (int k = 0; k < iteration.operands; ++k) offsets[k] += index * row.strides[k];
    }
  }

  /// Asks for a part of what the next tile needs, while this one is computed: memory and arithmetic
  /// then take the time of the slower one, not of both.
  void fetch_ahead(int number, char* const* data, int64_t count) {
    for (Ahead& ahead : ahead_) {
      if (ahead.kernel == number) {
        const int64_t bytes = count * ahead.item_size;
        ahead.at = data[ahead.operand] + bytes;
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

  Run& run_;
  const FusionPlan& plan_;
  const FusionGroup& group_;
  LeasedMemory memory_;
  std::vector<Ahead> ahead_;
  char* const buffers_;
  std::vector<LoopArgs> pieces_;
  std::vector<Start> starts_;
};

void FusionPlan::Run::run(ep::HelperPool* helpers) {
  run_tiles(helpers);
  if (const TiledReduction* reduction = group_.sum()) {
    const FusionGroup::Member& last = group_.kernels_.back();
    reduction->finish(address(last, kReduceOut), sums_.get());
  }
}

void FusionPlan::Run::run_tiles(ep::HelperPool* helpers) {
  const int64_t tiles = plan_.tile_count();
  double work = 0;
  for (const FusionGroup::Member& kernel : group_.kernels_) {
    work += kernel.whole.cost * static_cast<double>(group_.elements_);
  }
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

void FusionPlan::run(char* const* bases, ep::HelperPool* helpers, int* failed) const {
  Run run(*this, bases);
  try {
    run.run(helpers);
  } catch (...) {
    *failed = run.failed();
    throw;
  }
}

}  // namespace ofl::ops
