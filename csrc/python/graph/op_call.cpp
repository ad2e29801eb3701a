#include "python/graph/op_call.h"

#include <pybind11/stl.h>

#include <cstring>

#include "graph/planning/replay.h"
#include "python/arguments.h"
#include "python/convert.h"
#include "python/initialised.h"
#include "python/machine/device_object.h"
#include "python/machine/host_object.h"
#include "python/ops/array_functions.h"
#include "python/ops/registry.h"
#include "python/runtime.h"
#include "python/tensor/object.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

bool same_loop(const ops::Loop& a, const ops::Loop& b) {
  return a.function == b.function && a.data == b.data;
}

bool same_made(const std::vector<NewTensor>& a, const std::vector<NewTensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.dtype == y.dtype && x.shape == y.shape && x.strides == y.strides;
  });
}

bool is_equal(const OpCall& a, const OpCall& b) {
  return a.kind == b.kind && std::strcmp(a.name, b.name) == 0 && a.op == b.op &&
         a.resolution == b.resolution && a.kernel == b.kernel && same_loop(a.loop, b.loop) &&
         a.elements == b.elements && a.attr == b.attr && a.targets == b.targets &&
         same_made(a.made, b.made) && a.device == b.device &&
         python_object(a.object.get()) == python_object(b.object.get());
}

py::tuple codes_of(const OpCall& call) {
  if (!call.resolution) return py::tuple();
  const int count = call.kind == CallKind::reduce ? 2 : call.op->nin;
  py::tuple codes(count);
  for (int k = 0; k < count; ++k) codes[k] = static_cast<int>(call.resolution->codes[k]);
  return codes;
}

py::tuple attr_of(const OpCall& call) {
  py::tuple attr(call.attr.size());
  for (int i = 0; i < call.attr.size(); ++i) attr[i] = call.attr[i];
  return attr;
}

py::list made_of(const OpCall& call) {
  py::list made;
  for (const NewTensor& x : call.made) {
    made.append(
        py::make_tuple(dtype_object(x.dtype), tuple_of_dims(x.shape), tuple_of_dims(x.strides)));
  }
  return made;
}

py::object loop_of(const OpCall& call) {
  if (!call.loop.function && !call.loop.data) return py::none();
  return py::make_tuple(call.loop.name, call.loop.signature);
}

CallKind kind_of(const std::string& name) {
  for (int kind = 0; kind < kCallKinds; ++kind) {
    if (name == kCallKindNames[kind]) return static_cast<CallKind>(kind);
  }
  fail(ErrorKind::value, "[OpCall] there is no kind ", name);
}

using Made = std::vector<std::tuple<py::object, py::object, py::object>>;

/// OpCall(kind, name, *, op, codes, kernel, loop, elements, attr, targets, made, device, object)
OpCall make(const std::string& kind, const std::string& name, const py::object& op,
            const std::vector<int>& codes, const std::string& kernel, const py::object& loop,
            double elements, const std::vector<int64_t>& attr, uint32_t targets, const Made& made,
            const py::object& device, const py::object& object) {
  constexpr const char* kOp = "OpCall";
  OpCall call(kind_of(kind), intern(name));
  if (!op.is_none()) {
    const OpObject& row = parse_op(op.ptr());
    ops::TypeCode wanted[ops::kMaxInputs] = {};
    if (static_cast<int>(codes.size()) != row.op->nin) {
      fail(ErrorKind::value, "[", kOp, "] ", row.op->name, " has ", row.op->nin,
           " operands, got codes of ", codes.size());
    }
    for (size_t k = 0; k < codes.size(); ++k) {
      if (codes[k] < 0 || codes[k] >= ops::kTypeCodeCount) {
        fail(ErrorKind::value, "[", kOp, "] there is no type code ", codes[k]);
      }
      wanted[k] = static_cast<ops::TypeCode>(codes[k]);
    }
    call.op = row.op;
    call.resolution = &resolve(row, wanted);
  }
  if (call.kind == CallKind::array) call.kernel = ops::array_kernel(kernel);
  if (!loop.is_none()) call.loop = parse_loop(loop.ptr());
  call.elements = elements;
  for (const int64_t number : attr) call.attr.push_back(number);
  call.targets = targets;
  for (const auto& [dtype, shape, strides] : made) {
    call.made.push_back({parse_dtype(dtype.ptr(), kOp), parse_dims(shape.ptr(), kOp),
                         parse_dims(strides.ptr(), kOp)});
  }
  if (!device.is_none()) call.device = named_device(device.ptr());
  if (!object.is_none()) call.object = host_object(object.ptr());
  return call;
}

