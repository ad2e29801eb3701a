#include "ep/threads/crowding.h"

#include <time.h>

#include <algorithm>

#include "base/clock.h"

namespace ofl::ep {

void Crowding::note_late(int64_t now) {
  if (!watched_.load(std::memory_order_relaxed)) return;
  if (is_crowded(now)) return;  // of work that was shared before
  const int64_t length =
      std::clamp(2 * length_.load(std::memory_order_relaxed), kShortestNs, kLongestNs);
  length_.store(length, std::memory_order_relaxed);
  until_.store(now + length, std::memory_order_relaxed);
}

void Crowding::note_in_time(int64_t now) {
  const int64_t length = length_.load(std::memory_order_relaxed);
  if (length == 0 || now - until_.load(std::memory_order_relaxed) < length) return;
  length_.store(length > kShortestNs ? length / 2 : 0, std::memory_order_relaxed);
  until_.store(now, std::memory_order_relaxed);
}

void Crowding::set_watched(bool watched) {
  watched_.store(watched, std::memory_order_relaxed);
  length_.store(0, std::memory_order_relaxed);
  until_.store(0, std::memory_order_relaxed);
}

bool Crowding::is_crowded() const {
  return length_.load(std::memory_order_relaxed) != 0 && is_crowded(now_ns());
}

namespace {

int64_t computed_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

void Stretch::begin() {
  begin_ = now_ns();
  computed_ = computed_ns();
  slept_ = 0;
}

bool Stretch::is_disturbed() const {
  const int64_t taken = now_ns() - begin_;
  const int64_t lost = taken - (computed_ns() - computed_) - slept_;
  return lost > std::max(Crowding::kLateNs, taken / 8);
}

}  // namespace ofl::ep
