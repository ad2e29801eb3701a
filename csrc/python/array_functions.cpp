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

/// Runs the sort function of a NumPy dtype, which `data` is, on contiguous elements.
void run_sort(char** args, const intptr_t* dims, const intptr_t*, void* data) {
  const auto sort = reinterpret_cast<PyArray_SortFunc*>(data);
  if (sort(args[0], dims[0], nullptr) < 0) fail(ErrorKind::out_of_memory, "[sort] no memory");
}

/// NumPy's sort of a dtype of numbers, as a loop: these take no array and need no GIL. Empty where
/// this NumPy does not have it in its table of C functions.
ops::Loop find_sort(PyObject* dtype) {
  PyArray_Descr* descr = descr_of(parse_dtype(dtype, "call_kernel"));
  PyArray_SortFunc* sort = PyDataType_GetArrFuncs(descr)->sort[NPY_QUICKSORT];
  if (!sort) return {};
  return {run_sort, reinterpret_cast<void*>(sort)};
}

/// A ufunc with a signature, or a dtype, for its sort.
ops::Loop parse_loop(const py::object& object) {
  if (object.is_none()) return {};
  if (PyArray_DescrCheck(object.ptr())) return find_sort(object.ptr());
  const auto [ufunc, signature] = py::cast<std::pair<py::object, std::string>>(object);
  return find_loop(ufunc.ptr(), signature);
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
  request.loop = parse_loop(loop);
  std::vector<Tensor> results = request.outputs;
  submit_array_kernel(issuer(), std::move(request));
  py::list list;
  for (Tensor& result : results) {
    list.append(py::reinterpret_steal<py::object>(wrap(std::move(result))));
  }
  return list;
}

/// The values of x, for an operation whose result depends on them.
py::object look_for(const std::string& name, const py::object& x) {
  const char* op = intern(name);
  return py::reinterpret_steal<py::object>(
      checked(array_over(look_from_python(require_tensor(x.ptr(), op), op), true)));
}

}  // namespace

void bind_array_functions(py::module_& m) {
  m.def("call_kernel", &call_kernel, py::arg("name"), py::arg("kernel"), py::arg("inputs"),
        py::arg("outputs"), py::arg("attr") = std::vector<int64_t>{}, py::arg("loop") = py::none(),
        py::arg("elements") = -1.0);
  m.def("look", &look_for);
}

}  // namespace ofl::python
