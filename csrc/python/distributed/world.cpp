// Worlds of ranks, and what tensors of many ranks are made of, for oneflow_lite/distributed.
#include <pybind11/stl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "distributed/boxing/assemble.h"
#include "distributed/boxing/operators.h"
#include "distributed/boxing/peering.h"
#include "ep/communicators/mpi/world.h"
#include "ep/communicators/threads.h"
#include "python/bind.h"
#include "python/distributed/implied.h"
#include "python/initialised.h"
#include "python/issue_site.h"
#include "python/machine/device_object.h"
#include "python/ops/registry.h"
#include "python/runtime.h"
#include "python/tensor/object.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

using distributed::Layout;
using distributed::Member;
using distributed::PartialOp;
using distributed::Placement;
using distributed::Sbp;

/// The row of a ufunc of NumPy, which does what an operator of partial values does.
const OpObject& row_of(PartialOp op) {
  static constexpr const char* kNames[] = {"add",     "multiply",   "maximum",
                                           "minimum", "logical_or", "logical_and"};
  static const OpObject* rows[distributed::kPartialOps] = {};
  const OpObject*& row = rows[static_cast<int>(op)];
  if (!row) {
    const char* const name = kNames[static_cast<int>(op)];
    row = op_of_ufunc(py::module_::import("numpy").attr(name).ptr());
    if (!row) fail(ErrorKind::runtime, "the op table has no row for ", name);
  }
  return *row;
}

Tensor combine(const Issuer& issuer, PartialOp op, const Tensor& a, const Tensor& b) {
  const OpObject& row = row_of(op);
  const ops::TypeCode codes[2] = {ops::code_of(a.dtype), ops::code_of(b.dtype)};
  const Input inputs[2] = {&a, &b};
  return elementwise(issuer, *row.op, resolve(row, codes), inputs);
}

std::vector<std::shared_ptr<Member>> make_world(int ranks) {
  std::vector<std::shared_ptr<Member>> members;
  for (auto& world : ep::make_thread_world(ranks)) {
    const int rank = world->rank();
    members.push_back(std::make_shared<Member>(std::move(world), rank));
  }
  return members;
}

constexpr const char* kSegment = "oneflow_lite memory of the ranks of a host";
using HostBytes = std::shared_ptr<char>;

/// Of a file that the ranks of this host have open. Error(out_of_memory).
py::capsule map_segment(int file, int ranks) {
  const size_t bytes = ep::segment_bytes(ranks);
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    fail(ErrorKind::out_of_memory, "[distributed] mmap: ", std::strerror(errno));
  }
  const auto unmap = [bytes](char* own) { munmap(own, bytes); };
  return {new HostBytes(static_cast<char*>(memory), unmap), kSegment,
          [](void* own) { delete static_cast<HostBytes*>(own); }};
}

std::shared_ptr<Member> make_mpi_member(const std::string& shared_object, ep::mpi::Handle handle,
                                        ep::mpi::Handle byte, int any_source, int rank, int size,
                                        int largest_tag, int local_rank,
                                        std::vector<int32_t> host_ranks,
                                        const std::optional<py::capsule>& host_memory) {
  ep::mpi::Library library{};
  library.communicator = handle;
  library.byte = byte;
  library.any_source = any_source;
  library.rank = rank;
  library.size = size;
  library.largest_tag = largest_tag;
  ep::mpi::find_functions(shared_object, &library);
  ep::HostMemory host;
  if (host_memory) {
    void* const own = PyCapsule_GetPointer(host_memory->ptr(), kSegment);
    if (!own) throw py::error_already_set();
    host = {*static_cast<HostBytes*>(own), std::move(host_ranks)};
  }
  return std::make_shared<Member>(ep::make_mpi_world(library, std::move(host)), local_rank);
}

void warn_of_detour(const std::string& text) {
  if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), site_level()) < 0) throw PythonErrorSet{};
}

void start_process() {
  const Reference module(checked(PyImport_ImportModule("oneflow_lite.distributed.processes")));
  const Reference done(checked(PyObject_CallMethod(module.get(), "start", nullptr)));
}

py::object assemble(const py::object& local, const Placement& placement,
                    const std::vector<Sbp>& given, const std::string& caller) {
  distributed::Sbps sbps;
  for (const Sbp& sbp : given) sbps.push_back(sbp);
  const Tensor& tensor = require_tensor(local.ptr(), "to_global");
  return py::reinterpret_steal<py::object>(wrap_global(assembled(tensor, placement, sbps, caller)));
}

