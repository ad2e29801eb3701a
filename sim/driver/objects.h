// What handles stand for, and the table of them. A handle's number is never used twice, so a stale
// one is an invalid one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "driver/abi.h"
#include "driver/queue.h"
#include "driver/race_view.h"

namespace simcuda {

class Context;
struct Capture;

/// A place in a capture: the nodes that come before whatever follows.
struct Captured {
  std::shared_ptr<Capture> capture;  // nullptr: in none
  std::vector<size_t> nodes;
};

struct Stream {
  Stream(Context& owner, unsigned stream_flags, int stream_priority);
  ~Stream() { queue->finish(); }  // which goes on with what it has

  Context& context;
  const unsigned flags;
  const int priority;
  const uint64_t id;
  const std::shared_ptr<Queue> queue;
  // Bytes whose cuMemFreeAsync is queued here: this stream may have them again at once.
  std::atomic<int64_t> bytes_being_freed{0};

  bool is_capturing() const { return capturing_.load(std::memory_order_acquire); }
  void set_capturing(bool is) { capturing_.store(is, std::memory_order_release); }
  Captured captured;  // guarded by Captures
  // The same: of those nodes and of the edges from them, as callers were told.
  std::vector<Handle> captured_handles;
  std::vector<EdgeData> captured_edges;

 private:
  std::atomic<bool> capturing_{false};
};

struct Event {
  Event(Context& owner, unsigned event_flags) : context(owner), flags(event_flags) {}

  std::shared_ptr<Point> last() {
    const HiddenFromRaceDetector hidden;
    std::lock_guard lock(mutex);
    return point;
  }
  void set(std::shared_ptr<Point> recorded) {
    const HiddenFromRaceDetector hidden;
    std::lock_guard lock(mutex);
    point = std::move(recorded);
    place = {};
  }
  Captured captured() {
    const HiddenFromRaceDetector hidden;
    std::lock_guard lock(mutex);
    return place;
  }
  void set_captured(const Captured& recorded) {
    const HiddenFromRaceDetector hidden;
    std::lock_guard lock(mutex);
    place = recorded;
    point = nullptr;
  }
  /// Fails with CAPTURED_EVENT where the last record was captured: no host can see it.
  void require_not_captured() { require(!captured().capture, ERROR_CAPTURED_EVENT); }

  Context& context;
  const unsigned flags;
  std::mutex mutex;              // guards the two below
  std::shared_ptr<Point> point;  // of the last record; none before the first
  Captured place;                // of the last record, if that was captured
};

uint64_t next_handle_number();

template <typename Object>
class HandleTable {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const HiddenFromRaceDetector hidden;
    // Far from every address, and not one of the special stream handles.
    const uint64_t number = uint64_t{0x5C} << 56 | next_handle_number() << 4;
    std::lock_guard lock(mutex_);
    objects_[number] = std::move(object);
    return reinterpret_cast<Handle>(number);
  }
  /// nullptr for a handle that is not in the table.
  std::shared_ptr<Object> find(Handle handle) {
    const HiddenFromRaceDetector hidden;
    std::lock_guard lock(mutex_);
    const auto it = objects_.find(reinterpret_cast<uint64_t>(handle));
    return it == objects_.end() ? nullptr : it->second;
  }
  std::shared_ptr<Object> get(Handle handle) {
    auto object = find(handle);
    require(object != nullptr, ERROR_INVALID_HANDLE);
    return object;
  }
  std::shared_ptr<Object> take(Handle handle) {
    auto object = get(handle);
    const HiddenFromRaceDetector hidden;
    std::lock_guard lock(mutex_);
    objects_.erase(reinterpret_cast<uint64_t>(handle));
    return object;
  }
  /// nullptr if it is not in the table.
  Handle handle_of(const Object* object) {
    std::lock_guard lock(mutex_);
    for (const auto& row : objects_) {
      if (row.second.get() == object) return reinterpret_cast<Handle>(row.first);
    }
    return nullptr;
  }
  template <typename Function>
  void for_each(Function function) {
    std::lock_guard lock(mutex_);
    for (auto& row : objects_) function(row.second);
  }
  template <typename Predicate>
  void erase_if(Predicate predicate) {
    std::lock_guard lock(mutex_);
    for (auto it = objects_.begin(); it != objects_.end();) {
      it = predicate(*it->second) ? objects_.erase(it) : std::next(it);
    }
  }
  size_t size() {
    std::lock_guard lock(mutex_);
    return objects_.size();
  }

 private:
  std::mutex mutex_;  // guards objects_
  std::unordered_map<uint64_t, std::shared_ptr<Object>> objects_;
};

HandleTable<Stream>& streams();
HandleTable<Event>& events();

}  // namespace simcuda
