// A program after lowering: planned kernel calls over numbered memories, without addresses.
//
//   operations ── replayed with a sink that keeps the plans ──► steps over bases
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "graph/recording/host_object.h"
#include "graph/recording/recording.h"
#include "tensor/submit.h"

namespace ofl::graph {

/// What is lowered. Values are numbered; the inputs come first: parameters, captures, constants.
struct ProgramParts {
  std::vector<Value> inputs;       // their types
  std::vector<std::string> names;  // of parameters that a caller gives, for errors
  int64_t constants = 0;           // the last inputs
  int64_t value_count = 0;
  std::vector<Operation> operations;
  std::vector<int64_t> results;
  std::vector<Written> assigns;
  /// Of each operation: those of one number may run as one, and -1 runs by itself. Empty: what runs
  /// as one is found out.
  std::vector<int64_t> groups;
};

/// The numbers that a run brings along.
struct RunNumbers {
  const Scalar* scalars = nullptr;  // by slot, in the dtypes of their operands
  const int64_t* words = nullptr;   // such as places in streams of random numbers
};

/// A memory: a base is known when the program runs. Those of the inputs come first.
struct Base {
  vm::DeviceState* state;
  size_t bytes;
  int64_t low = 0;          // of an input: bytes from its first element to the lowest one
  bool is_written = false;  // by some step
  bool is_result = false;   // some result lies in it
  int64_t first = -1;       // the steps that use it
  int64_t last = -1;
};

/// A tensor in a base.
struct Placed {
  int64_t base;
  Tensor layout;  // without a storage; the offset is from the base
};

/// A scalar of a plan of loops that each run is given.
struct GivenScalar {
  int32_t place;  // in the plan's scalars
  int32_t slot;
};

struct Step {
  enum class Kind : uint8_t { loops, arrays, transfer, allocate, host };

  Kind kind;
  vm::SiteId site;
  const char* name;
  int lane = kCallersLane;          // the compute lane of its device
  int64_t place = 0;                // of its operation, in the order of issue
  double cost = 0;                  // in float32 additions
  std::unique_ptr<LoopPlan> loops;  // addresses in it are offsets from bases
  std::unique_ptr<ArrayPlan> arrays;
  std::vector<Placed> operands;                // base -1: a scalar of the plan
  std::vector<bool> writes;                    // of each operand
  std::vector<GivenScalar> given;              // where the plan's scalars are not those of each run
  std::vector<RunWord> words;                  // the same of the numbers of a plan of arrays
  std::shared_ptr<const HostObject> function;  // host
  int64_t operation = -1;                      // of the program; -1: it is none of them
};

/// A sum of which one term is a product: whether the product adds into the other one, or why not.
struct AdditionNote {
  vm::SiteId site;
  bool is_added;
  const char* reason;
};

struct Lowered {
  int64_t input_count = 0;
  int64_t scalar_count = 0;  // that a run is given
  int64_t word_count = 0;
  std::vector<Base> bases;
  std::vector<Step> steps;
  std::vector<Placed> results;
  std::vector<AdditionNote> additions;  // where that was asked for
  std::vector<int64_t> groups;          // as ProgramParts has them

  bool has_host_functions() const {
    return std::any_of(steps.begin(), steps.end(),
                       [](const Step& step) { return step.kind == Step::Kind::host; });
  }
  bool is_input(int64_t base) const { return base < input_count; }
  /// Notes again which steps use each base.
  void find_uses();
  /// Where the base of an input begins in the storage of the tensor that is given for it.
  int64_t start_of(int64_t base, const Tensor& given) const {
    return given.offset + bases[base].low;
  }
  /// A placed tensor in a storage; `start`: where the base begins there.
  static Tensor bound(const Placed& placed, const StorageRef& storage, int64_t start) {
    Tensor x = placed.layout;
    x.storage = storage;
    x.offset += start;
    return x;
  }
};

Lowered lower(vm::VirtualMachine& machine, const ProgramParts& program);

}  // namespace ofl::graph
