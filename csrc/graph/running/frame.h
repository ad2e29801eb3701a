// Frame: what belongs to one run of a program while its segments are in flight.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "graph/planning/schedule.h"
#include "graph/running/captured.h"

namespace ofl::graph {

/// The number of a run, which its failures carry, and no others.
inline uint64_t draw_run_number() {
  static std::atomic<uint64_t> drawn{0};
  return drawn.fetch_add(1, std::memory_order_relaxed) + 1;
}

class Frame {
 public:
  Frame(std::shared_ptr<const Schedule> schedule, vm::SiteId site)
      : schedule_(std::move(schedule)), site_(site) {}

  const std::shared_ptr<const Schedule>& schedule() const { return schedule_; }
  const Lowered& lowered() const { return *schedule_->lowered; }
  const Layout& layout() const { return schedule_->layout; }
  vm::SiteId site() const { return site_; }
  int32_t number_of(const Segment& segment) const {
    return static_cast<int32_t>(&segment - schedule_->segments.data());
  }
  /// Of the call, for steps that have none.
  vm::SiteId site_of(const Step& step) const { return step.site ? step.site : site_; }
  /// Where the base of an input begins in the tensor that is given for it.
  SmallVector<int64_t, 16> starts;
  /// The numbers that it was given.
  std::vector<Scalar> scalars;
  std::vector<int64_t> words;
  RunNumbers numbers() const { return {scalars.data(), words.data()}; }
  /// Threads share the strands of a segment.
  bool is_parallel = false;
  /// Graphs of its segments; null: each kernel is launched by itself.
  std::shared_ptr<CapturedProgram> captured;
  /// For tests: new memory holds this byte everywhere.
  std::optional<uint8_t> poison;

  // --- Values that were not made because something failed. Segments of several lanes may ask.
  bool has_failed() const { return has_failed_.load(std::memory_order_acquire); }
  /// Drawn when the first asks: a sound run has none.
  uint64_t run_number() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (run_number_ == 0) run_number_ = draw_run_number();
    return run_number_;
  }
  /// As an instruction named `reader` sees it.
  vm::FailurePtr failure_of(int64_t base, vm::Seq reader) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = failed_.find(base);
    const bool is_seen = found != failed_.end() && found->second.since < reader;
    return is_seen ? found->second.failure : nullptr;
  }
  /// Instruction `since` should have written it.
  void fail(int64_t base, const vm::FailurePtr& failure, vm::Seq since) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [found, is_new] = failed_.try_emplace(base, Failed{since, failure});
    if (!is_new && since < found->second.since) found->second = {since, failure};
    has_failed_.store(true, std::memory_order_release);
  }

 private:
  struct Failed {
    vm::Seq since;
    vm::FailurePtr failure;
  };

  const std::shared_ptr<const Schedule> schedule_;
  const vm::SiteId site_;
  std::atomic<bool> has_failed_{false};
  mutable std::mutex mutex_;  // guards the rest
  mutable uint64_t run_number_ = 0;
  std::unordered_map<int64_t, Failed> failed_;
};

}  // namespace ofl::graph
