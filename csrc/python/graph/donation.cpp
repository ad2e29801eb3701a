#include "python/graph/donation.h"

#include "python/arguments.h"
#include "python/bind.h"
#include "python/issue_site.h"
#include "python/runtime.h"

namespace ofl::python {

bool may_be_taken(const Tensor& x) {
  return x.storage->handles() == 1 && x.storage->is_alone() && x.storage->writable();
}

void give_up(PyObject* object, const char* name) {
  Tensor& x = reinterpret_cast<TensorObject*>(object)->tensor;
  const vm::SiteId site = issuer().site;
  const auto failure = std::make_shared<const vm::Failure>(
      vm::Failure{ErrorKind::recording,
                  concat("[", name, "] this tensor was donated to a call at ", format_site(site),
                         ", and has no value any more: use what the call returns"),
                  name, site, 0, x.device(), nullptr});
  TensorStorage& before = *x.storage;
  x.storage = StorageRef::adopt(
      TensorStorage::over(before.state(), nullptr, before.bytes(), nullptr, true));
  x.storage->dependence().poison(failure, 0);
}

namespace {

PyObject* call_may_be_taken(Arguments given) {
  return PyBool_FromLong(may_be_taken(require_tensor(given[0], "donate")));
}

PyObject* call_give_up(Arguments given) {
  require_tensor(given[0], "donate");
  give_up(given[0], name_argument(given[1]));
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {positional<call_may_be_taken, 1>("may_be_taken"),
                           positional<call_give_up, 2>("give_up"),
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_donation(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
