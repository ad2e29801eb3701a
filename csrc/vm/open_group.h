// OpenGroup: instructions of one device queue that are to run as one, held back while the device
// has other work.
//
//   first ──► what is ready behind it, in queue order ──► launched when the queue would run dry,
//     └── more joins meanwhile                            when nothing more can join, or when
//                                                         somebody waits
#pragma once

#include <memory>
#include <vector>

#include "vm/gathering.h"
#include "vm/group.h"

namespace ofl::vm {

class QueuePolicy;
class Stream;

/// With the baton. Members are in no list.
class OpenGroup {
 public:
  /// `first` has left the queue.
  OpenGroup(Stream& stream, QueuePolicy& policy, GroupState& state, std::unique_ptr<Group> group,
            Slot* first);

  /// Takes what is ready now and can join.
  void collect();
  /// It is not worth waiting for more.
  bool is_due() const;
  /// Launches all, as one or, where that cannot be, one by one.
  void launch();

 private:
  void cut();

  Stream& stream_;
  QueuePolicy& policy_;
  GroupState& state_;
  std::unique_ptr<Group> group_;
  std::vector<Slot*> members_;
  const bool lingers_;  // on an idle device, too
  const int64_t begin_;
  int64_t grown_;  // when the last one joined
  double cost_;
  bool complete_ = false;  // what comes next cannot join
};

}  // namespace ofl::vm
