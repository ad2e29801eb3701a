#include "python/engine/issue.h"

#include <unistd.h>

#include "base/recycled.h"
#include "python/convert.h"
#include "python/engine/device_call.h"
#include "python/engine/native_object.h"
#include "python/engine/on_complete.h"
#include "python/gil.h"
#include "python/machine/fork.h"
#include "python/runtime.h"
#include "tensor/body.h"
#include "tensor/submit.h"
#include "vm/pool/call_out.h"
#include "vm/pool/pool.h"

namespace ofl::python {

namespace {

struct FunctionBody {
  std::shared_ptr<const Function> function;
  std::shared_ptr<void> callable;
  std::shared_ptr<Call> call;
  std::shared_ptr<vm::Pending> pending;  // of kind later
  HeldStorages held;
  Turn turn;  // of a run's; its objects live as long as the instruction

  void launch(vm::LaunchContext& context);
  void run(vm::LaunchContext& context);
  std::optional<Error> call_python(vm::Stream& stream);
  void call_code(vm::Stream& stream);
};

/// With the GIL: one array for each tensor, reads first.
Reference arguments_of(const FunctionBody& body, vm::Stream& stream) {
  const Function& function = *body.function;
  if (function.device != Device{}) return device_arguments(function, stream);
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

// The thread of a pool keeps the GIL for the next function. A function that waits may run others
// inside, and a worker of a device has other things to do.
std::optional<Error> FunctionBody::call_python(vm::Stream& stream) {
  const bool keeps =
      stream.is_pool() && vm::Runner::is_current_thread() && vm::RunningScope::is_single();
  const GilForCall gil(keeps);
  vm::Pool::note_wait(gil.waited_ns());
  const std::shared_ptr<void> called = std::move(callable);  // let go here, with the GIL
  const int forks = fork_count();
  std::optional<Error> error;
  try {
    const Reference arguments = arguments_of(*this, stream);
    // Unlike PyObject_CallObject of 3.11, it checks that there is either a result or an error.
    PyObject* value = PyObject_Vectorcall(
        static_cast<PyObject*>(called.get()), PySequence_Fast_ITEMS(arguments.get()),
        static_cast<size_t>(PyTuple_GET_SIZE(arguments.get())), nullptr);
    if (fork_count() != forks) leave_forked_child(value);
    if (!value) {
      error = take_python_error("");
    } else if (pending || value == Py_None) {
      Py_DECREF(value);
    } else {
      call->result = keep_object(value);
    }
  } catch (const PythonErrorSet&) {
    error = take_python_error("");
  }
  return error;
}

// In the child of a fork inside it, Python may know nothing of the thread any more.
void FunctionBody::call_code(vm::Stream& stream) {
  const int forks = fork_count();
  call_native(*function, stream);
  if (fork_count() != forks) _exit(0);
}

// A thread that waits for memory may wait for a function that needs the GIL.
void FunctionBody::launch(vm::LaunchContext& context) {
  if (!call->leave_queue(Phase::running)) {
    fail(ErrorKind::cancelled, "[", function->name, "] was cancelled before it began");
  }
  for (const Tensor& x : function->writes) {
    if (!x.storage->data()) GilForCall::rest();
    x.storage->materialize(context);
  }
  if (function->kind == Function::Kind::kernel) {
    launch_kernel(*function->kernel, context.queue);
  } else {
    const vm::CallOut out(context);
    const std::shared_ptr<void> current = enter(context.stream);
    run(context);
  }
}

void FunctionBody::run(vm::LaunchContext& context) {
  const auto kind = function->kind;
  if (kind != Function::Kind::python && kind != Function::Kind::later) GilForCall::rest();
  switch (kind) {
    case Function::Kind::kernel:
    case Function::Kind::nothing: return;
    case Function::Kind::forgive:
      for (const auto& variable : function->variables) {
        variable->dependence.forgive(context.slot.name());
      }
      return;
    case Function::Kind::native: return call_code(context.stream);
    case Function::Kind::python:
    case Function::Kind::later: break;
  }
  if (std::optional<Error> error = call_python(context.stream)) throw *error;
}

constexpr vm::InstructionType function_type(Function::Order order) {
  vm::InstructionType type = {
      "host function",
      [](void* body, vm::LaunchContext& context) {
        static_cast<FunctionBody*>(body)->launch(context);
      },
      [](void* body, vm::Stream& stream, uint64_t position) {
        static_cast<FunctionBody*>(body)->held.launched(stream, position);
      },
      [](void* body, const vm::FailurePtr& failure) {
        auto* function = static_cast<FunctionBody*>(body);
        if (failure) GilForCall::rest();  // many may follow that are only skipped
        function->call->end(failure);
        function->~FunctionBody();
      },
      [](const void*, vm::Description*) {},
  };
  type.calls_out = true;
  type.rest = GilForCall::rest;
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
void raise_interrupt(const Call& call, vm::Seq seq) {
  const vm::FailurePtr failure = call.done.failure();
  if (!failure || !failure->payload || failure->seq != seq) return;
  PyObject* exception = static_cast<PyObject*>(failure->payload.get());
  if (!PyObject_TypeCheck(exception, reinterpret_cast<PyTypeObject*>(PyExc_Exception)) &&
      runtime().machine.options().naive.load()) {
    runtime().machine.forget_failure(failure);  // it is raised here
    throw vm::OperationError(*failure);
  }
}

void issue(const Issuer& from, std::shared_ptr<const Function> function,
           std::shared_ptr<void> callable, std::shared_ptr<Call> call, const Turn& turn) {
  const Function& one = *function;
  SmallVector<vm::Operand, 16> operands;
  operands.push_back({&call->done, vm::Access::write});
  if (turn.own) operands.push_back({turn.own.get(), vm::Access::read});
  if (turn.before) operands.push_back({turn.before.get(), vm::Access::write});
  for (const vm::Operand& operand : one.operands) operands.push_back(operand);
  vm::Instruction header;
  header.type = &kTypes[static_cast<int>(one.order)];
  header.name = one.name;
  header.stream = vm::info(one.type).computes
                      ? &compute_stream(from.machine, from.machine.state(one.device))
                      : &from.machine.stream(one.device, one.type);
  header.site = from.site;
  header.bytes = one.bytes;
  header.priority = one.priority;
  header.holds_memory = !one.reads.empty() || !one.writes.empty();
  header.variables = one.variable_names ? &one.variable_names : nullptr;
  FunctionBody body{std::move(function), std::move(callable), call, nullptr, {}, turn};
  if (one.kind == Function::Kind::later) body.pending = std::make_shared<vm::Pending>();
  for (const Tensor& x : one.reads) body.held.add(x.storage.get());
  for (const Tensor& x : one.writes) body.held.add(x.storage.get());
  const vm::Seq seq =
      from.machine.issue(header, operands.begin(), operands.size(), std::move(body));
  raise_interrupt(*call, seq);
}

}  // namespace

std::shared_ptr<Call> new_call() { return std::allocate_shared<Call>(Recycled<Call>{}); }

void issue_function(const Issuer& from, const std::shared_ptr<const Function>& function,
                    std::shared_ptr<Call> call) {
  issue(from, function, function->callable, std::move(call), {});
}

// The callable is the body's alone. The thread that has called it, and has the GIL, lets it go.
void issue_once(const Issuer& from, std::shared_ptr<Function> function, std::shared_ptr<Call> call,
                const Turn& turn) {
  std::shared_ptr<void> callable = std::move(function->callable);
  issue(from, std::move(function), std::move(callable), std::move(call), turn);
}

PyObject* push_function(const Issuer& from, const std::shared_ptr<const Function>& function) {
  std::shared_ptr<Call> call = new_call();
  Reference completion(completion_of(call));
  issue_function(from, function, std::move(call));
  return completion.release();
}

PyObject* push_once(const Issuer& from, std::shared_ptr<Function> function) {
  std::shared_ptr<Call> call = new_call();
  Reference completion(completion_of(call));
  issue_once(from, std::move(function), std::move(call));
  return completion.release();
}

}  // namespace ofl::python
