// Host functions: functions of the engine that run one after the other, and that programs record.
#include <utility>

#include "python/arguments.h"
#include "python/bind.h"
#include "python/engine/issue.h"
#include "python/engine/operands.h"
#include "python/gil.h"
#include "python/machine/host_object.h"
#include "python/runtime.h"

namespace ofl::python {

namespace {

std::shared_ptr<Function> function_of(const char* name, std::shared_ptr<void> callable,
                                      const std::vector<Tensor>& reads,
                                      const std::vector<Tensor>& writes) {
  auto function = std::make_shared<Function>();
  function->kind = Function::Kind::python;
  function->name = name;
  function->type = vm::StreamType::host_func;
  function->callable = std::move(callable);
  for (const Tensor& x : reads) add_tensor(function.get(), x, vm::Access::read, "host_func");
  for (const Tensor& x : writes) add_tensor(function.get(), x, vm::Access::write, "host_func");
  return function;
}

class PythonObject final : public HostObject {
 public:
  explicit PythonObject(std::shared_ptr<void> object) : object_(std::move(object)) {}

  void issue(const Issuer& issuer, const char* name, const std::vector<Tensor>& reads,
             const std::vector<Tensor>& writes, const Turn& turn) const override {
    issue_once(issuer, function_of(name, object_, reads, writes), new_call(), turn);
  }
  PyObject* get() const { return static_cast<PyObject*>(object_.get()); }
  bool is_in_flight() const { return object_.use_count() > 1; }

 private:
  std::shared_ptr<void> object_;
};

/// The call of a host function that is written down: nothing has run.
std::shared_ptr<Call> recorded_call(const Issuer& from, const char* name, PyObject* callable,
                                    const std::vector<Tensor>& reads,
                                    const std::vector<Tensor>& writes) {
  OpCall recorded(CallKind::host, name);
  recorded.object = host_object(callable);
  call_host(from, recorded, reads, writes);
  auto call = std::make_shared<Call>();
  call->done.poison(
      std::make_shared<const vm::Failure>(
          vm::Failure{ErrorKind::recording,
                      concat("[", name,
                             "] this host function was recorded, and runs with the program: it has "
                             "no result; write what it finds into a tensor of writes"),
                      name, from.site, 0, Device{}, nullptr}),
      0);
  call->phase.store(Phase::failed);
  return call;
}

std::vector<Tensor> host_tensors(PyObject* sequence, vm::Access access) {
  refuse_no_list(sequence, "host_func", access == vm::Access::read ? "reads" : "writes", "Tensor");
  std::vector<Tensor> tensors;
  Function function;  // says what may be read and written
  const Reference items(checked(PySequence_Fast(sequence, "expected a sequence of tensors")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    const Tensor& x = require_tensor(PySequence_Fast_GET_ITEM(items.get(), i), "host_func");
    add_tensor(&function, x, access, "host_func");
    tensors.push_back(x);
  }
  return tensors;
}

/// host_func(fn, reads, writes, name)
PyObject* host_func(Arguments given) {
  if (!PyCallable_Check(given[0])) {
    fail(ErrorKind::type, "[host_func] fn: expected a callable, got ", Py_TYPE(given[0])->tp_name);
  }
  const std::vector<Tensor> reads = host_tensors(given[1], vm::Access::read);
  const std::vector<Tensor> writes = host_tensors(given[2], vm::Access::write);
  const char* const name = name_argument(given[3]);
  const Issuer from = issuer();
  if (from.sink) return completion_of(recorded_call(from, name, given[0], reads, writes));
  Py_INCREF(given[0]);
  return push_once(from, function_of(name, keep_object(given[0]), reads, writes));
}

PyMethodDef functions[] = {positional<host_func, 4>("host_func"), {nullptr, nullptr, 0, nullptr}};

}  // namespace

std::shared_ptr<const HostObject> host_object(PyObject* object) {
  Py_INCREF(object);
  return std::make_shared<PythonObject>(keep_object(object));
}

PyObject* python_object(const HostObject* object) {
  return object ? static_cast<const PythonObject*>(object)->get() : Py_None;
}

int visit_object(const std::shared_ptr<const HostObject>& object, visitproc visit, void* arg) {
  if (object.use_count() != 1) return 0;
  const auto& held = static_cast<const PythonObject&>(*object);
  if (!held.is_in_flight()) Py_VISIT(held.get());
  return 0;
}

void init_host_function(PyObject* module) {
  vm::Runner::set_end_hook(GilForCall::end_thread);
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
