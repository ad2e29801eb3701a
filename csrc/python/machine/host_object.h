// Python objects that calls of a program use.
#pragma once

#include "graph/recording/host_object.h"
#include "python/numpy_api.h"

namespace ofl::python {

/// A function that is called as a host function, or a source of random numbers. Takes a reference.
std::shared_ptr<const HostObject> host_object(PyObject* object);

/// Borrowed; None for null.
PyObject* python_object(const HostObject* object);

/// For tp_traverse of what holds it (or null). It is not visited, and so counts as reachable, while
/// another one holds it, too, or a call of it is in flight.
int visit_object(const std::shared_ptr<const HostObject>& object, visitproc visit, void* arg);

}  // namespace ofl::python
