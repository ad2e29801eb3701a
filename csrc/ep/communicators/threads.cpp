#include "ep/communicators/threads.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"

namespace ofl::ep {

namespace {

/// The ranks of a group, by their places.
using Ranks = std::vector<int32_t>;

/// One collective of the group. Ranks are places.
///
/// The thread that comes last writes the verdict, with the group's mutex, and then `is_decided_`
/// (release). A thread that sees it (acquire) may read what all ranks have posted: each posted with
/// the mutex before. A rank counts itself with `copying_mutex_` before and after it reads the
/// memory of others. A rank that sees, with the mutex, that all have copied, or that nobody copies
/// and nobody may any more, has its memory for itself.
class Meeting {
 public:
  explicit Meeting(std::shared_ptr<const Ranks> ranks)
      : ranks_(std::move(ranks)), posted_(ranks_->size()) {}

  /// With the group's mutex. True: it was the last one.
  bool post(int rank, Collective collective) {
    posted_[static_cast<size_t>(rank)] = std::move(collective);
    if (++arrived_ < static_cast<int>(posted_.size())) return false;
    if (!is_decided()) decide();  // it may have been aborted
    return true;
  }
  /// With the group's mutex. Nothing, once it is decided.
  void abort(const std::string& reason) {
    if (!is_decided()) end(Verdict::aborted, reason);
  }
  /// With the group's mutex, before it is decided: a rank that has not posted its part has left.
  void miss(int rank) {
    const std::string gone = concat("rank ", (*ranks_)[static_cast<size_t>(rank)], " has ended");
    end(Verdict::differs, concat(gone, "; ", texts()));
  }

  /// With the group's mutex.
  std::vector<int32_t> late() const {
    std::vector<int32_t> found;
    for (size_t rank = 0; rank < posted_.size(); ++rank) {
      if (!posted_[rank].text) found.push_back((*ranks_)[rank]);
    }
    return found;
  }

  /// With the group's mutex: the rank asks, unless another one does.
  bool ask(int rank) {
    if (asks_ < 0) asks_ = rank;
    return asks_ == rank;
  }
  /// With the group's mutex; empty: it has not come.
  std::string text_of(int rank) const {
    const Collective& posted = posted_[static_cast<size_t>(rank)];
    return posted.text ? posted.text() : "";
  }

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
      return end(Verdict::failed, concat("rank ", (*ranks_)[rank], ": ", posted_[rank].text()));
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
      if (!posted_[rank].text) continue;  // not there
      all += concat(all.empty() ? "" : "; ", "rank ", (*ranks_)[rank], ": ", posted_[rank].text());
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

  const std::shared_ptr<const Ranks> ranks_;
  std::vector<Collective> posted_;
  int arrived_ = 0;  // with the group's mutex
  int asks_ = -1;    // with the group's mutex: the rank that does
  std::atomic<bool> is_decided_{false};
  Verdict verdict_ = Verdict::moved;  // once decided
  std::string reason_;                // once decided
  std::mutex copying_mutex_;          // guards the rest
  int copying_ = 0, copied_ = 0;
  bool is_closed_ = false;
};

/// Where a rank is, as far as one group knows.
struct Whereabouts {
  std::string in;       // what it waits in, or nothing
  std::string last;     // what it has posted last, or nothing
  int64_t last_at = 0;  // when
};

/// How a group reaches its world. Called with no lock of the group.
struct Links {
  std::function<void(const std::string&)> differs;  // its ranks do not do the same
  std::function<std::vector<std::string>()> where;  // all ranks of the world are
};

class Group {
 public:
  Group(Ranks ranks, Links world)
      : ranks_(std::make_shared<const Ranks>(std::move(ranks))),
        world_(std::move(world)),
        counts_(ranks_->size()),
        last_(ranks_->size()),
        has_left_(ranks_->size()) {}

  int size() const { return static_cast<int>(counts_.size()); }

