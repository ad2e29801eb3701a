// HostHooks: how a blocking call treats the lock of the layer above (the GIL).
#pragma once

#include <optional>

#include "base/error.h"

namespace ofl::vm {

/// Called from any thread.
class HostHooks {
 public:
  virtual ~HostHooks() = default;
  /// Lets go of the lock if the calling thread has it; a token for `acquire`.
  virtual void* release() { return nullptr; }
  virtual void acquire(void* token) { (void)token; }
  /// Looks for an interrupt (Ctrl-C) without keeping the lock; the error to throw, or nullopt.
  virtual std::optional<Error> interrupt(void* token) {
    (void)token;
    return std::nullopt;
  }
  /// The layer above ends: other threads do not come back from its functions.
  virtual bool ends() { return false; }
};

}  // namespace ofl::vm
