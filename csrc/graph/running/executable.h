// Executable: a lowered program, ready to run any number of times, in any thread.
//
//   small work on the host, ready ──► all steps here, at addresses that are laid out once
//   all else                      ──► an instruction for each segment
//   naive mode                    ──► an instruction for each step, as eager issues it
//
// An observer changes none of this: it is told of the steps of a run when the run, or the segment,
// is over. Where results are checked, nothing runs here, and cuda's steps are instructions.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "graph/planning/lowered.h"
#include "graph/planning/schedule.h"
#include "graph/running/captured.h"
#include "graph/running/inline_run.h"

namespace ofl::graph {

/// How a program runs. Results have the same bits in each way.
enum class RunMode : uint8_t {
  automatic,   // here where the work is small, else serial
  here,        // all in the calling thread, if that is possible
  serial,      // by segments, the steps of each one after the other
  parallel,    // by segments, whose independent strands threads share
  sequential,  // serial, each segment after the one before
  naive,       // each step by itself
};
inline constexpr const char* kRunModeNames[] = {"auto",     "inline",     "serial",
                                                "parallel", "sequential", "naive"};
inline constexpr int kRunModes = sizeof(kRunModeNames) / sizeof(kRunModeNames[0]);

struct RunOptions {
  RunMode mode = RunMode::automatic;
  Release release = Release::plan;
  int lanes = 1;      // compute lanes that independent branches are divided between
  bool adds = false;  // products into accumulators, with other last bits (planning/additions.h)
  std::optional<bool> device_graphs;  // whether kernels are launched as graphs; none: the flag says
};

class Executable {
 public:
  /// `bound`: the captures, then the constants.
  Executable(vm::VirtualMachine& machine, std::string name, const ProgramParts& program,
             std::vector<Tensor> bound, RunOptions options);

  /// Parameters, captures, constants. Those that are not there yet are null.
  using Inputs = SmallVector<const Tensor*, 16>;
  int parameter_count() const { return static_cast<int>(inputs_.size() - bound_.size()); }
  /// The inputs of a run, with arguments for the first `wanted` parameters. Error(value): there are
  /// more or fewer, one has another type, or one that is written to has memory of another input.
  Inputs inputs(const Tensor* const* arguments, int count, int wanted) const;
  /// Puts an argument where none is yet: memory that nobody else has. Error(value): another type.
  void give(Inputs* inputs, int parameter, const Tensor& x) const;

  /// The results for these inputs and numbers. Steps have the sites of their operations. Any thread
  /// that keeps others from issuing (with the GIL).
  std::vector<Tensor> run(const Issuer& issuer, const Inputs& inputs,
                          const RunNumbers& numbers) const;

  const std::string& name() const { return name_; }
  /// Of an input, as errors name it: "argument x".
  std::string input_name(int64_t input) const;
  /// Bytes of temporaries when all steps run here.
  int64_t inline_arena_bytes() const { return inline_run() ? inline_run()->arena_bytes() : 0; }
  /// Where each base is in that memory, or -1; null: some step needs a device.
  const std::vector<int64_t>* inline_offsets() const {
    return inline_run() ? &inline_run()->arena_offsets() : nullptr;
  }
  /// For tests: memory that a run makes for itself holds this byte everywhere.
  void fill_arena(uint8_t byte) {
    if (inline_run()) inline_run()->fill_arena(byte);
    poison_.store(byte, std::memory_order_relaxed);
  }
  const Lowered& lowered() const { return *lowered_; }
  const RunOptions& options() const { return options_; }
  /// Made when it is asked for the first time.
  const std::shared_ptr<const Schedule>& schedule() const {
    std::call_once(is_scheduled_, [this] {
      const ScheduleOptions how{options_.release, options_.mode == RunMode::parallel,
                                options_.lanes};
      schedule_ = std::make_shared<const Schedule>(lowered_, machine_.options(), how);
      const std::vector<Unit>& units = schedule_->units;
      is_grouped_ =
          std::any_of(units.begin(), units.end(), [](const Unit& unit) { return unit.is_group(); });
    });
    return schedule_;
  }
  /// Of its device graphs; nothing where no run has had some.
  CaptureReport capture_report() const {
    const std::shared_ptr<CapturedProgram> captured = std::atomic_load(&captured_);
    return captured ? captured->report() : CaptureReport{};
  }
  /// How often it has run in which way.
  int64_t runs(RunMode mode) const {
    return runs_[static_cast<int>(mode)].load(std::memory_order_relaxed);
  }

 private:
  /// Planned when it is asked for the first time: large programs never run here. Null: some step
  /// needs a device.
  InlineRun* inline_run() const {
    std::call_once(is_planned_, [this] { inline_run_ = InlineRun::make(lowered_); });
    return inline_run_.get();
  }
  void check_type(int parameter, const Tensor& x) const;
  void check_apart(const Inputs& inputs) const;
  bool has_host_kernels() const;
  /// Some steps run as one, which threads share.
  bool is_grouped() const {
    if (!has_large_steps_ && cost_ < kLeastGroupedWork) return false;
    schedule();
    return is_grouped_;
  }
  /// Work that takes hardly longer here than to hand it over.
  bool may_run_here(vm::PacedCall& paced) const;
  void note(RunMode mode) const {
    runs_[static_cast<int>(mode)].fetch_add(1, std::memory_order_relaxed);
  }
  std::shared_ptr<CapturedProgram> captured_for_run() const;
  std::vector<Tensor> issue_each(const Issuer& issuer, const Tensor* const* given,
                                 const RunNumbers& numbers) const;

  vm::VirtualMachine& machine_;
  const std::string name_;
  const RunOptions options_;
  const std::vector<Value> inputs_;       // their types
  const std::vector<std::string> names_;  // of the first ones
  const std::vector<Tensor> bound_;
  const std::shared_ptr<const Lowered> lowered_;
  std::vector<int64_t> written_inputs_;
  double cost_ = 0;
  bool has_large_steps_ = false;      // some step may begin a group
  bool has_shareable_steps_ = false;  // a helper that is awake takes a part of some step
  mutable std::once_flag is_planned_;
  mutable std::unique_ptr<InlineRun> inline_run_;
  mutable std::once_flag is_scheduled_;
  mutable std::shared_ptr<const Schedule> schedule_;
  mutable bool is_grouped_ = false;                    // known with the schedule
  mutable std::atomic<int> segment_runs_{0};           // those that may come before a capture
  mutable std::shared_ptr<CapturedProgram> captured_;  // atomic; null: none yet
  std::atomic<int> poison_{-1};                        // what new memory holds; -1: anything
  mutable std::atomic<int64_t> runs_[kRunModes] = {};
};

}  // namespace ofl::graph
