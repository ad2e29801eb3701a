#include "driver/capture.h"

#include <algorithm>
#include <utility>

#include "driver/context.h"

namespace simcuda {
namespace {

/// Adds what is not there yet.
void merge(std::vector<size_t>* nodes, const std::vector<size_t>& more) {
  for (const size_t node : more) {
    if (std::find(nodes->begin(), nodes->end(), node) == nodes->end()) nodes->push_back(node);
  }
}

/// Whether every node comes before one of `last`, or is one of them.
bool all_lead_to(const std::vector<size_t>& last, const Graph& graph) {
  std::vector<bool> leads(graph.nodes.size());
  for (const size_t node : last) leads[node] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    if (!leads[i]) return false;
    for (const size_t before : graph.nodes[i].after) leads[before] = true;
  }
  return true;
}

}  // namespace

void Captures::begin(const std::shared_ptr<Stream>& stream, CaptureMode mode) {
  std::lock_guard lock(mutex_);
  require(!stream->captured.capture, ERROR_ILLEGAL_STATE);
  auto graph = std::make_shared<Graph>(stream->context);
  const Handle handle = graphs().add(graph);
  auto capture = std::make_shared<Capture>();
  capture->origin = stream.get();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->id = next_id_++;
  capture->graph = std::move(graph);
  capture->graph_handle = handle;
  capture->streams.push_back(stream);
  stream->captured = {capture, {}};
  stream->set_capturing(true);
  active_.push_back(std::move(capture));
  count_ = active_.size();
}

Handle Captures::end(const std::shared_ptr<Stream>& stream) {
  std::lock_guard lock(mutex_);
  const std::shared_ptr<Capture> capture = stream->captured.capture;
  require(capture != nullptr, ERROR_ILLEGAL_STATE);
  require(capture->origin == stream.get(), ERROR_STREAM_CAPTURE_UNMATCHED);
  const bool is_here = capture->thread == std::this_thread::get_id();
  require(is_here || capture->mode == CaptureMode::relaxed, ERROR_STREAM_CAPTURE_WRONG_THREAD);
  const bool is_joined = all_lead_to(stream->captured.nodes, *capture->graph);
  for (const std::weak_ptr<Stream>& weak : capture->streams) {
    const auto member = weak.lock();
    if (!member) continue;
    member->set_capturing(false);
    member->captured = {};
  }
  active_.erase(std::find(active_.begin(), active_.end(), capture));
  count_ = active_.size();
  if (!capture->is_invalid && is_joined) return capture->graph_handle;
  graph_nodes().erase_if([&](NodePlace& place) { return place.graph == capture->graph; });
  graphs().take(capture->graph_handle);
  fail(capture->is_invalid ? ERROR_STREAM_CAPTURE_INVALIDATED : ERROR_STREAM_CAPTURE_UNJOINED);
}

CaptureInfo Captures::info(Stream& stream) {
  std::lock_guard lock(mutex_);
  const std::shared_ptr<Capture>& capture = stream.captured.capture;
  if (!capture) return {};
  if (capture->is_invalid) return {CaptureStatus::invalidated};
  stream.captured_handles.clear();
  stream.captured_edges.assign(stream.captured.nodes.size(), {});
  for (const size_t node : stream.captured.nodes) {
    stream.captured_handles.push_back(capture->graph->nodes[node].handle);
  }
  return {CaptureStatus::active, capture->id, capture->graph_handle, stream.captured_handles.data(),
          stream.captured_handles.size()};
}

void Captures::require_valid(const Capture& capture) {
  require(!capture.is_invalid, ERROR_STREAM_CAPTURE_INVALIDATED);
}

void Captures::add(Stream& stream, TaskPtr task) {
  std::lock_guard lock(mutex_);
  Captured& captured = stream.captured;
  require(captured.capture != nullptr, ERROR_ILLEGAL_STATE);
  require_valid(*captured.capture);
  captured.nodes = {add_node(captured.capture->graph, std::move(task), captured.nodes)};
}

void Captures::record(Stream& stream, Event& event) {
  std::lock_guard lock(mutex_);
  require_valid(*stream.captured.capture);
  event.set_captured(stream.captured);
}

