// OpenGroup: instructions of one device queue that are to run as one, held back while the device
// has other work.
//
//   first ──► what is ready behind it, in queue order ──► launched when the queue would run dry,
//     └── more joins meanwhile                            when nothing more can join, or when
//                                                         a thread waits
#pragma once

#include <memory>
#include <vector>

#include "vm/fusion/grouping.h"
#include "vm/stream.h"

namespace ofl::vm {

/// With the baton. Members are in no list.
class OpenGroup {
 public:
  /// `first` has left the list of ready instructions.
  OpenGroup(Stream& stream, Grouping& grouping, std::unique_ptr<Group> group, Slot* first);

  /// Takes instructions that are ready now and can join.
  void collect();
  /// More members are not worth a wait. `unfinished`: parts of the queue that still run.
  bool is_due(size_t unfinished) const;
  /// Nothing joins any more. Members that do not belong with the first ones go back.
  void close();

  const std::vector<Slot*>& members() const { return members_; }
  /// Whether the members can run as one; then `group()` runs them.
  bool is_group() const { return group_ && members_.size() > 1; }
  Group& group() { return *group_; }

 private:
  Stream& stream_;
  Grouping& grouping_;
  std::unique_ptr<Group> group_;
  std::vector<Slot*> members_;
  const bool lingers_;  // on an idle device, too
  const int64_t begin_;
  int64_t grown_;  // when the last one joined
  double cost_;
  bool complete_ = false;  // the next instruction cannot join
};

}  // namespace ofl::vm
