#include "driver/control.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sstream>
#include <string>

#include "driver/api.h"
#include "driver/capture.h"
#include "driver/config.h"
#include "driver/context.h"
#include "driver/graph.h"
#include "driver/memory.h"
#include "driver/modules.h"
#include "driver/table.h"

#define SIMCUDA_EXPORT __attribute__((visibility("default")))

namespace simcuda {
namespace {

void write_rows(std::ostringstream& out, const char* group,
                const std::vector<std::pair<std::string, int64_t>>& rows) {
  out << '"' << group << "\": {";
  for (size_t i = 0; i < rows.size(); ++i) {
    out << (i ? ", \"" : "\"") << rows[i].first << "\": " << rows[i].second;
  }
  out << '}';
}

template <typename Object, typename Predicate>
int64_t count_if(HandleTable<Object>& table, const Predicate& predicate) {
  int64_t count = 0;
  table.for_each([&](const std::shared_ptr<Object>& object) { count += predicate(*object); });
  return count;
}

bool is_urgent(const Stream& stream) { return stream.priority < 0; }
bool is_blocking(const Event& event) { return event.flags & kEventBlockingSync; }
bool is_timed(const Event& event) { return !(event.flags & kEventDisableTiming); }

std::string counters() {
  int64_t active = 0;
  int64_t used = 0;
  for (int i = 0; i < device_count(); ++i) {
    active += device_context(i).is_active();
    used += static_cast<int64_t>(device_context(i).capacity().used());
  }
  const auto size = [](size_t count) { return static_cast<int64_t>(count); };
  std::ostringstream out;
  out << '{';
  write_rows(out, "calls", call_counts());
  out << ", ";
  write_rows(out, "live",
             {{"contexts", active},
              {"streams", size(streams().size())},
              {"streams of high priority", count_if(streams(), is_urgent)},
              {"events", size(events().size())},
              {"timed events", count_if(events(), is_timed)},
              {"blocking events", count_if(events(), is_blocking)},
              {"modules", size(modules().size())},
              {"libraries", size(libraries().size())},
              {"graphs", size(graphs().size())},
              {"executables", size(executables().size())},
              {"allocations", size(memory_map().count(BlockKind::device))},
              {"pinned", size(memory_map().count(BlockKind::pinned))},
              {"registered", size(memory_map().count(BlockKind::registered))},
              {"bytes", used}});
  out << ", ";
  write_rows(out, "run",
             {{"kernels", work_count(WorkKind::kernel)},
              {"copies", work_count(WorkKind::copy)},
              {"fills", work_count(WorkKind::fill)}});
  out << '}';
  return out.str();
}

/// Applies it, once; what is wrong with it.
const std::string& environment_problem() {
  static std::once_flag once;
  static std::string problem;
  std::call_once(once, [] {
    const char* const text = std::getenv("ONEFLOW_LITE_CUDA_SIM");
    if (!text) return;
    problem = configure(text, false);
    if (problem.empty()) return;
    problem.insert(0, "ONEFLOW_LITE_CUDA_SIM: ");
    std::fprintf(stderr, "simcuda: %s\n", problem.c_str());
  });
  return problem;
}

}  // namespace

bool read_environment() { return environment_problem().empty(); }

}  // namespace simcuda

using simcuda::Failure;

SIMCUDA_EXPORT const char* simcuda_configure(const char* text) {
  thread_local std::string problem;
  problem = simcuda::environment_problem();
  if (problem.empty()) problem = simcuda::configure(text ? text : "", simcuda::is_initialized());
  return problem.empty() ? nullptr : problem.c_str();
}

SIMCUDA_EXPORT void simcuda_reset_faults() { simcuda::faults().reset(); }

SIMCUDA_EXPORT int simcuda_planned_failure(const char* name) {
  return simcuda::faults().on_call(name);
}

SIMCUDA_EXPORT size_t simcuda_counters(char* buffer, size_t capacity) {
  const std::string text = simcuda::counters();
  if (buffer && capacity) std::snprintf(buffer, capacity, "%s", text.c_str());
  return text.size() + 1;
}

SIMCUDA_EXPORT int simcuda_enqueue(void* handle, const SimWork* work) try {
  const std::shared_ptr<void> data(work->data, work->release);
  const auto stream = simcuda::stream_of(handle);
  simcuda::Context& context = stream->context;
  auto operation = [&context, run = work->run, data] {
    const char* const problem = run(data.get());
    if (problem) context.kill(simcuda::ERROR_ILLEGAL_ADDRESS, problem);
  };
  if (!stream->is_capturing()) {
    context.submit(*stream, simcuda::WorkKind::kernel, std::move(operation));
    return simcuda::SUCCESS;
  }
  if (!work->is_repeatable) {
    simcuda::captures().refuse(*stream, simcuda::ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
  using simcuda::NodeType;
  simcuda::captures().add(*stream, simcuda::task(NodeType::kernel, context, std::move(operation)));
  return simcuda::SUCCESS;
} catch (const Failure& failure) {
  return failure.code;
}

SIMCUDA_EXPORT void* simcuda_take_memory(size_t bytes) try {
  simcuda::captures().require_safe_thread();
  return new simcuda::Room(simcuda::current_context().take_room(bytes));
} catch (const Failure&) {
  return nullptr;
}

SIMCUDA_EXPORT size_t simcuda_library_bytes() {
  return static_cast<size_t>(simcuda::config().library);
}

SIMCUDA_EXPORT void simcuda_give_back(void* memory) { delete static_cast<simcuda::Room*>(memory); }

SIMCUDA_EXPORT void* simcuda_host_address(unsigned long long pointer, size_t bytes) {
  return simcuda::memory_map().find(pointer, bytes) ? simcuda::host_address(pointer) : nullptr;
}

SIMCUDA_EXPORT int simcuda_current_device() {
  const simcuda::Context* const context = simcuda::current_or_null();
  return context ? context->device() : -1;
}
