#include "driver/table.h"

#include <pthread.h>

#include <cstring>
#include <mutex>

#include "driver/api.h"
#include "driver/capture.h"
#include "driver/context.h"
#include "driver/control.h"
#include "driver/entry.h"

#define SIMCUDA_EXPORT extern "C" __attribute__((visibility("default")))

namespace simcuda {
namespace {

/// One interface: a name may have several, that appeared with different versions of CUDA.
struct Row {
  const char* name;
  int version;
  Needs needs;
  void* function;  // nullptr: callers may ask for it, and the simulation does not have it
  Door* door;
};

template <auto implementation>
Row row(const char* name, int version, Needs needs = Needs::initialization) {
  using Function = Entry<implementation>;
  return {name, version, needs, reinterpret_cast<void*>(&Function::call), &Function::door};
}

template <auto implementation>
Row unsafe(const char* name, int version) {
  return row<implementation>(name, version, Needs::no_capture);
}

Row missing(const char* name, int version) {
  return {name, version, Needs::nothing, nullptr, nullptr};
}

enum Lookup : int { kFound = 0, kNoSuchSymbol = 1, kNoSuchVersion = 2 };

int get_proc_address(const char* name, void** function, int version, uint64_t flags, int* status);

int get_export_table(const void** table, const void*) {
  if (table) *table = nullptr;  // NVRTC asks for one whenever there is a driver
  return ERROR_NOT_FOUND;
}

const std::vector<Row>& rows() {
  constexpr Needs kNothing = Needs::nothing;
  static const std::vector<Row> table = {
      row<api::init>("cuInit", 2000, Needs::a_sound_caller),
      row<api::driver_version>("cuDriverGetVersion", 2020, kNothing),
      row<api::error_name>("cuGetErrorName", 6000, kNothing),
      row<api::error_string>("cuGetErrorString", 6000, kNothing),
      {"cuGetProcAddress", 12000, kNothing, reinterpret_cast<void*>(&get_proc_address), nullptr},
      {"cuGetExportTable", 3000, kNothing, reinterpret_cast<void*>(&get_export_table), nullptr},
#include "driver/rows.inc"
  };
  return table;
}

/// Doors get their names before anyone can get a function.
void name_doors() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const Row& row : rows()) {
      if (!row.door) continue;
      row.door->name = row.name;
      row.door->needs = row.needs;
    }
  });
}

/// The newest interface of `name` that is not newer than `version`.
const Row* find(const char* name, int version, Lookup* status) {
  const Row* best = nullptr;
  *status = kNoSuchSymbol;
  for (const Row& row : rows()) {
    if (std::strcmp(row.name, name) != 0) continue;
    if (*status == kNoSuchSymbol) *status = kNoSuchVersion;
    if (row.version <= version && (!best || row.version > best->version)) best = &row;
  }
  if (best && !best->function) best = nullptr;
  if (best) *status = kFound;
  return best;
}

int get_proc_address(const char* name, void** function, int version, uint64_t flags, int* status) {
  constexpr uint64_t kKnownFlags = 3;  // legacy or per-thread default stream
  if (!name || !function || (flags & ~kKnownFlags)) return ERROR_INVALID_VALUE;
  name_doors();
  Lookup lookup = kFound;
  const Row* const row = find(name, version, &lookup);
  *function = row ? row->function : nullptr;
  if (status) *status = lookup;
  return row ? SUCCESS : ERROR_NOT_FOUND;
}

// --- The door

enum class Life : int { running, in_forked_child, ended };
std::atomic<Life> life{Life::running};

/// A child of a process that used CUDA has no driver. Said before main, so also with no CUDA call.
__attribute__((constructor)) void watch_forks() {
  pthread_atfork(nullptr, nullptr, [] {
    if (is_initialized()) life = Life::in_forked_child;
  });
}

/// Exit handlers that come later find the driver closed, as they do on a machine with a device.
__attribute__((destructor)) void end() { life = Life::ended; }

}  // namespace

bool& is_in_host_function() {
  thread_local bool is_in = false;
  return is_in;
}

namespace {

/// Busy, as a thread in the driver is.
void spend(int64_t ns) {
  const auto end = Clock::now() + std::chrono::nanoseconds(ns);
  while (Clock::now() < end) {
  }
}

}  // namespace

Result enter(Door& door) {
  if (const int64_t ns = door.cost_ns.load(std::memory_order_relaxed)) spend(ns);
  if (door.needs == Needs::nothing) return SUCCESS;
  if (life == Life::in_forked_child) return ERROR_NOT_INITIALIZED;
  if (life == Life::ended) return ERROR_DEINITIALIZED;
  if (is_in_host_function()) return ERROR_NOT_PERMITTED;
  door.calls.fetch_add(1, std::memory_order_relaxed);
  const Result injected = faults().on_call(door.name);
  if (injected != SUCCESS) return injected;
  if (door.needs >= Needs::initialization && !is_initialized()) return ERROR_NOT_INITIALIZED;
  if (door.needs == Needs::no_capture) captures().require_safe_thread();
  return SUCCESS;
}

std::vector<std::pair<std::string, int64_t>> call_counts() {
  std::vector<std::pair<std::string, int64_t>> counts;
  const char* previous = "";
  for (const Row& row : rows()) {
    const bool is_new = row.door && row.door->calls > 0 && std::strcmp(previous, row.name) != 0;
    if (is_new) counts.emplace_back(row.name, row.door->calls);
    if (row.door) previous = row.name;
  }
  return counts;
}

bool set_call_cost(const std::string& name, int64_t ns) {
  bool is_known = false;
  for (const Row& row : rows()) {
    if (!row.door || name != row.name) continue;
    row.door->cost_ns.store(ns, std::memory_order_relaxed);
    is_known = true;
  }
  return is_known;
}

}  // namespace simcuda

SIMCUDA_EXPORT int cuGetProcAddress_v2(const char* name, void** function, int version,
                                       uint64_t flags, int* status) {
  return simcuda::get_proc_address(name, function, version, flags, status);
}

SIMCUDA_EXPORT int cuGetExportTable(const void** table, const void* id) {
  return simcuda::get_export_table(table, id);
}
