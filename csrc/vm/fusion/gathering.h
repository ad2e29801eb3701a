// Gathering: finds the instructions that run as one with the first ready one of a host stream.
//
//   first ──► what is ready, and what waits for members only, in program order ──► run, retire
//     └── lingers a little for more, while no thread waits
#pragma once

#include <memory>
#include <vector>

#include "vm/fusion/grouping.h"
#include "vm/stream.h"

namespace ofl::vm {

/// With the baton, from begin to end. Members are in no list: they run, or go back.
class Gathering {
 public:
  /// `first` has left the list of ready instructions. Nothing joins that was issued after `last`.
  Gathering(Stream& stream, Grouping& grouping, std::unique_ptr<Group> group, Slot* first,
            Seq last);

  /// alone: only `first` is left, which is still marked as running.
  /// put_back: the turn does not allow it; `first` is ready again.
  enum class Outcome { ran, alone, put_back };
  Outcome run(const Turn& turn);

 private:
  struct Candidate {
    Slot* slot;
    int edges;  // from members; 0: it is ready
  };

  void collect();
  void linger();
  Candidate next_candidate();
  void add_successors(Slot* member, std::vector<Candidate>* candidates) const;
  bool waits_for_members_only(const Candidate& candidate) const;
  void take(const Candidate& candidate);
  bool launch();
  void report(Observer* observer, int64_t begin);
  void disband();

  Stream& stream_;
  Grouping& grouping_;
  std::unique_ptr<Group> group_;
  std::vector<Slot*> members_;
  std::vector<Slot*> waiting_;  // members that were not ready; they have a guard
  std::vector<Slot*> settled_;  // members, and instructions that will not become members
  std::vector<Candidate> candidates_;
  Seq last_;
  Seq refused_ = kNoneAwaited;  // the oldest that waits for a member and cannot join
  double cost_;
};

}  // namespace ofl::vm
