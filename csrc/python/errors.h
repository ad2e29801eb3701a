// From ofl::Error to Python exceptions and back.
#pragma once

#include <utility>

#include "base/error.h"
#include "python/numpy_api.h"

namespace ofl::python {

/// Thrown where Python's error indicator is already set.
struct PythonErrorSet {};

/// The exception class oneflow_lite.OutOfMemoryError; borrowed. Made on first call.
PyObject* out_of_memory_type();

/// The exception class oneflow_lite.graph.TraceError; borrowed. Made on first call.
PyObject* recording_error_type();

/// The exception classes oneflow_lite.distributed.RankError and DesyncError; borrowed. Made on
/// first call.
PyObject* rank_error_type();
PyObject* desync_error_type();

/// How to make an exception like another one, which says of itself: again(error). Kept for good.
void set_exception_maker(PyObject* again);

/// The Python exception for a C++ one, which is new each time; owned. Null, with the error
/// indicator set, when it cannot be made.
PyObject* python_exception(const Error& error);

/// Sets Python's error indicator from a C++ exception. Callers catch
/// std::exception and PythonErrorSet and nothing else: the unwinding of a thread must pass.
void set_python_error(const std::exception& error);

/// The pending Python exception as an Error(foreign) with the exception as payload; clears it.
Error take_python_error(const std::string& prefix);

/// Runs `body`, which returns an owned PyObject* (or an int-like status); on failure sets the error
/// indicator and returns `failed`.
template <typename Result, typename Body>
Result guarded(Result failed, const Body& body) {
  try {
    return body();
  } catch (const PythonErrorSet&) {
    return failed;
  } catch (const std::exception& error) {
    set_python_error(error);
    return failed;
  }
}

/// An object that the C API returned: throws PythonErrorSet when it is null.
inline PyObject* checked(PyObject* object) {
  if (!object) throw PythonErrorSet{};
  return object;
}

/// Lets an owned object go at the end of its scope.
class Reference {
 public:
  Reference() = default;
  explicit Reference(PyObject* stolen) : object_(stolen) {}
  ~Reference() { Py_XDECREF(object_); }
  Reference(Reference&& other) noexcept : object_(other.release()) {}
  Reference& operator=(Reference other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }

 private:
  PyObject* object_ = nullptr;
};

}  // namespace ofl::python
