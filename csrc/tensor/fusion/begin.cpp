#include "tensor/fusion/begin.h"

#include "tensor/fusion/cuda.h"
#include "tensor/fusion/host.h"
#include "tensor/fusion/worth.h"

namespace ofl {

namespace {

/// A device does less work than this in the time of a launch. To group such kernels would make
/// other groups and other kernels, which are compiled for nothing.
constexpr double kLeastDeviceCost = 4096;

bool may_begin_on_host(const vm::Slot& slot) {
  return pays_on_host(slot.header.stream->board().options, slot.header.cost,
                      reinterpret_cast<const LoopBody*>(slot.body)->call.args);
}

template <typename Fusion>
std::unique_ptr<vm::Group> begin(vm::Slot* slot) {
  auto group = std::make_unique<Fusion>();
  return group->add(slot) ? std::move(group) : nullptr;
}

}  // namespace

std::unique_ptr<vm::Group> begin_group(vm::Slot* slot) {
  const ep::Device& device = slot->header.stream->device();
  if (device.is_host()) return may_begin_on_host(*slot) ? begin<HostFusion>(slot) : nullptr;
  if (device.runs_host_kernels() || slot->header.cost < kLeastDeviceCost) return nullptr;
  return begin<CudaFusion>(slot);
}

}  // namespace ofl
