// OnComplete: the object that a function calls, or has called, to say that it has completed.
#pragma once

#include <memory>

#include "python/engine/call.h"

namespace ofl::python {

/// Without both once it has been called.
struct OnComplete {
  std::shared_ptr<vm::Pending> pending;
  std::shared_ptr<Call> call;
};

extern PyTypeObject* on_complete_type;  // made with the module

}  // namespace ofl::python
