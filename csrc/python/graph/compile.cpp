// Programs for Python: read from rows, lowered, and made ready to run.
#include <pybind11/stl.h>

#include <algorithm>

#include "graph/planning/units.h"
#include "python/arguments.h"
#include "python/bind.h"
#include "python/convert.h"
#include "python/graph/executable.h"
#include "python/graph/op_call.h"
#include "python/issue_site.h"
#include "python/machine/host_object.h"
#include "python/runtime.h"
#include "python/tensor/object.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

constexpr const char* kOp = "Executable";

graph::Value type_of(const py::handle& row) {
  const auto parts = row.cast<py::tuple>();
  return {graph::Origin::parameter,        parse_dtype(parts[0].ptr(), kOp),
          parse_dims(parts[1].ptr(), kOp), parse_dims(parts[2].ptr(), kOp),
          named_device(parts[3].ptr()),    {}};
}

/// Of (file, line), or of None.
vm::SiteId site_of(const py::handle& pair) {
  if (pair.is_none()) return 0;
  const auto [file, line] = pair.cast<std::pair<std::string, int>>();
  return site_named(file, line);
}

/// Rows are (is_complex, operation, operands, site, name). Operation None: the caller gives it, and
/// all such rows come first. Operands are (number of a slot,) or numbers of Python. Null: no rows.
std::unique_ptr<Numbers> numbers_of(const py::list& rows) {
  if (rows.empty()) return nullptr;
  auto numbers = std::make_unique<Numbers>();
  for (const py::handle& row : rows) {
    const auto parts = row.cast<py::tuple>();
    std::vector<Numbers::Term> operands;
    for (const py::handle& operand : parts[2]) {
      if (PyTuple_CheckExact(operand.ptr())) {
        operands.push_back({operand.cast<py::tuple>()[0].cast<int64_t>(), {}});
      } else {
        operands.push_back({-1, Reference(Py_NewRef(operand.ptr()))});
      }
    }
    const auto operation = parts[1].is_none() ? std::string() : parts[1].cast<std::string>();
    numbers->add_slot(parts[0].cast<bool>(), operation, std::move(operands), site_of(parts[3]),
                      parts[4].cast<std::string>());
  }
  return numbers;
}

/// (call, operands, targets, results, site, words, lane, place): operands are numbers of values,
/// for scalars (number,) or (None, slot); words are pairs of places, in the call's attr and in the
/// numbers of a run; the lane is None where it is the caller's.
graph::Operation operation_of(const py::handle& row, Numbers* numbers) {
  const auto parts = row.cast<py::tuple>();
  graph::Operation operation{parts[0].cast<const OpCall&>(), {}, {}, {}, 0, {}};
  if (operation.call.object) {  // one that the program's call does not hold: see visit_object()
    operation.call.object = host_object(python_object(operation.call.object.get()));
  }
  if (!parts[6].is_none()) operation.lane = parts[6].cast<int>();
  operation.place = parts[7].cast<int64_t>();
  operation.site = site_of(parts[4]);
  for (const py::handle& operand : parts[1]) {
    graph::Operand to{graph::kScalar, {}};
    if (!PyTuple_CheckExact(operand.ptr())) {
      to.value = operand.cast<int64_t>();
    } else {
      const auto scalar = operand.cast<py::tuple>();
      const DType dtype = scalar_dtype(operation.call, static_cast<int>(operation.operands.size()));
      if (scalar.size() == 1) {
        to.scalar = to_scalar(scalar[0].ptr(), dtype);
      } else {
        if (!numbers) fail(ErrorKind::value, "[", kOp, "] the program has no slots");
        to.slot = numbers->scalar(scalar[1].cast<int64_t>(), dtype, operation.site);
      }
    }
    operation.operands.push_back(to);
  }
  operation.targets = parts[2].cast<std::vector<int64_t>>();
  operation.results = parts[3].cast<std::vector<int64_t>>();
  for (const auto& [attr, word] : parts[5].cast<std::vector<std::pair<int, int64_t>>>()) {
    operation.words.push_back({attr, word});
  }
  return operation;
}

