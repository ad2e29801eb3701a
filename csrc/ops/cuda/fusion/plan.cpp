#include "ops/cuda/fusion/plan.h"

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
/// A kernel for some bases is good for others that differ by multiples. Memory that a device
/// allocates begins at one.
constexpr int64_t kAlignment = 64;

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

/// Of all groups. Never destroyed: workers may outlive statics.
ProgramMap& programs() {
  static ProgramMap& the_programs = *new ProgramMap;
  return the_programs;
}

}  // namespace

FusionPlan::FusionPlan(FusionGroup group, char* const* bases)
    : group_(std::move(group)), shared_(group_.shared_) {
  for (const FusionSpace::Memory& memory : group_.memories_) {
    begins_.push_back(static_cast<uint8_t>(memory.unseen ? 0 : begin_of(bases[memory.base])));
  }
  if (group_.is_ended()) {
    const LoopArgs& reduction = *group_.kernels_.back().args;
    shared_ = shared_reduction(reduction, reinterpret_cast<char*>(begin_of(last_input())));
  }
  lanes_ = lanes();
  key_ = key();
  fill_in(&args_);
}

bool FusionPlan::fits(char* const* bases) const {
  for (size_t i = 0; i < begins_.size(); ++i) {
    const FusionSpace::Memory& memory = group_.memories_[i];
    if (!memory.unseen && begin_of(bases[memory.base]) != begins_[i]) return false;
  }
  return true;
}

/// How far a base is from where any vector may begin; that is where null would be.
uintptr_t FusionPlan::begin_of(const char* base) {
  return reinterpret_cast<uintptr_t>(base) % kAlignment;
}

/// The same of a value.
uintptr_t FusionPlan::begin_of(const Value& value) const {
  return begins_[value.place.memory] + static_cast<uintptr_t>(value.place.offset);
}

bool FusionPlan::is_stored(const Value& value) const {
  return value.written && !group_.memories_[value.place.memory].unseen;
}

/// No reductions, and everything contiguous.
bool FusionPlan::is_one_run() const {
  return !shared_ && std::all_of(values().begin(), values().end(), [this](const Value& value) {
    return group_.is_flat(value.place);
  });
}

bool FusionPlan::is_narrow() const {
  return group_.elements_ < kNarrow &&
         std::all_of(
             values().begin(), values().end(),
             [](const Value& value) { return value.place.high - value.place.low < kNarrow; });
}

/// Elements in one row of the kernel's: those that are reduced to one, one of each column, or the
/// innermost ones.
int64_t FusionPlan::run() const {
  if (!shared_) return bounds().size() > 1 ? bounds()[1] : 1;
  return shared_->columns ? shared_->outputs : group_.row_;
}

/// Along each run.
bool FusionPlan::stands_still(const Value& value) const {
  const int64_t end = run();
  return std::all_of(bounds().begin(), bounds().end(), [&](int64_t unit) {
    return unit >= end || step_of(value.place.dims, value.place.strides, unit) == 0;
  });
}

bool FusionPlan::is_contiguous(const Value& value) const {
  const int64_t end = run(), item_size = value.place.item_size;
  return std::all_of(bounds().begin(), bounds().end(), [&](int64_t unit) {
    return unit >= end || step_of(value.place.dims, value.place.strides, unit) == unit * item_size;
  });
}

/// Its runs begin where vectors may.
bool FusionPlan::is_aligned(const Value& value, int64_t lanes) const {
  const int64_t begin = run(), bytes = lanes * value.place.item_size;
  if (bytes > kAlignment) return false;
  if (begin_of(value) % static_cast<uintptr_t>(bytes) != 0) return false;
  return std::all_of(bounds().begin(), bounds().end(), [&](int64_t unit) {
    return unit < begin || step_of(value.place.dims, value.place.strides, unit) % bytes == 0;
  });
}

