#include "ep/communicators/threads.h"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"

namespace ofl::ep {

namespace {

/// One collective of the group.
///
/// The thread that comes last writes the verdict, with the group's mutex, and then `is_decided_`
/// (release). A thread that sees it (acquire) may read what all ranks have posted: each posted with
/// the mutex before. A rank counts itself with `copying_mutex_` before and after it reads the
/// memory of others. A rank that sees, with the mutex, that all have copied, or that nobody copies
/// and nobody may any more, has its memory for itself.
class Meeting {
 public:
  explicit Meeting(int ranks) : posted_(static_cast<size_t>(ranks)) {}

  /// With the group's mutex. True: it was the last one.
  bool post(int rank, Collective collective) {
    posted_[static_cast<size_t>(rank)] = std::move(collective);
    if (++arrived_ < static_cast<int>(posted_.size())) return false;
    if (!is_decided()) decide();  // it may have been aborted
    return true;
  }
  /// With the group's mutex, before it is decided.
  void abort(const std::string& reason) { end(Verdict::aborted, reason); }

  bool is_decided() const { return is_decided_.load(std::memory_order_acquire); }
  Verdict verdict() const { return verdict_; }
  const std::string& reason() const { return reason_; }

  /// Copies what this rank receives, unless the meeting is closed.
  void copy_to(int rank) {
    {
      std::lock_guard<std::mutex> lock(copying_mutex_);
      if (is_closed_) return;
      ++copying_;
    }
    std::vector<size_t> next(posted_.size());  // of the transfers from each peer
    for (const Transfer& wanted : posted_[static_cast<size_t>(rank)].receives) {
      const Transfer& given = next_from(wanted.peer, rank, &next[static_cast<size_t>(wanted.peer)]);
      if (wanted.bytes) std::memcpy(wanted.data, given.data, wanted.bytes);
    }
    std::lock_guard<std::mutex> lock(copying_mutex_);
    --copying_;
    ++copied_;
  }
  bool all_have_copied() {
    std::lock_guard<std::mutex> lock(copying_mutex_);
    return copied_ == static_cast<int>(posted_.size());
  }
  /// Nobody begins to copy any more; true: and nobody does.
  bool close() {
    std::lock_guard<std::mutex> lock(copying_mutex_);
    is_closed_ = true;
    return copying_ == 0;
  }

 private:
  void decide() {
    for (size_t rank = 0; rank < posted_.size(); ++rank) {
      if (posted_[rank].meaning != posted_[0].meaning) return end(Verdict::differs, texts());
    }
    for (size_t rank = 0; rank < posted_.size(); ++rank) {
      if (!posted_[rank].has_failed) continue;
      return end(Verdict::failed, concat("rank ", rank, ": ", posted_[rank].text));
    }
    if (!fits()) return end(Verdict::differs, texts());
    end(Verdict::moved, "");
  }

  void end(Verdict verdict, std::string reason) {
    verdict_ = verdict;
    reason_ = std::move(reason);
    is_decided_.store(true, std::memory_order_release);
  }

  std::string texts() const {
    std::string all;
    for (size_t rank = 0; rank < posted_.size(); ++rank) {
      all += concat(rank ? "; " : "", "rank ", rank, ": ", posted_[rank].text);
    }
    return all;
  }

  /// The transfers that each rank wants are those that its peers give.
  bool fits() const {
    const int ranks = static_cast<int>(posted_.size());
    for (int from = 0; from < ranks; ++from) {
      for (int to = 0; to < ranks; ++to) {
        if (sizes(posted_[static_cast<size_t>(from)].sends, to) !=
            sizes(posted_[static_cast<size_t>(to)].receives, from)) {
          return false;
        }
      }
    }
    return true;
  }

  static std::vector<size_t> sizes(const std::vector<Transfer>& transfers, int peer) {
    std::vector<size_t> found;
    for (const Transfer& one : transfers) {
      if (one.peer == peer) found.push_back(one.bytes);
    }
    return found;
  }

  const Transfer& next_from(int peer, int rank, size_t* next) const {
    const std::vector<Transfer>& sends = posted_[static_cast<size_t>(peer)].sends;
    while (sends[*next].peer != rank) ++*next;
    return sends[(*next)++];
  }

