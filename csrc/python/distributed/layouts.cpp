// Placements, layouts and boxing, as oneflow_lite/distributed shows them.
#include <pybind11/stl.h>

#include "base/error.h"
#include "distributed/layouts/exchange.h"
#include "distributed/layouts/plan.h"
#include "ep/registry.h"
#include "python/bind.h"
#include "python/initialised.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

using distributed::Box;
using distributed::BoxingStep;
using distributed::Layout;
using distributed::PartialOp;
using distributed::Piece;
using distributed::Placement;
using distributed::Sbp;
using distributed::Share;

template <typename T>
using Interned = py::class_<T, std::unique_ptr<T, py::nodelete>>;

Dims dims_of(const std::vector<int64_t>& numbers) {
  Dims dims;
  for (const int64_t number : numbers) dims.push_back(number);
  return dims;
}

py::tuple tuple_of(const Dims& dims) {
  py::tuple tuple(static_cast<size_t>(dims.size()));
  for (int i = 0; i < dims.size(); ++i) tuple[static_cast<size_t>(i)] = dims[i];
  return tuple;
}

py::tuple slices_of(const Box& box) {
  py::tuple slices(static_cast<size_t>(box.start.size()));
  for (int d = 0; d < box.start.size(); ++d) {
    const int64_t end = box.start[d] + box.extent[d];
    slices[static_cast<size_t>(d)] = py::slice(py::int_(box.start[d]), py::int_(end), py::none());
  }
  return slices;
}

DeviceType type_of(const std::string& name) {
  const ep::Backend* const row = ep::find_backend(name);
  if (!row) fail(ErrorKind::value, "[placement] no type of devices \"", name, "\"");
  return row->type;
}

const Placement& placement_of(const std::string& type, const std::vector<int64_t>& grid,
                              const std::vector<int32_t>& ranks) {
  return Placement::of(type_of(type), dims_of(grid), ranks);
}

Sbp partial_of(const std::string& name) {
  std::string names;
  for (int op = 0; op < distributed::kPartialOps; ++op) {
    if (name == distributed::kPartialOpNames[op]) return Sbp::partial(static_cast<PartialOp>(op));
    names += concat(op ? ", " : "", distributed::kPartialOpNames[op]);
  }
  fail(ErrorKind::value, "[sbp] no operator \"", name, "\"; expected ", names);
}

/// From the text that str() shows.
Sbp sbp_of(const std::string& text) {
  if (text == "broadcast") return Sbp::broadcast();
  const size_t open = text.find('(');
  const std::string kind = text.substr(0, open);
  if (open == std::string::npos || text.back() != ')') {
    fail(ErrorKind::value, "[sbp] expected \"broadcast\", \"split(0)\" or \"partial(sum)\", got \"",
         text, "\"");
  }
  const std::string value = text.substr(open + 1, text.size() - open - 2);
  if (kind == "partial") return partial_of(value);
  for (int dim = 0; kind == "split" && dim < kMaxDims; ++dim) {
    if (value == std::to_string(dim)) return Sbp::split(dim);
  }
  fail(ErrorKind::value, "[sbp] no sbp \"", text, "\"");
}

py::tuple numbers_of(const Placement& placement) {
  py::tuple ranks(static_cast<size_t>(placement.size()));
  for (int64_t id = 0; id < placement.size(); ++id) {
    ranks[static_cast<size_t>(id)] = placement.rank_at(id);
  }
  return ranks;
}

/// As pickle wants it: what makes an equal one.
template <typename T, typename... Values>
py::tuple maker(const Values&... values) {
  return py::make_tuple(py::type::of<T>(), py::make_tuple(values...));
}

const Layout& layout_of(const std::vector<int64_t>& shape, const Placement& placement,
                        const std::vector<Sbp>& given) {
  for (const int64_t extent : shape) {
    if (extent < 0) fail(ErrorKind::value, "[layout] extent ", extent, " is negative");
  }
  if (shape.size() > kMaxDims) {
    fail(ErrorKind::value, "[layout] at most ", kMaxDims, " dimensions, got ", shape.size());
  }
  const Dims dims = dims_of(shape);
  count_elements(dims, 1, "layout");
  distributed::Sbps sbps;
  for (const Sbp& sbp : given) sbps.push_back(sbp);
  return Layout::of(dims, placement, sbps);
}

/// None for a rank that is not in the placement.
py::object box_of(const Layout& layout, int32_t rank) {
  const int64_t id = layout.placement().parallel_id(rank);
  return id < 0 ? py::none() : py::object(slices_of(layout.box(id)));
}

py::list list_of(const std::vector<Piece>& pieces) {
  py::list list;
  for (const Piece& piece : pieces) {
    list.append(py::make_tuple(piece.rank, slices_of(piece.box), piece.part));
  }
  return list;
}

py::list boxing_of(const Layout& from, const Layout& to) {
  py::list list;
  for (const BoxingStep& step : distributed::plan_boxing(from, to)) list.append(step);
  return list;
}

constexpr auto kSame = py::return_value_policy::reference;

