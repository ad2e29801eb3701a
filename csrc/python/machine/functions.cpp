// The machine, its devices and its options, as module functions.
#include "python/bind.h"

#include <pybind11/stl.h>

#include "base/cost.h"
#include "base/pause.h"
#include "ep/memory/caching_allocator.h"
#include "ep/memory/staging_pool.h"
#include "ep/registry.h"
#include "ep/threads/crowding.h"
#include "ep/threads/helper_pool.h"
#include "python/arguments.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/issue_site.h"
#include "python/machine/device_object.h"
#include "python/ops/registry.h"
#include "python/runtime.h"
#include "python/tensor/object.h"
#include "tensor/submit.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

struct NoopBody {
  void launch(vm::LaunchContext&) {}
};

const vm::InstructionType kNoopType = {
    "no-op",
    [](void*, vm::LaunchContext&) {},
    [](void*, vm::Stream&, uint64_t) {},
    [](void*, const vm::FailurePtr&) {},
    [](const void*, vm::Description*) {},
};

/// Two reads and a write each, like the addition of two tensors.
struct NoopProgram {
  vm::Dependence inputs[2];
  vm::Dependence outputs[256];
  size_t next = 0;

  void issue(bool inline_here) {
    vm::VirtualMachine& machine = runtime().machine;
    const vm::Operand operands[3] = {{&inputs[0], vm::Access::read},
                                     {&inputs[1], vm::Access::read},
                                     {&outputs[next++ % 256], vm::Access::write}};
    if (inline_here) {
      vm::InlineScope here(machine.window(), operands, 3);
      return;
    }
    vm::Instruction header;
    header.type = &kNoopType;
    header.name = "no-op";
    header.stream = &machine.stream(Device{}, vm::StreamType::compute);
    machine.issue(header, operands, 3, NoopBody{});
  }
};

NoopProgram& noop_program() {
  static NoopProgram* program = new NoopProgram;
  return *program;
}

double run_noops(int64_t count, bool inline_here) {
  const int64_t begin = now_ns();
  NoopProgram& program = noop_program();
  for (int64_t i = 0; i < count; ++i) program.issue(inline_here);
  runtime().machine.drain(std::nullopt);
  return static_cast<double>(now_ns() - begin) * 1e-9;
}

py::dict stats() {
  const vm::Stats s = runtime().machine.stats();
  py::dict streams;
  for (const auto& stream : s.streams) {
    py::dict row;
    row["retired"] = stream.retired;
    row["stream_waits"] = stream.counters.waits;
    row["stream_waits_elided"] = stream.counters.waits_elided;
    row["events_recorded"] = stream.counters.events;
    streams[py::str(stream.name)] = row;
  }
  py::dict result;
  result["issued"] = s.issued;
  result["inlined"] = s.inlined;
  result["retired"] = s.retired;
  result["in_flight"] = s.in_flight;
  result["failed"] = s.failures;
  result["host_waits"] = s.host_waits;
  result["stream_waits"] = s.total.waits;
  result["stream_waits_elided"] = s.total.waits_elided;
  result["events_recorded"] = s.total.events;
  result["fused_groups"] = s.total.groups;
  result["fused_instructions"] = s.total.grouped;
  result["fused_results"] = s.total.saved_results;
  result["fused_bytes"] = s.total.saved_bytes;
  result["streams"] = streams;
  return result;
}

template <typename Value, typename Apply>
void set_if(const std::optional<Value>& value, const Apply& apply) {
  if (value) apply(*value);
}

vm::Fusion fusion_of(const std::string& mode) {
  if (mode == "0") return vm::Fusion::never;
  if (mode == "1") return vm::Fusion::where_it_pays;
  if (mode == "always") return vm::Fusion::always;
  fail(ErrorKind::value, "[configure] fusion must be 0, 1 or always, got ", mode);
}

