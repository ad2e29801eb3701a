#include "graph/planning/lowered.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/error.h"
#include "graph/planning/replay.h"
#include "ops/kernel.h"

namespace ofl::graph {

namespace {

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

/// A tensor that lies like `type`, in a new storage without memory.
Tensor stand_in(vm::DeviceState& state, DType dtype, const Dims& shape, const Dims& strides) {
  const Extent extent = extent_of(shape, strides, static_cast<int64_t>(size_of(dtype)));
  const auto bytes = static_cast<size_t>(extent.high - extent.low);
  Tensor x{{}, dtype, shape, strides, -extent.low};
  x.storage = StorageRef::adopt(TensorStorage::over(state, nullptr, bytes, nullptr, true));
  return x;
}

/// The same memory, of which an axis of stride 0 repeats nothing.
Tensor unrepeated(Tensor x) {
  for (int d = 0; d < x.ndim(); ++d) {
    if (x.strides[d] == 0 && x.shape[d] > 1) x.shape[d] = 1;
  }
  return x;
}

/// The results that are the next versions of the operation's targets, in their order.
std::vector<int64_t> next_versions(const Operation& operation) {
  std::vector<int64_t> found;
  for (size_t k = 0; k < operation.results.size(); ++k) {
    if (operation.call.targets >> k & 1) found.push_back(operation.results[k]);
  }
  return found;
}

class Lowering final : public PlanSink {
 public:
  Lowering(vm::VirtualMachine& machine, const ProgramParts& program)
      : machine_(machine), program_(program), values_(program.value_count) {
    for (size_t i = 0; i < program.inputs.size(); ++i) {
      const Value& type = program.inputs[i];
      values_[i] = stand_in(machine.state(type.device), type.dtype, type.shape, type.strides);
      lowered_.bases[base_of(values_[i])].low = -values_[i].offset;
    }
    lowered_.input_count = static_cast<int64_t>(program.inputs.size());
    find_uses();
  }

  Lowered lower() {
    for (size_t i = 0; i < program_.operations.size(); ++i) lower_operation(i);
    lane_ = kCallersLane;
    place_ = std::numeric_limits<int64_t>::max();
    lower_assigns();
    for (const int64_t value : program_.results) add_result(value);
    lowered_.find_uses();
    lowered_.groups = program_.groups;
    return std::move(lowered_);
  }

  void take(vm::SiteId site, const LoopPlan& plan) override {
    Step& step = add_step(Step::Kind::loops, site, plan.args.name);
    if (takes_scalars(plan.args.kernel)) step.given = given_;
    step.cost = plan.args.elements() * plan.cost;
    step.loops = std::make_unique<LoopPlan>(plan);
    for (int k = 0; k < plan.args.size(); ++k) {
      const Tensor* const x = plan.operand(k);
      add_operand(step, x, plan.args.is_written(k));
      const bool is_somewhere = x && x->size() > 0;
      step.loops->args.data[k] = reinterpret_cast<char*>(is_somewhere ? x->offset : 0);
    }
    for (const GivenScalar& given : step.given) {
      lowered_.scalar_count = std::max<int64_t>(lowered_.scalar_count, given.slot + 1);
      if (plan.operand(given.place)) continue;  // of a fill, which has its number elsewhere
      const auto offset = static_cast<intptr_t>(given.slot * sizeof(Scalar));
      step.loops->args.data[given.place] = reinterpret_cast<char*>(offset);
    }
  }

  void take(vm::SiteId site, const ArrayPlan& plan) override {
    Step& step = add_step(Step::Kind::arrays, site, plan.name);
    step.arrays = std::make_unique<ArrayPlan>(plan);
    for (int k = 0; k < plan.inputs.size() + plan.outputs.size(); ++k) {
      add_operand(step, plan.operand(k), k >= plan.inputs.size());
    }
    step.cost = work_of(plan);
  }

  void transfer(vm::SiteId site, const Tensor& source, const Tensor& result) override {
    Step& step = add_step(Step::Kind::transfer, site, "copy");
    add_operand(step, &source, false);
    add_operand(step, &result, true);
  }

  void allocate(vm::SiteId site, const Tensor& result) override {
    add_operand(add_step(Step::Kind::allocate, site, "empty"), &result, true);
  }