bool Captures::wait(const std::shared_ptr<Stream>& stream, Event& event) {
  const Captured waited = event.captured();
  if (!waited.capture && !stream->is_capturing()) return false;
  std::lock_guard lock(mutex_);
  Captured& captured = stream->captured;
  const bool is_active =
      waited.capture && std::find(active_.begin(), active_.end(), waited.capture) != active_.end();
  if (!is_active) {
    require(captured.capture != nullptr, ERROR_CAPTURED_EVENT);
    captured.capture->is_invalid = true;
    fail(ERROR_STREAM_CAPTURE_ISOLATION);
  }
  require_valid(*waited.capture);
  if (captured.capture && captured.capture != waited.capture) {
    captured.capture->is_invalid = waited.capture->is_invalid = true;
    fail(ERROR_STREAM_CAPTURE_MERGE);
  }
  if (!captured.capture) {
    captured.capture = waited.capture;
    waited.capture->streams.push_back(stream);
    stream->set_capturing(true);
  }
  merge(&captured.nodes, waited.nodes);
  return true;
}

template <typename Predicate>
void Captures::invalidate_if(Result code, bool invalidates, const Predicate& conflicts) {
  if (count_.load(std::memory_order_relaxed) == 0) return;
  std::lock_guard lock(mutex_);
  bool is_refused = false;
  for (const std::shared_ptr<Capture>& capture : active_) {
    if (!conflicts(*capture)) continue;
    is_refused = true;
    if (invalidates) capture->is_invalid = true;
  }
  require(!is_refused, code);
}

void Captures::require_safe_thread() {
  const CaptureMode mode = thread_capture_mode();
  if (mode == CaptureMode::relaxed) return;
  invalidate_if(ERROR_STREAM_CAPTURE_UNSUPPORTED, true, [mode](const Capture& capture) {
    if (capture.mode == CaptureMode::relaxed) return false;
    if (capture.thread == std::this_thread::get_id()) return true;
    return mode == CaptureMode::global && capture.mode == CaptureMode::global;
  });
}

void Captures::require_not_capturing(Stream& stream) {
  if (stream.is_capturing()) refuse(stream, ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

void Captures::require_none_in(const Context& context) {
  const auto is_there = [&context](const std::weak_ptr<Stream>& weak) {
    const auto stream = weak.lock();
    return stream && &stream->context == &context;
  };
  invalidate_if(ERROR_STREAM_CAPTURE_UNSUPPORTED, true, [&](const Capture& capture) {
    return std::any_of(capture.streams.begin(), capture.streams.end(), is_there);
  });
}

void Captures::drop(const Context& context) {
  std::lock_guard lock(mutex_);
  const auto is_of_context = [&context](const std::shared_ptr<Capture>& capture) {
    const auto stream = capture->streams.front().lock();
    return !stream || &stream->context == &context;
  };
  for (const auto& capture : active_) {
    if (is_of_context(capture)) graphs().take(capture->graph_handle);
  }
  active_.erase(std::remove_if(active_.begin(), active_.end(), is_of_context), active_.end());
  count_ = active_.size();
}

void Captures::require_legacy_usable(const Context& context, bool invalidates) {
  const auto is_blocking = [&context](const std::weak_ptr<Stream>& weak) {
    const auto stream = weak.lock();
    return stream && &stream->context == &context && !(stream->flags & kStreamNonBlocking);
  };
  invalidate_if(ERROR_STREAM_CAPTURE_IMPLICIT, invalidates, [&](const Capture& capture) {
    return std::any_of(capture.streams.begin(), capture.streams.end(), is_blocking);
  });
}

void Captures::refuse(Stream& stream, Result code) {
  std::lock_guard lock(mutex_);
  if (stream.captured.capture) stream.captured.capture->is_invalid = true;
  fail(code);
}

Captures& captures() {
  static auto* const instance = new Captures;
  return *instance;
}

CaptureMode& thread_capture_mode() {
  thread_local CaptureMode mode = CaptureMode::global;
  return mode;
}

}  // namespace simcuda
