#include "graph/running/inline_run.h"

#include <algorithm>
#include <cstring>

#include "ep/memory/caching_allocator.h"
#include "graph/memory/offsets.h"
#include "graph/running/frame.h"
#include "graph/running/steps/step_args.h"
#include "graph/running/steps/step_records.h"
#include "ops/pieces.h"

namespace ofl::graph {

namespace {

constexpr int64_t kAlignment = 64;  // what the bits of loops count on, and eager's memory has

/// The failure of something that the step uses; null: it can run.
vm::FailurePtr operand_failure(const Step& step, const std::vector<vm::FailurePtr>& failed) {
  vm::FailurePtr earliest;
  for (const Placed& operand : step.operands) {
    if (operand.base < 0 || !failed[operand.base]) continue;
    const vm::FailurePtr& failure = failed[operand.base];
    if (!earliest || issued_before(*failure, *earliest)) earliest = failure;
  }
  return earliest;
}

}  // namespace

std::unique_ptr<InlineRun> InlineRun::make(const std::shared_ptr<const Lowered>& program) {
  const Lowered& lowered = *program;
  const bool all_on_host =
      std::all_of(lowered.bases.begin(), lowered.bases.end(),
                  [](const Base& base) { return base.state->device.is_host(); }) &&
      std::none_of(lowered.steps.begin(), lowered.steps.end(),
                   [](const Step& step) { return step.kind == Step::Kind::transfer; }) &&
      !lowered.has_host_functions();
  return all_on_host ? std::unique_ptr<InlineRun>(new InlineRun(program)) : nullptr;
}

InlineRun::InlineRun(const std::shared_ptr<const Lowered>& program)
    : patches_(program->bases.size()),
      storages_(program->bases.size()),
      texts_(texts_of_steps(program)) {
  const Lowered& lowered = *program;
  for (const Step& step : lowered.steps) {
    Kernel kernel{};
    if (step.kind == Step::Kind::loops) {
      loops_.push_back(std::make_unique<ops::LoopArgs>(step.loops->args));
      kernel.loops = loops_.back().get();
    } else if (step.kind == Step::Kind::arrays) {
      arrays_.push_back(std::make_unique<ops::ArrayArgs>(array_args(step, {})));
      kernel.arrays = arrays_.back().get();
    }
    for (size_t k = 0; k < step.operands.size(); ++k) {
      const Placed& operand = step.operands[k];
      if (operand.base < 0 || step.kind == Step::Kind::allocate) continue;
      const int at = static_cast<int>(k);
      char*& address = kernel.loops ? kernel.loops->address(at) : kernel.arrays->address(at);
      patches_[operand.base].push_back({&address, operand.layout.offset});
    }
    ep::HelperPool* const helpers = lowered.bases[0].state->device.helpers();
    if (kernel.arrays) kernel.arrays->helpers = helpers;
    if (kernel.loops) {
      ops::LoopArgs& args = *kernel.loops;
      args.helpers = helpers;
      for (int k = 0; k + 1 < args.size(); ++k) {
        if (step.operands[k].base < 0) args.data[k] = reinterpret_cast<char*>(&args.scalars[k]);
      }
      for (const GivenScalar& given : step.given) {
        scalar_patches_.push_back({&args.scalars[given.place], given.slot});
      }
      kernel.is_one_call = args.kernel == ops::KernelId::elementwise && ops::is_one_call(args) &&
                           step.cost < ops::kShareWork;
    }
    kernels_.push_back(kernel);
  }
  plan_arena(lowered);
}

/// Temporaries get places in the arena; results and inputs are given at each run.
void InlineRun::plan_arena(const Lowered& lowered) {
  MemoryNeeds needs;
  needs.alignment = kAlignment;
  std::vector<int64_t> classes;  // bases in the arena
  std::vector<Integers> users;
  for (size_t b = 0; b < lowered.bases.size(); ++b) {
    const Base& base = lowered.bases[b];
    const bool outside = lowered.is_input(static_cast<int64_t>(b)) || base.is_result;
    const bool is_used = base.first >= 0 || base.is_result;
    if (outside && is_used) outside_.push_back(static_cast<int64_t>(b));
    if (outside || base.first < 0) continue;
    classes.push_back(static_cast<int64_t>(b));
    needs.sizes.push_back(static_cast<int64_t>(base.bytes));
    needs.users.add(base.first);
    if (base.last != base.first) needs.users.add(base.last);
    needs.users.end_row();
  }
  needs.lanes.assign(lowered.steps.size(), 0);
  const MemoryPlan plan = plan_offsets(needs);
  arena_bytes_ = plan.packing.bytes;
  if (arena_bytes_) arena_ = &lowered.bases[0].state->device.arena();
  arena_offsets_.assign(lowered.bases.size(), -1);
  for (size_t c = 0; c < classes.size(); ++c) {
    arena_offsets_[classes[c]] = std::max<int64_t>(plan.packing.offsets[c], 0);
  }
}

void InlineRun::place(int64_t base, char* address) {
  for (const Patch& patch : patches_[base]) *patch.address = address + patch.offset;
}

void InlineRun::place_arena(char* arena) {
  if (poison_) std::memset(arena, *poison_, static_cast<size_t>(arena_bytes_));
  if (arena == arena_place_) return;
  for (size_t b = 0; b < arena_offsets_.size(); ++b) {
    if (arena_offsets_[b] >= 0) place(static_cast<int64_t>(b), arena + arena_offsets_[b]);
  }
  arena_place_ = arena;
}

void InlineRun::fill_arena(uint8_t byte) {
  const std::lock_guard<std::mutex> lock(mutex_);
  poison_ = byte;
}

/// Takes hold of what the run reads and writes outside of the arena; false: there is no memory for
/// a result at once.
bool InlineRun::hold(const Issuer& issuer, const Lowered& lowered, const Tensor* const* given,
                     SmallVector<vm::Operand, 8>* operands) {
  for (const int64_t b : outside_) {
    const Base& base = lowered.bases[b];
    if (lowered.is_input(b)) {
      storages_[b] = given[b]->storage;
      if (base.first < 0) continue;
      const vm::Access access = base.is_written ? vm::Access::write : vm::Access::read;
      operands->push_back({&storages_[b]->dependence(), access});
      continue;
    }
    storages_[b] = StorageRef::adopt(TensorStorage::make(*base.state, base.bytes, issuer.site));
    try {
      storages_[b]->materialize_on_host();
    } catch (const ep::CapacityError&) {
      return false;
    }
  }
  return true;
}

void InlineRun::set_words(const Lowered& lowered, const RunNumbers& numbers) {
  if (!numbers.words) return;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    for (const RunWord& x : lowered.steps[i].words) {
      kernels_[i].arrays->attr[x.attr] = numbers.words[x.word];
    }
  }
}

