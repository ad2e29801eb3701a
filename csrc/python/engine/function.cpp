#include "python/engine/function.h"

#include "python/convert.h"
#include "python/engine/native_object.h"
#include "python/engine/on_complete.h"
#include "python/gil.h"
#include "python/runtime.h"
#include "tensor/body.h"

namespace ofl::python {

namespace {

struct FunctionBody {
  std::shared_ptr<const Function> function;
  std::shared_ptr<void> callable;  // let go with the GIL at hand: retirement would put it off
  std::shared_ptr<Call> call;
  std::shared_ptr<vm::Pending> pending;  // of kind later
  HeldStorages held;
  Turn turn;  // of a run's; its objects live as long as the instruction

  void launch(vm::LaunchContext& context);
  void run(vm::Seq seq);
  std::optional<Error> call_python();
  void call_native();
};

/// With the GIL: one array for each tensor, reads first.
Reference arguments_of(const FunctionBody& body) {
  const Function& function = *body.function;
  const bool is_later = function.kind == Function::Kind::later;
  const size_t count = is_later + function.reads.size() + function.writes.size();
  Reference arguments(checked(PyTuple_New(static_cast<Py_ssize_t>(count))));
  Py_ssize_t i = 0;
  const auto add = [&](PyObject* object) { PyTuple_SET_ITEM(arguments.get(), i++, object); };
  if (is_later) add(new_native<OnComplete>(on_complete_type, {body.pending, body.call}));
  for (const Tensor& x : function.reads) add(checked(array_over(x, false)));
  for (const Tensor& x : function.writes) add(checked(array_over(x, true)));
  return arguments;
}

std::optional<Error> FunctionBody::call_python() {
  WithGil gil;
  std::optional<Error> error;
  try {
    const Reference arguments = arguments_of(*this);
    PyObject* value = PyObject_CallObject(static_cast<PyObject*>(callable.get()), arguments.get());
    if (!value) {
      error = take_python_error("");
    } else if (pending) {
      Py_DECREF(value);
    } else {
      call->result = keep_object(value);
    }
  } catch (const PythonErrorSet&) {
    error = take_python_error("");
  }
  callable.reset();
  return error;
}

void FunctionBody::call_native() {
  const CFunction& code = function->code;
  SmallVector<void*, 16> memory;
  for (const Tensor& x : function->reads) memory.push_back(x.address());
  for (const Tensor& x : function->writes) memory.push_back(x.address());
  if (!code.has_status) {
    reinterpret_cast<void (*)(void*, void**)>(code.address)(code.argument, memory.begin());
    return;
  }
  const int status =
      reinterpret_cast<int (*)(void*, void**)>(code.address)(code.argument, memory.begin());
  if (status != 0) fail(ErrorKind::runtime, "[", function->name, "] returned status ", status);
}

// A thread that forks has the GIL.
void FunctionBody::launch(vm::LaunchContext& context) {
  if (!call->leave_queue(Phase::running)) {
    fail(ErrorKind::cancelled, "[", function->name, "] was cancelled before it began");
  }
  for (const Tensor& x : function->writes) x.storage->materialize(context);
  context.slot.state.store(vm::SlotState::calling, std::memory_order_release);
  run(context.slot.name());
}

void FunctionBody::run(vm::Seq seq) {
  switch (function->kind) {
    case Function::Kind::nothing: return;
    case Function::Kind::forgive:
      for (const auto& variable : function->variables) variable->dependence.forgive(seq);
      return;
    case Function::Kind::native: return call_native();
    case Function::Kind::python:
    case Function::Kind::later: break;
  }
  if (std::optional<Error> error = call_python()) throw *error;
}

constexpr vm::InstructionType function_type(Function::Order order) {
  vm::InstructionType type = {
      "host function",
      [](void* body, vm::LaunchContext& context) {
        static_cast<FunctionBody*>(body)->launch(context);
      },
      [](void*, vm::Stream&, uint64_t) {},
      [](void* body, const vm::FailurePtr& failure) {
        auto* function = static_cast<FunctionBody*>(body);
        function->call->end(failure);
        function->~FunctionBody();
      },
      [](const void*, vm::Description*) {},
  };
  type.pending = [](void* body) { return static_cast<FunctionBody*>(body)->pending; };
  type.is_queued_always = order == Function::Order::notice;
  if (order != Function::Order::plain) type.settle = [](void*, const vm::Slot&) {};
  return type;
}

const vm::InstructionType kTypes[] = {function_type(Function::Order::plain),
                                      function_type(Function::Order::in_any_case),
                                      function_type(Function::Order::notice)};

/// In naive mode the function has run in this thread: Ctrl-C and SystemExit in it are this
/// thread's.
void raise_interrupt(const Call& call) {
  const vm::FailurePtr failure = call.done.failure();
  if (!failure || !failure->payload) return;
  PyObject* exception = static_cast<PyObject*>(failure->payload.get());
  if (!PyObject_TypeCheck(exception, reinterpret_cast<PyTypeObject*>(PyExc_Exception)) &&
      runtime().machine.options().naive.load()) {
    throw vm::OperationError(*failure);
  }
}

}  // namespace

std::shared_ptr<Call> issue_function(const Issuer& from, std::shared_ptr<const Function> function,
                                     const Turn& turn) {
  auto call = std::make_shared<Call>();
  const Function& one = *function;
  SmallVector<vm::Operand, 16> operands;
  operands.push_back({&call->done, vm::Access::write});
  if (turn.own) operands.push_back({turn.own.get(), vm::Access::read});
  if (turn.before) operands.push_back({turn.before.get(), vm::Access::write});
  for (const vm::Operand& operand : one.operands) operands.push_back(operand);
  vm::Instruction header;
  header.type = &kTypes[static_cast<int>(one.order)];
  header.name = one.name;
  header.stream = &from.machine.stream(Device{}, one.type);
  header.site = from.site;
  header.bytes = one.bytes;
  header.priority = one.priority;
  header.variables = one.variable_names ? &one.variable_names : nullptr;
  FunctionBody body{function, one.callable, call, nullptr, {}, turn};
  if (one.kind == Function::Kind::later) body.pending = std::make_shared<vm::Pending>();
  for (const Tensor& x : one.reads) body.held.add(x.storage.get());
  for (const Tensor& x : one.writes) body.held.add(x.storage.get());
  from.machine.issue(header, operands.begin(), operands.size(), std::move(body));
  raise_interrupt(*call);
  return call;
}

void add_tensor(Function* function, const Tensor& x, vm::Access access, const char* op) {
  require_on_host(op, x);
  const bool is_written = access == vm::Access::write;
  if (is_written && !x.storage->writable()) {
    fail(ErrorKind::value, "[", op, "] cannot write into a read-only tensor of shape ",
         shape_str(x.shape), "; copy it first");
  }
  (is_written ? function->writes : function->reads).push_back(x);
  function->operands.push_back({&x.storage->dependence(), access});
  if (is_written) function->bytes += x.storage->bytes();
}

}  // namespace ofl::python