  std::shared_ptr<Meeting> post(int rank, Collective collective) {
    std::shared_ptr<Meeting> mine;
    bool differs;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      const uint64_t number = counts_[static_cast<size_t>(rank)]++;
      std::shared_ptr<Meeting>& meeting = open_[number];
      if (!meeting) {
        meeting = std::make_shared<Meeting>(ranks_);
        if (is_aborted()) meeting->abort(reason_);
      }
      mine = meeting;
      const bool was_decided = mine->is_decided();
      last_[static_cast<size_t>(rank)] = {collective.text, now_ns()};
      const bool is_last = mine->post(rank, std::move(collective));
      const int missing = missing_in(number);
      if (missing >= 0 && !mine->is_decided()) mine->miss(missing);
      if (is_last) open_.erase(number);
      differs = !was_decided && mine->is_decided() && mine->verdict() == Verdict::differs;
    }
    if (differs) world_.differs(mine->reason());
    return mine;
  }

  void leave(int rank) {
    std::string reason;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      has_left_[static_cast<size_t>(rank)] = true;
      for (auto& entry : open_) {
        if (entry.second->is_decided() || missing_in(entry.first) < 0) continue;
        entry.second->miss(rank);
        reason = entry.second->reason();
      }
    }
    if (!reason.empty()) world_.differs(reason);
  }

  void abort(const std::string& reason) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_aborted()) return;
    reason_ = reason;
    is_aborted_.store(true, std::memory_order_release);
    for (auto& entry : open_) entry.second->abort(reason);
  }
  std::vector<int32_t> late(const Meeting& meeting) {
    std::lock_guard<std::mutex> lock(mutex_);
    return meeting.late();
  }
  void abort_world(const std::string& reason) {
    world_.differs(reason);
    abort(reason);  // the world may be gone
  }
  bool ask(Meeting& meeting, int rank) {
    std::lock_guard<std::mutex> lock(mutex_);
    return meeting.ask(rank);
  }
  std::vector<std::string> answers() const { return world_.where(); }
  Whereabouts where(int rank) {
    std::lock_guard<std::mutex> lock(mutex_);
    const Last& last = last_[static_cast<size_t>(rank)];
    Whereabouts found{"", last.text ? last.text() : "", last.at};
    for (const auto& entry : open_) {
      if (found.in.empty()) found.in = entry.second->text_of(rank);
    }
    return found;
  }
  bool is_aborted() const { return is_aborted_.load(std::memory_order_acquire); }
  /// Once it is aborted.
  const std::string& reason() const { return reason_; }

 private:
  struct Last {
    std::function<std::string()> text;
    int64_t at = 0;
  };

  /// With the mutex: a rank that has left without its part in a collective; -1: there is none.
  int missing_in(uint64_t number) const {
    for (size_t rank = 0; rank < counts_.size(); ++rank) {
      if (has_left_[rank] && counts_[rank] <= number) return static_cast<int>(rank);
    }
    return -1;
  }

  const std::shared_ptr<const Ranks> ranks_;
  const Links world_;
  std::atomic<bool> is_aborted_{false};  // set once, after the reason
  std::mutex mutex_;                     // guards the rest
  std::vector<uint64_t> counts_;         // of the collectives that each rank has posted
  std::vector<Last> last_;               // of them
  std::vector<bool> has_left_;
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
  void tell_waiting() override {}  // they see it
  std::vector<int32_t> late() const override { return group_->late(*meeting_); }
  bool ask() override { return group_->ask(*meeting_, rank_); }
  std::vector<std::string> answers() const override { return group_->answers(); }
  double turn() const override { return static_cast<double>(rank_) / group_->size(); }
  void abort(const std::string& reason) override { group_->abort_world(reason); }
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
  std::optional<std::string> aborted() override {
    if (!group_->is_aborted()) return std::nullopt;
    return group_->reason();
  }

 private:
  const std::shared_ptr<Group> group_;
  const int rank_;
};

/// What the ends of a world share.
class Shared : public std::enable_shared_from_this<Shared> {
 public:
  explicit Shared(int size) : size_(size) {}
  int size() const { return size_; }

