// What a launched kernel needs until the queue has run it.
#pragma once

#include <optional>

#include "base/error.h"

namespace ofl::ops {

class InFlight {
 public:
  virtual ~InFlight() = default;
  /// When the queue has run it: what it found wrong.
  virtual std::optional<Error> failure() const { return std::nullopt; }
};

}  // namespace ofl::ops
