// DeviceTable: the machine's view of the devices: their streams, and how much is in flight.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "vm/stream.h"
#include "vm/window.h"

namespace ofl::vm {

inline constexpr int kMaxDevicesPerType = 64;

class DeviceTable;

struct DeviceState {
  DeviceState(ep::Device& device, DeviceTable& table, const DeviceState* older)
      : device(device), table(table), older(older) {}
  ep::Device& device;
  DeviceTable& table;
  const DeviceState* const older;  // made before this one
  std::array<std::atomic<Stream*>, kStreamTypeCount> streams{};
  // Written with the issue mutex. The number in flight is this less the retired ones of the
  // streams: the two sides count in different places, so neither waits for the other's cache line.
  std::atomic<int64_t> issued{0};        // instructions
  std::atomic<int64_t> issued_bytes{0};  // that they pin

  // The retired ones at the last look; enough to know that there is room.
  std::atomic<int64_t> seen_retired{0};
  std::atomic<int64_t> seen_retired_bytes{0};

  /// A stream that has been made; null: it has not.
  Stream* find(StreamType type) const {
    return streams[static_cast<size_t>(type)].load(std::memory_order_acquire);
  }
  /// With the issue mutex.
  void note_issued(uint64_t bytes, Seq seq);
  int64_t in_flight() const;
  int64_t bytes_in_flight() const;
  /// Less than a `part`-th of these is in flight, and less than keeps its queues busy.
  bool has_room(int64_t count, int64_t bytes, int64_t part);
};

/// Any thread. States and streams are made at first use and live as long as the table.
class DeviceTable {
 public:
  using FindDevice = std::function<ep::Device&(Device)>;

  DeviceTable(FindDevice find_device, Board& board, Window& window)
      : find_device_(std::move(find_device)), board_(board), window_(window) {}

  DeviceState& state(Device device);
  Stream& stream(Device device, StreamType type);
  /// All streams, oldest first.
  std::vector<Stream*> streams();
  /// Of pools whose functions compute: of those there are, and those that come.
  void set_pool_threads(int threads);
  int64_t retired_count();
  int64_t in_flight() const;
  Window& window() { return window_; }
  Board& board() { return board_; }

  /// For fork: holds the locks of the table and of the devices' memory.
  void lock();
  void unlock();
  void after_fork_in_child();

 private:
  FindDevice find_device_;
  Board& board_;
  Window& window_;
  std::atomic<DeviceState*> states_[kMaxDeviceTypes][kMaxDevicesPerType] = {};
  // All of them. None is ever taken away, so a thread that has loaded one may follow `older`.
  std::atomic<const DeviceState*> newest_{nullptr};
  std::mutex mutex_;  // guards making states and streams, and the two lists
  std::vector<std::unique_ptr<DeviceState>> owned_states_;
  std::vector<std::unique_ptr<Stream>> owned_streams_;
};

}  // namespace ofl::vm
