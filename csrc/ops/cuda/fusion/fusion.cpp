#include "ops/cuda/fusion/fusion.h"

#include <algorithm>
#include <cstring>

#include "ops/cuda/axes.h"
#include "ops/cuda/divisor.h"
#include "ops/cuda/elementwise/elementwise.h"
#include "ops/loops.h"
#include "ops/reduce/plan.h"

namespace ofl::ops::cuda {

namespace {

constexpr int64_t kVectorBytes = 16;
constexpr int64_t kAlignment = 64;  // of memory that is yet to be allocated
/// Kernels of elements before a reduction, which may be computed again after it. More of them take
/// longer than what they give takes to be stored and loaded.
constexpr int kMostRepeated = 6;

/// How far a place moves with `unit` elements of the space, which its rows divide or are multiples
/// of.
int64_t step_of(const Dims& dims, const Dims& strides, int64_t unit) {
  int64_t inner = 1;
  for (int d = dims.size() - 1; d >= 0; --d) {
    if (unit < inner * dims[d]) return strides[d] * (unit / inner);
    inner *= dims[d];
  }
  return 0;
}

template <typename T>
void append(std::string* key, const T& value) {
  key->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

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

bool FusionGroup::add(const LoopArgs& args, void* const* memories) {
  if (full()) return false;
  Draft draft{{&args, {}}, bounds_, values_, scalars_, shared_, elements_, row_};
  const bool reduces = draft.kernel.reduces();
  if (!(reduces ? take_reduction(args, &draft) : take_elementwise(args, &draft))) return false;
  const bool is_last = reduces && (draft.shared->columns || draft.shared->chunks > 1);
  if (is_last && !is_written(memories[kReduceIn])) return false;  // nothing would be saved
  if (!make_chain(&draft.bounds) || draft.bounds.size() > layout::kFusedRows + 1) return false;
  Newcomer newcomer;
  newcomer.args = &args;
  newcomer.scale = draft.scale;
  place_operands(memories, &newcomer);
  if (!is_in_order(newcomer) || !place_values(newcomer, &draft)) return false;
  elements_ = draft.elements;
  row_ = draft.row;
  shared_ = draft.shared;
  bounds_ = std::move(draft.bounds);
  values_ = std::move(draft.values);
  scalars_ = std::move(draft.scalars);
  add_uses(newcomer, memories, size(), reduces, is_last);
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

bool FusionGroup::is_written(void* memory) const {
  return std::any_of(memories_.begin(), memories_.end(),
                     [memory](const Memory& known) { return known.id == memory && known.written; });
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

bool FusionGroup::is_stored(const Value& value) const {
  return value.written && !memories_[value.place.memory].unseen;
}

/// No reductions, and everything contiguous.
bool FusionGroup::is_one_run() const {
  return !shared_ && std::all_of(values_.begin(), values_.end(),
                                 [this](const Value& value) { return is_flat(value.place); });
}

bool FusionGroup::is_narrow() const {
  return elements_ < kNarrow &&
         std::all_of(
             values_.begin(), values_.end(),
             [](const Value& value) { return value.place.high - value.place.low < kNarrow; });
}

/// Elements that lie in one row of the kernel's: those that are reduced to one, one of each column,
/// or the innermost ones.
int64_t FusionGroup::run() const {
  if (!shared_) return bounds_.size() > 1 ? bounds_[1] : 1;
  return shared_->columns ? shared_->outputs : row_;
}

/// Along each run.
bool FusionGroup::stands_still(const Value& value) const {
  const int64_t end = run();
  return std::all_of(bounds_.begin(), bounds_.end(), [&](int64_t unit) {
    return unit >= end || step_of(value.place.dims, value.place.strides, unit) == 0;
  });
}

bool FusionGroup::is_contiguous(const Value& value) const {
  const int64_t end = run(), item_size = value.place.item_size;
  return std::all_of(bounds_.begin(), bounds_.end(), [&](int64_t unit) {
    return unit >= end || step_of(value.place.dims, value.place.strides, unit) == unit * item_size;
  });
}

/// Its runs begin where vectors may.
bool FusionGroup::is_aligned(const Value& value, int64_t lanes) const {
  const int64_t begin = run(), bytes = lanes * value.place.item_size;
  if (bytes > kAlignment) return false;
  if (reinterpret_cast<uintptr_t>(address_of(value)) % static_cast<uintptr_t>(bytes) != 0) {
    return false;
  }
  return std::all_of(bounds_.begin(), bounds_.end(), [&](int64_t unit) {
    return unit < begin || step_of(value.place.dims, value.place.strides, unit) % bytes == 0;
  });
}

/// Elements of a vector, at most.
int64_t FusionGroup::widest() const {
  if (shared_ && shared_->columns) return shared_->lanes;
  int64_t most = 1, least = kVectorBytes;
  for (const Member& kernel : kernels_) {
    if (!kernel.reduces()) continue;
    const auto size = static_cast<int64_t>(size_of(kernel.args->dtype[kReduceIn]));
    most = std::max(most, kVectorBytes / size);
  }
  for (const Value& value : values_) {
    if (is_in_memory(value)) least = std::min(least, kVectorBytes / value.place.item_size);
  }
  return shared_ ? most : least;
}

/// The same where whole runs can be moved in vectors; else 1. Whether flat ones can, the kernel
/// sees for itself.
int64_t FusionGroup::lanes() const {
  const int64_t lanes = widest();
  if (is_one_run()) return lanes;
  const auto moves_in_vectors = [&](const Value& value) {
    if (stands_still(value)) return true;
    if (is_contiguous(value)) return is_aligned(value, lanes);  // reductions ask of what is nowhere
    return shared_ || !is_in_memory(value);
  };
  const bool whole = run() % lanes == 0;
  return whole && std::all_of(values_.begin(), values_.end(), moves_in_vectors) ? lanes : 1;
}

/// What groups that share a kernel have in common.
std::string FusionGroup::key() const {
  std::string key;
  append(&key, shared_.has_value());
  append(&key, is_ended());
  append(&key, shared_ && shared_->columns ? shared_->lanes : 0);
  const bool flat = is_one_run();
  append(&key, flat);
  append(&key, is_narrow());
  append(&key, lanes());
  for (const Value& value : values_) {
    append(&key, value.dtype);
    const int lies = flat ? 0 : 2 * stands_still(value) + is_contiguous(value);
    append(&key, static_cast<char>(4 * lies + 2 * is_stored(value) + value.loaded));
  }
  for (const Member& kernel : kernels_) {
    append(&key, kernel.args->kernel);
    append(&key, kernel.args->op);
    append(&key, kernel.args->resolution);
    append(&key, kernel.operands.size());
    for (const int operand : kernel.operands) {
      append(&key, operand);
      if (operand >= layout::kFusedValues)
        append(&key, scalars_[operand - layout::kFusedValues].dtype);
    }
  }
  return key;
}

/// oneflow_lite/cuda/kernels/fusion/fusion.py tells the meaning of its fields.
KernelRequest FusionGroup::make_request() const {
  KernelRequest request;
  request.kind = !shared_ ? "fused" : shared_->columns ? "fused_columns" : "fused_rows";
  request.flat = is_one_run();
  request.wide = !is_narrow();
  request.args_bytes = sizeof(layout::FusedArgs);
  request.options = {lanes(), is_ended(), shared_ && shared_->columns ? shared_->lanes : 0};
  for (const Member& kernel : kernels_) {
    const bool has_initial = kernel.reduces() && kernel.operands.size() == 3;
    const KernelRequest one = kernel.reduces() ? reduction_request(*kernel.args, has_initial)
                                               : elementwise_request(*kernel.args);
    request.op += (request.op.empty() ? "" : " ") + one.kind + ":" + one.op;
    request.dtypes.insert(request.dtypes.end(), one.dtypes.begin(), one.dtypes.end());
    request.loop.insert(request.loop.end(), one.loop.begin(), one.loop.end());
    request.options.push_back(static_cast<int64_t>(kernel.operands.size()));
    request.options.insert(request.options.end(), kernel.operands.begin(), kernel.operands.end());
  }
  for (const Value& value : values_) {
    for (const bool flag :
         {value.loaded, is_stored(value), stands_still(value), is_contiguous(value)}) {
      request.scalars.push_back(flag);
    }
  }
  return request;
}

/// With its addresses, which its kernel may depend on.
LoopArgs FusionGroup::last_reduction() const {
  const Member& kernel = kernels_.back();
  LoopArgs args = *kernel.args;
  args.data[kReduceIn] = address_of(values_[kernel.operands[kReduceIn]]);
  args.data[kReduceOut] = address_of(values_[kernel.operands.back()]);
  return args;
}

void* FusionGroup::find_kernel(ep::Device& device) {
  static ProgramMap& programs = *new ProgramMap;
  if (is_ended()) {
    const LoopArgs reduction = last_reduction();
    shared_ = shared_reduction(reduction, reduction.data[kReduceIn]);
  }
  return programs.get_if_ready(device, key(), [this] { return make_request(); });
}

/// nullptr, moved by its offset: it is not in memory, or will be where anything may begin.
char* FusionGroup::address_of(const Value& value) const {
  const auto begin = reinterpret_cast<uintptr_t>(memories_[value.place.memory].address);
  return reinterpret_cast<char*>(begin + static_cast<uintptr_t>(value.place.offset));
}

void FusionGroup::fill_in(layout::FusedArgs* args) const {
  args->count = elements_;
  args->ndim = static_cast<int32_t>(bounds_.size()) - 1;
  for (int d = 0; d < args->ndim; ++d) {
    const size_t unit = bounds_.size() - 2 - static_cast<size_t>(d);
    layout::FusedRow& row = args->rows[d];
    row.dim = bounds_[unit + 1] / bounds_[unit];
    if (is_narrow()) row.divisor = divisor_of(row.dim);
    if (bounds_[unit] >= run()) ++args->outer;
    for (size_t k = 0; k < values_.size(); ++k) {
      const Place& place = values_[k].place;
      row.strides[k] = step_of(place.dims, place.strides, bounds_[unit]);
    }
  }
  for (size_t k = 0; k < values_.size(); ++k) args->data[k] = address_of(values_[k]);
  for (size_t k = 0; k < scalars_.size(); ++k) {
    std::memcpy(args->scalars[k], scalars_[k].value->bytes, sizeof(args->scalars[k]));
  }
  if (!shared_) return;
  args->outputs = shared_->outputs;
  args->reduced = shared_->count;
  args->chunks = shared_->chunks;
  args->chunk = shared_->chunk;
  args->threads = shared_->threads;
  int number = 0;
  for (const Member& kernel : kernels_) {
    if (!kernel.reduces()) continue;
    args->inputs[number++] =
        reinterpret_cast<uintptr_t>(address_of(values_[kernel.operands[kReduceIn]]));
  }
}

bool FusionGroup::launch(Launching& launching, void* kernel) {
  layout::FusedArgs args;
  fill_in(&args);
  if (!shared_) {
    launching.run(kernel, divide_up(elements_, lanes()), args);
    return true;
  }
  const auto enqueue = [&] {
    launching.run_blocks(kernel, shared_->blocks, shared_->block_threads, 0, args);
  };
  if (shared_->chunks == 1) {
    enqueue();
    return true;
  }
  const LoopArgs reduction = last_reduction();
  LastStage last(launching, reduction);
  args.values = last.values();
  if (!args.values) return false;
  enqueue();
  last.launch();
  return true;
}

}  // namespace ofl::ops::cuda
