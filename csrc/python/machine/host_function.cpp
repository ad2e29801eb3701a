// Host functions: a Python callable with a read set and a write set, run on the host_func stream.
#include "python/bind.h"

#include <pybind11/stl.h>

#include <string>

#include "python/convert.h"
#include "python/gil.h"
#include "python/initialised.h"
#include "python/machine/host_object.h"
#include "python/runtime.h"
#include "python/tensor/object.h"
#include "tensor/body.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

/// What the caller holds of a host function in flight: its result, and an object to wait for.
struct HostCall {
  vm::Dependence done;
  std::shared_ptr<void> result;  // PyObject; written before `done`'s writer retires
};

struct HostFunctionBody {
  std::shared_ptr<void> function;
  std::shared_ptr<HostCall> call;
  std::vector<Tensor> reads, writes;
  HeldStorages held;  // of both
  Turn turn;          // of a run's; its objects live as long as the instruction

  void launch(vm::LaunchContext& context);
  std::optional<Error> call_it(vm::Slot& slot);
};

/// With the GIL: one array per declared tensor, reads first.
py::tuple make_arguments(const HostFunctionBody& body) {
  py::tuple arguments(body.reads.size() + body.writes.size());
  size_t i = 0;
  for (const Tensor& x : body.reads) {
    arguments[i++] = py::reinterpret_steal<py::object>(array_over(x, false));
  }
  for (const Tensor& x : body.writes) {
    arguments[i++] = py::reinterpret_steal<py::object>(array_over(x, true));
  }
  return arguments;
}

void HostFunctionBody::launch(vm::LaunchContext& context) {
  for (const Tensor& x : writes) x.storage->materialize(context);
  context.slot.state.store(vm::SlotState::calling, std::memory_order_release);
  if (std::optional<Error> error = call_it(context.slot)) throw *error;
}

/// Lets go of the function with the GIL at hand: retirement would have to put it off. The slot runs
/// again before the GIL is given up: a thread that forks, or ends the interpreter, has the GIL, and
/// finds `calling` only where this thread stays in the call.
std::optional<Error> HostFunctionBody::call_it(vm::Slot& slot) {
  struct Running {
    ~Running() { slot.state.store(vm::SlotState::running, std::memory_order_release); }
    vm::Slot& slot;
  };
  WithGil gil;
  Running after{slot};
  std::optional<Error> error;
  try {
    const py::tuple arguments = make_arguments(*this);
    PyObject* value = PyObject_CallObject(static_cast<PyObject*>(function.get()), arguments.ptr());
    if (value) {
      call->result = keep_object(value);
    } else {
      error = take_python_error("");
    }
  } catch (const PythonErrorSet&) {
    error = take_python_error("");
  }
  function.reset();
  return error;
}

const vm::InstructionType kHostFunctionType = {
    "host function",
    [](void* body, vm::LaunchContext& context) {
      static_cast<HostFunctionBody*>(body)->launch(context);
    },
    [](void*, vm::Stream&, uint64_t) {},
    [](void* body, const vm::FailurePtr&) {
      static_cast<HostFunctionBody*>(body)->~HostFunctionBody();
    },
    [](const void*, vm::Description*) {},
};

std::vector<Tensor> host_tensors(const std::vector<py::object>& objects) {
  std::vector<Tensor> tensors;
  for (const py::object& object : objects) {
    const Tensor& tensor = require_tensor(object.ptr(), "host_func");
    require_on_host("host_func", tensor);
    tensors.push_back(tensor);
  }
  return tensors;
}

/// In naive mode the function has run in this thread: Ctrl-C and SystemExit in it are this
/// thread's.
void raise_interrupt(const HostCall& call) {
  const vm::FailurePtr failure = call.done.failure();
  if (!failure || !failure->payload) return;
  PyObject* exception = static_cast<PyObject*>(failure->payload.get());
  if (!PyObject_TypeCheck(exception, reinterpret_cast<PyTypeObject*>(PyExc_Exception)) &&
      runtime().machine.options().naive.load()) {
    throw vm::OperationError(*failure);
  }
}

