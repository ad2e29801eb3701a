#include "graph/running/executable.h"

#include <algorithm>

#include "base/error.h"
#include "graph/planning/additions.h"
#include "graph/running/clash.h"
#include "graph/running/kernels_ahead.h"
#include "graph/running/segment_run.h"
#include "graph/running/steps/issue_step.h"
#include "ops/pieces.h"
#include "tensor/fusion/worth.h"
#include "tensor/submit.h"

namespace ofl::graph {

namespace {

/// "(2, 3) float32 cpu": of errors.
std::string type_str(DType dtype, const Dims& shape, Device device) {
  return concat(shape_str(shape), " ", name_of(dtype), " on ", device.str());
}

/// " (x, w, and 3 more)": of errors.
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 8;
  if (names.empty()) return "";
  std::string text = " (";
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    text += concat(i ? ", " : "", names[i]);
  }
  if (names.size() > kMost) text += concat(", and ", names.size() - kMost, " more");
  return text + ")";
}

/// Whether a helper that is awake takes a part of it.
bool is_shareable(const Step& step) {
  if (step.cost < ops::kShareWork) return false;
  if (step.kind == Step::Kind::loops) return true;
  return step.kind == Step::Kind::arrays &&
         ops::info(step.arrays->kernel).arrays.division != ops::Division::none;
}

Lowered lowered_for(vm::VirtualMachine& machine, const ProgramParts& program,
                    const RunOptions& options) {
  Lowered lowered = lower(machine, program);
  if (options.adds) add_into_accumulators(&lowered);
  return lowered;
}

}  // namespace

Executable::Executable(vm::VirtualMachine& machine, std::string name, const ProgramParts& program,
                       std::vector<Tensor> bound, RunOptions options)
    : machine_(machine),
      name_(std::move(name)),
      options_(options),
      inputs_(program.inputs),
      names_(program.names),
      bound_(std::move(bound)),
      lowered_(std::make_shared<const Lowered>(lowered_for(machine, program, options))) {
  for (const Step& step : lowered_->steps) {
    cost_ += step.cost;
    has_shareable_steps_ = has_shareable_steps_ || is_shareable(step);
    if (step.kind != Step::Kind::loops) continue;
    const bool is_large = pays_on_host(machine.options(), step.cost, step.loops->args);
    has_large_steps_ = has_large_steps_ || is_large;
  }
  for (int64_t i = 0; i < lowered_->input_count; ++i) {
    if (lowered_->bases[i].is_written) written_inputs_.push_back(i);
  }
  const bool is_naive = machine_.options().naive.load(std::memory_order_relaxed);
  if (!is_naive && options_.mode != RunMode::naive && wants_kernels(*lowered_)) {
    make_kernels_soon(*schedule());
  }
}

std::string Executable::input_name(int64_t input) const {
  if (input < static_cast<int64_t>(names_.size())) return concat("argument ", names_[input]);
  return input < parameter_count() ? concat("argument ", input) : "a captured tensor";
}

Executable::Inputs Executable::inputs(const Tensor* const* arguments, int count, int wanted) const {
  if (count != wanted) {
    fail(ErrorKind::value, "[", name_, "] expected ", wanted, " arguments", listed(names_),
         ", got ", count);
  }
  Inputs inputs;
  for (int i = 0; i < count; ++i) {
    check_type(i, *arguments[i]);
    inputs.push_back(arguments[i]);
  }
  while (inputs.size() < parameter_count()) inputs.push_back(nullptr);
  for (const Tensor& x : bound_) inputs.push_back(&x);
  if (!written_inputs_.empty()) check_apart(inputs);
  return inputs;
}

void Executable::give(Inputs* inputs, int parameter, const Tensor& x) const {
  check_type(parameter, x);
  (*inputs)[parameter] = &x;
}

namespace {

/// The elements lie as the program has them. Along an axis of one element no step is taken.
bool lies_like(const Tensor& x, const Value& type) {
  if (x.strides == type.strides || x.size() == 0) return true;
  for (int d = 0; d < x.shape.size(); ++d) {
    if (x.shape[d] > 1 && x.strides[d] != type.strides[d]) return false;
  }
  return true;
}

}  // namespace

void Executable::check_type(int parameter, const Tensor& x) const {
  const Value& type = inputs_[parameter];
  const bool fits = x.dtype == type.dtype && x.shape == type.shape && x.device() == type.device;
  if (fits && lies_like(x, type)) return;
  if (fits) {
    fail(ErrorKind::value, "[", name_, "] ", input_name(parameter), " of shape ",
         shape_str(x.shape), " has strides ", shape_str(x.strides), ", expected ",
         shape_str(type.strides), "; give a copy of it");
  }
  fail(ErrorKind::value, "[", name_, "] ", input_name(parameter), " is ",
       type_str(x.dtype, x.shape, x.device()), ", expected ",
       type_str(type.dtype, type.shape, type.device));
}

/// What one input is written to, no other one may see: the program was made for memories apart.
/// Strides are those of the program, so lowering has seen that each place is written once.
void Executable::check_apart(const Inputs& inputs) const {
  for (const int64_t i : written_inputs_) {
    const Tensor* const x = inputs[static_cast<int>(i)];
    if (!x || x->storage->writable()) continue;
    fail(ErrorKind::value, "[", name_, "] writes to ", input_name(i),
         ", a read-only tensor of shape ", shape_str(x->shape), "; copy it first");
  }
  const Clash clash = find_clash(inputs.data(), lowered_->input_count, written_inputs_);
  if (clash.written < 0) return;
  fail(ErrorKind::value, "[", name_, "] writes to ", input_name(clash.written),
       ", which shares its memory with ", input_name(clash.other), "; copy one of them first");
}

