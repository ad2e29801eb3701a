#include "graph/planning/layout.h"

#include <algorithm>

#include "graph/memory/in_place.h"
#include "graph/planning/crossing.h"

namespace ofl::graph {

namespace {

constexpr int64_t kNone = -1;
constexpr int64_t kSeveral = -2;
/// The bits of loops on the host depend on it, and allocators of devices give it.
constexpr int64_t kHostAlignment = 64, kDeviceAlignment = 256;

/// The step walks this base element by element, as it walks its result: as eager decides whether a
/// result takes the memory of an operand.
bool is_walked_elementwise(const Step& step, int64_t base) {
  if (step.kind != Step::Kind::loops) return false;
  const ops::LoopArgs& args = step.loops->args;
  const ops::Iteration& iteration = args.iteration;
  const int out = args.size() - 1;
  const auto size = static_cast<int64_t>(size_of(args.dtype[out]));
  if (ops::info(args.kernel).placing != ops::Placing::on_input || iteration.ndim != 1) return false;
  for (int k = 0; k <= out; ++k) {
    if (step.operands[k].base != base && k != out) continue;
    if (step.operands[k].layout.offset || iteration.rows[0].strides[k] != size ||
        static_cast<int64_t>(size_of(args.dtype[k])) != size) {
      return false;
    }
  }
  return true;
}

class LayingOut {
 public:
  LayingOut(const Lowered& lowered, const std::vector<Unit>& units, const UnitOrder& order,
            Release release, const std::vector<int64_t>& times)
      : lowered_(lowered),
        units_(units),
        order_(order),
        release_(release),
        times_(times),
        lane_(lowered.bases.size(), kNone),
        is_unseen_(lowered.bases.size()) {
    layout_.homes.resize(lowered.bases.size());
    find_lanes();
  }

  Layout layout() {
    const Integers owner = share_across_lanes(lowered_, units_, order_, may_cross());
    for (size_t b = 0; b < lowered_.bases.size(); ++b) {
      const auto base = static_cast<int64_t>(b);
      const bool has_own = lowered_.is_input(base) || lowered_.bases[b].is_result ||
                           (is_in_memory(base) && !is_planned(base));
      if (has_own && owner[b] == base) add_memory(base);
      layout_.is_crossing.push_back(lane_[b] == kSeveral);
    }
    for (size_t b = 0; b < lowered_.bases.size(); ++b) {
      if (owner[b] != static_cast<int64_t>(b)) join(static_cast<int64_t>(b), owner[b]);
    }
    if (release_ == Release::plan) {
      for (size_t lane = 0; lane < lanes_.size(); ++lane) plan(static_cast<int64_t>(lane));
    }
    return std::move(layout_);
  }

 private:
  /// The lanes whose kernels use each base; what is issued by itself is on another one.
  void find_lanes() {
    for (const Unit& unit : units_) {
      const ComputeLane lane = lane_of(lowered_, unit);
      unit_lane_.push_back(lane ? number_of(lane) : kSeveral);
      for_each_base(lowered_, unit, [&](int64_t base, bool) {
        int64_t& user = lane_[base];
        user = user == kNone || user == unit_lane_.back() ? unit_lane_.back() : kSeveral;
      });
      for (const int64_t base : unit.unseen) is_unseen_[base] = true;
    }
  }

  int64_t number_of(const ComputeLane& lane) {
    const auto found = std::find(lanes_.begin(), lanes_.end(), lane);
    const int64_t number = found - lanes_.begin();
    if (found == lanes_.end()) lanes_.push_back(lane);
    return number;
  }

  bool is_in_memory(int64_t base) const {
    return lowered_.bases[base].first >= 0 && !is_unseen_[base];
  }
  /// A temporary of one lane.
  bool is_planned(int64_t base) const {
    return release_ == Release::plan && lane_[base] >= 0 && !lowered_.is_input(base) &&
           !lowered_.bases[base].is_result && is_in_memory(base);
  }

  /// Of each base: a temporary of several compute lanes, which nothing else uses.
  std::vector<bool> may_cross() const {
    std::vector<bool> may(lowered_.bases.size());
    if (release_ != Release::plan) return may;
    for (size_t b = 0; b < may.size(); ++b) {
      const auto base = static_cast<int64_t>(b);
      may[b] = lane_[b] == kSeveral && !lowered_.is_input(base) && !lowered_.bases[b].is_result &&
               is_in_memory(base);
    }
    for (size_t u = 0; u < units_.size(); ++u) {
      if (unit_lane_[u] != kSeveral) continue;
      for_each_base(lowered_, units_[u], [&](int64_t base, bool) { may[base] = false; });
    }
    return may;
  }

