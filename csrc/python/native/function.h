// Python functions with a native path for the arguments that are common.
//
// `@_C.native(_C.paths.sum)` makes such an object of a Python function. It takes over the
// function's name, docstring, parameters and defaults, and also serves as a method. A call binds
// the arguments to the parameters and goes down the path; the function gets what the path does not
// know. Where the path is whole (signature.h), the function has only its signature and its
// docstring, and says what is wrong with a call that does not fit.
#pragma once

#include "python/arguments.h"

namespace ofl::python {

/// The arguments of a call: one value for each parameter, given or default; borrowed.
struct Call {
  Arguments values;
  int count;
  Arguments rest;  // of *args
  Py_ssize_t rest_count;
  PyObject* name;  // of the function

  PyObject* operator[](int i) const { return values[i]; }
};

/// Returns a new reference, or null without an error and before any effect: for the function.
using NativePath = PyObject* (*)(const Call& call);

struct NativeRow {
  const char* name;  // of the path in `_C.paths`
  NativePath path;
  bool is_whole = false;  // the path knows all arguments
  /// Of a call with one tensor alone, before the path; may be null.
  PyObject* (*of_one)(PyObject* tensor) = nullptr;
};

/// The tables of paths; each ends with a null name.
extern const NativeRow kCreationPaths[];   // creation.cpp
extern const NativeRow kShapePaths[];      // shapes.cpp
extern const NativeRow kReductionPaths[];  // reductions.cpp
extern const NativeRow kElementPaths[];    // elements.cpp
extern const NativeRow kCountingPaths[];   // counting.cpp
extern const NativeRow kListPaths[];       // lists.cpp
extern const NativeRow kLinalgPaths[];     // linalg.cpp
extern const NativeRow kUfuncPaths[];      // ufuncs.cpp
extern const NativeRow kRandomPaths[];     // random/paths.cpp
extern const NativeRow kSearchingPaths[];  // searching.cpp
extern const NativeRow kIndexingPaths[];   // indexing.cpp
extern const NativeRow kScanPaths[];       // scans.cpp
extern const NativeRow kDTypePaths[];      // dtypes.cpp
extern const NativeRow kRangePaths[];      // ranges.cpp
extern const NativeRow kSetPaths[];        // sets.cpp
extern const NativeRow kPaddingPaths[];    // padding.cpp

/// Makes the types, and adds them, the namespace `paths` and the decorator to the module.
void init_native_function(PyObject* module);

}  // namespace ofl::python
