#include "ops/device/fusion.h"

#include <algorithm>
#include <cstring>

#include "ops/device/elementwise.h"
#include "ops/loops.h"
#include "ops/standard_values.h"

namespace ofl::ops::device {

namespace {

/// The argument of the kernel, laid out as its source has it.
struct FusedArgs {
  int64_t count = 0;
  int32_t ndim = 0, unused = 0;
  int64_t dims[Fusion::kMaxRows] = {};
  void* data[Fusion::kMaxPlaces] = {};
  int64_t strides[Fusion::kMaxRows][Fusion::kMaxPlaces] = {};
  unsigned char scalars[Fusion::kMaxScalars][16] = {};
};

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

bool Fusion::add(const KernelArgs& args, void* const* memories) {
  if (full() || !is_elementwise(args) || may_fail(args)) return false;
  if (args.op && has_standard_values(*args.resolution)) return false;
  const int64_t elements = iteration_size(args.iteration);
  if (elements == 0 || elements > kMostElements || (size() > 0 && elements != elements_)) {
    return false;
  }
  Newcomer newcomer;
  newcomer.args = &args;
  place_operands(memories, &newcomer);
  if (!is_in_order(newcomer)) return false;
  std::vector<int64_t> bounds = bounds_;
  add_bounds(args.iteration, 1, &bounds);
  if (!make_chain(&bounds) || bounds.size() > kMaxRows + 1) return false;
  std::vector<Value> values = values_;
  std::vector<ScalarValue> scalars = scalars_;
  Kernel kernel{&args, {}};
  if (!place_values(newcomer, &values, &scalars, &kernel)) return false;
  elements_ = elements;
  bounds_ = std::move(bounds);
  values_ = std::move(values);
  scalars_ = std::move(scalars);
  add_uses(newcomer, memories, size(), false, false);
  kernels_.push_back(std::move(kernel));
  return true;
}

int Fusion::segment() const {
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
int Fusion::add_value(const Place& place, DType dtype, std::vector<Value>* values) const {
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

bool Fusion::place_values(const Newcomer& newcomer, std::vector<Value>* values,
                          std::vector<ScalarValue>* scalars, Kernel* kernel) const {
  const KernelArgs& args = *newcomer.args;
  const Place* place = newcomer.places.data();
  for (int k = 0; k < args.iteration.operands; ++k) {
    if (newcomer.memory[k] >= 0) {
      const int number = add_value(*place++, args.dtype[k], values);
      if (number < 0) return false;
      kernel->operands.push_back(number);
    } else {
      kernel->operands.push_back(kMaxPlaces + static_cast<int>(scalars->size()));
      scalars->push_back({&args.scalars[k], args.dtype[k]});
    }
  }
  if (args.kernel == fill_kernel) {  // a copy of a value, which is no operand of its own
    kernel->operands.insert(kernel->operands.begin(),
                            kMaxPlaces + static_cast<int>(scalars->size()));
    scalars->push_back({&args.scalars[0], args.dtype[0]});
  }
  return values->size() <= kMaxPlaces && scalars->size() <= kMaxScalars;
}

bool Fusion::is_stored(const Value& value) const {
  return value.written && !memories_[value.place.memory].unseen;
}

bool Fusion::all_flat() const {
  return std::all_of(values_.begin(), values_.end(),
                     [this](const Value& value) { return is_flat(value.place); });
}

bool Fusion::is_narrow() const {
  constexpr int64_t kNarrow = int64_t{1} << 31;
  return elements_ < kNarrow &&
         std::all_of(
             values_.begin(), values_.end(),
             [](const Value& value) { return value.place.high - value.place.low < kNarrow; });
}

/// What groups that share a kernel have in common.
std::string Fusion::key() const {
  std::string key;
  append(&key, all_flat());
  append(&key, is_narrow());
  for (const Value& value : values_) {
    append(&key, value.dtype);
    append(&key, static_cast<char>(2 * is_stored(value) + value.loaded));
  }
  for (const Kernel& kernel : kernels_) {
    append(&key, kernel.args->kernel);
    append(&key, kernel.args->op);
    append(&key, kernel.args->resolution);
    for (const int operand : kernel.operands) {
      append(&key, operand);
      if (operand >= kMaxPlaces) append(&key, scalars_[operand - kMaxPlaces].dtype);
    }
  }
  return key;
}

/// What its fields mean is said in oneflow_lite/cuda/kernels/fused.py.
KernelRequest Fusion::make_request() const {
  KernelRequest request;
  request.kind = "fused";
  request.flat = all_flat();
  request.wide = !is_narrow();
  for (const Kernel& kernel : kernels_) {
    const KernelRequest one = elementwise_request(*kernel.args);
    request.op += (request.op.empty() ? "" : " ") + one.kind + ":" + one.op;
    request.dtypes.insert(request.dtypes.end(), one.dtypes.begin(), one.dtypes.end());
    request.loop.insert(request.loop.end(), one.loop.begin(), one.loop.end());
    request.options.push_back(static_cast<int64_t>(kernel.operands.size()));
    request.options.insert(request.options.end(), kernel.operands.begin(), kernel.operands.end());
  }
  for (const Value& value : values_) {
    request.scalars.push_back(value.loaded);
    request.scalars.push_back(is_stored(value));
  }
  return request;
}

void* Fusion::find_kernel(ep::Device& device) {
  static ProgramMap& programs = *new ProgramMap;
  return programs.get_if_ready(device, key(), [this] { return make_request(); });
}

void Fusion::launch(Launching& launching, void* kernel) {
  FusedArgs args;
  args.count = elements_;
  args.ndim = static_cast<int32_t>(bounds_.size()) - 1;
  for (int d = 0; d < args.ndim; ++d) {
    const size_t unit = bounds_.size() - 2 - static_cast<size_t>(d);
    args.dims[d] = bounds_[unit + 1] / bounds_[unit];
    for (size_t k = 0; k < values_.size(); ++k) {
      const Place& place = values_[k].place;
      args.strides[d][k] = step_of(place.dims, place.strides, bounds_[unit]);
    }
  }
  for (size_t k = 0; k < values_.size(); ++k) {
    char* address = memories_[values_[k].place.memory].address;
    args.data[k] = address ? address + values_[k].place.offset : nullptr;
  }
  for (size_t k = 0; k < scalars_.size(); ++k) {
    std::memcpy(args.scalars[k], scalars_[k].value->bytes, sizeof(args.scalars[k]));
  }
  launching.run(kernel, elements_, args);
}

}  // namespace ofl::ops::device
