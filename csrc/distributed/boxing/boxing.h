// Boxing: carries out the steps that give a tensor another layout. Copies into and out of what is
// sent are ordinary instructions of the tensor's device; what goes from rank to rank is a
// collective on the host's ccl stream. A device that is not the host is reached by copies from and
// to it.
#pragma once

#include "distributed/layouts/plan.h"
#include "distributed/world/collective.h"

namespace ofl::distributed {

/// What this rank holds of a tensor. A rank outside the placement holds nothing: no storage.
struct Part {
  DType dtype;
  Tensor tensor;

  bool is_held() const { return static_cast<bool>(tensor.storage); }
};

/// The same tensor in another layout; all ranks of both placements call it, others may. `home`: the
/// device of this rank in the new placement. It holds memory of its own, unless the layouts are
/// one.
Part box(const Issuer& issuer, Member& member, const Layout& from, const Layout& to, Device home,
         const Part& part);

/// Error(type) for partial values of any() and all() that are no bools, which their sum would be.
void require_values(const Sbps& sbps, DType dtype, const char* op);

/// The elements of `x`, which is the part `whole`, that are in another part inside it. A view.
Tensor view_of(const Tensor& x, const Box& whole, const Box& part);

}  // namespace ofl::distributed
