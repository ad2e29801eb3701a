#include "driver/context.h"

#include <algorithm>
#include <cstdio>
#include <thread>

#include "driver/capture.h"
#include "driver/config.h"
#include "driver/graph.h"
#include "driver/memory.h"
#include "driver/modules.h"

namespace simcuda {

Clock::time_point Engine::reserve(std::chrono::nanoseconds duration) {
  std::lock_guard lock(mutex_);
  free_at_ = std::max(Clock::now(), free_at_) + duration;
  return free_at_;
}

void Context::retain() {
  std::lock_guard lock(lifetime_mutex_);
  ++references_;
}

void Context::release() {
  std::lock_guard lock(lifetime_mutex_);
  require(references_ > 0, ERROR_INVALID_CONTEXT);
  if (--references_ == 0) end();
}

void Context::reset() {
  std::lock_guard lock(lifetime_mutex_);
  references_ = 0;
  end();
}

void Context::end() {
  synchronize();
  {
    std::lock_guard lock(mutex_);
    null_stream_ = nullptr;
    queues_.clear();
    peers_.clear();
  }
  drop_graphs();
  streams().erase_if([this](Stream& stream) { return &stream.context == this; });
  events().erase_if([this](Event& event) { return &event.context == this; });
  functions().erase_if([this](Function& function) { return &function.module->context() == this; });
  modules().erase_if([this](Module& module) { return &module.context() == this; });
  memory_map().take_device(device_);
  capacity_.clear();
  sticky_ = SUCCESS;
}

void Context::drop_graphs() {
  captures().drop(*this);
  const auto is_here = [this](const Node& node) { return &node.task->context == this; };
  const auto belongs = [&](Graph& graph) {
    return &graph.context == this || graph.has_any(is_here);
  };
  executables().erase_if([&](Executable& executable) { return executable.has_any(is_here); });
  graph_nodes().erase_if([&](NodePlace& place) { return belongs(*place.graph); });
  graphs().erase_if(belongs);
}

void Context::check() const {
  require(is_active(), ERROR_CONTEXT_IS_DESTROYED);
  if (is_dead()) fail(sticky());
}

void Context::kill(Result code, const char* why) {
  Result alive = SUCCESS;
  if (sticky_.compare_exchange_strong(alive, code, std::memory_order_relaxed)) {
    std::fprintf(stderr, "simcuda: device %d: %s (error %d)\n", device_, why, int{code});
  }
}

Handle Context::create_stream(unsigned flags, int priority) {
  auto stream = std::make_shared<Stream>(*this, flags, priority);
  std::lock_guard lock(mutex_);
  queues_.erase(std::remove_if(queues_.begin(), queues_.end(),
                               [](auto& queue) { return queue.use_count() == 1; }),
                queues_.end());
  queues_.push_back(stream->queue);
  return streams().add(std::move(stream));
}

std::shared_ptr<Stream> Context::null_stream() {
  std::lock_guard lock(mutex_);
  if (!null_stream_) {
    null_stream_ = std::make_shared<Stream>(*this, 0, 0);
    queues_.push_back(null_stream_->queue);
  }
  return null_stream_;
}

namespace {

std::shared_ptr<Point> mark(Queue& queue) {
  auto point = std::make_shared<Point>();
  queue.push([point] { point->reach(); });
  return point;
}

}  // namespace

void Context::enqueue(Stream& stream, std::function<void()> operation) {
  if (stream.flags & kStreamNonBlocking) {
    stream.queue->push(std::move(operation));
    return;
  }
  std::shared_ptr<Stream> legacy;
  {
    std::lock_guard lock(mutex_);
    legacy = null_stream_;
  }
  std::lock_guard lock(legacy_mutex_);
  std::vector<std::shared_ptr<Point>> before;
  if (&stream == legacy.get()) {
    streams().for_each([&](const std::shared_ptr<Stream>& other) {
      if (&other->context == this && !(other->flags & kStreamNonBlocking)) {
        before.push_back(mark(*other->queue));
      }
    });
  } else if (legacy) {
    before.push_back(mark(*legacy->queue));
  }
  stream.queue->push([before = std::move(before), operation = std::move(operation)] {
    for (const auto& point : before) point->wait();
    operation();
  });
}

void Context::submit(Stream& stream, WorkKind kind, std::function<void()> work) {
  enqueue(stream, [this, kind, work = std::move(work)] { perform(kind, work); });
}

void Context::perform(WorkKind kind, const std::function<void()>& work) {
  if (is_dead()) return;
  const Result injected = faults().on_work(kind);
  if (injected != SUCCESS) {
    kill(injected, "injected failure of an operation that runs");
    return;
  }
  work();
  count_work(kind);
}

Clock::time_point Context::copy_end(Direction direction, size_t bytes) {
  const HiddenFromRaceDetector hidden;
  const double rates[] = {config().h2d, config().d2h, config().d2d};
  const double rate = rates[static_cast<int>(direction)];
  if (rate <= 0) return Clock::now();
  const auto ns = static_cast<int64_t>(1e9 * static_cast<double>(bytes) / rate);
  return engines_[static_cast<int>(direction)].reserve(std::chrono::nanoseconds(ns));
}

void Context::synchronize() {
  std::vector<std::shared_ptr<Queue>> queues;
  {
    std::lock_guard lock(mutex_);
    queues = queues_;
  }
  for (const auto& queue : queues) queue->synchronize();
}

std::shared_ptr<Point> Context::mark_all() {
  auto point = std::make_shared<Point>();
  const auto left = std::make_shared<std::atomic<size_t>>(1);
  const auto one_less = [point, left] {
    if (left->fetch_sub(1) == 1) point->reach();
  };
  {
    std::lock_guard lock(mutex_);
    left->fetch_add(queues_.size());
    for (const auto& queue : queues_) {
      if (!queue->push_behind_work(one_less)) left->fetch_sub(1);
    }
  }
  one_less();
  return point;
}

Room Context::take_room(size_t bytes, const Stream* stream) {
  const int64_t reusable = stream ? stream->bytes_being_freed.load(std::memory_order_relaxed) : 0;
  Room room;
  require(capacity_.take(bytes, static_cast<size_t>(reusable), &room), ERROR_OUT_OF_MEMORY);
  return room;
}

bool Context::enable_peer(int device) {
  std::lock_guard lock(mutex_);
  return peers_.insert(device).second;
}

bool Context::disable_peer(int device) {
  std::lock_guard lock(mutex_);
  return peers_.erase(device) == 1;
}

bool Context::can_reach(int device) {
  std::lock_guard lock(mutex_);
  return device == device_ || peers_.count(device) == 1;
}

}  // namespace simcuda
