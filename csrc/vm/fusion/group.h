// Group: instructions of one stream that run as one. The machine finds and orders them; the layer
// above tells which belong together, and runs them.
#pragma once

#include <cstdint>

#include "vm/instruction.h"

namespace ofl::vm {

/// Called with the stream's baton.
class Group {
 public:
  virtual ~Group() = default;

  /// Takes an instruction that is to run with the others, after them; false: it must run alone. All
  /// its predecessors have finished or are in the group.
  virtual bool add(Slot* slot) = 0;
  virtual bool full() const = 0;
  /// Of a device queue: how many of the first members belong together, whatever came after them
  /// before they are launched. The others need not be with them.
  virtual size_t segment() const { return SIZE_MAX; }

  /// Runs all; false: not now (there is no memory for it), and nothing has happened. May throw what
  /// the body of member failed() threw; all results of the members are lost then.
  virtual bool launch(LaunchContext& context) = 0;
  virtual int failed() const = 0;

  /// Results that were never in memory because the members ran as one.
  struct Savings {
    int results = 0;
    int64_t bytes = 0;
  };
  virtual Savings savings() const = 0;
};

}  // namespace ofl::vm
