// Loads OpenBLAS. Which library, and the core type, are chosen in Python
// (oneflow_lite/ops/blas.py).
#include "python/ops/blas.h"

#include <dlfcn.h>

#include <string>

#include "base/error.h"
#include "ops/product/blas.h"
#include "ops/product/gemm_panels.h"
#include "python/arguments.h"
#include "python/bind.h"

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

/// load_blas(path, prefix, own_loops): what the library says of itself, its configuration and its
/// core type. Keeps the GIL, so that no Python code runs while the environment is as the library
/// shall find it.
PyObject* load_blas(Arguments given) {
  const char* path = utf8(given[0]);
  const std::string prefix = utf8(given[1]);
  const bool own_loops = truth(given[2]);
  void* opened = dlopen(path, kOpenMode);
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
  return Py_BuildValue("(ss)", symbols.text("openblas_get_config"),
                       symbols.text("openblas_get_corename"));
}

PyObject* set_blas_finder(Arguments given) {
  Py_INCREF(given[0]);
  Py_XSETREF(finder, given[0]);
  Py_RETURN_NONE;
}

PyObject* has_panel_loops(Arguments) { return PyBool_FromLong(ops::has_panel_loops()); }

PyMethodDef functions[] = {positional<set_blas_finder, 1>("set_blas_finder"),
                           positional<load_blas, 3>("load_blas"),
                           positional<has_panel_loops, 0>("has_panel_loops"),
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void look_for_blas() {
  if (looked || !finder) return;
  PyObject* done = PyObject_CallNoArgs(finder);
  if (!done) throw PythonErrorSet{};
  Py_DECREF(done);
  looked = true;
}

void init_blas(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