  /// All of them get the same one.
  std::shared_ptr<Group> group(const Ranks& ranks) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<Group>& group = groups_[ranks];
    if (group) return group;
    const std::weak_ptr<Shared> world = weak_from_this();
    Links links;
    links.differs = [world](const std::string& reason) {
      if (const std::shared_ptr<Shared> shared = world.lock()) shared->abort(reason);
    };
    links.where = [world] {
      const std::shared_ptr<Shared> shared = world.lock();
      return shared ? shared->where() : std::vector<std::string>();
    };
    group = std::make_shared<Group>(ranks, std::move(links));
    if (is_aborted_) group->abort(reason_);
    for (const int32_t rank : left_) leave(*group, ranks, rank);
    return group;
  }

  /// What a group says of it aborts the world, so it is told without the mutex.
  void leave(int32_t rank) {
    std::map<Ranks, std::shared_ptr<Group>> all;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      left_.push_back(rank);
      all = groups_;
    }
    for (const auto& entry : all) leave(*entry.second, entry.first, rank);
  }

  void abort(const std::string& reason) {
    std::vector<std::shared_ptr<Group>> all;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (is_aborted_) return;
      is_aborted_ = true;
      reason_ = reason;
      for (const auto& entry : groups_) all.push_back(entry.second);
    }
    for (const std::shared_ptr<Group>& group : all) group->abort(reason);
  }

  std::vector<std::string> where() {
    std::map<Ranks, std::shared_ptr<Group>> all;
    std::vector<int32_t> left;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      all = groups_;
      left = left_;
    }
    std::vector<std::string> answers;
    for (int32_t rank = 0; rank < size_; ++rank) {
      const bool has_left = std::find(left.begin(), left.end(), rank) != left.end();
      answers.push_back(has_left ? "has ended" : where(all, rank));
    }
    return answers;
  }

 private:
  static int place_in(const Ranks& ranks, int32_t rank) {
    const auto found = std::find(ranks.begin(), ranks.end(), rank);
    return found == ranks.end() ? -1 : static_cast<int>(found - ranks.begin());
  }
  static void leave(Group& group, const Ranks& ranks, int32_t rank) {
    if (const int place = place_in(ranks, rank); place >= 0) group.leave(place);
  }
  static std::string where(const std::map<Ranks, std::shared_ptr<Group>>& groups, int32_t rank) {
    Whereabouts latest;
    for (const auto& [ranks, group] : groups) {
      const int place = place_in(ranks, rank);
      if (place < 0) continue;
      Whereabouts found = group->where(place);
      if (!found.in.empty()) return in_text(found.in);
      if (found.last_at > latest.last_at) latest = std::move(found);
    }
    return idle_text(latest.last);
  }

  const int size_;
  std::mutex mutex_;  // guards the rest
  std::map<Ranks, std::shared_ptr<Group>> groups_;
  std::vector<int32_t> left_;
  bool is_aborted_ = false;
  std::string reason_;
};

class ThreadWorld final : public World {
 public:
  ThreadWorld(std::shared_ptr<Shared> shared, int rank) : shared_(std::move(shared)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return shared_->size(); }
  std::unique_ptr<Communicator> group(const std::vector<int32_t>& ranks) override {
    const auto mine = std::find(ranks.begin(), ranks.end(), rank_);
    if (mine == ranks.end()) {
      fail(ErrorKind::value, "[communicator] rank ", rank_, " is not in the group");
    }
    const int place = static_cast<int>(mine - ranks.begin());
    return std::make_unique<ThreadRank>(shared_->group(ranks), place);
  }
  void abort(const std::string& reason) override { shared_->abort(reason); }
  void leave() override { shared_->leave(rank_); }

 private:
  const std::shared_ptr<Shared> shared_;
  const int rank_;
};

}  // namespace

std::vector<std::unique_ptr<World>> make_thread_world(int ranks) {
  if (ranks < 1) fail(ErrorKind::value, "[distributed] expected at least one rank, got ", ranks);
  const auto shared = std::make_shared<Shared>(ranks);
  std::vector<std::unique_ptr<World>> ends;
  for (int rank = 0; rank < ranks; ++rank) {
    ends.push_back(std::make_unique<ThreadWorld>(shared, rank));
  }
  return ends;
}

}  // namespace ofl::ep
