// Objects of the layer above that calls of a program use: functions of the host, generators of
// random numbers.
#pragma once

#include <memory>
#include <vector>

#include "tensor/op_call.h"

namespace ofl {

/// The place of a function among the host functions of one run, which run one after the other. A
/// function reads its own object and writes that of the one before: a write waits for reads, and a
/// failed reader is no failure of what it has read. So the next one runs in any case.
struct Turn {
  std::shared_ptr<vm::Dependence> before, own;  // null: it is the first, or of no run
};

class HostObject {
 public:
  virtual ~HostObject() = default;
  /// Issues the function that it is: it gets the memory of the tensors, which are on the host. With
  /// what the layer above needs to run its code (the GIL).
  virtual void issue(const Issuer& issuer, const char* name, const std::vector<Tensor>& reads,
                     const std::vector<Tensor>& writes, const Turn& turn) const = 0;
};

/// Error(value) unless its memory is the host's.
void require_on_host(const char* op, const Tensor& x);

/// A call of kind host. A sink takes it only where writes have no memory in common with each other
/// and with reads (else Error(recording)).
void call_host(const Issuer& issuer, const OpCall& call, const std::vector<Tensor>& reads,
               const std::vector<Tensor>& writes);

}  // namespace ofl
