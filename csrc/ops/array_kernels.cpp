// The table of array kernels, and how one is put on a device's queue.
#include "ops/array_kernel.h"
#include "ops/sharing_out.h"
#include "ops/through_host.h"

namespace ofl::ops {

namespace {

constexpr ArrayKernel kArrayKernels[] = {
    {"accumulate", accumulate_kernel, 2, Division::lanes, cuda::launch_accumulate},
    {"argsort", argsort_kernel, 30, Division::lanes, cuda::launch_argsort},
    {"bincount", bincount_kernel, 4, Division::none, cuda::launch_bincount},
    {"contains", contains_kernel, 40, Division::queries, cuda::launch_contains},
    {"correlate", correlate_kernel, 0.25},
    {"interpolate", interpolate_kernel, 40, Division::queries},
    {"members", members_kernel, 40, Division::none, cuda::launch_members},
    {"pick", pick_kernel, 4, Division::queries, cuda::launch_pick},
    {"run_numbers", run_numbers_kernel, 4, Division::none, cuda::launch_run_numbers},
    {"run_starts", run_starts_kernel, 4, Division::none, cuda::launch_run_starts},
    {"search_sorted", search_sorted_kernel, 40, Division::queries, cuda::launch_search_sorted},
    {"sort", sort_kernel, 10, Division::lanes, cuda::launch_sort},
    {"gufunc", gufunc_kernel, 1, Division::none, nullptr, true},
    {"gather", gather_kernel, 3, Division::places, cuda::launch_gather},
    {"scatter", scatter_kernel, 3, Division::none, cuda::launch_scatter},
    {"mask_gather", mask_gather_kernel, 2, Division::none, cuda::launch_mask_gather},
    {"mask_scatter", mask_scatter_kernel, 2, Division::none, cuda::launch_mask_scatter},
    {"take_along_axis", take_along_axis_kernel, 3, Division::along, cuda::launch_take_along_axis},
    {"count_nonzero", count_nonzero_kernel, 0.5, Division::none, cuda::launch_count_nonzero},
    {"nonzero", nonzero_kernel, 2, Division::none, cuda::launch_nonzero},
    {"philox", philox_kernel, 4, Division::none, cuda::launch_philox},
};

/// On a queue's thread.
void run_on_queue(void* block) {
  ArrayCall& call = **static_cast<ArrayCall**>(block);
  try {
    run(call);
  } catch (const Error& error) {
    call.async_error->emplace(error);
  } catch (const std::exception& error) {
    call.async_error->emplace(ErrorKind::runtime, error.what());
  }
}

std::shared_ptr<InFlight> launch_through_host(ep::Stream& queue, ArrayCall& call) {
  note_host_operation(call.args.name);
  auto copies = std::make_shared<HostCopies>();
  std::vector<ArrayView>& operands = call.args.operands;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Extent extent = extent_of(operands[i]);
    const bool written = static_cast<int>(i) >= call.args.inputs;
    if (operands[i].data) copies->add(&operands[i].data, extent.low, extent.high, written);
  }
  return HostCopies::around(queue, std::move(copies), [&] {
    ArrayCall* in_place = &call;
    queue.launch({run_on_queue, &in_place, sizeof(in_place), call.work});
  });
}

/// False: there is no kernel for it.
bool launch_on_device(ep::Stream& queue, const ArrayCall& call,
                      std::shared_ptr<InFlight>* in_flight) {
  if (!call.kernel->on_device || !call.by_device) return false;
  cuda::Launching launching(queue, call.args.name);
  const bool launched = cuda::launch(launching, call.kernel->on_device, call.args);
  *in_flight = launching.kept();
  return launched;
}

}  // namespace

const ArrayKernel& array_kernel(const std::string& name) {
  for (const ArrayKernel& kernel : kArrayKernels) {
    if (name == kernel.name) return kernel;
  }
  fail(ErrorKind::runtime, "[array_kernel] there is no kernel named ", name);
}

std::shared_ptr<InFlight> launch(ep::Stream& queue, ArrayCall& call) {
  ep::Device& device = queue.device();
  if (!device.runs_host_kernels()) {
    std::shared_ptr<InFlight> in_flight;
    if (launch_on_device(queue, call, &in_flight)) return in_flight;
    return launch_through_host(queue, call);
  }
  for (ArrayView& view : call.args.operands) {
    if (view.data) view.data = static_cast<char*>(device.host_address(view.data));
  }
  call.args.helpers = device.helpers();
  if (device.is_host()) {
    run(call);
    return nullptr;
  }
  ArrayCall* in_place = &call;
  queue.launch({run_on_queue, &in_place, sizeof(in_place), call.work});
  return nullptr;
}

}  // namespace ofl::ops
