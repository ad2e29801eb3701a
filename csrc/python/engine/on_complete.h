// What a function that completes later is given: it says so by calling it.
#pragma once

#include <memory>

#include "python/engine/call.h"

namespace ofl::python {

struct OnComplete {
  std::shared_ptr<vm::Pending> pending;
  std::shared_ptr<Call> call;
};

extern PyTypeObject* on_complete_type;  // made with the module

}  // namespace ofl::python
