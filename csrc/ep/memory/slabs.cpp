#include "ep/memory/slabs.h"

#include <iterator>

namespace ofl::ep {

void* Slabs::carve(size_t size) {
  if (!open_ || !serves(size)) return nullptr;
  Slab& slab = slabs_[open_];
  if (slab.carved + stride_of(size) > slab_bytes_) return nullptr;
  void* const block = open_ + slab.carved;
  slab.carved += stride_of(size);
  return block;
}

void Slabs::add(void* slab) {
  open_ = static_cast<char*>(slab);
  slabs_[open_] = {};
}

void Slabs::count_idle(void* block, size_t size) {
  const auto found = find(block);
  if (found != slabs_.end()) slabs_[found->first].idle += stride_of(size);
}

Slabs::Place Slabs::place_of(void* block) const {
  const auto found = find(block);
  if (found == slabs_.end()) return Place::outside;
  return found->second.idle == found->second.carved ? Place::idle : Place::in_use;
}

std::vector<void*> Slabs::take_idle() {
  std::vector<void*> taken;
  for (auto slab = slabs_.begin(); slab != slabs_.end();) {
    if (slab->second.idle != slab->second.carved) {
      slab->second.idle = 0;
      ++slab;
      continue;
    }
    if (slab->first == open_) open_ = nullptr;
    taken.push_back(slab->first);
    slab = slabs_.erase(slab);
  }
  return taken;
}

/// The slab that a block is in, or the end.
Slabs::Map::const_iterator Slabs::find(void* block) const {
  auto* const address = static_cast<char*>(block);
  auto after = slabs_.upper_bound(address);
  if (after == slabs_.begin()) return slabs_.end();
  const auto before = std::prev(after);
  return address < before->first + slab_bytes_ ? before : slabs_.end();
}

}  // namespace ofl::ep
