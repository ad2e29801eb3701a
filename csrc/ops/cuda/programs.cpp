#include "ops/cuda/programs.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <utility>

#include "ops/cuda/background.h"

namespace ofl::ops::cuda {

namespace {

/// How often a key has been asked for when it is worth a kernel.
constexpr int kWorthMaking = 2;

struct Settings {
  std::atomic<bool> used{true};
  std::mutex mutex;  // guards the rest
  KernelMaker maker;
  std::function<void(const char*)> failure_hook;
};

Settings& settings() {
  static Settings* the_settings = new Settings;  // workers may outlive statics
  return *the_settings;
}

/// "" where there is none for it.
std::string make_image(const KernelRequest& request, const std::string& architecture) {
  KernelMaker maker;
  {
    std::lock_guard<std::mutex> lock(settings().mutex);
    maker = settings().maker;
  }
  return maker ? maker(request, architecture) : "";
}

/// Has it made and loaded; null: there is none for it.
void* load(ep::Device& device, const KernelRequest& request) {
  const std::string image = make_image(request, device.architecture());
  return image.empty() ? nullptr : device.load_kernel(image, request.entry().c_str());
}

void note_failed_kernel(const Error& error) {
  std::function<void(const char*)> hook;
  {
    std::lock_guard<std::mutex> lock(settings().mutex);
    hook = settings().failure_hook;
  }
  if (hook) hook(error.what());
}

}  // namespace

std::string KernelRequest::entry() const {
  constexpr size_t kLongest = 100;
  std::string name = "ofl_" + kind;
  const auto add = [&name](const std::string& words) {
    if (words.empty()) return;
    if (name.back() != '_') name += '_';
    for (const char c : words) {
      if (std::isalnum(static_cast<unsigned char>(c))) {
        name += c;
      } else if (name.back() != '_') {
        name += '_';
      }
    }
  };
  add(op);
  for (auto dtype = dtypes.begin(); dtype != dtypes.end(); ++dtype) {
    if (std::find(dtypes.begin(), dtype, *dtype) == dtype) add(info(*dtype).name);
  }
  name.resize(std::min(name.size(), kLongest));
  return name;
}

void set_kernel_maker(KernelMaker maker) {
  std::lock_guard<std::mutex> lock(settings().mutex);
  settings().maker = std::move(maker);
}

void set_kernel_failure_hook(std::function<void(const char* message)> hook) {
  std::lock_guard<std::mutex> lock(settings().mutex);
  settings().failure_hook = std::move(hook);
}

void use_kernels(bool on) { settings().used.store(on, std::memory_order_relaxed); }
bool uses_kernels() { return settings().used.load(std::memory_order_relaxed); }

ProgramMap::Table& ProgramMap::table_of(const ep::Device& device) {
  for (Table& table : tables_) {
    if (table.device == &device) return table;
  }
  return tables_.emplace_back(Table{&device, {}});
}

ProgramMap::Entry& ProgramMap::entry_of(const ep::Device& device, std::string_view key) {
  auto& entries = table_of(device).entries;
  const auto found = entries.find(key);
  if (found != entries.end()) return *found->second;
  auto made = std::make_unique<Entry>(key);
  const std::string_view own_key = made->key;
  return *entries.emplace(own_key, std::move(made)).first->second;
}

bool ProgramMap::find(ep::Device& device, std::string_view key, void** function) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto& entries = table_of(device).entries;
  const auto found = entries.find(key);
  if (found == entries.end() || !found->second->known) return false;
  *function = found->second->function;
  return true;
}

void* ProgramMap::make(ep::Device& device, std::string_view key, const KernelRequest& request) {
  void* function = load(device, request);
  std::lock_guard<std::mutex> lock(mutex_);
  Entry& entry = entry_of(device, key);
  if (!std::exchange(entry.known, true)) entry.function = function;
  return entry.function;
}

void* ProgramMap::get_if_ready(ep::Device& device, std::string_view key,
                               const std::function<KernelRequest()>& request) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Entry& entry = entry_of(device, key);
    if (entry.known) return entry.function;
    if (++entry.asked != kWorthMaking) return nullptr;
  }
  make_in_turn(device, key, request());
  return nullptr;
}

void ProgramMap::make_soon(ep::Device& device, std::string_view key,
                           const std::function<KernelRequest()>& request) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Entry& entry = entry_of(device, key);
    if (entry.known || entry.asked >= kWorthMaking) return;
    entry.asked = kWorthMaking;
  }
  make_in_turn(device, key, request());
}

/// In the background.
void ProgramMap::make_in_turn(ep::Device& device, std::string_view key,
                              const KernelRequest& request) {
  make_in_background([this, &device, key = std::string(key), request] {
    void* function = nullptr;
    try {
      function = load(device, request);
    } catch (const Error& error) {
      note_failed_kernel(error);
    }
    std::lock_guard<std::mutex> publishing(publishing_mutex());
    put(device, key, function);
  });
}

// The maker keeps the image: the thread that launches it loads it. Where an image cannot be made,
// the call that wants it asks again, and fails or runs in another way.
void* ProgramMap::rehearse(ep::Device& device, std::string_view key,
                           const std::function<KernelRequest()>& request) {
  {
    std::lock_guard<std::mutex> publishing(publishing_mutex());
    std::lock_guard<std::mutex> lock(mutex_);
    Entry& entry = entry_of(device, key);
    if (entry.known) return entry.function;
    if (std::exchange(entry.rehearsed, true)) return this;
  }
  return make_image(request(), device.architecture()).empty() ? nullptr : this;
}

void ProgramMap::put(ep::Device& device, const std::string& key, void* function) {
  std::lock_guard<std::mutex> lock(mutex_);
  Entry& entry = entry_of(device, key);
  entry.function = function;
  entry.known = true;
}

}  // namespace ofl::ops::cuda
