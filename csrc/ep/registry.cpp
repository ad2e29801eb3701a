#include "ep/registry.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <mutex>

#include "base/error.h"

namespace ofl::ep {

namespace {

std::mutex entering;  // guards writing a row
Backend rows[kMaxDeviceTypes];
std::atomic<int> row_count{0};  // the rows below it are never written again

void require_usable(const Backend& row) {
  if (row.version != Backend::kVersion) {
    fail(ErrorKind::value, "[register_backend] expected a row of version ", Backend::kVersion,
         ", got ", row.version, "; build it with the headers of this version");
  }
  const std::string name = row.name ? row.name : "";
  const auto is_letter = [](unsigned char c) { return std::islower(c) != 0; };
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_letter)) {
    fail(ErrorKind::value, "[register_backend] expected a name of small letters, got \"", name,
         "\"");
  }
  if (!row.count || !row.make || (row.has_interop && !row.owner)) {
    fail(ErrorKind::value, "[register_backend] the row of \"", name, "\" lacks a function");
  }
  if (find_backend(name)) {
    fail(ErrorKind::value, "[register_backend] there is a backend named \"", name, "\"");
  }
}

}  // namespace

DeviceType register_backend(const Backend& row) {
  std::lock_guard<std::mutex> lock(entering);
  require_usable(row);
  const int place = row_count.load(std::memory_order_relaxed);
  if (place == kMaxDeviceTypes) {
    fail(ErrorKind::value, "[register_backend] there is no place for \"", row.name, "\" beside ",
         kMaxDeviceTypes, " other types");
  }
  rows[place] = row;
  rows[place].type = static_cast<DeviceType>(place);
  device_type_names[place] = row.name;
  row_count.store(place + 1, std::memory_order_release);
  return rows[place].type;
}

BackendRange backends() { return {rows, rows + row_count.load(std::memory_order_acquire)}; }

const Backend& backend_of(DeviceType type) { return rows[static_cast<int>(type)]; }

const Backend* find_backend(const std::string& name) {
  for (const Backend& row : backends()) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

std::optional<ofl::Device> owner_of(const void* ptr) {
  for (const Backend& row : backends()) {
    const int index = row.owner ? row.owner(ptr) : -1;
    if (index >= 0) return ofl::Device{row.type, static_cast<int16_t>(index)};
  }
  return std::nullopt;
}

}  // namespace ofl::ep