void bind_placement(py::module_& module) {
  Interned<Placement>(module, "Placement",
                      "A grid of ranks, and the type of the devices that they compute on.",
                      initialised<Placement>())
      .def(py::init([](const std::string& type, const std::vector<int64_t>& grid,
                       const std::vector<int32_t>& ranks) {
        // The value of a constructor is its object: there is one of each value, which stays.
        return const_cast<Placement*>(&placement_of(type, grid, ranks));
      }))
      .def_property_readonly(
          "type", [](const Placement& p) { return device_type_names[static_cast<int>(p.type())]; })
      .def_property_readonly("grid", [](const Placement& p) { return tuple_of(p.grid()); })
      .def_property_readonly("size", &Placement::size)
      .def("rank_at",
           [](const Placement& p, int64_t id) {
             if (id < 0 || id >= p.size()) throw py::index_error("no such place");
             return p.rank_at(id);
           })
      .def("parallel_id",
           [](const Placement& p, int32_t rank) -> py::object {
             const int64_t id = p.parallel_id(rank);
             return id < 0 ? py::none() : py::object(py::int_(id));
           })
      .def("fingerprint", &Placement::hash)
      .def("__eq__",
           [](const Placement& a, const py::object& b) {
             return py::isinstance<Placement>(b) && &a == &b.cast<const Placement&>();
           })
      .def("__hash__", &Placement::hash)
      .def("__reduce__",
           [](const Placement& p) {
             const char* const type = device_type_names[static_cast<int>(p.type())];
             return maker<Placement>(type, tuple_of(p.grid()), numbers_of(p));
           })
      .def("__repr__", &Placement::str);
}

void bind_sbp(py::module_& module) {
  py::class_<Sbp>(module, "Sbp", "How the ranks along one axis of a grid hold a tensor.",
                  initialised<Sbp>())
      .def(py::init(&sbp_of))
      .def_static("split", &Sbp::split)
      .def_static("broadcast", &Sbp::broadcast)
      .def_static("partial", &partial_of)
      .def_property_readonly("dim",
                             [](const Sbp& s) -> py::object {
                               return s.share == Share::split ? py::object(py::int_(s.dim))
                                                              : py::none();
                             })
      .def_property_readonly("op",
                             [](const Sbp& s) -> py::object {
                               if (!s.is_partial()) return py::none();
                               return py::str(distributed::kPartialOpNames[static_cast<int>(s.op)]);
                             })
      .def_property_readonly("is_broadcast", [](const Sbp& s) { return s == Sbp::broadcast(); })
      .def("__eq__",
           [](const Sbp& a, const py::object& b) {
             return py::isinstance<Sbp>(b) && a == b.cast<Sbp>();
           })
      .def("__hash__",
           [](const Sbp& s) {
             return static_cast<int64_t>(s.share) + 4 * static_cast<int64_t>(s.op) +
                    64 * int64_t{s.dim};
           })
      .def("__reduce__", [](const Sbp& s) { return maker<Sbp>(s.str()); })
      .def("__repr__", &Sbp::str);
}

void bind_layout(py::module_& module) {
  Interned<Layout>(module, "Layout", "Which part of a tensor each rank holds.",
                   initialised<Layout>())
      .def(py::init([](const std::vector<int64_t>& shape, const Placement& placement,
                       const std::vector<Sbp>& sbps) {
        return const_cast<Layout*>(&layout_of(shape, placement, sbps));
      }))
      .def_property_readonly("shape", [](const Layout& l) { return tuple_of(l.shape()); })
      .def_property_readonly("placement", &Layout::placement, kSame)
      .def_property_readonly(
          "sbp",
          [](const Layout& l) {
            return py::tuple(py::cast(std::vector<Sbp>(l.sbps().begin(), l.sbps().end())));
          })
      .def("box", &box_of)
      .def("fingerprint", &Layout::hash)
      .def("__eq__",
           [](const Layout& a, const py::object& b) {
             return py::isinstance<Layout>(b) && &a == &b.cast<const Layout&>();
           })
      .def("__hash__", &Layout::hash)
      .def("__reduce__",
           [](const Layout& l) {
             const std::vector<Sbp> sbps(l.sbps().begin(), l.sbps().end());
             return maker<Layout>(tuple_of(l.shape()), py::cast(&l.placement(), kSame), sbps);
           })
      .def("__repr__", &Layout::str);
}

void bind_boxing(py::module_& module) {
  py::class_<BoxingStep>(module, "BoxingStep", "One step from a layout to another one.",
                         initialised<BoxingStep>())
      .def_property_readonly(
          "kind",
          [](const BoxingStep& s) { return distributed::kStepKindNames[static_cast<int>(s.kind)]; })
      .def_property_readonly("axis",
                             [](const BoxingStep& s) -> py::object {
                               return s.axis < 0 ? py::none() : py::object(py::int_(s.axis));
                             })
      .def_property_readonly(
          "source", [](const BoxingStep& s) { return s.from; }, kSame)
      .def_property_readonly(
          "target", [](const BoxingStep& s) { return s.to; }, kSame)
      .def(
          "bytes_received",
          [](const BoxingStep& s, int32_t rank, int64_t itemsize) {
            return distributed::bytes_received(s, rank, itemsize);
          },
          py::arg("rank"), py::arg("itemsize"));
  module.def("plan_boxing", &boxing_of);
  module.def("pieces_received", [](const Layout& from, const Layout& to, int32_t rank) {
    return list_of(distributed::received(from, to, rank));
  });
  module.def("pieces_sent", [](const Layout& from, const Layout& to, int32_t rank) {
    return list_of(distributed::sent(from, to, rank));
  });
}

}  // namespace

void bind_layouts(py::module_& module) {
  bind_placement(module);
  bind_sbp(module);
  bind_layout(module);
  bind_boxing(module);
}

}  // namespace ofl::python
