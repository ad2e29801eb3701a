// call_kernel: how the Python layer issues an array kernel.
#include "python/bind.h"

#include <pybind11/stl.h>

#include "python/convert.h"
#include "python/op_registry.h"
#include "python/runtime.h"
#include "tensor/array_call.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

/// The typed loop of a ufunc, by NumPy's signature of type codes ("dd->d").
ops::Loop find_loop(PyObject* object, const std::string& signature) {
  if (!PyObject_TypeCheck(object, &PyUFunc_Type)) {
    fail(ErrorKind::type, "[call_kernel] expected a ufunc, got ", Py_TYPE(object)->tp_name);
  }
  auto* ufunc = reinterpret_cast<PyUFuncObject*>(object);
  for (int row = 0; row < ufunc->ntypes; ++row) {
    std::string candidate;
    for (int k = 0; k < ufunc->nargs; ++k) {
      if (k == ufunc->nin) candidate += "->";
      const int type = ufunc->types[row * ufunc->nargs + k];
      PyArray_Descr* descr = PyArray_DescrFromType(type);
      candidate += descr->type;
      Py_DECREF(descr);
    }
    if (candidate != signature) continue;
    return {ufunc->functions[row], ufunc->data ? ufunc->data[row] : nullptr};
  }
  fail(ErrorKind::type, "[", ufunc->name, "] has no loop ", signature);
}

/// A tensor to write to, or the (shape, dtype) of a new one.
Tensor parse_output(const py::handle& object, Device device, const char* op) {
  if (is_tensor(object.ptr())) return tensor_of(object.ptr());
  const auto pair = py::cast<py::tuple>(object);
  const Issuer from = issuer();
  return make_tensor(from.machine.state(device), parse_dtype(pair[1].ptr(), op),
                     parse_dims(pair[0].ptr(), op), from.site);
}

py::list call_kernel(const std::string& name, const std::string& kernel, const py::sequence& inputs,
                     const py::sequence& outputs, std::vector<int64_t> attr, const py::object& loop,
                     double elements) {
  ArrayRequest request;
  request.name = intern(name);
  request.kernel = &ops::array_kernel(kernel);
  request.attr = std::move(attr);
  request.elements = elements;
  for (const py::handle& x : inputs) {
    request.inputs.push_back(require_tensor(x.ptr(), request.name));
  }
  const Device device = request.inputs.empty() ? default_device() : request.inputs[0].device();
  for (const py::handle& x : outputs) {
    request.outputs.push_back(parse_output(x, device, request.name));
  }
  if (!loop.is_none()) {
    const auto [ufunc, signature] = py::cast<std::pair<py::object, std::string>>(loop);
    request.loop = find_loop(ufunc.ptr(), signature);
  }
  std::vector<Tensor> results = request.outputs;
  submit_array_kernel(issuer(), std::move(request));
  py::list list;
  for (Tensor& result : results) {
    list.append(py::reinterpret_steal<py::object>(wrap(std::move(result))));
  }
  return list;
}

}  // namespace

void bind_array_functions(py::module_& m) {
  m.def("call_kernel", &call_kernel, py::arg("name"), py::arg("kernel"), py::arg("inputs"),
        py::arg("outputs"), py::arg("attr") = std::vector<int64_t>{}, py::arg("loop") = py::none(),
        py::arg("elements") = -1.0);
}

}  // namespace ofl::python
