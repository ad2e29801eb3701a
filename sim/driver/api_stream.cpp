// Streams and events.
#include <algorithm>
#include <utility>

#include "driver/api.h"
#include "driver/capture.h"
#include "driver/context.h"
#include "driver/entry.h"
#include "driver/graph.h"

namespace simcuda::api {
namespace {

/// After a wait: the error of work that has failed meanwhile.
void check_after_wait(const Context& context) {
  if (context.is_dead()) fail(context.sticky());
}

}  // namespace

void create_stream(Handle* stream, unsigned flags) {
  create_stream_with_priority(stream, flags, 0);
}

void create_stream_with_priority(Handle* stream, unsigned flags, int priority) {
  require(stream != nullptr && (flags & ~unsigned{kStreamNonBlocking}) == 0);
  Context& context = current_context();
  int least = 0;
  int greatest = 0;
  stream_priority_range(&least, &greatest);
  *stream = context.create_stream(flags, std::clamp(priority, greatest, least));
}

void destroy_stream(Handle handle) {
  captures().require_not_capturing(*streams().get(handle));
  const auto stream = streams().take(handle);
  check_after_wait(stream->context);
}

void synchronize_stream(Handle handle) {
  const auto stream = stream_of(handle);
  captures().require_not_capturing(*stream);
  stream->queue->synchronize();
  check_after_wait(stream->context);
}

Result query_stream(Handle handle) {
  const auto stream = stream_of(handle);
  captures().require_not_capturing(*stream);
  if (!stream->queue->is_idle()) return ERROR_NOT_READY;
  check_after_wait(stream->context);
  return SUCCESS;
}

void stream_wait_event(Handle handle, Handle event, unsigned flags) {
  require(flags <= 1);
  const auto stream = stream_of(handle);
  const auto waited = events().get(event);
  if (captures().wait(stream, *waited)) return;
  const auto point = waited->last();
  if (!point) return;
  stream->context.enqueue(*stream, [point] { point->wait(); });
}

void stream_flags(Handle stream, unsigned* flags) {
  require(flags != nullptr);
  *flags = stream_of(stream)->flags;
}

void stream_priority(Handle stream, int* priority) {
  require(priority != nullptr);
  *priority = stream_of(stream)->priority;
}

void stream_id(Handle stream, unsigned long long* id) {
  require(id != nullptr);
  *id = stream_of(stream)->id;
}

void stream_context(Handle stream, Handle* context) {
  require(context != nullptr);
  *context = stream_of(stream)->context.handle();
}

void stream_context_v2(Handle stream, Handle* context, Handle* green_context) {
  require(green_context != nullptr);
  stream_context(stream, context);
  *green_context = nullptr;
}

void stream_device(Handle stream, int* device) {
  require(device != nullptr);
  *device = stream_of(stream)->context.device();
}

void launch_host_function(Handle handle, HostFunction function, void* data) {
  require(function != nullptr);
  const auto stream = stream_of(handle);
  Context& context = stream->context;
  auto run = [function, data] {
    is_in_host_function() = true;
    function(data);
    is_in_host_function() = false;
  };
  if (stream->is_capturing()) return captures().add(*stream, task(NodeType::host, context, run));
  context.enqueue(*stream, [&context, run] {
    if (!context.is_dead()) run();
  });
}

void create_event(Handle* event, unsigned flags) {
  constexpr unsigned kKnown = kEventBlockingSync | kEventDisableTiming | kEventInterprocess;
  require(event != nullptr && (flags & ~kKnown) == 0);
  require(!(flags & kEventInterprocess), ERROR_NOT_SUPPORTED);
  *event = events().add(std::make_shared<Event>(current_context(), flags));
}

void destroy_event(Handle handle) {
  const auto event = events().take(handle);
  check_after_wait(event->context);
}

void record_event(Handle handle, Handle stream_handle) {
  const auto event = events().get(handle);
  const auto stream = stream_of(stream_handle);
  require(&event->context == &stream->context, ERROR_INVALID_HANDLE);
  if (stream->is_capturing()) return captures().record(*stream, *event);
  auto point = std::make_shared<Point>();
  event->set(point);
  stream->context.enqueue(*stream, [point] { point->reach(); });
}

void record_context_event(Handle context, Handle handle) {
  const auto event = events().get(handle);
  Context& recorded = context_of(context);
  recorded.check();
  require(&event->context == &recorded, ERROR_INVALID_HANDLE);
  captures().require_none_in(recorded);
  event->set(recorded.mark_all());
}

void record_event_with_flags(Handle event, Handle stream, unsigned flags) {
  require(flags == 0);
  record_event(event, stream);
}

Result query_event(Handle handle) {
  const auto event = events().get(handle);
  event->context.check();
  event->require_not_captured();
  const auto point = event->last();
  if (point && !point->is_reached()) return ERROR_NOT_READY;
  check_after_wait(event->context);
  return SUCCESS;
}

void synchronize_event(Handle handle) {
  const auto event = events().get(handle);
  event->context.check();
  event->require_not_captured();
  if (const auto point = event->last()) point->wait();
  check_after_wait(event->context);
}

Result event_elapsed_time(float* milliseconds, Handle start, Handle end) {
  require(milliseconds != nullptr);
  const auto first = events().get(start);
  const auto second = events().get(end);
  first->context.check();
  require(&first->context == &second->context, ERROR_INVALID_HANDLE);
  require(!((first->flags | second->flags) & kEventDisableTiming), ERROR_INVALID_HANDLE);
  first->require_not_captured();
  second->require_not_captured();
  const auto begin = first->last();
  const auto finish = second->last();
  require(begin && finish, ERROR_INVALID_HANDLE);
  if (!begin->is_reached() || !finish->is_reached()) return ERROR_NOT_READY;
  const std::chrono::duration<float, std::milli> elapsed =
      finish->reached_at() - begin->reached_at();
  *milliseconds = elapsed.count();
  return SUCCESS;
}

}  // namespace simcuda::api