std::vector<Tensor> Executable::run(const Issuer& issuer, const Inputs& given,
                                    const RunNumbers& numbers) const {
  const bool is_naive = machine_.options().naive.load(std::memory_order_relaxed);
  const vm::Observer* const observer = machine_.observer();
  const bool is_checked = observer && observer->checks_results();
  const bool is_shown_each = observer && (is_naive || (is_checked && !has_host_kernels()));
  vm::PacedCall paced;
  if (!is_shown_each && !is_checked && may_run_here(paced)) {
    if (auto results = inline_run()->run(issuer, *lowered_, given.data(), numbers)) {
      note(RunMode::here);
      return std::move(*results);
    }
  }
  if (is_shown_each || is_naive || options_.mode == RunMode::naive) {
    note(RunMode::naive);
    return issue_each(issuer, given.data(), numbers);
  }
  SegmentOptions how;
  how.is_sequential = options_.mode == RunMode::sequential;
  how.numbers = numbers;
  const int poison = poison_.load(std::memory_order_relaxed);
  if (poison >= 0) how.poison = static_cast<uint8_t>(poison);
  how.is_parallel = options_.mode == RunMode::parallel;
  how.captured = captured_for_run();
  note(how.is_sequential ? RunMode::sequential
       : how.is_parallel ? RunMode::parallel
                         : RunMode::serial);
  return run_segments(issuer, schedule(), given.data(), how);
}

/// A program that runs a third time will run again.
std::shared_ptr<CapturedProgram> Executable::captured_for_run() const {
  constexpr int kRunsBefore = 2;
  if (!options_.device_graphs.value_or(uses_device_graphs())) return nullptr;
  if (std::shared_ptr<CapturedProgram> known = std::atomic_load(&captured_)) return known;
  if (segment_runs_.fetch_add(1, std::memory_order_relaxed) < kRunsBefore) return nullptr;
  auto made = std::make_shared<CapturedProgram>(schedule());
  std::atomic_store(&captured_, made);
  return made;
}

/// The host can look at what its devices make.
bool Executable::has_host_kernels() const {
  return std::all_of(lowered_->bases.begin(), lowered_->bases.end(),
                     [](const Base& base) { return base.state->device.runs_host_kernels(); });
}

bool Executable::may_run_here(vm::PacedCall& paced) const {
  const bool may_choose = options_.mode == RunMode::automatic || options_.mode == RunMode::here;
  if (!may_choose) return false;
  if (options_.mode == RunMode::here || machine_.is_small(cost_)) return inline_run();
  if (has_large_steps_ && is_grouped()) return false;  // a segment runs them as one, here or not
  const vm::Company ungrouped = has_shareable_steps_ ? vm::Company::divisible : vm::Company::alone;
  const vm::Company company = is_grouped() ? vm::Company::joinable : ungrouped;
  return machine_.stays_here(cost_, company, paced, true) && inline_run();
}

namespace {

/// The memories of one run whose steps are issued one by one, by base.
struct Memories {
  const Lowered& lowered;
  const Tensor* const* given;
  std::vector<StorageRef> storages;

  Tensor bound(const Placed& placed) const {
    const int64_t b = placed.base;
    const int64_t start = lowered.is_input(b) ? lowered.start_of(b, *given[b]) : 0;
    return Lowered::bound(placed, storages[b], start);
  }
};

}  // namespace

std::vector<Tensor> Executable::issue_each(const Issuer& issuer, const Tensor* const* given,
                                           const RunNumbers& numbers) const {
  Turn turn;
  Memories memories{*lowered_, given, std::vector<StorageRef>(lowered_->bases.size())};
  for (int64_t b = 0; b < lowered_->input_count; ++b) memories.storages[b] = given[b]->storage;
  for (size_t i = 0; i < lowered_->steps.size(); ++i) {
    const Step& step = lowered_->steps[i];
    const Issuer from{machine_, step.site ? step.site : issuer.site};
    std::vector<Tensor> operands(step.operands.size());
    for (size_t k = 0; k < operands.size(); ++k) {
      const int64_t b = step.operands[k].base;
      if (b < 0) continue;
      const Base& base = lowered_->bases[b];
      if (!memories.storages[b]) {
        memories.storages[b] =
            StorageRef::adopt(TensorStorage::make(*base.state, base.bytes, from.site));
      }
      operands[k] = memories.bound(step.operands[k]);
    }
    const LaneScope lane(step.lane);
    issue_step(from, step, operands.data(), numbers, &turn);
    operands.clear();  // what nobody needs any more is let go, as by a program that drops it
    for (const Placed& operand : step.operands) {
      if (operand.base < 0) continue;
      const Base& base = lowered_->bases[operand.base];
      if (base.last == static_cast<int64_t>(i) && !base.is_result) {
        memories.storages[operand.base].reset();
      }
    }
  }
  std::vector<Tensor> results;
  for (const Placed& placed : lowered_->results) results.push_back(memories.bound(placed));
  return results;
}

}  // namespace ofl::graph
