// Loads OpenBLAS. Which library, and the core type, are chosen in Python
// (oneflow_lite/ops/blas.py).
#include "python/ops/blas.h"

#include <dlfcn.h>
#include <pybind11/stl.h>

#include <string>
#include <utility>

#include "base/error.h"
#include "ops/product/blas.h"
#include "ops/product/gemm_panels.h"
#include "python/bind.h"
#include "python/errors.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

/// The library's own symbols come first: a process may have another copy of it, even one whose
/// symbols are visible to all. Sanitizers do not allow that; macOS binds symbols by library anyway.
#if defined(RTLD_DEEPBIND) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr int kOpenMode = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#else
constexpr int kOpenMode = RTLD_NOW | RTLD_LOCAL;
#endif

// With the GIL.
bool looked = false;
PyObject* finder = nullptr;

struct Symbols {
  void* library;
  std::string prefix;

  void* find(const char* name) const { return dlsym(library, (prefix + name).c_str()); }
  const char* text(const char* name) const {
    const auto function = reinterpret_cast<const char* (*)()>(find(name));
    return function ? function() : "";
  }
};

/// Returns what the library says of itself: its configuration and its core type. Keeps the GIL, so
/// that no Python code runs while the environment is as the library shall find it.
std::pair<std::string, std::string> load_blas(const std::string& path, const std::string& prefix,
                                              bool own_loops) {
  void* opened = dlopen(path.c_str(), kOpenMode);
  if (!opened) fail(ErrorKind::runtime, "[blas] cannot load ", path, ": ", dlerror());
  Symbols symbols{opened, prefix};
  const auto find = [](void* context, const char* name) {
    return static_cast<Symbols*>(context)->find(name);
  };
  static ops::Blas library;
  ops::Blas found;
  const char* missing = ops::find_routines(&found, find, &symbols);
  if (missing) fail(ErrorKind::runtime, "[blas] ", path, " has no ", prefix, missing);
  found.own_loops = own_loops;
  library = found;
  ops::set_blas(&library);
  return {symbols.text("openblas_get_config"), symbols.text("openblas_get_corename")};
}

}  // namespace

void look_for_blas() {
  if (looked || !finder) return;
  PyObject* done = PyObject_CallNoArgs(finder);
  if (!done) throw PythonErrorSet{};
  Py_DECREF(done);
  looked = true;
}

void bind_blas(py::module_& m) {
  m.def("set_blas_finder", [](const py::object& function) {
    Py_XDECREF(finder);
    finder = function.inc_ref().ptr();
  });
  m.def("load_blas", &load_blas, py::arg("path"), py::arg("prefix"), py::arg("own_loops"));
  m.def("has_panel_loops", &ops::has_panel_loops);
}

}  // namespace ofl::python