std::optional<std::vector<Tensor>> InlineRun::run(const Issuer& issuer, const Lowered& lowered,
                                                  const Tensor* const* given,
                                                  const RunNumbers& numbers) {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock) return std::nullopt;
  std::optional<ep::ArenaLease> arena;
  if (arena_) {
    try {
      arena.emplace(*arena_, static_cast<size_t>(arena_bytes_));
    } catch (const ep::CapacityError&) {
      return std::nullopt;
    }
    if (!arena->data()) return std::nullopt;
    place_arena(arena->data());
  }
  return run_locked(issuer, lowered, given, numbers);
}

std::optional<std::vector<Tensor>> InlineRun::run_locked(const Issuer& issuer,
                                                         const Lowered& lowered,
                                                         const Tensor* const* given,
                                                         const RunNumbers& numbers) {
  struct LetGo {
    ~LetGo() {
      for (const int64_t b : run.outside_) run.storages_[b].reset();
    }
    InlineRun& run;
  } const let_go{*this};
  SmallVector<vm::Operand, 8> operands;
  if (!hold(issuer, lowered, given, &operands)) return std::nullopt;
  const auto start_of = [&](int64_t b) {
    return lowered.is_input(b) ? lowered.start_of(b, *given[b]) : 0;
  };
  vm::Observer* const observer = issuer.machine.observer();
  Watched watched{};  // while somebody observes
  {
    vm::InlineScope here(issuer.machine.window(), operands.data(), operands.size());
    if (!here) return std::nullopt;
    for (const int64_t b : outside_) place(b, storages_[b]->data() + start_of(b));
    for (const ScalarPatch& patch : scalar_patches_) *patch.scalar = numbers.scalars[patch.slot];
    set_words(lowered, numbers);
    if (observer) {
      watched = run_watched(issuer, lowered, here);
    } else {
      run_all(issuer, lowered, here, [] {});
    }
  }
  if (observer) {
    observer->ran_parts({nullptr, 0, -1, "program", issuer.site, texts_, times_, watched.begin_ns,
                         watched.end_ns, watched.is_measured});
  }
  std::vector<Tensor> results;
  results.reserve(lowered.results.size());
  for (const Placed& placed : lowered.results) {
    results.push_back(Lowered::bound(placed, storages_[placed.base], start_of(placed.base)));
  }
  return results;
}

