// Functions as instructions: from the push to the end of the call.
#pragma once

#include <memory>

#include "python/engine/function.h"

namespace ofl::python {

/// Issues it from the calling thread's line. It writes the call's `done`.
std::shared_ptr<Call> issue_function(const Issuer& from,
                                     const std::shared_ptr<const Function>& function);
/// The same of one that is issued this once.
std::shared_ptr<Call> issue_once(const Issuer& from, std::shared_ptr<Function> function,
                                 const Turn& turn = {});

}  // namespace ofl::python