  std::vector<Collective> posted_;
  int arrived_ = 0;  // with the group's mutex
  std::atomic<bool> is_decided_{false};
  Verdict verdict_ = Verdict::moved;  // once decided
  std::string reason_;                // once decided
  std::mutex copying_mutex_;  // guards the rest
  int copying_ = 0, copied_ = 0;
  bool is_closed_ = false;
};

class Group {
 public:
  explicit Group(int ranks) : counts_(static_cast<size_t>(ranks)) {}

  int size() const { return static_cast<int>(counts_.size()); }

  std::shared_ptr<Meeting> post(int rank, Collective collective) {
    std::lock_guard<std::mutex> lock(mutex_);
    const uint64_t number = counts_[static_cast<size_t>(rank)]++;
    std::shared_ptr<Meeting>& meeting = open_[number];
    if (!meeting) {
      meeting = std::make_shared<Meeting>(size());
      if (is_aborted()) meeting->abort(reason_);
    }
    const std::shared_ptr<Meeting> mine = meeting;
    if (mine->post(rank, std::move(collective))) open_.erase(number);
    return mine;
  }

  void abort(const std::string& reason) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_aborted()) return;
    reason_ = reason;
    is_aborted_.store(true, std::memory_order_release);
    for (auto& entry : open_) entry.second->abort(reason);
  }
  bool is_aborted() const { return is_aborted_.load(std::memory_order_acquire); }
  /// Once it is aborted.
  const std::string& reason() const { return reason_; }

 private:
  std::atomic<bool> is_aborted_{false};  // set once, after the reason
  std::mutex mutex_;                     // guards the rest
  std::vector<uint64_t> counts_;  // of the collectives that each rank has posted
  std::map<uint64_t, std::shared_ptr<Meeting>> open_;  // that not all ranks have posted, by number
  std::string reason_;
};

class ThreadWork final : public Work {
 public:
  ThreadWork(std::shared_ptr<Group> group, std::shared_ptr<Meeting> meeting, int rank)
      : group_(std::move(group)), meeting_(std::move(meeting)), rank_(rank) {}
  /// Others may be reading the memory of this rank.
  ~ThreadWork() override {
    if (is_over_) return;
    group_->abort(concat("rank ", rank_, " left a collective in flight"));
    while (!test()) std::this_thread::yield();
  }

  bool test() override {
    if (is_over_ || !meeting_->is_decided()) return is_over_;
    if (meeting_->verdict() != Verdict::moved) return end(meeting_->verdict(), meeting_->reason());
    if (!has_copied_) meeting_->copy_to(rank_);
    has_copied_ = true;
    if (meeting_->all_have_copied()) return end(Verdict::moved, "");
    if (group_->is_aborted() && meeting_->close()) return end(Verdict::aborted, group_->reason());
    return false;
  }
  bool awaits_others() const override { return !meeting_->is_decided(); }
  Verdict verdict() const override { return verdict_; }
  std::string reason() const override { return reason_; }

 private:
  bool end(Verdict verdict, const std::string& reason) {
    verdict_ = verdict;
    reason_ = reason;
    return is_over_ = true;
  }

  const std::shared_ptr<Group> group_;
  const std::shared_ptr<Meeting> meeting_;
  const int rank_;
  bool has_copied_ = false, is_over_ = false;
  Verdict verdict_ = Verdict::moved;
  std::string reason_;
};

class ThreadRank final : public Communicator {
 public:
  ThreadRank(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }

  std::unique_ptr<Work> post(Collective collective) override {
    for (const auto* transfers : {&collective.sends, &collective.receives}) {
      for (const Transfer& one : *transfers) {
        if (one.peer >= 0 && one.peer < size()) continue;
        fail(ErrorKind::value, "[communicator] no rank ", one.peer, " in a group of ", size());
      }
    }
    return std::make_unique<ThreadWork>(group_, group_->post(rank_, std::move(collective)), rank_);
  }
  void abort(const std::string& reason) override { group_->abort(reason); }

 private:
  const std::shared_ptr<Group> group_;
  const int rank_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_thread_ranks(int ranks) {
  if (ranks < 1) fail(ErrorKind::value, "[communicator] expected at least one rank, got ", ranks);
  const auto group = std::make_shared<Group>(ranks);
  std::vector<std::unique_ptr<Communicator>> ends;
  for (int rank = 0; rank < ranks; ++rank) {
    ends.push_back(std::make_unique<ThreadRank>(group, rank));
  }
  return ends;
}

}  // namespace ofl::ep