/// call.replay(operands, targets): operands are tensors and numbers.
py::list replay_call(const OpCall& call, const py::sequence& operands,
                     const py::sequence& targets) {
  std::vector<Input> inputs;
  std::vector<py::object> held;
  for (const py::handle& operand : operands) {
    held.push_back(py::reinterpret_borrow<py::object>(operand));
    PyObject* const object = operand.ptr();
    if (is_tensor(object)) {
      inputs.emplace_back(&tensor_of(object));
    } else {
      inputs.emplace_back(to_scalar(object, scalar_dtype(call, static_cast<int>(inputs.size()))));
    }
  }
  std::vector<const Tensor*> written;
  for (const py::handle& target : targets) {
    held.push_back(py::reinterpret_borrow<py::object>(target));
    written.push_back(&require_tensor(target.ptr(), call.name));
  }
  std::vector<Tensor> results =
      replay(issuer(), call, inputs.data(), static_cast<int>(inputs.size()), written.data(),
             static_cast<int>(written.size()));
  py::list list;
  for (Tensor& result : results) {
    list.append(py::reinterpret_steal<py::object>(wrap(std::move(result))));
  }
  return list;
}

int traverse_call(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!py::detail::is_holder_constructed(self)) return 0;
  return visit_object(py::cast<const OpCall&>(py::handle(self)).object, visit, arg);
}

int clear_call(PyObject* self) {
  if (py::detail::is_holder_constructed(self)) {
    py::cast<OpCall&>(py::handle(self)).object.reset();
  }
  return 0;
}

/// Initialised, and a part of garbage collection: a host function may lead to its program.
py::custom_type_setup collected() {
  return py::custom_type_setup([](PyHeapTypeObject* heap) {
    initialised<OpCall>().value(heap);
    heap->ht_type.tp_flags |= Py_TPFLAGS_HAVE_GC;
    heap->ht_type.tp_traverse = traverse_call;
    heap->ht_type.tp_clear = clear_call;
  });
}

}  // namespace

py::object dtype_object(DType dtype) {
  return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(descr_of(dtype)));
}

py::tuple tuple_of_dims(const Dims& dims) {
  return py::reinterpret_steal<py::tuple>(dims_tuple(dims));
}

DType scalar_dtype(const OpCall& call, int k) {
  switch (call.kind) {
    case CallKind::elementwise:
      if (call.resolution && k >= 0 && k < call.op->nin) return call.resolution->operand[k];
      break;
    case CallKind::reduce:
      if (call.resolution && k == 1) return call.resolution->result;
      break;
    case CallKind::where:
    case CallKind::fill:
      if (call.made.empty()) break;
      return k == 0 && call.kind == CallKind::where ? DType::b1 : call.made[0].dtype;
    default: break;
  }
  fail(ErrorKind::type, "[", call.name, "] operand ", k, " is a number, not a tensor");
}

void bind_op_call(py::module_& m) {
  py::class_<OpCall>(m, "OpCall", "A call of an operation, without its operands; immutable.",
                     collected())
      .def(py::init(&make), py::arg("kind"), py::arg("name"), py::kw_only(),
           py::arg("op") = py::none(), py::arg("codes") = std::vector<int>(),
           py::arg("kernel") = std::string(), py::arg("loop") = py::none(),
           py::arg("elements") = -1.0, py::arg("attr") = std::vector<int64_t>(),
           py::arg("targets") = 0, py::arg("made") = Made(), py::arg("device") = py::none(),
           py::arg("object") = py::none())
      .def_property_readonly(
          "kind", [](const OpCall& call) { return kCallKindNames[static_cast<int>(call.kind)]; })
      .def_property_readonly("name", [](const OpCall& call) { return call.name; })
      .def_property_readonly("row",
                             [](const OpCall& call) -> py::object {
                               if (!call.op) return py::none();
                               return py::str(call.op->name);
                             })
      .def_property_readonly("pattern",
                             [](const OpCall& call) { return static_cast<int>(pattern_of(call)); })
      .def_property_readonly("is_exact",
                             [](const OpCall& call) { return call.op && call.op->exact; })
      .def_property_readonly("codes", codes_of)
      .def_property_readonly("kernel",
                             [](const OpCall& call) -> py::object {
                               if (call.kind != CallKind::array) return py::none();
                               return py::str(ops::info(call.kernel).name);
                             })
      .def_property_readonly("loop", loop_of)
      .def_property_readonly("elements", [](const OpCall& call) { return call.elements; })
      .def_property_readonly("attr", attr_of)
      .def_property_readonly("targets", [](const OpCall& call) { return call.targets; })
      .def_property_readonly("made", made_of)
      .def_property_readonly("device",
                             [](const OpCall& call) {
                               return py::reinterpret_steal<py::object>(device_object(call.device));
                             })
      .def_property_readonly(
          "object",
          [](const OpCall& call) {
            return py::reinterpret_borrow<py::object>(python_object(call.object.get()));
          })
      .def("scalar_dtype",
           [](const OpCall& call, int k) { return dtype_object(scalar_dtype(call, k)); })
      .def("replay", replay_call, py::arg("operands"), py::arg("targets") = py::tuple())
      .def("__eq__", [](const OpCall& a, const py::object& b) {
        return py::isinstance<OpCall>(b) && is_equal(a, b.cast<const OpCall&>());
      });
}

}  // namespace ofl::python
