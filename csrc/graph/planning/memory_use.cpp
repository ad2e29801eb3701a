#include "graph/planning/memory_use.h"

#include <algorithm>

namespace ofl::graph {

namespace {

class Counting {
 public:
  explicit Counting(const Schedule& schedule)
      : schedule_(schedule),
        lowered_(*schedule.lowered),
        layout_(schedule.layout),
        is_over_(lowered_.bases.size()),
        span_(lowered_.bases.size()) {
    for (const InPlaceNote& note : layout_.in_place) {
      if (note.reason == Reason::allowed) is_over_[note.result] = true;
    }
    find_spans();
  }

  MemoryUse use() {
    MemoryUse use;
    size_t unit = 0;
    for (const Segment& segment : schedule_.segments) {
      for (const Piece& piece : segment.pieces) {
        for (const Call& call : piece.calls) use.steps.push_back(memory_of(*call.step, unit));
        ++unit;
      }
    }
    use.peaks = peaks();
    return use;
  }

 private:
  static constexpr int64_t kNever = -1;
  /// The first and the last unit, in the order of issue, that uses a base.
  struct Span {
    int64_t first = kNever, last = kNever;
  };

  bool is_counted(size_t base) const {
    return !lowered_.is_input(static_cast<int64_t>(base)) && layout_.homes[base].memory >= 0;
  }

  void find_spans() {
    int64_t unit = 0;
    for (const Segment& segment : schedule_.segments) {
      for (const Piece& piece : segment.pieces) {
        for (const Call& call : piece.calls) {
          for (const Placed& operand : call.step->operands) {
            if (operand.base < 0) continue;
            Span& span = span_[operand.base];
            if (span.first == kNever) span.first = unit;
            span.last = unit;
          }
        }
        ++unit;
      }
    }
    std::vector<int64_t> change(unit + 1);
    for (size_t b = 0; b < span_.size(); ++b) {
      if (!is_counted(b) || span_[b].first == kNever) continue;
      const auto bytes = static_cast<int64_t>(lowered_.bases[b].bytes);
      change[span_[b].first] += bytes;
      if (!lowered_.bases[b].is_result) change[span_[b].last] -= bytes;
    }
    int64_t live = 0;
    for (int64_t u = 0; u < unit; ++u) live_.push_back(live += change[u]);
  }

  StepMemory memory_of(const Step& step, size_t unit) const {
    StepMemory memory{&step, 0, Place::none, live_[unit]};
    for (size_t k = 0; k < step.operands.size(); ++k) {
      const Placed& operand = step.operands[k];
      if (!step.writes[k] || operand.base < 0) continue;
      const auto item_size = static_cast<int64_t>(size_of(operand.layout.dtype));
      memory.bytes += operand.layout.size() * item_size;
      if (memory.place == Place::none) memory.place = place_of(step, operand.base);
    }
    return memory;
  }

  Place place_of(const Step& step, int64_t base) const {
    const Home& home = layout_.homes[base];
    if (lowered_.is_input(base)) return Place::assigned;
    if (home.memory < 0) return Place::tiles;
    const bool was_there = &lowered_.steps[lowered_.bases[base].first] != &step;
    if (is_over_[base] || was_there) return Place::in_place;
    const RunMemory& memory = layout_.memories[home.memory];
    if (memory.is_result) return Place::result;
    return memory.is_arena ? Place::arena : Place::alone;
  }

  /// A memory is there from the first segment that uses it to the last one; that of a result stays.
  std::vector<std::pair<const vm::DeviceState*, int64_t>> peaks() const {
    const std::vector<RunMemory>& memories = layout_.memories;
    std::vector<bool> is_held(memories.size());
    std::vector<std::pair<const vm::DeviceState*, int64_t>> held, peaks;
    const auto add = [&](int64_t memory, int64_t sign) {
      const vm::DeviceState* const state = memories[memory].state;
      const auto is_of = [state](const auto& row) { return row.first == state; };
      auto row = std::find_if(held.begin(), held.end(), is_of);
      if (row == held.end()) {
        row = held.insert(held.end(), {state, 0});
        peaks.emplace_back(state, 0);
      }
      row->second += sign * static_cast<int64_t>(memories[memory].bytes);
      int64_t& peak = peaks[row - held.begin()].second;
      peak = std::max(peak, row->second);
    };
    for (const Segment& segment : schedule_.segments) {
      for (const Segment::Use& use : segment.memories) {
        if (use.memory < lowered_.input_count || is_held[use.memory]) continue;
        is_held[use.memory] = true;
        add(use.memory, 1);
      }
      for (const Segment::Use& use : segment.memories) {
        const bool is_over = use.is_last && !memories[use.memory].is_result;
        if (use.memory >= lowered_.input_count && is_over) add(use.memory, -1);
      }
    }
    return peaks;
  }

  const Schedule& schedule_;
  const Lowered& lowered_;
  const Layout& layout_;
  std::vector<bool> is_over_;  // of each base: it is over an operand
  std::vector<Span> span_;     // of each base
  std::vector<int64_t> live_;  // after each unit
};

}  // namespace

MemoryUse memory_use(const Schedule& schedule) { return Counting(schedule).use(); }

}  // namespace ofl::graph