/// Issues the function with its read set and write set.
std::shared_ptr<HostCall> issue_function(const Issuer& from, const char* name,
                                         std::shared_ptr<void> function,
                                         const std::vector<Tensor>& reads,
                                         const std::vector<Tensor>& writes, const Turn& turn) {
  auto call = std::make_shared<HostCall>();
  HostFunctionBody body{std::move(function), call, reads, writes, {}, turn};
  std::vector<vm::Operand> operands{{&call->done, vm::Access::write}};
  if (turn.own) operands.push_back({turn.own.get(), vm::Access::read});
  if (turn.before) operands.push_back({turn.before.get(), vm::Access::write});
  uint64_t bytes = 0;
  for (const Tensor& x : reads) {
    body.held.add(x.storage.get());
    operands.push_back({&x.storage->dependence(), vm::Access::read});
  }
  for (const Tensor& x : writes) {
    body.held.add(x.storage.get());
    operands.push_back({&x.storage->dependence(), vm::Access::write});
    bytes += x.storage->bytes();
  }
  vm::Instruction header;
  header.type = &kHostFunctionType;
  header.name = name;
  header.stream = &from.machine.stream(Device{}, vm::StreamType::host_func);
  header.site = from.site;
  header.bytes = bytes;
  from.machine.issue(header, operands.data(), static_cast<int>(operands.size()), std::move(body));
  raise_interrupt(*call);
  return call;
}

class PythonObject final : public HostObject {
 public:
  explicit PythonObject(std::shared_ptr<void> object) : object_(std::move(object)) {}

  void issue(const Issuer& issuer, const char* name, const std::vector<Tensor>& reads,
             const std::vector<Tensor>& writes, const Turn& turn) const override {
    issue_function(issuer, name, object_, reads, writes, turn);
  }
  PyObject* get() const { return static_cast<PyObject*>(object_.get()); }

 private:
  std::shared_ptr<void> object_;
};

/// The call of a host function that is written down: nothing has run.
std::shared_ptr<HostCall> recorded_call(const Issuer& from, const char* name,
                                        const py::function& function,
                                        const std::vector<Tensor>& reads,
                                        const std::vector<Tensor>& writes) {
  OpCall recorded(CallKind::host, name);
  recorded.object = host_object(function.ptr());
  call_host(from, recorded, reads, writes);
  auto call = std::make_shared<HostCall>();
  call->done.poison(
      std::make_shared<const vm::Failure>(vm::Failure{
          ErrorKind::recording,
          concat("[", name, "] this host function was recorded, and runs with the program: it has "
                 "no result; write what it finds into a tensor of writes"),
          name, from.site, 0, Device{}, nullptr}),
      0);
  return call;
}

std::shared_ptr<HostCall> host_func(const py::function& function,
                                    const std::vector<py::object>& reads,
                                    const std::vector<py::object>& writes,
                                    const std::string& name) {
  const std::vector<Tensor> read = host_tensors(reads), written = host_tensors(writes);
  for (const Tensor& x : written) {
    if (!x.storage->writable()) {
      fail(ErrorKind::value, "[host_func] cannot write into a read-only tensor of shape ",
           shape_str(x.shape), "; copy it first");
    }
  }
  const Issuer from = issuer();
  const char* const label = intern(name);
  if (from.sink) return recorded_call(from, label, function, read, written);
  return issue_function(from, label, keep_object(py::object(function).release().ptr()), read,
                        written, {});
}

}  // namespace

std::shared_ptr<const HostObject> host_object(PyObject* object) {
  Py_INCREF(object);
  return std::make_shared<PythonObject>(keep_object(object));
}

PyObject* python_object(const HostObject* object) {
  return object ? static_cast<const PythonObject*>(object)->get() : Py_None;
}

void bind_host_function(py::module_& m) {
  py::class_<HostCall, std::shared_ptr<HostCall>>(m, "HostCall", "A host function in flight.",
                                                  initialised<HostCall>())
      .def(
          "done", [](HostCall& call) { return runtime().machine.is_ready(call.done); },
          "True when it has run (or failed); never waits.")
      .def(
          "wait",
          [](HostCall& call) { runtime().machine.wait_for_value(call.done, "HostCall.wait"); },
          "Waits until it has run; raises what it raised.")
      .def(
          "result",
          [](HostCall& call) {
            runtime().machine.wait_for_value(call.done, "HostCall.result");
            return py::reinterpret_borrow<py::object>(static_cast<PyObject*>(call.result.get()));
          },
          "Waits, and returns what the function returned.");
  m.def("host_func", &host_func);
}

}  // namespace ofl::python
