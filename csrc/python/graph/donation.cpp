// Tensors that a call of a program takes for good.
#include "python/arguments.h"
#include "python/bind.h"
#include "python/issue_site.h"
#include "python/runtime.h"

namespace ofl::python {

namespace {

/// is_only_handle(x): nobody but x itself can get at its memory.
PyObject* is_only_handle(Arguments given) {
  const TensorStorage& storage = *require_tensor(given[0], "donate").storage;
  return PyBool_FromLong(storage.handles() == 1 && storage.is_alone());
}

/// give_up(x, name): x has no value any more; reading it raises, with the line of this call.
PyObject* give_up(Arguments given) {
  require_tensor(given[0], "donate");
  Tensor& x = reinterpret_cast<TensorObject*>(given[0])->tensor;
  const vm::SiteId site = issuer().site;
  const char* const name = name_argument(given[1]);
  const auto failure = std::make_shared<const vm::Failure>(
      vm::Failure{ErrorKind::recording,
                  concat("[", name, "] this tensor was donated to a call at ", format_site(site),
                         ", and has no value any more: use what the call returns"),
                  name, site, 0, x.device(), nullptr});
  TensorStorage& before = *x.storage;
  x.storage = StorageRef::adopt(
      TensorStorage::over(before.state(), nullptr, before.bytes(), nullptr, true));
  x.storage->dependence().poison(failure, 0);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {positional<is_only_handle, 1>("is_only_handle"),
                           positional<give_up, 2>("give_up"),
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_donation(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
