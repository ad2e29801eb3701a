#include "graph/recording/recorder.h"

#include "base/error.h"

namespace ofl::graph {

namespace {

/// How x lies, from the first element of `base` on: what a call of kind view has as its attr.
std::vector<int64_t> layout_in(const Tensor& base, const Tensor& x) {
  std::vector<int64_t> layout{static_cast<int64_t>(x.dtype), x.offset - base.offset};
  layout.insert(layout.end(), x.shape.begin(), x.shape.end());
  layout.insert(layout.end(), x.strides.begin(), x.strides.end());
  return layout;
}

bool is_same_view(const Tensor& a, const Tensor& b) {
  return a.offset == b.offset && a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides;
}

/// The whole storage of x: x itself where each byte is in it once, else its bytes in a row, as
/// elements of x's dtype where they fit.
Tensor whole_of(const Tensor& x) {
  const auto itemsize = static_cast<int64_t>(size_of(x.dtype));
  const auto bytes = static_cast<int64_t>(x.storage->bytes());
  const Extent extent = extent_of(x.shape, x.strides, itemsize);
  const bool covers = x.offset + extent.low == 0 && extent.high - extent.low == bytes;
  const bool once = x.size() * itemsize == bytes && !may_self_overlap(x.shape, x.strides, itemsize);
  if (covers && once) return x;
  Tensor whole = x;
  const bool fits = bytes % itemsize == 0 && (x.offset + extent.low) % itemsize == 0;
  if (!fits) whole.dtype = DType::u8;
  const auto step = static_cast<int64_t>(size_of(whole.dtype));
  whole.offset = 0;
  whole.shape = Dims{bytes / step};
  whole.strides = Dims{step};
  return whole;
}

/// Two storages have bytes in common.
bool is_over(const TensorStorage& a, const TensorStorage& b) {
  return a.device() == b.device() && a.data() < b.data() + b.bytes() &&
         b.data() < a.data() + a.bytes();
}

}  // namespace

Recorder::Recorder(vm::VirtualMachine& machine, std::string name)
    : machine_(machine), name_(std::move(name)) {}

int64_t Recorder::add_value(Origin origin, const Tensor& x, Tensor given) {
  values_.push_back({origin, x.dtype, x.shape, x.strides, x.device(), std::move(given)});
  return static_cast<int64_t>(values_.size()) - 1;
}

Recorder::Memory& Recorder::add_memory(const Tensor& base, int64_t value, bool made_here,
                                       vm::SiteId site) {
  order_.push_back(base.storage.get());
  Memory memory{base, value, value, made_here, site, {}};
  return memories_.insert_or_assign(base.storage.get(), std::move(memory)).first->second;
}

void Recorder::poison(const Tensor& x, const char* op, vm::SiteId site) const {
  const auto failure = std::make_shared<const vm::Failure>(vm::Failure{
      ErrorKind::recording,
      concat("[", op, "] this tensor was made while ", name_,
             " was recorded and has no value: return it from there, or write it into a tensor that "
             "was there before"),
      op, site, 0, x.device(), nullptr});
  x.storage->dependence().poison(failure, 0);
}

Tensor Recorder::add_parameter(vm::DeviceState& state, Tensor x, bool writable, Tensor given,
                               vm::SiteId site) {
  const Extent extent = extent_of(x.shape, x.strides, static_cast<int64_t>(size_of(x.dtype)));
  const auto bytes = static_cast<size_t>(extent.high - extent.low);
  x.storage = StorageRef::adopt(TensorStorage::over(state, nullptr, bytes, nullptr, writable));
  x.offset = -extent.low;
  poison(x, "parameter", site);
  add_memory(x, add_value(Origin::parameter, x, std::move(given)), true, site);
  return x;
}

void Recorder::check(const Tensor& x) {
  const vm::FailurePtr failure = x.storage->dependence().failure();
  if (failure && failure->kind == ErrorKind::recording) throw vm::OperationError(*failure);
}

Tensor Recorder::parameter(const Tensor& given, vm::SiteId site) {
  check(given);
  return add_parameter(given.storage->state(), given, given.storage->writable(), given, site);
}

std::vector<Tensor> Recorder::parameters_over(const Tensor& memory,
                                              const std::vector<Tensor>& given, vm::SiteId site) {
  const Tensor base = parameter(memory, site);
  std::vector<Tensor> views;
  for (const Tensor& x : given) {
    check(x);
    const bool is_own = x.storage.get() == memory.storage.get();
    const int64_t start = is_own ? 0 : x.storage->data() - memory.storage->data();
    shared_.insert_or_assign(x.storage.get(), Shared{base.storage.get(), start, x.storage});
    views.push_back(standing_for(x));
  }
  return views;
}

Tensor Recorder::standing_for(const Tensor& x) const {
  const auto found = shared_.find(x.storage.get());
  if (found == shared_.end()) return x;
  Tensor view = x;
  view.storage = memories_.at(found->second.memory).base.storage;
  view.offset += found->second.start;
  return view;
}

Tensor Recorder::parameter(Device device, DType dtype, const Dims& shape, const Dims& strides) {
  return add_parameter(machine_.state(device), {{}, dtype, shape, strides, 0}, true, {}, 0);
}

Recorder::Memory& Recorder::adopt(const Tensor& x) {
  check(x);
  const Tensor whole = whole_of(x);
  return add_memory(whole, add_value(Origin::capture, whole, whole), false, 0);
}

Recorder::Memory& Recorder::memory_of(const Tensor& x) {
  const auto shared = shared_.find(x.storage.get());
  if (shared != shared_.end()) return memories_.at(shared->second.memory);
  const auto found = memories_.find(x.storage.get());
  return found == memories_.end() ? adopt(x) : found->second;
}

int64_t Recorder::value_of(const Tensor& x, vm::SiteId site) {
  Memory& memory = memory_of(x);
  const Tensor view = standing_for(x);
  return is_same_view(memory.base, view) ? memory.version : add_view(memory, view, site);
}

std::optional<std::pair<int64_t, std::vector<int64_t>>> Recorder::find(const Tensor& x) const {
  const Tensor view = standing_for(x);
  const auto found = memories_.find(view.storage.get());
  if (found == memories_.end()) return std::nullopt;
  const Memory& memory = found->second;
  if (is_same_view(memory.base, view)) return {{memory.version, {}}};
  return {{memory.version, layout_in(memory.base, view)}};
}

int64_t Recorder::add_view(Memory& memory, const Tensor& x, vm::SiteId site) {
  std::vector<int64_t> layout = layout_in(memory.base, x);
  const auto known = memory.views.find(layout);
  if (known != memory.views.end()) return known->second;
  const int64_t value = add_view("view", memory.version, layout, x, site);
  memory.views.emplace(std::move(layout), value);
  return value;
}

int64_t Recorder::add_view(const char* name, int64_t value, const std::vector<int64_t>& layout,
                           const Tensor& x, vm::SiteId site) {
  const int64_t result = add_value(Origin::operation, x, {});
  OpCall call(CallKind::view, name);
  for (const int64_t number : layout) call.attr.push_back(number);
  operations_.push_back({std::move(call), {{value, {}}}, {}, {result}, site, {}});
  return result;
}

Tensor Recorder::tensor_of(int64_t value, vm::SiteId site) {
  if (value < 0 || value >= static_cast<int64_t>(values_.size())) {
    fail(ErrorKind::value, "[tensor_of] ", name_, " has no value ", value);
  }
  const Value& known = values_[value];
  Tensor x{{}, known.dtype, known.shape, known.strides, 0};
  const Extent extent = extent_of(x.shape, x.strides, static_cast<int64_t>(size_of(x.dtype)));
  const auto bytes = static_cast<size_t>(extent.high - extent.low);
  vm::DeviceState& state = machine_.state(known.device);
  x.storage = StorageRef::adopt(TensorStorage::over(state, nullptr, bytes, nullptr, true));
  x.offset = -extent.low;
  poison(x, "tensor_of", site);
  add_memory(x, value, true, site);
  return x;
}

Tensor Recorder::alias_of(const Tensor& x, vm::SiteId site) {
  const int64_t value = value_of(x, site);
  return tensor_of(add_view(kAlias, value, layout_in(x, x), x, site), site);
}

void Recorder::place_like(size_t begin, size_t like) {
  if (like >= operations_.size()) {
    fail(ErrorKind::value, "[place_like] ", name_, " has no operation ", like);
  }
  for (size_t k = begin; k < operations_.size(); ++k) {
    operations_[k].site = operations_[like].site;
    if (operations_[k].call.kind != CallKind::view) operations_[k].lane = operations_[like].lane;
  }
}

void Recorder::take(vm::SiteId site, OpCall&& call, const Input* inputs, int count,
                    const Tensor* const* outputs, int output_count) {
  Operation operation{std::move(call), {}, {}, {}, site, {}, current_lane()};
  for (int k = 0; k < count; ++k) {
    const Tensor* const x = inputs[k].tensor;
    operation.operands.push_back(
        {x ? value_of(*x, site) : kScalar, inputs[k].scalar, inputs[k].slot});
  }
  const auto is_target = [&](int k) { return operation.call.targets >> k & 1; };
  for (int k = 0; k < output_count; ++k) {
    if (is_target(k)) operation.targets.push_back(value_of(*outputs[k], site));
  }
  for (int k = 0; k < output_count; ++k) {
    const Tensor& x = *outputs[k];
    if (is_target(k)) {
      Memory& memory = memory_of(x);
      memory.version = add_value(Origin::operation, memory.base, {});
      memory.views.clear();
      operation.results.push_back(memory.version);
    } else {
      poison(x, operation.call.name, site);
      operation.results.push_back(add_value(Origin::operation, x, {}));
      add_memory(x, operation.results.back(), true, site);
    }
  }
  operations_.push_back(std::move(operation));
}

void Recorder::constant(vm::SiteId site, const Tensor& result, Tensor&& value) {
  poison(result, "constant", site);
  add_memory(result, add_value(Origin::constant, result, std::move(value)), true, site);
}

void Recorder::refuse(vm::SiteId site, const char* op, const Tensor* x) {
  const std::string message = x ? concat("[", op, "] needs the values of a tensor of shape ",
                                         shape_str(x->shape), ", which has none while ", name_,
                                         " is recorded: choose with flow.where, or do it outside")
                                : concat("[", op, "] cannot be recorded: do it outside of ", name_,
                                         ", and pass its result as an argument");
  throw vm::OperationError(
      vm::Failure{ErrorKind::recording, message, op, site, 0, x ? x->device() : Device{}, nullptr});
}

std::vector<Written> Recorder::written() const {
  std::vector<Written> written;
  for (TensorStorage* const storage : order_) {
    const Memory& memory = memories_.at(storage);
    const Origin origin = values_[memory.first].origin;
    const bool is_seen = origin == Origin::parameter || origin == Origin::capture;
    if (!is_seen || memory.version == memory.first) continue;
    written.push_back({memory.first, memory.version});
  }
  return written;
}

std::vector<std::pair<int64_t, int64_t>> Recorder::overlaps() const {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  std::unordered_map<const TensorStorage*, int64_t> first;
  std::vector<int64_t> shared;  // of memory that other storages may have, too
  for (size_t value = 0; value < values_.size(); ++value) {
    if (!values_[value].tensor.storage || values_[value].origin == Origin::constant) continue;
    const TensorStorage& storage = *values_[value].tensor.storage;
    const auto number = static_cast<int64_t>(value);
    const auto [known, is_new] = first.emplace(&storage, number);
    if (!is_new) pairs.push_back({known->second, number});
    if (!is_new || storage.is_alone()) continue;
    for (const int64_t other : shared) {
      if (is_over(storage, *values_[other].tensor.storage)) pairs.push_back({other, number});
    }
    shared.push_back(number);
  }
  return pairs;
}

std::vector<std::pair<int64_t, vm::SiteId>> Recorder::held_elsewhere() const {
  std::vector<std::pair<int64_t, vm::SiteId>> held;
  for (TensorStorage* const storage : order_) {
    const Memory& memory = memories_.at(storage);
    const bool is_held = memory.made_here && storage->references() > 1;
    if (is_held) held.push_back({memory.version, memory.site});
  }
  return held;
}

}  // namespace ofl::graph