py::object box(const py::object& x, const Layout& to) {
  const GlobalTensor& tensor = require_global(x.ptr(), "to_global");
  return py::reinterpret_steal<py::object>(wrap_global(boxed(tensor, to, "to_global")));
}

/// As an operation wants it.
py::object bring(const std::string& name, const py::object& x, const std::vector<Sbp>& given) {
  const GlobalTensor& tensor = require_global(x.ptr(), name.c_str());
  distributed::Sbps sbps;
  for (const Sbp& sbp : given) sbps.push_back(sbp);
  if (sbps == tensor.layout->sbps()) return x;
  const Layout& to = Layout::of(tensor.layout->shape(), tensor.layout->placement(), sbps);
  return py::reinterpret_steal<py::object>(wrap_global(brought(tensor, to, name.c_str())));
}

py::dict stats_of(Member& member) {
  const distributed::Ledger& ledger = member.ledger();
  py::dict stats;
  stats["collectives"] = ledger.collectives;
  stats["bytes_sent"] = ledger.bytes_sent;
  stats["bytes_received"] = ledger.bytes_received;
  py::list implied;
  for (const auto& [what, times] : ledger.implied) {
    implied.append(py::make_tuple(format_site(what.site), what.operation,
                                  py::cast(what.from, py::return_value_policy::reference),
                                  py::cast(what.to, py::return_value_policy::reference),
                                  times.count, times.bytes));
  }
  stats["implicit"] = implied;
  stats["connections"] = member.connections();
  return stats;
}

/// A tensor of many ranks over a part that is there.
py::object of_part(const py::object& part, const Layout& layout, const py::object& like) {
  const GlobalTensor& known = require_global(like.ptr(), "of_part");
  const Tensor& tensor = require_tensor(part.ptr(), "of_part");
  distributed::Part own{tensor.dtype, {}};
  if (layout.placement().parallel_id(known.member->rank()) >= 0) own.tensor = tensor;
  return py::reinterpret_steal<py::object>(wrap_global({&layout, std::move(own), known.member}));
}

/// Where this rank has its parts of tensors of a placement; None outside of it.
py::object home_in(const Placement& placement) {
  const std::shared_ptr<Member> member = Member::current();
  member->require_in_world(placement);
  if (placement.parallel_id(member->rank()) < 0) return py::none();
  return py::reinterpret_steal<py::object>(device_object(home_of(*member, placement)));
}

/// A tensor of many ranks of a part that this rank has made, of any device; outside of the
/// placement, of its dtype.
py::object of_new_part(const py::object& part, const Layout& layout) {
  const std::shared_ptr<Member> member = Member::current();
  member->require_in_world(layout.placement());
  const Tensor& tensor = require_tensor(part.ptr(), "of_new_part");
  distributed::Part own{tensor.dtype, {}};
  const int64_t id = layout.placement().parallel_id(member->rank());
  if (id >= 0) {
    if (tensor.shape != layout.box(id).extent) {
      fail(ErrorKind::value, "[of_new_part] expected the part ", shape_str(layout.box(id).extent),
           " of ", layout.str(), ", got ", shape_str(tensor.shape));
    }
    own.tensor = to_device(issuer(), tensor, home_of(*member, layout.placement()), false);
  }
  return py::reinterpret_steal<py::object>(wrap_global({&layout, std::move(own), member}));
}

using Ranges = std::vector<std::pair<int64_t, int64_t>>;  // start, extent

std::vector<distributed::Range> ranges_along(const Layout& layout, int axis, const Ranges& given) {
  const Dims& grid = layout.placement().grid();
  if (axis < 0 || axis >= grid.size() || static_cast<int64_t>(given.size()) != grid[axis]) {
    fail(ErrorKind::value, "[balance] expected an axis of the grid, and a range for each place");
  }
  std::vector<distributed::Range> ranges;
  for (const auto& [start, extent] : given) ranges.push_back({start, extent});
  return ranges;
}