Implicit implicit_of(const char* flag, const std::string& mode) {
  if (mode == "allow") return Implicit::allow;
  if (mode == "warn") return Implicit::warn;
  if (mode == "error") return Implicit::error;
  fail(ErrorKind::value, "[configure] ", flag, " must be allow, warn or error, got ", mode);
}

void configure(std::optional<bool> sync, std::optional<int64_t> max_in_flight,
               std::optional<int64_t> max_bytes, std::optional<double> hang_timeout,
               std::optional<int64_t> memory_limit, const std::optional<std::string>& implicit_sync,
               std::optional<int> num_threads, std::optional<bool> standard_values,
               const std::optional<std::string>& fusion, std::optional<double> inline_seconds,
               std::optional<bool> watches_cores, std::optional<int> engine_threads,
               std::optional<double> ccl_timeout,
               const std::optional<std::string>& implicit_boxing) {
  vm::Options& options = runtime().machine.options();
  if ((max_in_flight && *max_in_flight < 1) || (max_bytes && *max_bytes < 1)) {
    fail(ErrorKind::value, "[configure] bounds of the window must be positive");
  }
  if (num_threads && *num_threads < 1) {
    fail(ErrorKind::value, "[configure] num_threads must be positive, got ", *num_threads);
  }
  set_if(num_threads, [&](int n) {
    runtime().machine.state(Device{}).device.helpers()->set_threads(n);
    OneCore::note_cores(n);
  });
  if (engine_threads && *engine_threads < 1) {
    fail(ErrorKind::value, "[configure] engine_threads must be positive, got ", *engine_threads);
  }
  set_if(engine_threads, [](int n) { runtime().machine.set_pool_threads(n); });
  set_if(watches_cores, [&](bool on) {
    runtime().machine.state(Device{}).device.helpers()->crowding().set_watched(on);
  });
  set_if(standard_values, [](bool on) {
    set_standard_values(on);
    ++runtime().settings;
  });
  set_if(sync, [&](bool on) { set_naive(NaiveReason::sync, on); });
  set_if(fusion, [&](const std::string& mode) { options.fusion.store(fusion_of(mode)); });
  set_if(inline_seconds, [&](double s) { options.inline_cost.store(s * 1e9 / kAdditionNs); });
  set_if(max_in_flight, [&](int64_t n) { options.max_in_flight.store(n); });
  set_if(max_bytes, [&](int64_t n) { options.max_bytes.store(n); });
  set_if(hang_timeout, [&](double s) { options.hang_timeout.store(s); });
  set_if(ccl_timeout, [&](double s) { options.ccl_timeout.store(s); });
  set_if(memory_limit, [&](int64_t n) { set_memory_limit(static_cast<size_t>(n)); });
  set_if(implicit_sync, [](const std::string& mode) {
    runtime().implicit_sync.store(implicit_of("implicit_sync", mode));
  });
  set_if(implicit_boxing, [](const std::string& mode) {
    runtime().implicit_boxing.store(implicit_of("implicit_boxing", mode));
  });
}

py::dict memory_stats(Device device) {
  ep::Device& backend = runtime().machine.state(device).device;
  const ep::AllocatorStats s = backend.allocator().stats();
  const ep::MemoryInfo memory = backend.memory_info();
  py::dict result;
  result["in_use"] = s.in_use;
  result["cached"] = s.cached;
  result["peak_in_use"] = s.peak_in_use;
  result["peak_held"] = s.peak_held;
  result["allocs"] = s.allocs;
  result["cache_hits"] = s.cache_hits;
  result["device_allocs"] = s.device_allocs;
  result["staging"] = backend.staging().leased();
  result["events_leased"] = backend.events().leased();
  result["limit"] = runtime().memory_limit.load();
  result["capacity"] = memory.capacity;
  result["held"] = memory.held;
  return result;
}

