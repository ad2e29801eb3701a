// Gathering: finds the instructions that run as one with the first ready one of a host stream.
//
//   first ──► what is ready, and what waits for members only, in program order ──► run, retire
//     └── lingers a little for more, while nobody waits
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "vm/group.h"
#include "vm/observer.h"

namespace ofl::vm {

class Stream;

/// What a stream knows about its groups.
struct GroupState {
  std::atomic<uint64_t> groups{0}, instructions{0}, results{0}, bytes{0};  // any thread reads
  int vain = 0;     // lingers in a row that brought nothing
  int skipped = 0;  // groups since the last one that lingered
};

/// With the baton, from begin to end. Members are in no list: they run, or go back.
class Gathering {
 public:
  /// `first` has left the queue. Nothing joins that was issued after `last`.
  Gathering(Stream& stream, GroupState& state, std::unique_ptr<Group> group, Slot* first, Seq last);

  /// Takes what can join now.
  void collect();
  /// Waits for more while that is worth it.
  void linger();
  double cost() const { return cost_; }
  bool alone() const { return members_.size() == 1; }
  /// Runs and retires all; false: not as one, and disband() is due.
  bool run();
  /// All are again what they were before.
  void disband();

 private:
  struct Candidate {
    Slot* slot;
    int edges;  // from members; 0: it is ready
  };

  Candidate next_candidate();
  void add_successors(Slot* member, std::vector<Candidate>* candidates) const;
  bool waits_for_members_only(const Candidate& candidate) const;
  void take(const Candidate& candidate);
  void count();
  void report(Observer* observer, int64_t begin);

  Stream& stream_;
  GroupState& state_;
  std::unique_ptr<Group> group_;
  std::vector<Slot*> members_;
  std::vector<Slot*> waiting_;  // members that were not ready; they have a guard
  std::vector<Slot*> settled_;  // members, and what will not be one
  std::vector<Candidate> candidates_;
  Seq last_;
  Seq refused_ = kNoneAwaited;  // the oldest that waits for a member and cannot join
  double cost_;
};

}  // namespace ofl::vm
