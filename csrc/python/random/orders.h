// The native paths that put things in random order: in the thread that calls, where few elements
// are at hand.
#pragma once

#include "python/native/function.h"

namespace ofl::python {

/// permutation(self, x, axis, device), permuted(self, x, axis, device), shuffle(self, x, axis)
PyObject* permutation_path(const Call& call);
PyObject* permuted_path(const Call& call);
PyObject* shuffle_path(const Call& call);
/// permutation(self, x, device), shuffle(self, x) of a RandomState
PyObject* legacy_permutation_path(const Call& call);
PyObject* legacy_shuffle_path(const Call& call);

}  // namespace ofl::python