/// A tensor of many ranks over parts of other sizes: `ranges` along an axis of the grid.
py::object balance(const py::object& part, const Layout& layout, int axis, const Ranges& ranges,
                   const py::object& like) {
  const GlobalTensor& known = require_global(like.ptr(), "balance");
  const Tensor& tensor = require_tensor(part.ptr(), "balance");
  distributed::Part own{tensor.dtype, {}};
  const auto before = ranges_along(layout, axis, ranges);
  if (known.is_here()) {
    own.tensor =
        distributed::moved(issuer(), *known.member, layout, axis, before,
                           distributed::balanced_ranges(layout, axis), tensor.device(), tensor);
  }
  return py::reinterpret_steal<py::object>(wrap_global({&layout, std::move(own), known.member}));
}

/// The other way: what this rank gets of a tensor, by ranges along an axis of the grid.
py::object unbalance(const py::object& x, int axis, const Ranges& ranges) {
  const GlobalTensor& known = require_global(x.ptr(), "unbalance");
  const Layout& layout = *known.layout;
  const auto after = ranges_along(layout, axis, ranges);
  if (!known.is_here()) return py::reinterpret_steal<py::object>(part_object(known));
  const Tensor& part = known.part.tensor;
  return py::reinterpret_steal<py::object>(wrap(
      distributed::moved(issuer(), *known.member, layout, axis,
                         distributed::balanced_ranges(layout, axis), after, part.device(), part)));
}

/// An elementwise function of parts, which takes as many of them as there are operands.
py::object elementwise_of_parts(const py::str& name, const py::function& function,
                                const py::args& operands) {
  std::vector<PyObject*> given;
  for (const py::handle operand : operands) given.push_back(operand.ptr());
  if (std::none_of(given.begin(), given.end(), is_global)) {
    fail(ErrorKind::type, "[", std::string(name), "] expected a GlobalTensor among the operands");
  }
  const auto call = [](PyObject* const* parts, int count, void* context) {
    return PyObject_Vectorcall(static_cast<PyObject*>(context), parts, static_cast<size_t>(count),
                               nullptr);
  };
  const std::string text = name;
  PyObject* const made = call_elementwise(text.c_str(), nullptr, given.data(),
                                          static_cast<int>(given.size()), call, function.ptr());
  return py::reinterpret_steal<py::object>(checked(made));
}

}  // namespace

void bind_world(py::module_& module) {
  distributed::set_combine(combine);
  distributed::set_detour_hook(warn_of_detour);
  module.add_object("RankError", rank_error_type());
  module.add_object("DesyncError", desync_error_type());
  py::class_<Member, std::shared_ptr<Member>>(module, "Member", initialised<Member>())
      .def_property_readonly("rank", &Member::rank)
      .def_property_readonly("size", &Member::size)
      .def_property_readonly("local_rank", &Member::local_rank)
      .def("stats", &stats_of)
      .def("abort", &Member::abort)
      .def("leave", [](Member& member) {
        member.finish(runtime().machine);
        const py::gil_scoped_release no_gil;
        member.leave();
      });
  Member::set_start(start_process);
  module.def("make_world", &make_world);
  module.def("make_mpi_member", &make_mpi_member, py::kw_only(), py::arg("shared_object"),
             py::arg("handle"), py::arg("byte"), py::arg("any_source"), py::arg("rank"),
             py::arg("size"), py::arg("largest_tag"), py::arg("local_rank"), py::arg("host_ranks"),
             py::arg("host_memory"));
  module.def("segment_bytes", &ep::segment_bytes);
  module.def("map_segment", &map_segment);
  module.def("set_process_member", &Member::set_process);
  module.def("forget_process_member", &Member::forget_process);
  module.def("current_member", &Member::current);
  module.def("enter_world", &Member::exchange);
  module.def("assemble", &assemble, py::arg("local"), py::arg("placement"), py::arg("sbps"),
             py::arg("caller") = "");
  module.def("box", &box);
  module.def("bring", &bring);
  module.def("home_in", &home_in);
  module.def("of_part", &of_part);
  module.def("of_new_part", &of_new_part);
  module.def("balance", &balance);
  module.def("unbalance", &unbalance);
  module.def("elementwise_of_parts", &elementwise_of_parts);
  module.def(
      "layout_of", [](const py::object& x) { return require_global(x.ptr(), "layout").layout; },
      py::return_value_policy::reference);
  module.def("rank_of",
             [](const py::object& x) { return require_global(x.ptr(), "rank").member->rank(); });
  module.def("is_of_this_rank", [](const py::object& x) {
    return require_global(x.ptr(), "rank").member == Member::current();
  });
}

}  // namespace ofl::python
