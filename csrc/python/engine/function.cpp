#include "python/engine/function.h"

#include "tensor/submit.h"

namespace ofl::python {

void add_tensor(Function* function, const Tensor& x, vm::Access access, const char* op) {
  if (function->device == Device{}) require_on_host(op, x);
  if (x.device() != function->device && !x.storage->on_host()) {
    fail(ErrorKind::value, "[", op, "] a function on ", function->device.str(),
         " reads and writes tensors of it and of the cpu, got one on ", x.device().str());
  }
  const bool is_written = access == vm::Access::write;
  if (is_written) require_writable(op, x);
  (is_written ? function->writes : function->reads).push_back(x);
  const bool by_host = x.storage->on_host() && function->device != Device{};
  function->operands.push_back({&x.storage->dependence(), access, by_host});
  if (is_written) function->bytes += x.storage->bytes();
}

}  // namespace ofl::python
