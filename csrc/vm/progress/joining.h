// Joining: an instruction in which others take part, in other threads or processes, each with one
// of its own. A ProgressPolicy posts it when its turn has come.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ep/communicators/communicator.h"

namespace ofl::vm {

/// An order that all who take part keep. Its numbers are counted from 0, without a gap.
struct Line {
  uint64_t next = 0;  // the number of the one to be posted next; with the baton
};

/// Where an instruction stands in its line, which it keeps alive.
struct Place {
  Line* line;
  uint64_t number;
};

/// What its body has besides the functions of InstructionType. Its `launch` is never called: memory
/// that it writes to is there before.
struct Joining {
  Place (*place)(const void* body);
  /// Posts it. With `has_failed` the others learn of that, and nothing moves. `text` says what it
  /// is, or why it has failed; it may be called as long as the machine lives. May throw: then
  /// nothing is posted, and nobody else must be left waiting for it.
  std::unique_ptr<ep::Work> (*post)(void* body, bool has_failed, std::function<std::string()> text);
  /// Says what it is; it may be called when the body is gone.
  std::function<std::string()> (*text)(const void* body);
};

}  // namespace ofl::vm