int number_of(const char* what, const std::string& name, const char* const* names, int count) {
  const auto* const found = std::find(names, names + count, name);
  if (found != names + count) return static_cast<int>(found - names);
  std::string known;
  for (int i = 0; i < count; ++i) known += concat(i ? ", " : "", "'", names[i], "'");
  fail(ErrorKind::value, "[compile] ", what, ": expected one of ", known, ", got '", name, "'");
}

/// The parts of a program that Python has as rows.
graph::ProgramParts parts_of(const py::list& inputs, int64_t constants, int64_t value_count,
                             const py::list& operations, const std::vector<int64_t>& results,
                             const std::vector<std::pair<int64_t, int64_t>>& assigns,
                             Numbers* numbers) {
  graph::ProgramParts program;
  for (const py::handle& row : inputs) program.inputs.push_back(type_of(row));
  program.constants = constants;
  program.value_count = value_count;
  for (const py::handle& row : operations) {
    program.operations.push_back(operation_of(row, numbers));
  }
  program.results = results;
  for (const auto& [value, last] : assigns) program.assigns.push_back({value, last});
  return program;
}

/// program_units(inputs, constants, value_count, operations, results, assigns, slots): of each
/// operation the number of the unit that it would run in as one with others, or -1.
std::vector<int64_t> program_units(const py::list& inputs, int64_t constants, int64_t value_count,
                                   const py::list& operations, const std::vector<int64_t>& results,
                                   const std::vector<std::pair<int64_t, int64_t>>& assigns,
                                   const py::list& slots) {
  auto numbers = numbers_of(slots);
  const graph::ProgramParts program =
      parts_of(inputs, constants, value_count, operations, results, assigns, numbers.get());
  vm::VirtualMachine& machine = runtime().machine;
  return graph::unit_of_operations(graph::lower(machine, program), machine.options(),
                                   static_cast<int64_t>(program.operations.size()));
}

/// compile_program(name, names, inputs, bound, constants, value_count, operations, results,
///                 assigns, slots, hidden, draw, mode, release, lanes, adds, graphs, groups):
///                 `draw` (or None) gives each run words and the last `hidden` parameters. `groups`
///                 has a number for each operation: those of one number may run as one; or nothing.
py::object compile_program(const std::string& name, const std::vector<std::string>& names,
                           const py::list& inputs, const py::list& bound, int64_t constants,
                           int64_t value_count, const py::list& operations,
                           const std::vector<int64_t>& results,
                           const std::vector<std::pair<int64_t, int64_t>>& assigns,
                           const py::list& slots, int hidden, const py::object& draw,
                           const std::string& mode, const std::string& release, int lanes,
                           bool adds, std::optional<bool> graphs,
                           const std::vector<int64_t>& groups) {
  auto numbers = numbers_of(slots);
  graph::ProgramParts program =
      parts_of(inputs, constants, value_count, operations, results, assigns, numbers.get());
  if (!groups.empty() && groups.size() != program.operations.size()) {
    fail(ErrorKind::value, "[", kOp, "] expected a group for each of ", program.operations.size(),
         " operations, got ", groups.size());
  }
  program.names = names;
  program.groups = groups;
  graph::RunOptions options;
  options.mode =
      static_cast<graph::RunMode>(number_of("mode", mode, graph::kRunModeNames, graph::kRunModes));
  options.release = static_cast<graph::Release>(
      number_of("release", release, graph::kReleaseNames, graph::kReleases));
  options.lanes = lanes;
  options.adds = adds;
  options.device_graphs = graphs;
  std::vector<Tensor> tensors;
  for (const py::handle& x : bound) tensors.push_back(require_tensor(x.ptr(), kOp));
  auto made = std::make_unique<graph::Executable>(runtime().machine, name, program,
                                                  std::move(tensors), options);
  return py::reinterpret_steal<py::object>(
      new_executable(std::move(made), std::move(numbers), draw.ptr(), hidden));
}

}  // namespace

void bind_compile(py::module_& m) {
  m.def("compile_program", &compile_program);
  m.def("program_units", &program_units);
}

}  // namespace ofl::python
