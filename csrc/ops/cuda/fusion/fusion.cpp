#include "ops/cuda/fusion/fusion.h"

#include <algorithm>

#include "ops/loops.h"
#include "ops/reduce/plan.h"

namespace ofl::ops::cuda {

namespace {

/// Kernels of elements before a reduction, which may be computed again after it. More of them take
/// longer than what they give takes to be stored and loaded.
constexpr int kMostRepeated = 6;

}  // namespace

/// What the group would be with one more kernel.
struct FusionGroup::Draft {
  Member kernel;
  std::vector<int64_t> bounds;
  std::vector<Value> values;
  std::vector<ScalarValue> scalars;
  std::optional<SharedReduction> shared;
  int64_t elements, row;
  int64_t scale = 1;
};

bool FusionGroup::add(const LoopArgs& args, const int16_t* bases) {
  if (full()) return false;
  Draft draft{{&args, {}}, bounds_, values_, scalars_, shared_, elements_, row_};
  const bool reduces = draft.kernel.reduces();
  if (!(reduces ? take_reduction(args, &draft) : take_elementwise(args, &draft))) return false;
  const bool is_last = reduces && (draft.shared->columns || draft.shared->chunks > 1);
  if (is_last && !is_written(bases[kReduceIn])) return false;  // nothing would be saved
  if (!make_chain(&draft.bounds) || draft.bounds.size() > layout::kFusedRows + 1) return false;
  Newcomer newcomer;
  newcomer.args = &args;
  newcomer.scale = draft.scale;
  place_operands(bases, &newcomer);
  if (!is_in_order(newcomer) || !place_values(newcomer, &draft)) return false;
  elements_ = draft.elements;
  row_ = draft.row;
  shared_ = draft.shared;
  bounds_ = std::move(draft.bounds);
  values_ = std::move(draft.values);
  scalars_ = std::move(draft.scalars);
  add_uses(newcomer, bases, size(), reduces, is_last);
  kernels_.push_back(std::move(draft.kernel));
  return true;
}

/// It has the group's elements, or one for each row.
bool FusionGroup::take_elementwise(const LoopArgs& args, Draft* draft) const {
  if (!is_elementwise(args.kernel) || may_fail(args)) return false;
  if (args.op && args.resolution->standard_values) return false;
  const int64_t elements = iteration_size(args.iteration);
  if (elements == 0 || elements > kMostElements) return false;
  if (size() == 0) draft->elements = elements;
  if (elements != draft->elements) {
    if (row_ == 0 || elements * row_ != elements_) return false;
    draft->scale = row_;
  } else if (repeated() > kMostRepeated) {
    return false;
  }
  add_bounds(args.iteration, draft->scale, &draft->bounds);
  return true;
}

/// Of the group's elements, shared as others are; those that end a group are the only ones.
bool FusionGroup::take_reduction(const LoopArgs& args, Draft* draft) const {
  const auto reductions = std::count_if(kernels_.begin(), kernels_.end(),
                                        [](const Member& kernel) { return kernel.reduces(); });
  const int64_t elements = iteration_size(args.iteration);
  if (elements > kMostElements || reductions == layout::kFusedReductions) return false;
  if (repeated() > kMostRepeated) return false;
  if (size() > 0 && elements != elements_) return false;
  draft->shared = shared_reduction(args, args.data[kReduceIn]);
  if (!draft->shared || (shared_ && !draft->shared->is_like(*shared_))) return false;
  const SharedReduction& shared = *draft->shared;
  draft->elements = elements;
  if (!shared.columns) draft->row = shared.count;
  draft->bounds.insert(draft->bounds.end(),
                       {1, shared.columns ? shared.outputs : shared.count, elements});
  return true;
}

/// What is computed of each element before the last reduction.
int FusionGroup::repeated() const {
  int all = 0, before = 0;
  for (const Member& kernel : kernels_) {
    if (kernel.reduces()) {
      before = all;
    } else if (iteration_size(kernel.args->iteration) == elements_) {
      ++all;
    }
  }
  return before;
}

bool FusionGroup::is_written(int16_t base) const {
  return std::any_of(memories_.begin(), memories_.end(), [base](const Memory& memory) {
    return memory.base == base && memory.written;
  });
}

int FusionGroup::segment() const {
  int end = 1;
  for (bool grown = true; grown;) {
    grown = false;
    for (const Memory& memory : memories_) {
      if (!memory.written || memory.first >= end || memory.last < end) continue;
      end = memory.last + 1;
      grown = true;
    }
  }
  return end;
}

/// The number of a place among `values`, where it may be new; -1: it is known with another dtype.
int FusionGroup::add_value(const Place& place, DType dtype, std::vector<Value>* values) const {
  for (size_t i = 0; i < values->size(); ++i) {
    Value& known = (*values)[i];
    if (!known.place.same_as(place)) continue;
    if (known.dtype != dtype) return -1;
    known.written = known.written || place.written;
    return static_cast<int>(i);
  }
  values->push_back({place, dtype, !place.written, place.written});
  return static_cast<int>(values->size()) - 1;
}

bool FusionGroup::place_values(const Newcomer& newcomer, Draft* draft) const {
  const LoopArgs& args = *newcomer.args;
  std::vector<int>& operands = draft->kernel.operands;
  const auto add_scalar = [&](const Scalar& value, DType dtype) {
    operands.push_back(layout::kFusedValues + static_cast<int>(draft->scalars.size()));
    draft->scalars.push_back({&value, dtype});
  };
  if (args.kernel == KernelId::fill) {  // a copy of a value, which is no operand of its own
    add_scalar(args.scalars[0], args.dtype[0]);
  }
  const Place* place = newcomer.places.data();
  for (int k = 0; k < args.iteration.operands; ++k) {
    const bool is_last = k + 1 == args.iteration.operands;
    if (is_last && args.kernel == KernelId::reduce && args.attr[0] == 1) {
      add_scalar(args.scalars[0], args.resolution->out);  // what the reduction begins with
    }
    if (newcomer.memory[k] >= 0) {
      const int number = add_value(*place++, args.dtype[k], &draft->values);
      if (number < 0) return false;
      operands.push_back(number);
    } else {
      add_scalar(args.scalars[k], args.dtype[k]);
    }
  }
  return draft->values.size() <= layout::kFusedValues &&
         draft->scalars.size() <= layout::kFusedScalars;
}

}  // namespace ofl::ops::cuda
