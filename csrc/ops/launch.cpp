#include "ops/launch.h"

#include <cstring>

#include "ops/cuda/launching.h"
#include "ops/through_host.h"

namespace ofl::ops {

namespace {

size_t call_bytes(const KernelCall& call) {
  return offsetof(KernelCall, args) + used_bytes(call.args);
}

/// On a queue's thread.
void run_on_queue(void* block) {
  auto* call = static_cast<KernelCall*>(block);
  for (int i = 0; i < call->args.iteration.operands - 1; ++i) {
    if (!call->args.data[i]) call->args.data[i] = reinterpret_cast<char*>(&call->args.scalars[i]);
  }
  try {
    call->args.kernel(call->args);
  } catch (const Error& error) {
    call->async_error->emplace(error);
  } catch (const std::exception& error) {
    call->async_error->emplace(ErrorKind::runtime, error.what());
  }
}

}  // namespace

KernelCall& KernelCall::operator=(const KernelCall& other) {
  std::memcpy(static_cast<void*>(this), &other, call_bytes(other));
  return *this;
}

double work_of(const KernelArgs& args, double cost) {
  double work = cost;
  for (int d = 0; d < args.iteration.ndim; ++d) {
    work *= static_cast<double>(args.iteration.rows[d].dim);
  }
  return work;
}

namespace {

std::shared_ptr<InFlight> launch_through_host(ep::Stream& queue, KernelCall& call) {
  note_host_operation(call.name);
  auto copies = std::make_shared<HostCopies>();
  const int last = call.args.iteration.operands - 1;
  for (int i = 0; i <= last; ++i) {
    const Extent extent = extent_of(call.args, i);
    if (call.args.data[i]) copies->add(&call.args.data[i], extent.low, extent.high, i == last);
  }
  return HostCopies::around(queue, std::move(copies), [&] {
    queue.launch({run_on_queue, &call, call_bytes(call), work_of(call.args, 1)});
  });
}

/// False: there is no kernel for it.
bool launch_on_device(ep::Stream& queue, const KernelCall& call,
                      std::shared_ptr<InFlight>* in_flight) {
  const cuda::KernelLauncher launcher = call.by_device ? cuda::launcher_of(call.args) : nullptr;
  if (!launcher) return false;
  cuda::Launching launching(queue, call.name);
  const bool launched = cuda::launch(launching, launcher, call.args);
  *in_flight = launching.kept();
  return launched;
}

}  // namespace

std::shared_ptr<InFlight> launch(ep::Stream& queue, KernelCall& call) {
  ep::Device& device = queue.device();
  if (!device.runs_host_kernels()) {
    std::shared_ptr<InFlight> in_flight;
    if (launch_on_device(queue, call, &in_flight)) return in_flight;
    return launch_through_host(queue, call);
  }
  for (int i = 0; i < call.args.iteration.operands; ++i) {
    char*& data = call.args.data[i];
    if (data) data = static_cast<char*>(device.host_address(data));
  }
  if (!device.is_host()) {
    queue.launch({run_on_queue, &call, call_bytes(call), work_of(call.args, 1)});
    return nullptr;
  }
  for (int i = 0; i < call.args.iteration.operands - 1; ++i) {
    if (!call.args.data[i]) call.args.data[i] = reinterpret_cast<char*>(&call.args.scalars[i]);
  }
  call.args.helpers = device.helpers();
  call.args.kernel(call.args);
  return nullptr;
}

}  // namespace ofl::ops
