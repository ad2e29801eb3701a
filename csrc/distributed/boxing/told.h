// Ranks tell each other the shapes and dtypes of their tensors, before these become one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "distributed/world/collective.h"

namespace ofl::distributed {

/// The dtype and shape of a tensor, as a rank tells them the others.
struct Told {
  DType dtype;
  Dims shape;

  bool operator==(const Told& other) const { return dtype == other.dtype && shape == other.shape; }
  /// "float32 (3, 4)".
  std::string str() const;
};

/// All ranks of the world call it, each with as many tensors, and get to know what those of the
/// placement have: of each tensor, by parallel id. Waits for it. `name`: of the function, for
/// errors; outlives the machine. `more`: a hash of what else has to be the same on all ranks.
/// `text`: what this rank calls it for, where ranks are said to differ or to wait; on any thread.
std::vector<std::vector<Told>> tell(const Issuer& issuer, Member& member, const char* name,
                                    const Placement& placement, uint64_t more,
                                    const std::vector<Told>& own,
                                    std::function<std::string()> text);

}  // namespace ofl::distributed
