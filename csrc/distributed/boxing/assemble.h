// Local tensors become the parts of one tensor.
#pragma once

#include <string>
#include <vector>

#include "distributed/boxing/boxing.h"

namespace ofl::distributed {

/// A tensor of many ranks, as one of them has it.
struct Whole {
  const Layout* layout;
  Part part;
};

/// All ranks of the world call it, each with a tensor of its own; those outside the placement may
/// have any. Waits until the ranks have told each other their shapes. Where a dimension is split
/// the parts may be of any sizes, and elements move until they are balanced. Where ranks hold the
/// same, the value is that of the first one. Error(value) on all ranks for parts that do not fit
/// together. `caller`: what errors of ranks that differ call it by; "": to_global of the tensor.
Whole assemble(const Issuer& issuer, Member& member, const Placement& placement, const Sbps& sbps,
               Device home, const Tensor& local, const std::string& caller = "");

/// The same of many at once, as many on every rank: they tell each other all shapes in one
/// collective, and values of first ranks go to the others in buckets.
std::vector<Whole> assemble_all(const Issuer& issuer, Member& member, const Placement& placement,
                                const Sbps& sbps, Device home, const std::vector<Tensor>& locals,
                                const std::string& caller = "");

/// The ranges of a dimension that the ranks along an axis of the grid have, which splits it.
std::vector<Range> balanced_ranges(const Layout& layout, int axis);

/// Elements move along such an axis: the rank at place k has the range `before[k]` of the
/// dimension, and gets the range `after[k]`; all else is as in the layout. By the ranks of the
/// placement.
Tensor moved(const Issuer& issuer, Member& member, const Layout& layout, int axis,
             const std::vector<Range>& before, const std::vector<Range>& after, Device home,
             const Tensor& local);

}  // namespace ofl::distributed
