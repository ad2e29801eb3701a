// Lists of tensors that go from rank to rank together, and sums of blocks, for
// oneflow_lite/distributed.
#include <pybind11/stl.h>

#include "distributed/boxing/tree_sum.h"
#include "python/bind.h"
#include "python/distributed/global_object.h"
#include "python/runtime.h"
#include "python/tensor/object.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

using distributed::Layout;
using distributed::Member;
using distributed::Placement;
using distributed::Range;
using distributed::Sbp;

py::object wrapped(GlobalTensor&& tensor) {
  return py::reinterpret_steal<py::object>(wrap_global(std::move(tensor)));
}

std::vector<Tensor> tensors_of(const py::list& given, const char* op) {
  std::vector<Tensor> tensors;
  for (const py::handle each : given) tensors.push_back(require_tensor(each.ptr(), op));
  return tensors;
}

/// The tensors in other layouts, one for each.
py::list box_all(const py::list& given, const std::vector<const Layout*>& to) {
  std::vector<const GlobalTensor*> tensors;
  for (const py::handle each : given) tensors.push_back(&require_global(each.ptr(), "to_global"));
  if (tensors.size() != to.size()) {
    fail(ErrorKind::value, "[to_global] expected a layout for each of ", tensors.size(),
         " tensors, got ", to.size());
  }
  py::list results;
  for (GlobalTensor& each : boxed_all(tensors, to, "to_global")) {
    results.append(wrapped(std::move(each)));
  }
  return results;
}

py::list assemble_all(const py::list& given, const Placement& placement,
                      const std::vector<Sbp>& listed) {
  refuse_while_recording(
      "to_global",
      "programs have no global tensors; do it outside: call the function without jit or grad");
  distributed::Sbps sbps;
  for (const Sbp& sbp : listed) sbps.push_back(sbp);
  const std::vector<Tensor> locals = tensors_of(given, "to_global");
  const std::shared_ptr<Member> member = Member::current();
  const Device home = home_of(*member, placement);
  py::list results;
  for (distributed::Whole& whole :
       distributed::assemble_all(issuer(), *member, placement, sbps, home, locals)) {
    results.append(wrapped({whole.layout, std::move(whole.part), member}));
  }
  return results;
}

/// The sum of blocks of which each rank knows its own.
py::object sum_blocks(const py::list& given, const Placement& placement) {
  refuse_while_recording("tree_sum");
  std::vector<Tensor> own = tensors_of(given, "tree_sum");
  const std::shared_ptr<Member> member = Member::current();
  const Device home = home_of(*member, placement);
  distributed::Whole whole =
      distributed::tree_sum(issuer(), *member, placement, home, std::move(own));
  return wrapped({whole.layout, std::move(whole.part), member});
}

/// This rank's part of a sum of blocks: those that the ranks along `axes` of a tensor's placement
/// have are so many each, in the order of the ranks. The blocks have the dtype of the tensor.
py::object sum_known_blocks(const py::list& given, const py::object& like,
                            const std::vector<int>& axes, const std::vector<int64_t>& counts,
                            const std::vector<int64_t>& shape) {
  refuse_while_recording("tree_sum");
  const GlobalTensor& known = require_global(like.ptr(), "tree_sum");
  if (Member::current() != known.member) {
    fail(ErrorKind::runtime, "[tree_sum] the tensor belongs to rank ", known.member->rank(),
         " of another thread; each rank issues what communicates from one thread");
  }
  if (!known.is_here()) return py::reinterpret_steal<py::object>(part_object(known));
  const Placement& placement = known.layout->placement();
  SmallVector<int, 4> along;
  for (const int axis : axes) {
    if (axis < 0 || axis >= placement.grid().size()) {
      fail(ErrorKind::axis, "[tree_sum] the grid has no axis ", axis);
    }
    along.push_back(axis);
  }
  const Placement& grid = placement.along(along, known.member->rank());
  if (static_cast<int64_t>(counts.size()) != grid.size()) {
    fail(ErrorKind::value, "[tree_sum] expected a number of blocks for each of ", grid.size(),
         " ranks, got ", counts.size());
  }
  std::vector<Range> ranges;
  std::vector<int32_t> ranks;
  const std::vector<Tensor> own = tensors_of(given, "tree_sum");
  const int64_t place = grid.parallel_id(known.member->rank());
  if (static_cast<int64_t>(own.size()) != counts[static_cast<size_t>(place)]) {
    fail(ErrorKind::value, "[tree_sum] expected ", counts[static_cast<size_t>(place)],
         " blocks of this rank, got ", own.size());
  }
  for (int64_t k = 0; k < grid.size(); ++k) {
    const int64_t start = k ? ranges.back().start + ranges.back().extent : 0;
    ranges.push_back({start, counts[static_cast<size_t>(k)]});
    ranks.push_back(grid.rank_at(k));
  }
  const Placement& row = Placement::of(grid.type(), Dims{grid.size()}, std::move(ranks));
  Dims extents;
  for (const int64_t extent : shape) extents.push_back(extent);
  return py::reinterpret_steal<py::object>(
      wrap(distributed::tree_sum(issuer(), *known.member, row, ranges, known.part.dtype, extents,
                                 home_of(*known.member, placement), own)));
}

}  // namespace

void bind_sums(py::module_& module) {
  module.def("box_all", &box_all);
  module.def("assemble_all", &assemble_all);
  module.def("sum_blocks", &sum_blocks);
  module.def("sum_known_blocks", &sum_known_blocks);
}

}  // namespace ofl::python