  /// Gives a base that several lanes use the memory of another one.
  void join(int64_t base, int64_t owner) {
    layout_.homes[base] = layout_.homes[owner];
    RunMemory& memory = layout_.memories[layout_.homes[owner].memory];
    memory.bytes = std::max(memory.bytes, lowered_.bases[base].bytes);
    memory.is_shared = memory.is_crossing = true;
  }

  int64_t add_memory(int64_t base) {
    const Base& given = lowered_.bases[base];
    const auto memory = static_cast<int64_t>(layout_.memories.size());
    layout_.memories.push_back({given.state, given.bytes, given.is_result});
    layout_.homes[base] = {memory, 0};
    return memory;
  }

  /// The bases of a lane, by numbers of their own; those of given memory among them.
  void number_bases(int64_t lane) {
    local_.assign(lowered_.bases.size(), kNone);
    bases_.clear();
    for (size_t b = 0; b < lowered_.bases.size(); ++b) {
      if (lane_[b] != lane || !is_in_memory(static_cast<int64_t>(b))) continue;
      local_[b] = static_cast<int64_t>(bases_.size());
      bases_.push_back(static_cast<int64_t>(b));
    }
  }

  ValueKind kind_of(int64_t base) const {
    if (lowered_.is_input(base)) return ValueKind::given;
    return lowered_.bases[base].is_result ? ValueKind::result : ValueKind::temporary;
  }

  void plan(int64_t lane) {
    number_bases(lane);
    const Integers classes = decide_in_place(lane);
    const auto count = classes.empty() ? 0 : *std::max_element(classes.begin(), classes.end()) + 1;
    MemoryNeeds needs;
    needs.alignment = lanes_[lane].state->device.is_host() ? kHostAlignment : kDeviceAlignment;
    needs.sizes.assign(count, 0);
    needs.lanes.assign(units_.size(), 0);
    std::vector<int64_t> owner(count, kNone);  // the result or input of a class
    for (size_t v = 0; v < bases_.size(); ++v) {
      if (kind_of(bases_[v]) == ValueKind::temporary) continue;
      owner[classes[v]] = bases_[v];
    }
    for (size_t v = 0; v < bases_.size(); ++v) {
      int64_t& size = needs.sizes[classes[v]];
      const int64_t base = owner[classes[v]];
      if (base >= 0 && kind_of(base) == ValueKind::given) continue;
      size = std::max(size, static_cast<int64_t>(lowered_.bases[bases_[v]].bytes));
    }
    for (int64_t c = 0; c < count; ++c) {
      if (owner[c] >= 0 && kind_of(owner[c]) == ValueKind::result) needs.results.push_back(c);
    }
    needs.users = users_of(lane, classes, owner, count);
    take(lane, plan_offsets(needs), classes, owner);
  }

  /// Inputs have no users here: nothing may lie over them.
  Rows users_of(int64_t lane, const Integers& classes, const std::vector<int64_t>& owner,
                int64_t count) const {
    std::vector<std::pair<int64_t, int64_t>> uses;
    for (size_t u = 0; u < units_.size(); ++u) {
      if (unit_lane_[u] != lane) continue;
      for_each_base(lowered_, units_[u], [&](int64_t base, bool) {
        if (local_[base] < 0) return;
        const int64_t c = classes[local_[base]];
        const bool is_given = owner[c] >= 0 && kind_of(owner[c]) == ValueKind::given;
        if (!is_given) uses.emplace_back(c, times_.empty() ? static_cast<int64_t>(u) : times_[u]);
      });
    }
    return grouped(count, uses);
  }

  void take(int64_t lane, const MemoryPlan& plan, const Integers& classes,
            const std::vector<int64_t>& owner) {
    int64_t arena = kNone;
    if (plan.packing.bytes > 0) {
      arena = static_cast<int64_t>(layout_.memories.size());
      const auto bytes = static_cast<size_t>(plan.packing.bytes);
      layout_.memories.push_back({lanes_[lane].state, bytes, false, true, true});
    }
    layout_.arenas.push_back(
        {lanes_[lane], arena, plan.packing.bytes, plan.bound, plan.name, plan.tried});
    for (size_t v = 0; v < bases_.size(); ++v) {
      if (!is_planned(bases_[v])) continue;
      const int64_t c = classes[v];
      Home& home = layout_.homes[bases_[v]];
      if (owner[c] >= 0) {
        home = layout_.homes[owner[c]];
      } else {
        const int64_t space = plan.packing.spaces[c];
        home.memory = space == kArena ? arena : layout_.homes[owner[space]].memory;
        home.offset = std::max<int64_t>(plan.packing.offsets[c], 0);
        if (home.memory == kNone) home = {add_memory(bases_[v]), 0};  // of no bytes
      }
      layout_.memories[home.memory].is_shared = true;
    }
  }

