// Calls of jitted functions that are found again without Python code.
#pragma once

namespace ofl::python {

/// No call is known any more: a setting that programs depend on has changed. With the GIL.
void forget_known_calls();

}  // namespace ofl::python
