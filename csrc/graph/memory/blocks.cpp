#include "graph/memory/blocks.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace ofl::graph {

namespace {

constexpr const char* kOp = "plan_blocks";

void check_program(const BlockProgram& given) {
  const int64_t operations = given.inputs.count();
  check_length(kOp, "outputs", given.outputs.count(), operations);
  check_length(kOp, "item_sizes", given.item_sizes.size(), given.elements.size());
  if (given.ignored.count()) check_length(kOp, "ignored", given.ignored.count(), operations);
  if (given.pairs.count()) check_length(kOp, "pairs", given.pairs.count(), operations);
  if (!given.devices.empty()) check_length(kOp, "devices", given.devices.size(), operations);
  if (!given.colours.empty()) check_length(kOp, "colours", given.colours.size(), operations);
  for (int64_t i = 0; i < given.ignored.count(); ++i) {
    for (const int64_t place : given.ignored[i]) {
      check_index(kOp, "ignored: input", place, given.inputs[i].size());
    }
  }
  for (int64_t i = 0; i < given.pairs.count(); ++i) {
    for (const BlockPair& pair : given.pairs[i]) {
      check_index(kOp, "pairs: input", pair.input, given.inputs[i].size());
      check_index(kOp, "pairs: output", pair.output, given.outputs[i].size());
    }
  }
  for (const int64_t value : given.results) {
    check_index(kOp, "results: value", value, static_cast<int64_t>(given.elements.size()));
  }
}

Integers bytes_of(const BlockProgram& given) {
  Integers bytes;
  int64_t sum = 0;
  for (size_t value = 0; value < given.elements.size(); ++value) {
    const int64_t elements = given.elements[value], item_size = given.item_sizes[value];
    if (elements < 0 || item_size < 0) {
      fail(ErrorKind::value, "[", kOp, "] value ", value, " has a negative size: ", elements,
           " elements of ", item_size, " bytes");
    }
    int64_t size = 0;
    if (__builtin_mul_overflow(elements, item_size, &size) ||
        __builtin_add_overflow(sum, size, &sum)) {
      fail(ErrorKind::overflow, "[", kOp, "] the sizes are too big to be added");
    }
    bytes.push_back(size);
  }
  return bytes;
}

/// Of each operation and input: its data is not read.
std::vector<std::vector<bool>> ignores_of(const BlockProgram& given) {
  std::vector<std::vector<bool>> ignores(given.inputs.count());
  for (int64_t i = 0; i < given.inputs.count(); ++i) {
    ignores[i].resize(given.inputs[i].size());
    if (given.ignored.count() == 0) continue;
    for (const int64_t place : given.ignored[i]) ignores[i][place] = true;
  }
  return ignores;
}

/// The operation that makes each value; -1: a variable.
Integers makers_of(const BlockProgram& given) {
  const int64_t values = static_cast<int64_t>(given.elements.size());
  Integers maker(values, -1);
  for (int64_t i = 0; i < given.outputs.count(); ++i) {
    for (const int64_t value : given.outputs[i]) {
      check_index(kOp, "outputs: value", value, values);
      if (maker[value] >= 0) {
        fail(ErrorKind::value, "[", kOp, "] operations ", maker[value], " and ", i,
             " both make value ", value);
      }
      maker[value] = i;
    }
  }
  return maker;
}

/// From the operation that makes a value to those that read its data.
Edges edges_of(const BlockProgram& given) {
  const Integers maker = makers_of(given);
  const auto ignores = ignores_of(given);
  Edges edges;
  for (int64_t i = 0; i < given.inputs.count(); ++i) {
    for (int64_t k = 0; k < given.inputs[i].size(); ++k) {
      const int64_t value = given.inputs[i][k];
      check_index(kOp, "inputs: value", value, static_cast<int64_t>(maker.size()));
      if (maker[value] >= i) {
        fail(ErrorKind::value, "[", kOp, "] operation ", i, " uses value ", value,
             ", which operation ", maker[value], " makes");
      }
      if (maker[value] >= 0 && !ignores[i][k]) edges.push_back({maker[value], i});
    }
  }
  return edges;
}

/// Operands that read a value's data, and its uses as a result.
Integers counts_of(const BlockProgram& given) {
  const auto ignores = ignores_of(given);
  Integers counts(given.elements.size());
  for (int64_t i = 0; i < given.inputs.count(); ++i) {
    for (int64_t k = 0; k < given.inputs[i].size(); ++k) {
      if (!ignores[i][k]) ++counts[given.inputs[i][k]];
    }
  }
  for (const int64_t value : given.results) ++counts[value];
  return counts;
}

/// The program, checked, with what all ranges need.
struct Prepared {
  explicit Prepared(const BlockProgram& given)
      : program(given),
        bytes(bytes_of(given)),
        ignores(ignores_of(given)),
        clocks(kOp, given.colours.empty() ? Integers(given.inputs.count()) : given.colours,
               edges_of(given)),
        counts(counts_of(given)) {}

  int64_t operations() const { return program.inputs.count(); }
  int64_t device(int64_t operation) const {
    return program.devices.empty() ? 0 : program.devices[operation];
  }

  const BlockProgram& program;
  Integers bytes;                          // of each value
  std::vector<std::vector<bool>> ignores;  // of each operation and input
  LaneClocks clocks;                       // colours are lanes
  Integers counts;                         // of each value
};

class Planner {
 public:
  Planner(const Prepared& prepared, int64_t range)
      : prepared_(prepared),
        program_(prepared.program),
        clocks_(prepared.clocks),
        free_(range, prepared.operations()) {
    plan_.blocks.assign(prepared.bytes.size(), kNoBlock);
    plan_.in_place.assign(prepared.bytes.size(), kNewBlock);
    plan_.match_range = range;
  }

