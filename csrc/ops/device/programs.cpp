#include "ops/device/programs.h"

#include <atomic>

namespace ofl::ops::device {

namespace {

struct Settings {
  std::atomic<bool> used{true};
  std::mutex mutex;  // guards the rest
  KernelMaker maker;
};

Settings& settings() {
  static Settings* the_settings = new Settings;  // workers may outlive statics
  return *the_settings;
}

KernelMaker current_maker() {
  std::lock_guard<std::mutex> lock(settings().mutex);
  return settings().maker;
}

}  // namespace

void set_kernel_maker(KernelMaker maker) {
  std::lock_guard<std::mutex> lock(settings().mutex);
  settings().maker = std::move(maker);
}

void use_kernels(bool on) { settings().used.store(on, std::memory_order_relaxed); }
bool uses_kernels() { return settings().used.load(std::memory_order_relaxed); }

bool ProgramMap::find(ep::Device& device, std::string_view key, void** function) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto& functions = functions_[&device];
  const auto found = functions.find(std::string(key));
  if (found == functions.end()) return false;
  *function = found->second;
  return true;
}

void* ProgramMap::make(ep::Device& device, std::string_view key, const KernelRequest& request) {
  const KernelMaker maker = current_maker();
  const std::string image = maker ? maker(request, device.architecture()) : "";
  void* function = image.empty() ? nullptr : device.load_kernel(image, "kernel");
  std::lock_guard<std::mutex> lock(mutex_);
  return functions_[&device].emplace(std::string(key), function).first->second;
}

}  // namespace ofl::ops::device
