#include "vm/devices/device_table.h"

#include <algorithm>

#include "ep/memory/caching_allocator.h"
#include "ep/memory/staging_pool.h"
#include "vm/host_policy.h"
#include "vm/pool/pool_policy.h"
#include "vm/progress/partner.h"
#include "vm/progress/progress_policy.h"
#include "vm/queue_policy.h"
#include "vm/worker.h"

namespace ofl::vm {

namespace {

constexpr int kManyThreads = 256;  // of a pool for functions that wait

std::unique_ptr<Runner> runner_of(Stream& stream, Board& board) {
  const StreamTypeInfo& type = info(stream.type());
  if (type.threads == Threads::worker) {
    return std::make_unique<Worker>(stream, board, stream.device(), stream.name(), type.helpable);
  }
  if (type.threads == Threads::one) return std::make_unique<Pool>(stream, stream.name(), 1, false);
  const bool grows = type.threads == Threads::many;
  const int most = grows ? kManyThreads : board.options.pool_threads.load();
  return std::make_unique<Pool>(stream, stream.name(), most, grows);
}

/// A queue with as much to do stays busy. More of it only holds more memory: the streams of a
/// device launch ahead of each other.
constexpr int64_t kDeepCount = 128;
constexpr int64_t kDeepBytes = int64_t{64} << 20;

void add_to(std::atomic<int64_t>& counter, int64_t value) {
  counter.store(counter.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

}  // namespace

void DeviceState::note_issued(uint64_t bytes, Seq seq) {
  Partner::note_issued(seq);
  add_to(issued, 1);
  add_to(issued_bytes, static_cast<int64_t>(bytes));
}

int64_t DeviceState::in_flight() const {
  int64_t count = issued.load(std::memory_order_relaxed);
  for (auto& entry : streams) {
    if (Stream* stream = entry.load(std::memory_order_acquire)) count -= stream->retired_count();
  }
  return count;
}

int64_t DeviceState::bytes_in_flight() const {
  int64_t bytes = issued_bytes.load(std::memory_order_relaxed);
  for (auto& entry : streams) {
    if (Stream* stream = entry.load(std::memory_order_acquire)) bytes -= stream->retired_bytes();
  }
  return bytes;
}

bool DeviceState::has_room(int64_t count, int64_t bytes, int64_t part) {
  const auto below = [part](int64_t value, int64_t most) {
    return value < std::max<int64_t>(1, most / part);
  };
  const int64_t now_issued = issued.load(std::memory_order_relaxed);
  const int64_t now_bytes = issued_bytes.load(std::memory_order_relaxed);
  if (below(now_issued - seen_retired.load(std::memory_order_relaxed), count) &&
      below(now_bytes - seen_retired_bytes.load(std::memory_order_relaxed),
            std::min(bytes, kDeepBytes))) {
    return true;
  }
  const int64_t left = in_flight(), left_bytes = bytes_in_flight();
  seen_retired.store(now_issued - left, std::memory_order_relaxed);
  seen_retired_bytes.store(now_bytes - left_bytes, std::memory_order_relaxed);
  return below(left, count) && below(left_bytes, bytes) &&
         (below(left, kDeepCount) || below(left_bytes, kDeepBytes));
}

DeviceState& DeviceTable::state(Device device) {
  if (device.index < 0 || device.index >= kMaxDevicesPerType) {
    fail(ErrorKind::value, "[device] ", device.str(), " does not exist");
  }
  auto& entry = states_[static_cast<int>(device.type)][device.index];
  if (DeviceState* known = entry.load(std::memory_order_acquire)) return *known;
  ep::Device& found = find_device_(device);
  std::lock_guard<std::mutex> lock(mutex_);
  if (DeviceState* known = entry.load(std::memory_order_relaxed)) return *known;
  const DeviceState* older = newest_.load(std::memory_order_relaxed);
  owned_states_.push_back(std::make_unique<DeviceState>(found, *this, older));
  newest_.store(owned_states_.back().get(), std::memory_order_release);
  if (found.helpers()) board_.set_helpers(found.helpers());
  entry.store(owned_states_.back().get(), std::memory_order_release);
  return *owned_states_.back();
}

Stream& DeviceTable::stream(Device device, StreamType type) {
  DeviceState& home = state(device);
  auto& entry = home.streams[static_cast<int>(type)];
  if (Stream* known = entry.load(std::memory_order_acquire)) return *known;
  std::lock_guard<std::mutex> lock(mutex_);
  if (Stream* known = entry.load(std::memory_order_relaxed)) return *known;
  const auto make_policy = [this](Stream& stream) -> std::unique_ptr<StreamPolicy> {
    if (stream.in_order()) return std::make_unique<QueuePolicy>(stream, window_);
    if (stream.is_pool()) return std::make_unique<PoolPolicy>(stream);
    if (stream.type() == StreamType::ccl) return std::make_unique<ProgressPolicy>(stream);
    return std::make_unique<HostPolicy>(stream, window_);
  };
  const auto make_runner = [this](Stream& stream) { return runner_of(stream, board_); };
  const int id = static_cast<int>(owned_streams_.size());
  owned_streams_.push_back(
      std::make_unique<Stream>(board_, home.device, home, type, id, make_policy, make_runner));
  entry.store(owned_streams_.back().get(), std::memory_order_release);
  return *owned_streams_.back();
}

std::vector<Stream*> DeviceTable::streams() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Stream*> all;
  for (auto& stream : owned_streams_) all.push_back(stream.get());
  return all;
}

void DeviceTable::set_pool_threads(int threads) {
  board_.options.pool_threads.store(threads);
  for (Stream* stream : streams()) {
    if (info(stream->type()).threads != Threads::cores) continue;
    static_cast<Pool&>(stream->runner()).set_threads(threads);
  }
}

int64_t DeviceTable::retired_count() {
  int64_t total = 0;
  for (Stream* stream : streams()) total += stream->retired_count();
  return total;
}

int64_t DeviceTable::in_flight() const {
  int64_t total = 0;
  const DeviceState* state = newest_.load(std::memory_order_acquire);
  for (; state; state = state->older) total += state->in_flight();
  return total;
}

void DeviceTable::lock() {
  mutex_.lock();
  for (auto& state : owned_states_) {
    state->device.allocator().mutex().lock();
    state->device.events().mutex().lock();
    state->device.staging().mutex().lock();
  }
}

void DeviceTable::unlock() {
  for (auto& state : owned_states_) {
    state->device.staging().mutex().unlock();
    state->device.events().mutex().unlock();
    state->device.allocator().mutex().unlock();
  }
  mutex_.unlock();
}

void DeviceTable::after_fork_in_child() {
  for (auto& state : owned_states_) state->device.after_fork_in_child();
}

}  // namespace ofl::vm
