#include "ops/through_host.h"

#include <algorithm>
#include <mutex>
#include <set>

namespace ofl::ops {

namespace {

struct HostOperations {
  std::mutex mutex;  // guards the rest
  std::set<std::string> names;
  std::function<void(const char*)> hook;
};

HostOperations& noted() {
  static HostOperations* the_operations = new HostOperations;  // workers may outlive statics
  return *the_operations;
}

}  // namespace

void note_host_operation(const char* name) {
  std::function<void(const char*)> hook;
  {
    std::lock_guard<std::mutex> lock(noted().mutex);
    if (!noted().names.insert(name).second) return;
    hook = noted().hook;
  }
  if (hook) hook(name);
}

void set_host_operation_hook(std::function<void(const char* name)> hook) {
  std::lock_guard<std::mutex> lock(noted().mutex);
  noted().hook = std::move(hook);
}

std::vector<std::string> host_operations() {
  std::lock_guard<std::mutex> lock(noted().mutex);
  return {noted().names.begin(), noted().names.end()};
}

void HostCopies::add(char** data, Extent extent, bool written) {
  if (extent.low == extent.high) return;
  operands_.push_back({data, *data + extent.low, *data + extent.high, written});
}

void HostCopies::fetch(ep::Stream& queue) {
  std::sort(operands_.begin(), operands_.end(),
            [](const Operand& a, const Operand& b) { return a.begin < b.begin; });
  for (const Operand& operand : operands_) {
    if (blocks_.empty() || operand.begin >= blocks_.back().device + blocks_.back().bytes) {
      blocks_.push_back({operand.begin, 0, false, {}});
    }
    Block& block = blocks_.back();
    const auto bytes = static_cast<size_t>(operand.end - block.device);
    block.bytes = std::max(block.bytes, bytes);
    block.written = block.written || operand.written;
  }
  for (Block& block : blocks_) {
    block.memory = queue.device().staging().lease(block.bytes);
    queue.copy(block.memory.data(), block.device, block.bytes, ep::CopyKind::d2h);
  }
  for (const Operand& operand : operands_) {
    const auto after = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& block) {
      return operand.begin < block.device + block.bytes;
    });
    *operand.data = after->memory.data() + (*operand.data - after->device);
  }
}

void HostCopies::store(ep::Stream& queue) {
  for (const Block& block : blocks_) {
    if (!block.written) continue;
    queue.copy(block.device, block.memory.data(), block.bytes, ep::CopyKind::h2d);
  }
}

}  // namespace ofl::ops
