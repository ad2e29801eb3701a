// The lock of the failures that objects hold.
#pragma once

#include <mutex>

namespace ofl::vm {

/// Guards Dependence::poisons_ of all objects; failures are rare. Held across fork.
inline std::mutex poison_mutex;

}  // namespace ofl::vm
