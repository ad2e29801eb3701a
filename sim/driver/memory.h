// Memory that the driver knows: blocks of the devices, pinned and registered host memory.
//
// A device pointer is the block's host address with a tag: 0x5B in bits 56..63 and the device's
// index + 1 in bits 48..55. No processor takes it for an address, so the host that touches it
// faults at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "driver/abi.h"
#include "driver/capacity.h"

namespace simcuda {

class Context;

enum class BlockKind : uint8_t { device, module_global, pinned, registered };

/// Owns its bytes unless it is a module's global or registered. Released when nobody knows or uses
/// it.
class Block {
 public:
  Block(BlockKind kind, int device, char* host, size_t bytes, unsigned flags);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  BlockKind kind() const { return kind_; }
  bool is_on_device() const { return kind_ <= BlockKind::module_global; }
  int device() const { return device_; }  // the context's for host memory
  char* host() const { return host_; }
  size_t bytes() const { return bytes_; }
  unsigned flags() const { return flags_; }
  uint64_t id() const { return id_; }
  /// What callers know it by.
  DevicePtr address() const;

  /// What it takes of its device.
  Room& room() { return room_; }

  /// Fills it, or its ends if it is larger than the knob `poison`. Only the bytes of device blocks.
  void poison(unsigned char value);
  /// False when somebody wrote behind its end.
  bool is_guard_intact() const;
  /// Nobody may touch it from here on; under AddressSanitizer who does is reported.
  void retire();

  /// Bytes with the alignment of cuMemAlloc and a guard behind them; nullptr when the host has
  /// none.
  static char* allocate(size_t bytes);

 private:
  const BlockKind kind_;
  const int device_;
  char* const host_;
  const size_t bytes_;
  const unsigned flags_;
  const uint64_t id_;
  Room room_;
};

inline constexpr uint64_t kAddressMask = (uint64_t{1} << 48) - 1;
bool is_tagged(uint64_t word);
/// The address at which the host reaches a device pointer, or the pointer itself.
inline char* host_address(uint64_t pointer) {
  return reinterpret_cast<char*>(is_tagged(pointer) ? pointer & kAddressMask : pointer);
}

/// Every known block by address. Any thread.
class MemoryMap {
 public:
  void add(std::shared_ptr<Block> block);
  /// False if it is not there (any more).
  bool remove(const Block& block);
  /// The block that has all `bytes` at `pointer`, as callers write it; nullptr if none.
  std::shared_ptr<Block> find(uint64_t pointer, size_t bytes);
  /// The block that `word` points into, its end included, if `word` is a device pointer.
  std::shared_ptr<Block> find_device(uint64_t word);
  bool overlaps(const void* host, size_t bytes);
  /// Takes out the device blocks of `device`.
  std::vector<std::shared_ptr<Block>> take_device(int device);
  size_t count(BlockKind kind);
  size_t bytes(BlockKind kind);

 private:
  std::mutex mutex_;                                   // guards blocks_
  std::map<uint64_t, std::shared_ptr<Block>> blocks_;  // by host address
};

MemoryMap& memory_map();

}  // namespace simcuda
