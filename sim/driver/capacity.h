// How much memory a device has left, counted as a driver does: in pages. What is at most half a
// page shares one with others of its kind, all else has pages of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace simcuda {

class Capacity;

/// Memory that is taken; given back when this goes, unless all was given back before.
class Room {
 public:
  Room() = default;
  Room(Room&& other) noexcept { *this = static_cast<Room&&>(other); }
  Room& operator=(Room&& other) noexcept;
  ~Room() { give_back(); }

  void give_back();
  /// Pages of its own; 0 where it shares one.
  size_t own_bytes() const { return shared_page_ ? 0 : bytes_; }

 private:
  friend class Capacity;

  Capacity* capacity_ = nullptr;
  size_t bytes_ = 0;
  uint64_t shared_page_ = 0;  // number of the page that it is in; 0: none
  uint64_t age_ = 0;
};

/// Any thread.
class Capacity {
 public:
  explicit Capacity(size_t total) : total_(total) {}

  size_t total() const { return total_; }
  size_t used();
  /// What others left: neither the device's own use nor the foreign one (knob `foreign`).
  size_t free();
  /// False where there are not so many bytes. `reusable`: bytes in use that the caller may have.
  bool take(size_t bytes, size_t reusable, Room* room);
  /// Everything is free again, whoever still has room.
  void clear();

 private:
  friend class Room;
  bool take_pages(size_t bytes, size_t reusable);
  void give_back(const Room& room);

  const size_t total_;
  std::mutex mutex_;  // guards the fields below
  size_t used_ = 0;
  std::map<uint64_t, size_t> shared_pages_;  // bytes in use in each
  uint64_t next_page_ = 1;
  uint64_t age_ = 0;  // how often it was cleared
};

}  // namespace simcuda
