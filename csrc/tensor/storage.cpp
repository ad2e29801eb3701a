#include "tensor/storage.h"

#include "ep/caching_allocator.h"

namespace ofl {

namespace {

constexpr size_t kHoldersShown = 5;

std::string with_holders(const std::string& message, ep::Device& device,
                         const vm::VirtualMachine& machine) {
  std::string text = message;
  for (const ep::TagUsage& usage : device.allocator().largest_holders(kHoldersShown)) {
    text += concat("\n  ", usage.bytes, " bytes in ", usage.blocks,
                   usage.blocks == 1 ? " block" : " blocks", ", issued at ",
                   usage.tag ? machine.format_site(usage.tag) : "several places");
  }
  return text;
}

}  // namespace

TensorStorage::TensorStorage(vm::DeviceState& state, size_t bytes, vm::SiteId site)
    : state_(state), bytes_(bytes), site_(site), on_host_(state.device.is_host()) {}

TensorStorage::TensorStorage(vm::DeviceState& state, void* data, size_t bytes,
                             std::shared_ptr<void> owner, bool writable)
    : state_(state),
      bytes_(bytes),
      site_(0),
      on_host_(true),
      writable_(writable),
      owner_(std::move(owner)),
      data_(static_cast<char*>(data)) {}

void TensorStorage::materialize(vm::LaunchContext& context) {
  if (data_) return;
  // Host memory written by a device queue (d2h) belongs to no queue.
  ep::Stream* queue = on_host_ ? nullptr : &context.queue;
  vm::VirtualMachine& machine = context.stream.machine();
  for (;;) {
    const int64_t retired = machine.retired_count();
    try {
      data_ = static_cast<char*>(state_.device.allocator().alloc(bytes_, queue, site_));
      return;
    } catch (const ep::CapacityError& error) {
      if (machine.wait_for_memory(context, retired)) continue;
      throw Error(error.kind(), with_holders(error.what(), state_.device, machine));
    }
  }
}

void TensorStorage::materialize_on_host() {
  if (!data_) data_ = static_cast<char*>(state_.device.allocator().alloc(bytes_, nullptr, site_));
}

bool TensorStorage::materialize_with(TensorStorage& dying) {
  const bool fits = !data_ && dying.data_ && !dying.owner_ && dying.on_host_ && on_host_ &&
                    dying.bytes_ == bytes_ && &dying.state_ == &state_;
  if (fits) std::swap(data_, dying.data_);
  return fits;
}

void TensorStorage::destroy() {
  if (on_host_) free_memory();
  delete this;
}

void TensorStorage::note_use(vm::Stream& stream, uint64_t position) {
  std::lock_guard<std::mutex> lock(uses_mutex_);
  for (Use& use : uses_) {
    if (use.stream != &stream) continue;
    use.position = position;
    return;
  }
  uses_.push_back({&stream, position});
}

/// Nobody else can reach the memory any more; what is left are launched uses in device queues. A
/// queue that has all of them may reuse the memory at once; uses on several queues leave it to
/// their events.
void TensorStorage::free_memory() {
  if (!data_ || owner_) return;
  std::vector<ep::EventLease> pending;
  ep::Stream* home = nullptr;
  for (const Use& use : uses_) {
    auto& policy = static_cast<vm::QueuePolicy&>(use.stream->policy());
    ep::EventLease event = policy.event_after(use.position);
    if (!event) continue;
    home = pending.empty() ? &use.stream->queue() : nullptr;
    pending.push_back(std::move(event));
  }
  state_.device.allocator().free(data_, bytes_, home, std::move(pending));
  data_ = nullptr;
}

}  // namespace ofl