/// Elements of a vector, at most.
int64_t FusionPlan::widest() const {
  if (shared_ && shared_->columns) return shared_->lanes;
  int64_t most = 1, least = kVectorBytes;
  for (const Member& kernel : group_.kernels_) {
    if (!kernel.reduces()) continue;
    const auto size = static_cast<int64_t>(size_of(kernel.args->dtype[kReduceIn]));
    most = std::max(most, kVectorBytes / size);
  }
  for (const Value& value : values()) {
    if (is_in_memory(value)) least = std::min(least, kVectorBytes / value.place.item_size);
  }
  return shared_ ? most : least;
}

/// The same where whole runs can be moved in vectors; else 1. Whether flat ones can, the kernel
/// sees for itself.
int64_t FusionPlan::lanes() const {
  const int64_t lanes = widest();
  if (is_one_run()) return lanes;
  const auto moves_in_vectors = [&](const Value& value) {
    if (stands_still(value)) return true;
    if (is_contiguous(value)) return is_aligned(value, lanes);  // reductions ask of what is nowhere
    return shared_ || !is_in_memory(value);
  };
  const bool whole = run() % lanes == 0;
  return whole && std::all_of(values().begin(), values().end(), moves_in_vectors) ? lanes : 1;
}

/// What groups that share a kernel have in common.
std::string FusionPlan::key() const {
  std::string key;
  append(&key, shared_.has_value());
  append(&key, group_.is_ended());
  append(&key, shared_ && shared_->columns ? shared_->lanes : 0);
  const bool flat = is_one_run();
  append(&key, flat);
  append(&key, is_narrow());
  append(&key, lanes_);
  for (const Value& value : values()) {
    append(&key, value.dtype);
    const int walk = flat ? 0 : 2 * stands_still(value) + is_contiguous(value);
    append(&key, static_cast<char>(4 * walk + 2 * is_stored(value) + value.loaded));
  }
  for (const Member& kernel : group_.kernels_) {
    append(&key, kernel.args->kernel);
    append(&key, kernel.args->op);
    append(&key, kernel.args->resolution);
    append(&key, kernel.operands.size());
    for (const int operand : kernel.operands) {
      append(&key, operand);
      if (operand >= layout::kFusedValues)
        append(&key, group_.scalars_[operand - layout::kFusedValues].dtype);
    }
  }
  return key;
}

/// oneflow_lite/cuda/kernels/fusion/fusion.py tells the meaning of its fields.
KernelRequest FusionPlan::make_request() const {
  KernelRequest request;
  request.kind = !shared_ ? "fused" : shared_->columns ? "fused_columns" : "fused_rows";
  request.flat = is_one_run();
  request.wide = !is_narrow();
  request.args_bytes = sizeof(layout::FusedArgs);
  const int64_t side_by_side = shared_ && shared_->columns ? shared_->lanes : 0;
  request.options = {lanes_, group_.is_ended(), side_by_side};
  for (const Member& kernel : group_.kernels_) {
    const bool has_initial = kernel.reduces() && kernel.operands.size() == 3;
    const KernelRequest one = kernel.reduces() ? reduction_request(*kernel.args, has_initial)
                                               : elementwise_request(*kernel.args);
    request.op += (request.op.empty() ? "" : " ") + one.kind + ":" + one.op;
    request.dtypes.insert(request.dtypes.end(), one.dtypes.begin(), one.dtypes.end());
    request.loop.insert(request.loop.end(), one.loop.begin(), one.loop.end());
    request.options.push_back(static_cast<int64_t>(kernel.operands.size()));
    request.options.insert(request.options.end(), kernel.operands.begin(), kernel.operands.end());
  }
  for (const Value& value : values()) {
    for (const bool flag :
         {value.loaded, is_stored(value), stands_still(value), is_contiguous(value)}) {
      request.scalars.push_back(flag);
    }
  }
  return request;
}

void* FusionPlan::find_kernel(ep::Device& device) const {
  void* kernel = kernel_.load(std::memory_order_acquire);
  if (kernel) return kernel;
  kernel = programs().get_if_ready(device, key_, [this] { return make_request(); });
  if (kernel) kernel_.store(kernel, std::memory_order_release);
  return kernel;
}