size_t empty_cache(std::optional<Device> device) {
  std::vector<ep::Device*> backends = known_devices();
  if (device) backends = {&runtime().machine.state(*device).device};
  size_t released = 0;
  for (ep::Device* backend : backends) {
    released += backend->release_caches();
  }
  return released;
}

/// The machine first: its workers use what the backends end. Where that was interrupted, they go
/// on.
void shutdown() {
  runtime().machine.shutdown();
  GilHooks hooks;
  void* const token = hooks.release();
  for (const ep::Backend& row : ep::backends()) {
    if (row.leave) row.leave();
  }
  hooks.acquire(token);
}

/// Of a Device, or None: all.
PyObject* synchronize_function(Arguments arguments) {
  std::optional<Device> device;
  if (arguments[0] != Py_None && !(device = device_or_none(arguments[0]))) {
    fail(ErrorKind::type, "[synchronize] a Device is expected");
  }
  refuse_while_recording("synchronize",
                         "results of a program are waited for when they are looked at; do it "
                         "outside of the function, before or after its call");
  runtime().machine.synchronize(device);
  Py_RETURN_NONE;
}

/// The exception that a look at a tensor raises, or None; waits for its last write.
/// failure(x, method)
PyObject* failure_function(Arguments given) {
  const char* const method = name_argument(given[1]);
  PyObject* const exception = failure_of(require_tensor(given[0], method), method);
  return exception ? exception : Py_NewRef(Py_None);
}

PyObject* default_device_of(Arguments) { return device_object(default_device()); }

}  // namespace

void bind_machine_functions(py::module_& m) {
  static PyMethodDef often[] = {positional<synchronize_function, 1>("synchronize"),
                                positional<default_device_of, 0>("get_default_device"),
                                positional<failure_function, 2>("failure"),
                                {nullptr, nullptr, 0, nullptr}};
  if (PyModule_AddFunctions(m.ptr(), often) < 0) throw PythonErrorSet{};
  m.def("barrier", [] {
    refuse_while_recording("barrier",
                           "a program has an order of its own, by its data and its effects; do it "
                           "outside of the function, or order two operations by a tensor that one "
                           "writes and the other one reads");
    runtime().machine.barrier(capture_site());
  });
  m.def("dump", [] { return runtime().machine.dump(); });
  m.def("stats", &stats);
  m.def("noop", &run_noops);
  m.def("issue_noop", [] { noop_program().issue(false); });
  m.def("configure", &configure, py::kw_only(), py::arg("sync") = py::none(),
        py::arg("max_in_flight") = py::none(), py::arg("max_bytes_in_flight") = py::none(),
        py::arg("hang_timeout") = py::none(), py::arg("memory_limit") = py::none(),
        py::arg("implicit_sync") = py::none(), py::arg("num_threads") = py::none(),
        py::arg("standard_values") = py::none(), py::arg("fusion") = py::none(),
        py::arg("inline_seconds") = py::none(), py::arg("watches_cores") = py::none(),
        py::arg("engine_threads") = py::none(), py::arg("ccl_timeout") = py::none(),
        py::arg("implicit_boxing") = py::none());
  m.attr("COMPUTE_LANES") = vm::kComputeLanes;
  m.attr("CALLERS_LANE") = kCallersLane;
  m.def("exchange_lane", [](int lane) {
    if (lane < kCallersLane || lane >= vm::kComputeLanes) {
      fail(ErrorKind::value, "[exchange_lane] expected a lane from ", kCallersLane, " to ",
           vm::kComputeLanes - 1, ", got ", lane);
    }
    return exchange_lane(lane);
  });
  m.def("set_process_device", &set_process_device);
  m.def("exchange_thread_device", &exchange_thread_device);
  m.def("memory_stats", &memory_stats);
  m.def("empty_cache", &empty_cache);
  m.def("set_package_dir", &set_package_dir);
  m.def("set_exception_maker", [](const py::function& again) { set_exception_maker(again.ptr()); });
  m.def("shutdown", &shutdown);
}

}  // namespace ofl::python
