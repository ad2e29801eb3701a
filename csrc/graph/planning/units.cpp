#include "graph/planning/units.h"

#include <algorithm>
#include <type_traits>

#include "ops/launch.h"
#include "tensor/fusion/worth.h"

namespace ofl::graph {

namespace {

constexpr int kLookAhead = 64;  // steps that a group passes, as those that the machine looks at
/// Work that members need may come before their group if its cost is at most this part of theirs.
/// Mostly it makes a value for each row.
constexpr double kSmallPart = 1.0 / 16;
/// Steps whose results stay in the L2 cache are better run as one if there are so many of them, and
/// so much work that threads share it: they divide it once then, and not at each step. Views of
/// short rows are slower in tiles.
constexpr int64_t kLeastSteps = 5;
constexpr int64_t kLeastRow = ops::kVectors;

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
  /// The step keeps its order with one of these: one of both writes what the other uses.
  bool is_bound_to(const Step& step) const {
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
        is_tried_(lowered.steps.size()),
        uses_(lowered.bases.size()),
        members_(lowered.bases.size()),
        passed_(lowered.bases.size()),
        needed_(lowered.bases.size()) {
    for (const Step& step : lowered.steps) {
      for (const Placed& operand : step.operands) {
        if (operand.base >= 0) ++uses_[operand.base];
      }
    }
  }

  std::vector<Unit> units() {
    for (size_t i = 0; i < lowered_.steps.size(); ++i) {
      if (is_taken_[i]) continue;
      const auto first = static_cast<int64_t>(i);
      Unit unit = grown(first);
      if (!unit.is_group()) {
        unit = single(first);
        before_.clear();
      }
      for (const int64_t step : before_) push(single(step));
      push(std::move(unit));
    }
    return std::move(units_);
  }

 private:
  static Unit single(int64_t step) {
    Unit unit;
    unit.steps = {step};
    return unit;
  }

  void push(Unit&& unit) {
    for (const int64_t member : unit.steps) {
      is_taken_[member] = true;
      unit.cost += lowered_.steps[member].cost;
    }
    unit.lane = lowered_.steps[unit.steps[0]].lane;
    units_.push_back(std::move(unit));
  }

  const vm::DeviceState* state_of(const Step& step) const {
    return lowered_.bases[step.operands.back().base].state;
  }

  int64_t group_of(const Step& step) const {
    return step.operation < 0 ? -1 : lowered_.groups[step.operation];
  }

  /// The program lets a step run as one with the step `first`.
  bool is_grouped(const Step& step, int64_t first) const {
    if (lowered_.groups.empty() || &step == &lowered_.steps[first]) return true;
    const int64_t group = group_of(lowered_.steps[first]);
    return group >= 0 && group_of(step) == group;
  }

  /// The group that begins with a step; fewer than two steps: none does.
  Unit grown(int64_t first) {
    const Step& step = lowered_.steps[first];
    if (step.kind != Step::Kind::loops) return {};
    const ep::Device& device = state_of(step)->device;
    if (device.is_host()) {
      if (pays_on_host(options_, step.cost, step.loops->args)) {
        return grown<ops::FusionGroup>(first);
      }
      return may_pay_together(first) ? grown_together(first) : Unit{};
    }
    // A launch takes longer than small work, and a program is worth its kernels.
    const bool pays = options_.fusion.load(std::memory_order_relaxed) != vm::Fusion::never;
    return pays && ops::uses_own_kernels(device) ? grown<ops::cuda::FusionGroup>(first) : Unit{};
  }

  /// A step that does not begin a group for its own size may begin one of many.
  bool may_pay_together(int64_t first) const {
    const Step& step = lowered_.steps[first];
    return options_.fusion.load(std::memory_order_relaxed) == vm::Fusion::where_it_pays &&
           !is_tried_[first] && step.cost * ops::FusionGroup::kMaxKernels >= kLeastGroupedWork;
  }

  /// A group of many steps. Where they are too few, none of them is tried again: so the time is
  /// linear.
  Unit grown_together(int64_t first) {
    Unit unit = grown<ops::FusionGroup>(first);
    double work = 0;
    bool has_long_rows = true;
    for (const int64_t i : unit.steps) {
      const ops::Iteration& iteration = lowered_.steps[i].loops->args.iteration;
      work += lowered_.steps[i].cost;
      has_long_rows = has_long_rows && iteration.ndim > 0 &&
                      iteration.rows[iteration.ndim - 1].dim >= kLeastRow;
      is_tried_[i] = true;
    }
    const auto steps = static_cast<int64_t>(unit.steps.size());
    const bool pays = steps >= kLeastSteps && work >= kLeastGroupedWork && has_long_rows;
    return pays ? std::move(unit) : Unit{};
  }

  /// Of the steps that were passed, those that must come before this one; as none needs a member,
  /// they may come before the group. False where one is no loop, or they cost more than `most`.
  bool may_come_before(const Step& step, double most, std::vector<int64_t>* found) {
    needed_.clear(++touched_);
    needed_.add(step);
    for (auto i = passed_steps_.rbegin(); i != passed_steps_.rend(); ++i) {
      const Step& passed = lowered_.steps[*i];
      if (!needed_.is_bound_to(passed)) continue;
      most -= passed.cost;
      if (passed.kind != Step::Kind::loops || most < 0) return false;
      needed_.add(passed);
      found->push_back(*i);
    }
    std::reverse(found->begin(), found->end());
    return true;
  }

  /// These steps come before the group.
  void put_before(const std::vector<int64_t>& steps) {
    const auto is_one = [&](int64_t i) {
      return std::find(steps.begin(), steps.end(), i) != steps.end();
    };
    passed_steps_.erase(std::remove_if(passed_steps_.begin(), passed_steps_.end(), is_one),
                        passed_steps_.end());
    passed_.clear(++touched_);
    for (const int64_t i : passed_steps_) passed_.add(lowered_.steps[i]);
    before_.insert(before_.end(), steps.begin(), steps.end());
  }

  /// A group passes what does not need its members, and ends at what needs one and cannot join. A
  /// step that needs small work that was passed joins, too, where the machine would end the group:
  /// that work then comes before the group.
  template <typename Group>
  Unit grown(int64_t first) {
    Group group;
    Unit unit;
    const vm::DeviceState* const state = state_of(lowered_.steps[first]);
    const int lane = lowered_.steps[first].lane;
    members_.clear(++touched_);
    passed_.clear(++touched_);
    passed_steps_.clear();
    before_.clear();
    double most = 0;  // what work before the group may yet cost
    const auto count = static_cast<int64_t>(lowered_.steps.size());
    int passed = 0;
    for (int64_t i = first; i < count && !group.full() && passed < kLookAhead; ++i) {
      if (is_taken_[i]) continue;
      const Step& step = lowered_.steps[i];
      const bool is_of_lane = step.lane == lane && state_of(step) == state;
      const bool may_join = is_of_lane && step.kind == Step::Kind::loops && is_grouped(step, first);
      std::vector<int64_t> needed;
      const bool is_free =
          may_join && (!passed_.is_bound_to(step) || may_come_before(step, most, &needed));
      if (is_free && joins(step, &group, &unit)) {
        if (!needed.empty()) put_before(needed);
        for (const int64_t k : needed) most -= lowered_.steps[k].cost;
        members_.add(step);
        unit.steps.push_back(i);
        most += step.cost * kSmallPart;
        continue;
      }
      if (i == first || members_.is_bound_to(step)) break;
      passed_.add(step);
      passed_steps_.push_back(i);
      ++passed;
    }
    if (unit.is_group()) finish(std::move(group), &unit);
    return unit;
  }

  /// -1: a scalar, in the arguments of the kernel.
  static int64_t base_of(const Step& step, size_t k, bool reads_scalars) {
    if (!reads_scalars) return step.operands[k].base;
    for (const GivenScalar& given : step.given) {
      if (given.place == static_cast<int32_t>(k)) return kScalarsBase;
    }
    return step.operands[k].base;
  }

  template <typename Group>
  static bool joins(const Step& step, Group* group, Unit* unit) {
    constexpr bool kReadsScalars = std::is_same_v<Group, ops::FusionGroup>;
    // Its kernel has its number from the arguments alone.
    const bool is_given = step.loops->args.kernel == ops::KernelId::fill && !step.given.empty();
    if (kReadsScalars && is_given) return false;
    const size_t known = unit->bases.size();
    int16_t numbers[ops::kMaxOperands];
    for (size_t k = 0; k < step.operands.size(); ++k) {
      const int64_t base = base_of(step, k, kReadsScalars);
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

  using Memory = ops::FusionSpace::Memory;

  template <typename Group>
  void leave_out(Group* group, Unit* unit) const {
    group->leave_out(
        [&](const Memory& memory) { return is_unseen(unit->bases[memory.base], memory); });
    for (const Memory& memory : group->memories()) {
      if (memory.unseen) unit->unseen.push_back(unit->bases[memory.base]);
    }
  }

  void finish(ops::FusionGroup&& group, Unit* unit) const {
    leave_out(&group, unit);
    for (const Memory& memory : group.memories()) {
      if (memory.unseen) continue;
      const int64_t base = unit->bases[memory.base];
      for (const Memory& other : group.memories()) {
        if (!other.unseen && memory.may_follow(other)) {
          unit->over.emplace_back(base, unit->bases[other.base]);
        }
      }
    }
    unit->plan = std::make_unique<const ops::FusionPlan>(std::move(group));
  }

  /// Its threads are not in step, so no result lies over what another thread may yet read.
  void finish(ops::cuda::FusionGroup&& group, Unit* unit) const {
    leave_out(&group, unit);
    std::vector<ops::cuda::PreparedGroup::GivenScalar> given;
    for (const int64_t i : unit->steps) {
      const Step& step = lowered_.steps[i];
      for (const GivenScalar& each : step.given) {
        given.emplace_back(&step.loops->args.scalars[each.place], each.slot);
      }
    }
    const auto bases = static_cast<int>(unit->bases.size());
    unit->prepared =
        std::make_unique<const ops::cuda::PreparedGroup>(std::move(group), bases, std::move(given));
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
  std::vector<bool> is_taken_, is_tried_;
  std::vector<int> uses_;  // of each base: operands in it
  std::vector<Unit> units_;
  // Of the group that grows:
  std::vector<int64_t> passed_steps_, before_;
  Touched members_, passed_, needed_;
  int64_t touched_ = 0;  // times that one was emptied
};

}  // namespace

uint64_t saved_bytes(const Lowered& lowered, const Unit& unit) {
  uint64_t saved = 0;
  for (const int64_t base : unit.unseen) saved += lowered.bases[base].bytes;
  return saved;
}

ComputeLane lane_of(const Lowered& lowered, const Unit& unit) {
  const Step& step = lowered.steps[unit.steps[0]];
  const bool is_kernel = step.kind == Step::Kind::loops || step.kind == Step::Kind::arrays ||
                         step.kind == Step::Kind::allocate;
  if (!is_kernel) return {};
  return {lowered.bases[step.operands.back().base].state, unit.lane};
}

std::vector<int64_t> unit_of_operations(const Lowered& lowered, const vm::Options& options,
                                        int64_t operations) {
  std::vector<int64_t> units(operations, -1);
  int64_t number = 0;
  for (const Unit& unit : form_units(lowered, options)) {
    for (const int64_t step : unit.steps) {
      const int64_t operation = lowered.steps[step].operation;
      if (unit.is_group() && operation >= 0) units[operation] = number;
    }
    ++number;
  }
  return units;
}

std::vector<Unit> form_units(const Lowered& lowered, const vm::Options& options) {
  return Forming(lowered, options).units();
}

}  // namespace ofl::graph
