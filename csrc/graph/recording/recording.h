// What a recorder has written down: values, and the calls that make them, in the order of the
// program. Values are numbered; each is made once.
#pragma once

#include <vector>

#include "tensor/op_call.h"
#include "tensor/submit.h"

namespace ofl::graph {

enum class Origin : uint8_t {
  parameter,  // an argument of the recorded function
  capture,    // a tensor from before the recording
  constant,   // host data that was made a tensor; nobody else has it
  operation,  // made by a call
};
inline constexpr const char* kOriginNames[] = {"parameter", "capture", "constant", "operation"};

struct Value {
  Origin origin;
  DType dtype;
  Dims shape, strides;
  Device device;
  Tensor tensor;  // parameter, capture, constant: as it was given; else empty
};

inline constexpr int64_t kScalar = -1;

struct Operand {
  int64_t value;  // or kScalar:
  Scalar scalar;
  int32_t slot = -1;  // of a scalar that each run is given, see Input
};

/// A number of a call that each run brings along.
struct RunWord {
  int attr;      // its place in OpCall::attr
  int64_t word;  // and in RunNumbers::words
};

struct Operation {
  OpCall call;
  std::vector<Operand> operands;
  std::vector<int64_t> targets;  // values that are written to: the results are their next versions
  std::vector<int64_t> results;  // of each output
  vm::SiteId site;
  std::vector<RunWord> words;  // of a call of kind array
  int lane = kCallersLane;     // the compute lane that its work goes to
  int64_t place = 0;           // in the order in which operations were issued when it was recorded
};

/// A parameter or capture that was written to, and what it holds at the end.
struct Written {
  int64_t value, last;
};

}  // namespace ofl::graph
