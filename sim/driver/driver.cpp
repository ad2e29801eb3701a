// Devices of the process, current contexts of its threads.
#include <pthread.h>

#include <cstdio>

#include "driver/capture.h"
#include "driver/config.h"
#include "driver/context.h"

namespace simcuda {
namespace {

/// Lives as long as the process: threads of streams and exit handlers may come after static
/// destructors.
struct Driver {
  std::mutex mutex;  // guards the first initialization
  std::vector<std::unique_ptr<Context>> contexts;
  std::atomic<bool> is_initialized{false};
};

Driver& driver() {
  static Driver* const instance = new Driver;
  return *instance;
}

}  // namespace

uint64_t next_handle_number() {
  static std::atomic<uint64_t> counter{1};
  return counter.fetch_add(1, std::memory_order_relaxed);
}

HandleTable<Stream>& streams() {
  static auto* const table = new HandleTable<Stream>;
  return *table;
}

HandleTable<Event>& events() {
  static auto* const table = new HandleTable<Event>;
  return *table;
}

Stream::Stream(Context& owner, unsigned stream_flags, int stream_priority)
    : context(owner),
      flags(stream_flags),
      priority(stream_priority),
      id(next_handle_number()),
      queue(std::make_shared<Queue>(static_cast<uint64_t>(config().seed) * 1000003 + id)) {
  queue->start();
}

void initialize() {
  Driver& d = driver();
  std::lock_guard lock(d.mutex);
  if (d.is_initialized) return;
  require(config().devices > 0, ERROR_NO_DEVICE);
  for (int i = 0; i < config().devices; ++i) {
    d.contexts.push_back(std::make_unique<Context>(i, static_cast<size_t>(config().memory)));
  }
  d.is_initialized = true;
}

bool is_initialized() { return driver().is_initialized; }

int device_count() { return static_cast<int>(driver().contexts.size()); }

Context& device_context(int device) {
  require(device >= 0 && device < device_count(), ERROR_INVALID_DEVICE);
  return *driver().contexts[static_cast<size_t>(device)];
}

Context& context_of(Handle handle) {
  for (const auto& context : driver().contexts) {
    if (context->handle() == handle) return *context;
  }
  fail(ERROR_INVALID_CONTEXT);
}

std::vector<Context*>& context_stack() {
  thread_local std::vector<Context*> stack;
  return stack;
}

Context* current_or_null() { return context_stack().empty() ? nullptr : context_stack().back(); }

Context& current_context() {
  Context* const context = current_or_null();
  require(context != nullptr, ERROR_INVALID_CONTEXT);
  context->check();
  return *context;
}

std::shared_ptr<Stream> stream_of(Handle handle) {
  Context& current = current_context();
  if (handle == kNullStream || handle == kLegacyStream || handle == kPerThreadStream) {
    captures().require_legacy_usable(current, true);
    return current.null_stream();
  }
  auto stream = streams().get(handle);
  stream->context.check();
  return stream;
}

}  // namespace simcuda