  /// The bases that a unit may write `result` over.
  std::vector<int64_t> candidates(const Unit& unit, int64_t result) const {
    std::vector<int64_t> found;
    for (const auto& [base, other] : unit.over) {
      if (base == result) found.push_back(other);
    }
    if (unit.steps.size() > 1) return found;
    const Step& step = lowered_.steps[unit.steps[0]];
    for (size_t k = 0; k < step.operands.size(); ++k) {
      const int64_t base = step.operands[k].base;
      const bool is_new = std::find(found.begin(), found.end(), base) == found.end();
      if (base >= 0 && !step.writes[k] && base != result && is_new) found.push_back(base);
    }
    return found;
  }

  bool is_elementwise(const Unit& unit, int64_t base) const {
    if (unit.steps.size() > 1) {
      return std::any_of(unit.over.begin(), unit.over.end(),
                         [base](const auto& pair) { return pair.second == base; });
    }
    return is_walked_elementwise(lowered_.steps[unit.steps[0]], base);
  }

  /// The classes of bases that lie in one place, because one is written over the other.
  Integers decide_in_place(int64_t lane) {
    Accesses accesses;
    std::vector<InPlacePair> pairs;
    for (size_t u = 0; u < units_.size(); ++u) {
      if (unit_lane_[u] == lane) add_accesses(static_cast<int64_t>(u), &accesses, &pairs);
      accesses.end_row();
    }
    Values values;
    Extents extents;
    for (size_t v = 0; v < bases_.size(); ++v) {
      values.classes.push_back(static_cast<int64_t>(v));
      values.kinds.push_back(kind_of(bases_[v]));
      values.places.push_back(0);
      extents.elements.push_back(static_cast<int64_t>(lowered_.bases[bases_[v]].bytes));
      extents.item_sizes.push_back(1);
    }
    const InPlace found =
        in_place(accesses, pairs, values, extents, Integers(units_.size(), 0), {});
    for (size_t p = 0; p < pairs.size(); ++p) {
      layout_.in_place.push_back({pairs[p].operation, bases_[pairs[p].operand],
                                  bases_[pairs[p].result], found.reasons[p]});
    }
    return found.classes;
  }

  void add_accesses(int64_t u, Accesses* accesses, std::vector<InPlacePair>* pairs) const {
    const Unit& unit = units_[u];
    std::vector<std::pair<int64_t, bool>> touched;  // base, is written
    for_each_base(lowered_, unit, [&](int64_t base, bool writes) {
      if (local_[base] < 0) return;
      for (auto& [known, is_written] : touched) {
        if (known != base) continue;
        is_written = is_written || writes;
        return;
      }
      touched.emplace_back(base, writes);
    });
    for (const auto& [base, is_written] : touched) {
      const Access how = is_written                   ? Access::write
                         : is_elementwise(unit, base) ? Access::elementwise
                                                      : Access::read;
      accesses->add({local_[base], how});
      if (!is_written || lowered_.is_input(base)) continue;
      for (const int64_t other : candidates(unit, base)) {
        if (local_[other] >= 0) pairs->push_back({u, local_[other], local_[base]});
      }
    }
  }

  const Lowered& lowered_;
  const std::vector<Unit>& units_;
  const UnitOrder& order_;
  const Release release_;
  const std::vector<int64_t>& times_;
  std::vector<ComputeLane> lanes_;
  std::vector<int64_t> lane_;  // of each base
  std::vector<int64_t> unit_lane_;
  std::vector<bool> is_unseen_;
  std::vector<int64_t> bases_, local_;  // of the lane that is planned
  Layout layout_;
};

}  // namespace

Layout lay_out(const Lowered& lowered, const std::vector<Unit>& units, const UnitOrder& order,
               Release release, const std::vector<int64_t>& times) {
  return LayingOut(lowered, units, order, release, times).layout();
}

}  // namespace ofl::graph
