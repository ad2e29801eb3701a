#include "ops/launch.h"

#include <new>

#include "ops/cuda/launching.h"
#include "ops/cuda/programs.h"
#include "ops/through_host.h"

namespace ofl::ops {

namespace {

/// A call on its way to a queue.
template <typename Args>
struct Queued {
  std::optional<Error>* async_error;
  Args args;

  void run_on_queue() {
    try {
      run(args);
    } catch (const Error& error) {
      async_error->emplace(error);
    } catch (const std::bad_alloc&) {
      async_error->emplace(ErrorKind::out_of_memory, "out of host memory");
    } catch (const std::exception& error) {
      async_error->emplace(ErrorKind::runtime, error.what());
    }
  }
};

struct KeptCall final : InFlight {
  explicit KeptCall(Queued<ArrayArgs>&& call) : call(std::move(call)) {}
  Queued<ArrayArgs> call;
};

/// The queue copies loops as bytes, up to the last valid row.
std::shared_ptr<InFlight> enqueue(ep::Stream& queue, Queued<LoopArgs>&& call) {
  const Iteration& iteration = call.args.iteration;
  const auto* const end = reinterpret_cast<const char*>(iteration.rows + iteration.ndim);
  const auto bytes = static_cast<size_t>(end - reinterpret_cast<const char*>(&call));
  const auto run = [](void* block) { static_cast<Queued<LoopArgs>*>(block)->run_on_queue(); };
  queue.launch({run, &call, bytes, call.args.elements()});
  return nullptr;
}

std::shared_ptr<InFlight> enqueue(ep::Stream& queue, Queued<ArrayArgs>&& call) {
  auto kept = std::make_shared<KeptCall>(std::move(call));
  KeptCall* const place = kept.get();
  const auto run = [](void* block) { (*static_cast<KeptCall**>(block))->call.run_on_queue(); };
  queue.launch({run, &place, sizeof(place), place->call.args.work});
  return kept;
}

template <typename Args>
std::shared_ptr<InFlight> launch_through_host(ep::Stream& queue, Queued<Args>&& call) {
  Args& args = call.args;
  note_host_operation(args.name);
  auto copies = std::make_shared<HostCopies>();
  for (int k = 0; k < args.size(); ++k) {
    if (args.address(k)) copies->add(&args.address(k), args.extent(k), args.is_written(k));
  }
  return HostCopies::around(queue, std::move(copies),
                            [&] { return enqueue(queue, std::move(call)); });
}

/// False: there is no kernel for it, and nothing is enqueued. When something throws, the queue is
/// run to its end first: kernels that are enqueued may still use what the call keeps.
template <typename Args>
bool launch_on_device(ep::Stream& queue, const Args& args, std::shared_ptr<InFlight>* in_flight) {
  const auto launch = args.form().launch;
  cuda::Launching launching(queue, args.name);
  try {
    if (!launch || !launch(launching, args)) return false;
  } catch (...) {
    queue.sync();
    throw;
  }
  *in_flight = launching.kept();
  return true;
}

}  // namespace

bool uses_own_kernels(const ep::Device& device) {
  return !device.runs_host_kernels() && cuda::uses_kernels();
}

template <typename Args>
std::shared_ptr<InFlight> launch(ep::Stream& queue, const KernelCall<Args>& call,
                                 char* const* bases, std::optional<Error>* async_error) {
  Queued<Args> queued{async_error, call.placed([bases](int number) { return bases[number]; })};
  Args& args = queued.args;
  ep::Device& device = queue.device();
  if (!device.runs_host_kernels()) {
    std::shared_ptr<InFlight> in_flight;
    if (call.by_device && launch_on_device(queue, args, &in_flight)) return in_flight;
    return launch_through_host(queue, std::move(queued));
  }
  for (int k = 0; k < args.size(); ++k) {
    char*& data = args.address(k);
    if (data) data = static_cast<char*>(device.host_address(data));
  }
  args.helpers = device.helpers();
  if (!device.is_host()) return enqueue(queue, std::move(queued));
  run(args);
  return nullptr;
}

template std::shared_ptr<InFlight> launch(ep::Stream&, const KernelCall<LoopArgs>&, char* const*,
                                          std::optional<Error>*);
template std::shared_ptr<InFlight> launch(ep::Stream&, const KernelCall<ArrayArgs>&, char* const*,
                                          std::optional<Error>*);

}  // namespace ofl::ops
