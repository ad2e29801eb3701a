// Forks, as functions see them that fork.
#pragma once

#include "python/numpy_api.h"

namespace ofl::python {

/// How many forks lie between the process that has loaded the module and this one.
int fork_count();

/// Ends the child of a fork inside a function, once the function has returned `value` (null: with
/// an exception). Its thread is the only one there, and nothing waits for the function.
[[noreturn]] void leave_forked_child(PyObject* value);

}  // namespace ofl::python