void FusionPlan::make_kernel_soon(ep::Device& device) const {
  programs().make_soon(device, key_, [this] { return make_request(); });
}

std::vector<const Scalar*> FusionPlan::scalars() const {
  std::vector<const Scalar*> scalars;
  for (const FusionGroup::ScalarValue& scalar : group_.scalars_) scalars.push_back(scalar.value);
  return scalars;
}

/// Of all but addresses.
void FusionPlan::fill_in(layout::FusedArgs* args) const {
  args->count = group_.elements_;
  args->ndim = static_cast<int32_t>(bounds().size()) - 1;
  for (int d = 0; d < args->ndim; ++d) {
    const size_t unit = bounds().size() - 2 - static_cast<size_t>(d);
    layout::FusedRow& row = args->rows[d];
    row.dim = bounds()[unit + 1] / bounds()[unit];
    if (is_narrow()) row.divisor = divisor_of(row.dim);
    if (bounds()[unit] >= run()) ++args->outer;
    for (size_t k = 0; k < values().size(); ++k) {
      const FusionSpace::Place& place = values()[k].place;
      row.strides[k] = step_of(place.dims, place.strides, bounds()[unit]);
    }
  }
  for (size_t k = 0; k < group_.scalars_.size(); ++k) {
    std::memcpy(args->scalars[k], group_.scalars_[k].value->bytes, sizeof(args->scalars[k]));
  }
  if (!shared_) return;
  args->outputs = shared_->outputs;
  args->reduced = shared_->count;
  args->chunks = shared_->chunks;
  args->chunk = shared_->chunk;
  args->threads = shared_->threads;
}

/// nullptr, moved by its offset, where it is not in memory.
char* FusionPlan::address_of(const Value& value, char* const* bases) const {
  const FusionSpace::Memory& memory = group_.memories_[value.place.memory];
  const auto begin = reinterpret_cast<uintptr_t>(memory.unseen ? nullptr : bases[memory.base]);
  return reinterpret_cast<char*>(begin + static_cast<uintptr_t>(value.place.offset));
}

void FusionPlan::place(char* const* bases, layout::FusedArgs* args) const {
  for (size_t k = 0; k < values().size(); ++k) args->data[k] = address_of(values()[k], bases);
  int number = 0;
  for (const Member& kernel : group_.kernels_) {
    if (!kernel.reduces()) continue;
    const Value& input = values()[kernel.operands[kReduceIn]];
    args->inputs[number++] = reinterpret_cast<uintptr_t>(address_of(input, bases));
  }
}

const FusionPlan::Value& FusionPlan::last_input() const {
  return values()[group_.kernels_.back().operands[kReduceIn]];
}

/// With its addresses, which its last stage depends on.
LoopArgs FusionPlan::last_reduction(char* const* bases) const {
  const Member& kernel = group_.kernels_.back();
  LoopArgs args = *kernel.args;
  args.data[kReduceIn] = address_of(last_input(), bases);
  args.data[kReduceOut] = address_of(values()[kernel.operands.back()], bases);
  return args;
}

bool FusionPlan::launch(Launching& launching, void* kernel, char* const* bases,
                        const Scalar* const* scalars) const {
  layout::FusedArgs args = args_;
  place(bases, &args);
  for (size_t k = 0; scalars && k < group_.scalars_.size(); ++k) {
    if (scalars[k]) std::memcpy(args.scalars[k], scalars[k]->bytes, sizeof(args.scalars[k]));
  }
  if (!shared_) {
    launching.run(kernel, divide_up(group_.elements_, lanes_), args);
    return true;
  }
  const auto enqueue = [&] {
    launching.run_blocks(kernel, shared_->blocks, shared_->block_threads, 0, args);
  };
  if (shared_->chunks == 1) {
    enqueue();
    return true;
  }
  const LoopArgs reduction = last_reduction(bases);
  LastStage last(launching, reduction);
  args.values = last.values();
  if (!args.values) return false;
  enqueue();
  last.launch();
  return true;
}

}  // namespace ofl::ops::cuda
