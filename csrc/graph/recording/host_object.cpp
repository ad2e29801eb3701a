#include "graph/recording/host_object.h"

#include "base/error.h"
#include "tensor/plan.h"

namespace ofl {

namespace {

constexpr size_t kMostTargets = 32;  // bits of OpCall::targets

[[noreturn]] void refuse(const Issuer& issuer, const char* name, const std::string& reason) {
  throw vm::OperationError(vm::Failure{ErrorKind::recording,
                                       concat("[", name, "] cannot be recorded: ", reason), name,
                                       issuer.site, 0, Device{}, nullptr});
}

/// A function sees what it writes in what it reads only where both are one memory, as they are not
/// in each way to run a program. What is written becomes one new version of its storage.
void require_apart(const Issuer& issuer, const char* name, const std::vector<Tensor>& reads,
                   const std::vector<Tensor>& writes) {
  for (size_t k = 0; k < writes.size(); ++k) {
    const Tensor& x = writes[k];
    bool is_apart = true;
    for (const Tensor& other : reads) is_apart = is_apart && overlap(x, other) == Overlap::none;
    for (size_t i = 0; i < k; ++i) {
      const Tensor& other = writes[i];
      is_apart =
          is_apart && x.storage.get() != other.storage.get() && overlap(x, other) == Overlap::none;
    }
    if (is_apart) continue;
    refuse(issuer, name,
           concat("tensor ", k,
                  " of writes has its memory in common with another tensor of the "
                  "call; pass the whole to writes, once, and take its parts in the function"));
  }
}

void take_call(const Issuer& issuer, const OpCall& call, const std::vector<Tensor>& reads,
               const std::vector<Tensor>& writes) {
  if (writes.size() > kMostTargets) {
    refuse(issuer, call.name,
           concat("expected at most ", kMostTargets, " tensors to write to, got ", writes.size()));
  }
  require_apart(issuer, call.name, reads, writes);
  OpCall taken = call;
  taken.targets = static_cast<uint32_t>((uint64_t{1} << writes.size()) - 1);
  std::vector<Input> inputs;
  std::vector<const Tensor*> outputs;
  for (const Tensor& x : reads) inputs.push_back(&x);
  for (const Tensor& x : writes) outputs.push_back(&x);
  issuer.sink->take(issuer.site, std::move(taken), inputs.data(), static_cast<int>(inputs.size()),
                    outputs.data(), static_cast<int>(outputs.size()));
}

}  // namespace

void require_on_host(const char* op, const Tensor& x) {
  if (x.storage->on_host()) return;
  fail(ErrorKind::value, "[", op, "] a host function reads and writes cpu tensors, got one on ",
       x.device().str(), "; copy it with .cpu() first");
}

void call_host(const Issuer& issuer, const OpCall& call, const std::vector<Tensor>& reads,
               const std::vector<Tensor>& writes) {
  for (const auto* tensors : {&reads, &writes}) {
    for (const Tensor& x : *tensors) require_on_host(call.name, x);
  }
  if (issuer.sink) return take_call(issuer, call, reads, writes);
  if (!call.object) {
    fail(ErrorKind::value, "[", call.name,
         "] the function is not known, as the program was read "
         "from text");
  }
  if (issuer.plans) return issuer.plans->call_host(issuer.site, call, reads, writes);
  call.object->issue(issuer, call.name, reads, writes, {});
}

}  // namespace ofl