  void call_host(vm::SiteId site, const OpCall& call, const std::vector<Tensor>& reads,
                 const std::vector<Tensor>& writes) override {
    Step& step = add_step(Step::Kind::host, site, call.name);
    step.function = call.object;
    for (const Tensor& x : reads) add_operand(step, &x, false);
    for (const Tensor& x : writes) add_operand(step, &x, true);
  }

 private:
  Issuer issuer(vm::SiteId site) { return {machine_, site, nullptr, this}; }

  /// A plan for this kernel has the scalars of the operation, in their places.
  static bool takes_scalars(ops::KernelId kernel) {
    return kernel == ops::KernelId::elementwise || kernel == ops::KernelId::where ||
           kernel == ops::KernelId::fill;
  }

  int64_t base_of(const Tensor& x) {
    const auto [found, is_new] = numbers_.try_emplace(x.storage.get(), lowered_.bases.size());
    if (is_new) {
      lowered_.bases.push_back({&x.storage->state(), x.storage->bytes()});
      held_.push_back(x.storage);  // so that its address names it
    }
    return found->second;
  }

  Placed placed(const Tensor& x) {
    Placed placed{base_of(x), x};
    placed.layout.storage.reset();
    return placed;
  }

  Step& add_step(Step::Kind kind, vm::SiteId site, const char* name) {
    lowered_.steps.push_back(
        {kind, site, name, lane_, place_, 0, nullptr, nullptr, {}, {}, {}, {}, nullptr});
    return lowered_.steps.back();
  }

  void add_operand(Step& step, const Tensor* x, bool is_written) {
    step.writes.push_back(is_written);
    step.operands.push_back(x ? placed(*x) : Placed{-1, {}});
  }

  /// Roots of views, and where each root is used for the last time.
  void find_uses() {
    root_.resize(program_.value_count);
    last_use_.assign(program_.value_count, -1);
    for (int64_t v = 0; v < program_.value_count; ++v) root_[v] = v;
    for (size_t i = 0; i < program_.operations.size(); ++i) {
      const Operation& operation = program_.operations[i];
      for (const Operand& operand : operation.operands) {
        if (operand.value != kScalar) last_use_[root_[operand.value]] = static_cast<int64_t>(i);
      }
      for (const int64_t target : operation.targets) {
        last_use_[root_[target]] = static_cast<int64_t>(i);
      }
      if (operation.call.kind == CallKind::view) {
        root_[operation.results[0]] = root_[operation.operands[0].value];
      }
    }
    for (const int64_t result : program_.results) last_use_[root_[result]] = kForever;
    for (const Written& assign : program_.assigns) last_use_[root_[assign.last]] = kForever;
  }

  /// The value that the input's memory holds at the end of a run; -1: nobody writes to the input.
  int64_t assigned_to(int64_t input) const {
    for (const Written& assign : program_.assigns) {
      if (assign.value == input) return assign.last;
    }
    return -1;
  }

  bool is_constant(int64_t base) const {
    return lowered_.is_input(base) && base >= lowered_.input_count - program_.constants;
  }

  /// Operation i may write its result to the memory of this root: nobody needs what is there, and
  /// an input's memory keeps what is written for as long as that is needed.
  bool may_be_overwritten(int64_t root, int64_t result, int64_t i) {
    if (last_use_[root] > i) return false;
    const int64_t base = base_of(values_[root]);
    if (!lowered_.is_input(base)) return true;
    const int64_t last = assigned_to(base);
    return last >= 0 && (last_use_[result] < kForever || last == result);
  }

  Tensor cloned(const Tensor& x, vm::SiteId site) {
    Tensor clone = stand_in(x.storage->state(), x.dtype, x.shape, x.strides);
    assign(issuer(site), unrepeated(clone), unrepeated(x), "copy");
    return clone;
  }

  /// The same view of `whole` that `x` is of `root`.
  static Tensor moved(const Tensor& x, const Tensor& root, const Tensor& whole) {
    Tensor view = x;
    view.storage = whole.storage;
    view.offset += whole.offset - root.offset;
    return view;
  }

