#include "tensor/fusion/begin.h"

#include <unistd.h>

#include <algorithm>

#include "tensor/fusion/cuda.h"
#include "tensor/fusion/host.h"

namespace ofl {

namespace {

/// A kernel of less work on the host, about 1 us, is not worth the search for others.
constexpr double kLeastHostCost = 3000;
/// A device does less work than this in the time of a launch. To group such kernels would make
/// other groups and other kernels, which are compiled for nothing.
constexpr double kLeastDeviceCost = 4096;

/// Bytes of one operand that the first-level cache does not keep, or not with others: where results
/// stay there, the calls of a tile cost as much as is saved.
constexpr int64_t kLeastBytes = 64 << 10;

int64_t bytes_of_one(const ops::LoopArgs& args) {
  size_t item = 1;
  for (int k = 0; k < args.iteration.operands; ++k) item = std::max(item, size_of(args.dtype[k]));
  return ops::iteration_size(args.iteration) * static_cast<int64_t>(item);
}

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

bool fusion_pays(const vm::Options& options, int64_t bytes) {
  const vm::Fusion fusion = options.fusion.load(std::memory_order_relaxed);
  if (fusion != vm::Fusion::where_it_pays) return fusion == vm::Fusion::always;
  return bytes >= kLeastBytes;
}

bool fusion_pays(const vm::Options& options, const ops::LoopArgs& args) {
  return fusion_pays(options, bytes_of_one(args));
}

bool pays_on_host(const vm::Options& options, double cost, const ops::LoopArgs& args) {
  return cost >= kLeastHostCost && fusion_pays(options, args);
}

bool is_large(int64_t bytes) {
  constexpr int64_t kUsual = 1 << 20;
#if defined(_SC_LEVEL2_CACHE_SIZE)
  static const int64_t known = sysconf(_SC_LEVEL2_CACHE_SIZE);
#else
  static const int64_t known = 0;
#endif
  return bytes >= (known > 0 ? known : kUsual) / 2;
}

bool is_large(const ops::LoopArgs& args) { return is_large(bytes_of_one(args)); }

std::unique_ptr<vm::Group> begin_group(vm::Slot* slot) {
  const ep::Device& device = slot->header.stream->device();
  if (device.is_host()) return may_begin_on_host(*slot) ? begin<HostFusion>(slot) : nullptr;
  if (device.runs_host_kernels() || slot->header.cost < kLeastDeviceCost) return nullptr;
  return begin<CudaFusion>(slot);
}

}  // namespace ofl
