// Functions as instructions: from the push to the end of the call.
#pragma once

#include <memory>

#include "python/engine/function.h"

namespace ofl::python {

/// A call of a function that is yet to be issued.
std::shared_ptr<Call> new_call();

/// Issues it from the calling thread's line. It writes the call's `done`.
void issue_function(const Issuer& from, const std::shared_ptr<const Function>& function,
                    std::shared_ptr<Call> call);
/// The same of one that is issued this once.
void issue_once(const Issuer& from, std::shared_ptr<Function> function, std::shared_ptr<Call> call,
                const Turn& turn = {});

/// Issues it; returns a new Completion. That is made first: without memory for it nothing runs.
PyObject* push_function(const Issuer& from, const std::shared_ptr<const Function>& function);
/// The same of one that is issued this once.
PyObject* push_once(const Issuer& from, std::shared_ptr<Function> function);

}  // namespace ofl::python
