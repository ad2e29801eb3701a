#include "tensor/op_call.h"

namespace ofl {

Tensor take_one(const Issuer& issuer, OpCall&& call, const Input* inputs, int count,
                const Tensor& output, bool is_target) {
  call.targets = is_target;
  const Tensor* const outputs[] = {&output};
  issuer.sink->take(issuer.site, std::move(call), inputs, count, outputs, 1);
  return output;
}

}  // namespace ofl
