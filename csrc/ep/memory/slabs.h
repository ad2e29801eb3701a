// Slabs: pieces of a device's memory from which its allocator carves small blocks. To ask a driver
// for memory is slow, and to give it back may stop all queues.
//
//   slab:  [ block | block | block | not carved yet ............ ]
//
// A block that is carved keeps its size: it comes back to the allocator's bins, and is used again
// from there. A slab goes back to the device when all that was carved from it is idle.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace ofl::ep {

/// Used by one allocator, with its mutex.
class Slabs {
 public:
  /// A block has at most an eighth of a slab, so at most so much is lost at the end of one.
  /// `slab_bytes` 0: no blocks are carved.
  explicit Slabs(size_t slab_bytes) : slab_bytes_(slab_bytes) {}

  size_t slab_bytes() const { return slab_bytes_; }
  bool serves(size_t size) const { return size <= slab_bytes_ / 8; }
  /// The next part of the newest slab; null where too little is left of it. No queue has used it.
  void* carve(size_t size);
  /// The device's, empty. The rest of the slab before it is not carved any more.
  void add(void* slab);

  /// Of idle blocks, to find the slabs that are wholly idle: first all are counted, then those of
  /// such slabs are recognized, and at last the slabs are taken out.
  void count_idle(void* block, size_t size);
  enum class Place { outside, in_use, idle };  // in no slab; in one that has other blocks; in none
  Place place_of(void* block) const;
  /// The counts begin anew.
  std::vector<void*> take_idle();

 private:
  struct Slab {
    size_t carved = 0, idle = 0;  // bytes
  };
  using Map = std::map<char*, Slab>;  // by where they begin

  /// So is all memory of CUDA aligned, and what is lent to other libraries must be (dlpack.h).
  static size_t stride_of(size_t size) { return (size + 255) & ~size_t{255}; }
  Map::const_iterator find(void* block) const;

  const size_t slab_bytes_;
  Map slabs_;
  char* open_ = nullptr;  // the newest, if it is there
};

}  // namespace ofl::ep