std::optional<Error> InlineRun::try_run(size_t step) const {
  return vm::catch_error([&] { kernels_[step].run(); });
}

namespace {

// A reading of the clock takes as long as two small steps. So runs of such steps are measured as a
// whole, and one in a while step by step, which takes at most twice as long.
constexpr int64_t kSmallStepNs = 1000;
constexpr int64_t kPause = 128;  // in times of such a run: it makes all runs 1 % longer at most

}  // namespace

bool InlineRun::is_time_to_measure(int64_t now) const {
  if (!times_) return true;
  const int64_t took = times_->end_ns() - times_->begin_ns;
  const bool has_small_steps = took < kSmallStepNs * static_cast<int64_t>(kernels_.size());
  return !has_small_steps || now - times_->end_ns() >= kPause * took;
}

InlineRun::Watched InlineRun::run_watched(const Issuer& issuer, const Lowered& lowered,
                                          vm::InlineScope& here) {
  const int64_t begin = now_ns();
  if (!is_time_to_measure(begin)) {
    run_all(issuer, lowered, here, [] {});
    return {begin, now_ns(), false};
  }
  const auto times = std::make_shared<vm::PartTimes>();
  times->begin_ns = begin;
  times->ends.reserve(kernels_.size());
  run_all(issuer, lowered, here,
          [&] { times->ends.push_back({static_cast<int32_t>(times->ends.size()), -1, now_ns()}); });
  times_ = times;
  return {begin, times->end_ns(), true};
}

/// Steps that need the result of one that failed are skipped; what they write fails, too. After
/// each step, also a skipped one, after() is called.
template <typename After>
void InlineRun::run_all(const Issuer& issuer, const Lowered& lowered, vm::InlineScope& here,
                        const After& after) {
  std::vector<vm::FailurePtr> failed;  // of each base; empty: nothing has failed
  uint64_t number = 0;                 // of the run, for failures
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const Step& step = lowered.steps[i];
    vm::FailurePtr failure = failed.empty() ? nullptr : operand_failure(step, failed);
    if (!failure) {
      const std::optional<Error> error = try_run(i);
      if (!error) {
        after();
        continue;
      }
      if (number == 0) number = draw_run_number();
      failure = std::make_shared<const vm::Failure>(
          vm::Failure{error->kind(), error->what(), step.name, step.site, here.take_seq(),
                      lowered.bases[step.operands.back().base].state->device.id(), error->payload(),
                      number, step.place});
      issuer.machine.note_failure(failure);
      failed.resize(lowered.bases.size());
    }
    for (size_t k = 0; k < step.operands.size(); ++k) {
      if (!step.writes[k]) continue;
      const int64_t base = step.operands[k].base;
      failed[base] = failure;
      if (storages_[base]) storages_[base]->dependence().poison(failure, failure->seq);
    }
    after();
  }
}

}  // namespace ofl::graph
