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

  /// Whether a group that begins now is to wait for more, as such waits have brought something.
  bool begin_lingering();
  /// It has, or it would have.
  void end_lingering(bool grown) { vain = grown ? 0 : vain + 1; }
  /// A group of so much work, begun and last grown at these times, is still worth a wait.
  static bool may_grow(double work_ns, int64_t begin, int64_t grown);
  void count(size_t members, const Group::Savings& savings);
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
