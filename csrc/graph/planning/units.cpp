#include "graph/planning/units.h"

#include <algorithm>

#include "tensor/fusion/begin.h"

namespace ofl::graph {

namespace {

constexpr int kLookAhead = 64;  // steps that a group passes, as those that the machine looks at

/// Which bases a set of steps reads and writes. Sets are emptied by a new number.
class Touched {
 public:
  explicit Touched(size_t bases) : read_(bases, -1), written_(bases, -1) {}

  void clear(int64_t number) { number_ = number; }
  void add(const Step& step) {
    for (size_t k = 0; k < step.operands.size(); ++k) {
      const int64_t base = step.operands[k].base;
      if (base >= 0) (step.writes[k] ? written_ : read_)[base] = number_;
    }
  }
  /// The step must come after one of these.
  bool is_before(const Step& step) const {
    for (size_t k = 0; k < step.operands.size(); ++k) {
      const int64_t base = step.operands[k].base;
      if (base < 0) continue;
      if (written_[base] == number_ || (step.writes[k] && read_[base] == number_)) return true;
    }
    return false;
  }

 private:
  std::vector<int64_t> read_, written_;
  int64_t number_ = 0;
};

class Forming {
 public:
  Forming(const Lowered& lowered, const vm::Options& options)
      : lowered_(lowered),
        options_(options),
        is_taken_(lowered.steps.size()),
        uses_(lowered.bases.size()),
        members_(lowered.bases.size()),
        passed_(lowered.bases.size()) {
    for (const Step& step : lowered.steps) {
      for (const Placed& operand : step.operands) {
        if (operand.base >= 0) ++uses_[operand.base];
      }
    }
  }

  std::vector<Unit> units() {
    std::vector<Unit> units;
    for (size_t i = 0; i < lowered_.steps.size(); ++i) {
      if (is_taken_[i]) continue;
      const auto first = static_cast<int64_t>(i);
      Unit unit = begins_group(lowered_.steps[i]) ? grown(first) : Unit{};
      if (unit.steps.size() < 2) {
        unit = {};
        unit.steps = {first};
      }
      for (const int64_t member : unit.steps) {
        is_taken_[member] = true;
        unit.cost += lowered_.steps[member].cost;
      }
      units.push_back(std::move(unit));
    }
    return units;
  }

 private:
  const vm::DeviceState* state_of(const Step& step) const {
    return lowered_.bases[step.operands.back().base].state;
  }

  bool begins_group(const Step& step) const {
    return step.kind == Step::Kind::loops && state_of(step)->device.is_host() &&
           pays_on_host(options_, step.cost, step.loops->args);
  }

  /// A group is never longer than what the machine would find: it passes what does not need its
  /// members, and ends at what needs one and cannot join.
  Unit grown(int64_t first) {
    ops::FusionGroup group;
    Unit unit;
    const vm::DeviceState* const state = state_of(lowered_.steps[first]);
    members_.clear(first);
    passed_.clear(first);
    const auto count = static_cast<int64_t>(lowered_.steps.size());
    int passed = 0;
    for (int64_t i = first; i < count && !group.full() && passed < kLookAhead; ++i) {
      if (is_taken_[i]) continue;
      const Step& step = lowered_.steps[i];
      const bool is_free = !passed_.is_before(step);
      if (is_free && step.kind == Step::Kind::loops && state_of(step) == state &&
          joins(step, &group, &unit)) {
        members_.add(step);
        unit.steps.push_back(i);
        continue;
      }
      if (i == first || members_.is_before(step)) break;
      passed_.add(step);
      ++passed;
    }
    if (unit.steps.size() > 1) finish(std::move(group), &unit);
    return unit;
  }

  /// -1: a scalar that is the same in each run.
  static int64_t base_of(const Step& step, size_t k) {
    for (const GivenScalar& given : step.given) {
      if (given.place == static_cast<int32_t>(k)) return kScalarsBase;
    }
    return step.operands[k].base;
  }

  static bool joins(const Step& step, ops::FusionGroup* group, Unit* unit) {
    // Its kernel has its number from the arguments alone.
    if (step.loops->args.kernel == ops::KernelId::fill && !step.given.empty()) return false;
    const size_t known = unit->bases.size();
    int16_t numbers[ops::kMaxOperands];
    for (size_t k = 0; k < step.operands.size(); ++k) {
      const int64_t base = base_of(step, k);
      numbers[k] = -1;
      if (base == -1) continue;
      const auto found = std::find(unit->bases.begin(), unit->bases.end(), base);
      numbers[k] = static_cast<int16_t>(found - unit->bases.begin());
      if (found == unit->bases.end()) unit->bases.push_back(base);
    }
    if (group->add(step.loops->args, numbers)) return true;
    unit->bases.resize(known);
    return false;
  }

  void finish(ops::FusionGroup&& group, Unit* unit) const {
    using Memory = ops::FusionSpace::Memory;
    group.leave_out([&](const Memory& memory) {
      return is_unseen(unit->bases[memory.base], memory);
    });
    for (const Memory& memory : group.memories()) {
      const int64_t base = unit->bases[memory.base];
      if (memory.unseen) {
        unit->unseen.push_back(base);
        continue;
      }
      for (const Memory& other : group.memories()) {
        if (!other.unseen && memory.may_follow(other)) {
          unit->over.emplace_back(base, unit->bases[other.base]);
        }
      }
    }
    unit->plan = std::make_unique<const ops::FusionPlan>(std::move(group));
  }

  /// Only the members use it. What no device could hold is an error, fused or not.
  bool is_unseen(int64_t number, const ops::FusionSpace::Memory& memory) const {
    if (number == kScalarsBase) return false;
    const Base& base = lowered_.bases[number];
    return !lowered_.is_input(number) && !base.is_result && uses_[number] == memory.uses &&
           base.bytes <= base.state->device.memory_info().capacity;
  }

  const Lowered& lowered_;
  const vm::Options& options_;
  std::vector<bool> is_taken_;
  std::vector<int> uses_;  // of each base: operands in it
  Touched members_, passed_;
};

}  // namespace

uint64_t saved_bytes(const Lowered& lowered, const Unit& unit) {
  uint64_t saved = 0;
  for (const int64_t base : unit.unseen) saved += lowered.bases[base].bytes;
  return saved;
}

std::vector<Unit> form_units(const Lowered& lowered, const vm::Options& options) {
  return Forming(lowered, options).units();
}

}  // namespace ofl::graph