  void lower_operation(size_t i) {
    const Operation& operation = program_.operations[i];
    const size_t first_step = lowered_.steps.size();
    std::vector<Input> inputs;
    given_.clear();
    lane_ = operation.lane;
    place_ = operation.place;
    for (const Operand& operand : operation.operands) {
      if (operand.slot >= 0) given_.push_back({static_cast<int32_t>(inputs.size()), operand.slot});
      if (operand.value == kScalar) {
        inputs.emplace_back(operand.scalar, operand.slot);
      } else {
        inputs.emplace_back(&values_[operand.value]);
      }
    }
    std::vector<Tensor> wholes, places;
    const std::vector<int64_t> versions = next_versions(operation);
    for (const int64_t target : operation.targets) {
      const Tensor root = values_[root_[target]];
      const int64_t result = versions.at(wholes.size());
      const bool in_place = may_be_overwritten(root_[target], result, static_cast<int64_t>(i));
      wholes.push_back(in_place ? root : cloned(root, operation.site));
      places.push_back(moved(values_[target], root, wholes.back()));
    }
    std::vector<const Tensor*> targets;
    for (const Tensor& place : places) targets.push_back(&place);
    std::vector<Tensor> made =
        replay(issuer(operation.site), operation.call, inputs.data(),
               static_cast<int>(inputs.size()), targets.data(), static_cast<int>(targets.size()));
    if (!operation.words.empty()) lowered_.steps.back().words = operation.words;
    for (size_t k = first_step; k < lowered_.steps.size(); ++k) {
      lowered_.steps[k].operation = static_cast<int64_t>(i);
    }
    for (const RunWord& x : operation.words) {
      lowered_.word_count = std::max(lowered_.word_count, x.word + 1);
    }
    size_t written = 0;
    for (size_t k = 0; k < made.size(); ++k) {
      const bool is_target = operation.call.targets >> k & 1;
      values_[operation.results[k]] = is_target ? wholes[written++] : std::move(made[k]);
    }
  }

  /// Sources that other assignments overwrite are copied before.
  void lower_assigns() {
    std::vector<std::pair<Tensor, Tensor>> copies;  // to, from
    for (const Written& assign : program_.assigns) {
      const Tensor& target = values_[assign.value];
      Tensor& source = values_[assign.last];
      if (source.storage.get() == target.storage.get()) continue;
      const int64_t base = base_of(source);
      const bool is_overwritten = lowered_.is_input(base) && assigned_to(base) >= 0;
      copies.emplace_back(target, is_overwritten ? cloned(source, 0) : source);
    }
    for (const auto& [target, source] : copies) {
      assign(issuer(0), unrepeated(target), unrepeated(source), "assign");
    }
  }

  void add_result(int64_t value) {
    const Tensor& root = values_[root_[value]];
    Tensor x = values_[value];
    for (const Written& assign : program_.assigns) {  // what was assigned is a view of the target
      if (assign.last == root_[value]) x = moved(x, root, values_[assign.value]);
    }
    if (is_constant(base_of(x))) {  // each run gives a new one, of which all views are
      const auto [given, is_first] = given_constants_.try_emplace(root_[value]);
      if (is_first) given->second = cloned(root, 0);
      x = moved(x, root, given->second);
    }
    lowered_.results.push_back(placed(x));
    lowered_.bases[lowered_.results.back().base].is_result = true;
  }

  vm::VirtualMachine& machine_;
  const ProgramParts& program_;
  std::vector<Tensor> values_;
  std::vector<int64_t> root_, last_use_;
  std::unordered_map<TensorStorage*, int64_t> numbers_;
  std::vector<StorageRef> held_;
  std::unordered_map<int64_t, Tensor> given_constants_;  // copies that are results, by their roots
  // Of the operation that is lowered:
  std::vector<GivenScalar> given_;
  int lane_ = kCallersLane;
  int64_t place_ = 0;
  Lowered lowered_;
};

}  // namespace

void Lowered::find_uses() {
  for (Base& base : bases) {
    base.first = base.last = -1;
    base.is_written = false;
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    for (size_t k = 0; k < steps[i].operands.size(); ++k) {
      if (steps[i].operands[k].base < 0) continue;
      Base& base = bases[steps[i].operands[k].base];
      if (base.first < 0) base.first = static_cast<int64_t>(i);
      base.last = static_cast<int64_t>(i);
      base.is_written = base.is_written || steps[i].writes[k];
    }
  }
}

Lowered lower(vm::VirtualMachine& machine, const ProgramParts& program) {
  return Lowering(machine, program).lower();
}

}  // namespace ofl::graph
