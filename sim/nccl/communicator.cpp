#include "nccl/communicator.h"

#include <cstdio>
#include <cstring>

namespace simnccl {

bool World::join(int rank) {
  std::lock_guard lock(mutex_);
  joined_.resize(static_cast<size_t>(size_));
  if (joined_[static_cast<size_t>(rank)]) return false;
  joined_[static_cast<size_t>(rank)] = true;
  ++joined_count_;
  changed_.notify_all();
  return true;
}

void World::wait_for_everyone() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return joined_count_ == size_ || is_aborted_; });
}

bool World::is_complete() {
  std::lock_guard lock(mutex_);
  return joined_count_ == size_ || is_aborted_;
}

bool World::finalize(int rank) {
  std::lock_guard lock(mutex_);
  finalized_.resize(static_cast<size_t>(size_));
  if (!finalized_[static_cast<size_t>(rank)]) ++finalized_count_;
  finalized_[static_cast<size_t>(rank)] = true;
  return finalized_count_ == size_ || is_aborted_;
}

void World::meet(uint64_t index, int rank, const Contribution& contribution) {
  std::unique_lock lock(mutex_);
  Meeting& meeting = meetings_[index];
  meeting.contributions.resize(static_cast<size_t>(size_));
  meeting.contributions[static_cast<size_t>(rank)] = contribution;
  if (++meeting.come == size_) {
    bool is_sound = true;
    for (const Contribution& other : meeting.contributions) {
      is_sound = is_sound && other.matches(contribution);
    }
    if (is_sound) {
      perform(meeting.contributions);
    } else {
      std::fprintf(stderr, "simnccl: the ranks' calls differ\n");
      error_ = kInvalidUsage;
    }
    meeting.is_done = true;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return meeting.is_done || is_aborted_; });
  if (++meeting.gone == size_) meetings_.erase(index);
}

void World::exchange(int rank, const std::vector<Transfer>& transfers) {
  std::unique_lock lock(mutex_);
  std::vector<std::shared_ptr<Message>> sent;
  for (const Transfer& transfer : transfers) {
    if (!transfer.is_send) continue;
    sent.push_back(std::make_shared<Message>(Message{transfer.data, transfer.bytes}));
    messages_[{rank, transfer.peer}].push_back(sent.back());
  }
  changed_.notify_all();
  for (const Transfer& transfer : transfers) {
    if (transfer.is_send) continue;
    auto& queue = messages_[{transfer.peer, rank}];
    changed_.wait(lock, [&] { return !queue.empty() || is_aborted_; });
    if (is_aborted_) return;
    const std::shared_ptr<Message> message = queue.front();
    queue.pop_front();
    if (message->bytes == transfer.bytes) {
      std::memmove(transfer.data, message->data, message->bytes);
    } else {
      std::fprintf(stderr, "simnccl: a send of %zu bytes meets a receive of %zu\n", message->bytes,
                   transfer.bytes);
      error_ = kInvalidUsage;
    }
    message->is_taken = true;
    changed_.notify_all();
  }
  for (const auto& message : sent) {
    changed_.wait(lock, [&] { return message->is_taken || is_aborted_; });
  }
}

void World::abort() {
  std::lock_guard lock(mutex_);
  is_aborted_ = true;
  changed_.notify_all();
}

Result World::error() {
  std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace simnccl
