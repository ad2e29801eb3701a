// A run of a program as segments: each is issued as one instruction, or done at once in the calling
// thread if it is small.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "graph/planning/schedule.h"
#include "graph/running/captured.h"
#include "tensor/issue.h"

namespace ofl::graph {

struct SegmentOptions {
  RunNumbers numbers;
  bool is_sequential = false;                 // each segment runs after the one before
  bool is_parallel = false;                   // threads share the strands of a segment
  std::shared_ptr<CapturedProgram> captured;  // or null
  std::optional<uint8_t> poison;              // for tests: what new memory holds
};

/// The results. `given`: the inputs.
std::vector<Tensor> run_segments(const Issuer& issuer,
                                 const std::shared_ptr<const Schedule>& schedule,
                                 const Tensor* const* given, const SegmentOptions& options);

}  // namespace ofl::graph
