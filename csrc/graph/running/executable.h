// Executable: a lowered program, ready to run any number of times, in any thread.
//
//   small work on the host, ready ──► all steps here, at addresses that are laid out once
//   all else                      ──► an instruction for each step, as eager issues it
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "graph/running/inline_run.h"
#include "graph/running/lowered.h"

namespace ofl::graph {

class Executable {
 public:
  /// `bound`: the captures, then the constants.
  Executable(vm::VirtualMachine& machine, std::string name, const ProgramParts& program,
             std::vector<Tensor> bound);

  /// The results for these arguments, which have the types of the parameters (checked), and these
  /// scalars, by slot, in the dtypes of their operands. Steps have the sites of their operations.
  /// Any thread that keeps others from issuing (with the GIL).
  std::vector<Tensor> run(const Issuer& issuer, const Tensor* const* arguments, int count,
                          const Scalar* scalars = nullptr) const;

  const std::string& name() const { return name_; }
  int64_t step_count() const { return static_cast<int64_t>(lowered_.steps.size()); }
  /// Bytes of temporaries when all steps run here.
  int64_t arena_bytes() const { return inline_run() ? inline_run()->arena_bytes() : 0; }
  void fill_arena(uint8_t byte) {
    if (inline_run()) inline_run()->fill_arena(byte);
  }
  int64_t inline_runs() const { return inline_runs_.load(std::memory_order_relaxed); }
  int64_t issued_runs() const { return issued_runs_.load(std::memory_order_relaxed); }

 private:
  /// Planned when it is asked for the first time: large programs never run here. Null: some step
  /// needs a device.
  InlineRun* inline_run() const {
    std::call_once(is_planned_, [this] { inline_run_ = InlineRun::make(lowered_); });
    return inline_run_.get();
  }
  void check(const Tensor* const* arguments, int count) const;
  void check_apart(const Tensor* const* given) const;
  std::vector<Tensor> issue(const Issuer& issuer, const Tensor* const* given,
                            const Scalar* scalars) const;

  vm::VirtualMachine& machine_;
  const std::string name_;
  const std::vector<Value> inputs_;  // their types
  const std::vector<Tensor> bound_;
  const Lowered lowered_;
  std::vector<int64_t> written_inputs_;
  double cost_ = 0;
  mutable std::once_flag is_planned_;
  mutable std::unique_ptr<InlineRun> inline_run_;
  mutable std::atomic<int64_t> inline_runs_{0}, issued_runs_{0};
};

}  // namespace ofl::graph