  BlockPlan run() {
    for (int64_t i = 0; i < prepared_.operations(); ++i) {
      free_.start(i);
      if (program_.pairs.count()) take_in_place(i);
      request(i);
      count_down(i);
      release_unused(i);
    }
    plan_.sizes = free_.sizes();
    plan_.bytes = free_.bytes();
    return std::move(plan_);
  }

 private:
  void take_in_place(int64_t operation) {
    std::vector<bool> taken(program_.inputs[operation].size());
    for (const BlockPair& pair : program_.pairs[operation]) {
      const int64_t input = program_.inputs[operation][pair.input];
      const int64_t output = program_.outputs[operation][pair.output];
      const int64_t block = plan_.blocks[input];
      if (taken[pair.input] || plan_.blocks[output] != kNoBlock || block == kNoBlock) continue;
      if (prepared_.counts[output] == 0 || devices_[block] != prepared_.device(operation)) continue;
      if (program_.elements[output] != program_.elements[input]) continue;
      if (program_.item_sizes[output] != program_.item_sizes[input]) continue;
      if (!pair.identity && !is_sole_user(operation, pair, block)) continue;
      taken[pair.input] = true;
      plan_.blocks[output] = block;
      plan_.in_place[output] = pair.input;
      left_[block] += prepared_.counts[output];
      use(block, operation);
    }
  }

  /// What is left to read of the block are the operation's own reads of that input, all of them
  /// where the output may be over it; and other colours have done with it.
  bool is_sole_user(int64_t operation, const BlockPair& pair, int64_t block) const {
    const Rows::Row inputs = program_.inputs[operation];
    int64_t own = 0;
    for (int64_t k = 0; k < inputs.size(); ++k) {
      if (inputs[k] != inputs[pair.input] || prepared_.ignores[operation][k]) continue;
      const auto pairs = program_.pairs[operation];
      if (std::none_of(pairs.begin(), pairs.end(), [&](const BlockPair& other) {
            return other.input == k && other.output == pair.output;
          })) {
        return false;
      }
      ++own;
    }
    if (own == 0 || left_[block] != own) return false;
    for (int64_t colour = 0; colour < clocks_.lanes(); ++colour) {
      if (last_[block * clocks_.lanes() + colour] > clocks_.at(operation, colour)) return false;
    }
    return true;
  }

  /// The largest first; of equals the last one.
  void request(int64_t operation) {
    std::vector<std::pair<int64_t, int64_t>> wanted;  // bytes, place among the outputs
    const Rows::Row outputs = program_.outputs[operation];
    for (int64_t k = 0; k < outputs.size(); ++k) {
      if (plan_.blocks[outputs[k]] == kNoBlock) {
        wanted.emplace_back(prepared_.bytes[outputs[k]], k);
      }
    }
    std::sort(wanted.rbegin(), wanted.rend());
    for (const auto& [bytes, k] : wanted) {
      const int64_t device = prepared_.device(operation);
      const int64_t block = free_.request({device, clocks_.lane(operation)}, bytes);
      if (block == static_cast<int64_t>(left_.size())) {
        left_.push_back(0);
        devices_.push_back(device);
        last_.resize(last_.size() + clocks_.lanes());
      }
      plan_.blocks[outputs[k]] = block;
      left_[block] = prepared_.counts[outputs[k]];
      std::fill_n(last_.begin() + block * clocks_.lanes(), clocks_.lanes(), -1);
      use(block, operation);
    }
  }

  void count_down(int64_t operation) {
    const Rows::Row inputs = program_.inputs[operation];
    for (int64_t k = 0; k < inputs.size(); ++k) {
      const int64_t block = plan_.blocks[inputs[k]];
      if (prepared_.ignores[operation][k] || block == kNoBlock) continue;
      use(block, operation);
      if (--left_[block] == 0) release(block, operation);
    }
  }

  /// After the operands, so that such an output shares with none of them.
  void release_unused(int64_t operation) {
    for (const int64_t value : program_.outputs[operation]) {
      if (prepared_.counts[value]) continue;
      plan_.in_place[value] = kUnused;
      release(plan_.blocks[value], operation);
    }
  }

  void use(int64_t block, int64_t operation) {
    last_[block * clocks_.lanes() + clocks_.lane(operation)] = operation;
  }

  /// For the colour of the operation, once those of other colours that used the block are over.
  void release(int64_t block, int64_t operation) {
    const auto begin = last_.begin() + block * clocks_.lanes();
    const Integers last(begin, begin + clocks_.lanes());
    const int64_t colour = clocks_.lane(operation);
    free_.release(block, {devices_[block], colour}, clocks_.first_after(last, colour));
  }

  const Prepared& prepared_;
  const BlockProgram& program_;
  const LaneClocks& clocks_;
  FreeBlocks free_;
  BlockPlan plan_;
  // Of each block:
  Integers left_;  // uses to come of what is in it
  Integers devices_;
  Integers last_;  // the last use of what is in it, by colour; -1: none
};

}  // namespace

BlockPlan plan_blocks(const BlockProgram& program, int64_t match_range, bool search) {
  check_program(program);
  const Prepared prepared(program);
  std::optional<BlockPlan> best;
  for (const int64_t range : match_ranges(kOp, match_range, search)) {
    BlockPlan plan = Planner(prepared, range).run();
    if (!best || plan.bytes < best->bytes) best = std::move(plan);
  }
  return std::move(*best);
}

}  // namespace ofl::graph
