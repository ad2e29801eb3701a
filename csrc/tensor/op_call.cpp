#include "tensor/op_call.h"

namespace ofl {

Tensor take_one(const Issuer& issuer, OpCall&& call, const Input* inputs, int count,
                const Tensor& output, bool is_target) {
  call.targets = is_target;
  const Tensor* const outputs[] = {&output};
  issuer.sink->take(issuer.site, std::move(call), inputs, count, outputs, 1);
  return output;
}

std::vector<Tensor> take_source(const Issuer& issuer, const OpCall& call) {
  std::vector<Tensor> made;
  std::vector<const Tensor*> outputs;
  made.reserve(call.made.size());
  for (const NewTensor& type : call.made) {
    made.push_back(
        make_tensor(issuer.machine.state(call.device), type.dtype, type.shape, issuer.site));
    outputs.push_back(&made.back());
  }
  issuer.sink->take(issuer.site, OpCall(call), nullptr, 0, outputs.data(),
                    static_cast<int>(outputs.size()));
  return made;
}

}  // namespace ofl
