// Grouping: the groups of one stream: when one begins, whether it waits for more members, and how
// much they have saved.
#pragma once

#include <atomic>
#include <memory>

#include "vm/fusion/group.h"
#include "vm/stream_policy.h"
#include "vm/window.h"

namespace ofl::vm {

/// With the baton, unless said otherwise.
class Grouping {
 public:
  Grouping(const Board& board, const Window& window) : board_(board), window_(window) {}

  /// A group that begins with this instruction; null: it runs alone.
  std::unique_ptr<Group> begin(Slot* first) const;
  /// Adds the instruction to the group unless it must run alone. It must not if an operand failed.
  static bool add(Group& group, Slot* slot);
  Seq last_awaited() const { return window_.last_awaited(board_); }

  /// Whether a group that begins now waits for more members: recent waits brought some.
  bool begin_lingering();
  void end_lingering(bool grown) { vain_ = grown ? 0 : vain_ + 1; }
  /// A group with this much work that began and last grew at these times is still worth a wait.
  static bool may_grow(double work_ns, int64_t begin, int64_t grown);

  void count(size_t members, const Group::Savings& savings);
  /// Those of groups. Any thread.
  StreamPolicy::Counters counters() const;

 private:
  const Board& board_;
  const Window& window_;
  std::atomic<uint64_t> groups_{0}, grouped_{0}, results_{0}, bytes_{0};
  int vain_ = 0;     // waits in a row that brought nothing
  int skipped_ = 0;  // groups since the last one that waited
};

}  // namespace ofl::vm
