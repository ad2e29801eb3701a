// Executable for Python: a program that is lowered, and runs.
#include "graph/running/executable.h"

#include <pybind11/stl.h>

#include "python/arguments.h"
#include "python/bind.h"
#include "python/convert.h"
#include "python/graph/op_call.h"
#include "python/initialised.h"
#include "python/issue_site.h"
#include "python/runtime.h"
#include "python/sequences.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

constexpr const char* kOp = "Executable";

graph::Value type_of(const py::handle& row) {
  const auto parts = row.cast<py::tuple>();
  return {graph::Origin::parameter,         parse_dtype(parts[0].ptr(), kOp),
          parse_dims(parts[1].ptr(), kOp),  parse_dims(parts[2].ptr(), kOp),
          named_device(parts[3].ptr()),     {}};
}

/// (call, operands, targets, results, site): operands are numbers of values, or (number,) for
/// scalars.
graph::Operation operation_of(const py::handle& row) {
  const auto parts = row.cast<py::tuple>();
  graph::Operation operation{parts[0].cast<const OpCall&>(), {}, {}, {}, 0};
  for (const py::handle& operand : parts[1]) {
    graph::Operand to{graph::kScalar, {}};
    if (PyTuple_CheckExact(operand.ptr())) {
      const int k = static_cast<int>(operation.operands.size());
      to.scalar = to_scalar(PyTuple_GET_ITEM(operand.ptr(), 0), scalar_dtype(operation.call, k));
    } else {
      to.value = operand.cast<int64_t>();
    }
    operation.operands.push_back(to);
  }
  operation.targets = parts[2].cast<std::vector<int64_t>>();
  operation.results = parts[3].cast<std::vector<int64_t>>();
  if (!parts[4].is_none()) {
    const auto [file, line] = parts[4].cast<std::pair<std::string, int>>();
    operation.site = site_named(file, line);
  }
  return operation;
}

std::unique_ptr<graph::Executable> make(
    const std::string& name, const py::list& inputs, const py::list& bound, int64_t constants,
    int64_t value_count, const py::list& operations, const std::vector<int64_t>& results,
    const std::vector<std::pair<int64_t, int64_t>>& assigns) {
  graph::ProgramParts program;
  for (const py::handle& row : inputs) program.inputs.push_back(type_of(row));
  program.constants = constants;
  program.value_count = value_count;
  for (const py::handle& row : operations) program.operations.push_back(operation_of(row));
  program.results = results;
  for (const auto& [value, last] : assigns) program.assigns.push_back({value, last});
  std::vector<Tensor> tensors;
  for (const py::handle& x : bound) tensors.push_back(require_tensor(x.ptr(), kOp));
  return std::make_unique<graph::Executable>(runtime().machine, name, program, std::move(tensors));
}

py::list run(const graph::Executable& executable, const py::object& arguments) {
  const Items items = Items::of_list(arguments.ptr(), kOp);
  SmallVector<const Tensor*, 16> given;
  for (PyObject* x : items) given.push_back(&require_tensor(x, kOp));
  std::vector<Tensor> results = executable.run(issuer(), given.data(), given.size());
  py::list list(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i), wrap(std::move(results[i])));
  }
  return list;
}

}  // namespace

void bind_executable(py::module_& m) {
  py::class_<graph::Executable>(m, "Executable", "A program that is lowered, ready to run.",
                                initialised<graph::Executable>())
      .def(py::init(&make))
      .def("run", &run, py::arg("arguments"))
      .def("fill_arena", &graph::Executable::fill_arena, py::arg("byte"))
      .def_property_readonly("step_count", &graph::Executable::step_count)
      .def_property_readonly("arena_bytes", &graph::Executable::arena_bytes)
      .def_property_readonly("inline_runs", &graph::Executable::inline_runs)
      .def_property_readonly("issued_runs", &graph::Executable::issued_runs);
}

}  // namespace ofl::python
