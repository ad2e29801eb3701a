// Primary contexts, and which is current.
#include "driver/api.h"
#include "driver/capture.h"
#include "driver/config.h"
#include "driver/context.h"

namespace simcuda::api {
namespace {

constexpr int kLeastPriority = 0;
constexpr int kGreatestPriority = -5;

}  // namespace

void primary_retain(Handle* context, int device) {
  require(context != nullptr);
  Context& primary = device_context(device);
  if (primary.is_dead()) fail(primary.sticky());
  primary.retain();
  *context = primary.handle();
}

void primary_release(int device) { device_context(device).release(); }

void primary_reset(int device) { device_context(device).reset(); }

void primary_state(int device, unsigned* flags, int* is_active) {
  const Context& context = device_context(device);
  require(flags != nullptr && is_active != nullptr);
  *flags = 0;
  *is_active = context.is_active();
}

void primary_set_flags(int device, unsigned flags) {
  device_context(device);
  require((flags & ~0x3fu) == 0);
}

void set_current(Handle context) {
  auto& stack = context_stack();
  if (context == nullptr) {
    if (!stack.empty()) stack.pop_back();
    return;
  }
  Context& chosen = context_of(context);
  require(chosen.is_active(), ERROR_INVALID_CONTEXT);
  if (stack.empty()) {
    stack.push_back(&chosen);
  } else {
    stack.back() = &chosen;
  }
}

void get_current(Handle* context) {
  require(context != nullptr);
  const Context* const current = current_or_null();
  *context = current ? current->handle() : nullptr;
}

void push_current(Handle context) {
  Context& chosen = context_of(context);
  require(chosen.is_active(), ERROR_INVALID_CONTEXT);
  context_stack().push_back(&chosen);
}

void pop_current(Handle* context) {
  auto& stack = context_stack();
  require(!stack.empty(), ERROR_INVALID_CONTEXT);
  if (context) *context = stack.back()->handle();
  stack.pop_back();
}

void get_context_device(int* device) {
  require(device != nullptr);
  *device = current_context().device();
}

void get_context_device_v2(int* device, Handle context) {
  require(device != nullptr);
  *device = (context ? context_of(context) : current_context()).device();
}

void get_context_flags(unsigned* flags) {
  require(flags != nullptr);
  current_context();
  *flags = 0;
}

void get_context_api_version(Handle context, unsigned* version) {
  constexpr unsigned kApiVersion = 3020;
  require(version != nullptr);
  if (context) {
    context_of(context);
  } else {
    current_context();
  }
  *version = kApiVersion;
}

void context_id(Handle context, unsigned long long* id) {
  require(id != nullptr);
  *id = static_cast<unsigned long long>(
      (context ? context_of(context) : current_context()).device() + 1);
}

void synchronize_context() {
  Context& context = current_context();
  captures().require_none_in(context);
  context.synchronize();
  context.check();
}

void synchronize_context_v2(Handle context) {
  Context& chosen = context ? context_of(context) : current_context();
  chosen.check();
  captures().require_none_in(chosen);
  chosen.synchronize();
  chosen.check();
}

void stream_priority_range(int* least, int* greatest) {
  current_context();
  if (least) *least = kLeastPriority;
  if (greatest) *greatest = kGreatestPriority;
}

void enable_peer_access(Handle peer, unsigned flags) {
  require(flags == 0);
  Context& context = current_context();
  const Context& other = context_of(peer);
  require(other.is_active() && &other != &context, ERROR_INVALID_CONTEXT);
  require(config().peer != 0, ERROR_PEER_ACCESS_UNSUPPORTED);
  require(context.enable_peer(other.device()), ERROR_PEER_ACCESS_ALREADY_ENABLED);
}

void disable_peer_access(Handle peer) {
  Context& context = current_context();
  require(context.disable_peer(context_of(peer).device()), ERROR_PEER_ACCESS_NOT_ENABLED);
}

}  // namespace simcuda::api
