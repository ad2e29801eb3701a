// The check of one step's results, in memory that a thread of the host may touch: what
// tensor/finite.h does by instructions.
#pragma once

#include <vector>

#include "graph/running/steps/step_args.h"

namespace ofl::graph {

class StepCheck {
 public:
  /// address(k) is where the base of operand k begins, on the host.
  template <typename Address>
  StepCheck(const Step& step, const RunNumbers& numbers, const Address& address)
      : StepCheck(step, numbers) {
    for (Seen& seen : operands_) seen.view.data = address(seen.operand) + seen.offset;
    for (Seen& seen : results_) seen.view.data = address(seen.operand) + seen.offset;
  }

  /// The step is about to run.
  void before();
  /// It has run. Error(floating_point): it made a NaN or an infinity of operands that had none.
  void after() const;

 private:
  struct Seen {
    int operand;
    int64_t offset;
    ops::ArrayView view;
  };

  StepCheck(const Step& step, const RunNumbers& numbers);

  const char* name_;
  std::vector<Seen> operands_, results_;
  bool had_any_ = false;
};

}  // namespace ofl::graph
