#include "driver/capacity.h"

#include <utility>

#include "driver/config.h"
#include "driver/race_view.h"

namespace simcuda {
namespace {

constexpr size_t kUnit = 512;  // of room in a shared page

size_t rounded_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

Room& Room::operator=(Room&& other) noexcept {
  give_back();
  capacity_ = std::exchange(other.capacity_, nullptr);
  bytes_ = other.bytes_;
  shared_page_ = other.shared_page_;
  age_ = other.age_;
  return *this;
}

void Room::give_back() {
  if (Capacity* const capacity = std::exchange(capacity_, nullptr)) capacity->give_back(*this);
}

size_t Capacity::used() {
  const HiddenFromRaceDetector hidden;
  std::lock_guard lock(mutex_);
  return used_;
}

size_t Capacity::free() {
  const size_t taken = used() + static_cast<size_t>(config().foreign);
  return taken < total_ ? total_ - taken : 0;
}

bool Capacity::take_pages(size_t bytes, size_t reusable) {
  const size_t taken = used_ + static_cast<size_t>(config().foreign);
  if (taken > total_ + reusable || bytes > total_ + reusable - taken) return false;
  used_ += bytes;
  return true;
}

bool Capacity::take(size_t bytes, size_t reusable, Room* room) {
  const HiddenFromRaceDetector hidden;
  if (bytes > total_) return false;
  const auto page = static_cast<size_t>(config().page);
  Room taken;
  std::unique_lock lock(mutex_);
  taken.age_ = age_;
  if (bytes > page / 2) {
    taken.bytes_ = rounded_up(bytes, page);
    if (!take_pages(taken.bytes_, reusable)) return false;
  } else {
    taken.bytes_ = rounded_up(bytes, kUnit);
    auto shared = shared_pages_.begin();
    while (shared != shared_pages_.end() && shared->second + taken.bytes_ > page) ++shared;
    if (shared == shared_pages_.end()) {
      if (!take_pages(page, reusable)) return false;
      shared = shared_pages_.emplace(next_page_++, 0).first;
    }
    shared->second += taken.bytes_;
    taken.shared_page_ = shared->first;
  }
  taken.capacity_ = this;
  lock.unlock();
  *room = std::move(taken);
  return true;
}

void Capacity::give_back(const Room& room) {
  const HiddenFromRaceDetector hidden;
  std::lock_guard lock(mutex_);
  if (room.age_ != age_) return;
  if (!room.shared_page_) {
    used_ -= room.bytes_;
    return;
  }
  const auto shared = shared_pages_.find(room.shared_page_);
  shared->second -= room.bytes_;
  if (shared->second > 0) return;
  shared_pages_.erase(shared);
  used_ -= static_cast<size_t>(config().page);
}

void Capacity::clear() {
  std::lock_guard lock(mutex_);
  used_ = 0;
  shared_pages_.clear();
  ++age_;
}

}  // namespace simcuda
