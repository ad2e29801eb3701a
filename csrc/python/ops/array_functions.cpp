// call_kernel: how the Python layer issues an array kernel.
#include "python/ops/array_functions.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "python/arguments.h"
#include "python/bind.h"
#include "python/convert.h"
#include "python/machine/host_object.h"
#include "python/ops/registry.h"
#include "python/runtime.h"
#include "python/sequences.h"
#include "python/tensor/functions.h"
#include "python/tensor/unknown_extents.h"
#include "tensor/layout.h"
#include "tensor/submit.h"

namespace ofl::python {

namespace {

/// NumPy's signature of a row of a ufunc's loops, in type codes ("dd->d").
std::string signature_of(const PyUFuncObject& ufunc, int row) {
  std::string signature;
  for (int k = 0; k < ufunc.nargs; ++k) {
    if (k == ufunc.nin) signature += "->";
    PyArray_Descr* descr = PyArray_DescrFromType(ufunc.types[row * ufunc.nargs + k]);
    signature += descr->type;
    Py_DECREF(descr);
  }
  return signature;
}

ops::Loop search_loop(const PyUFuncObject& ufunc, const std::string& signature) {
  for (int row = 0; row < ufunc.ntypes; ++row) {
    if (signature_of(ufunc, row) != signature) continue;
    return {ufunc.functions[row], ufunc.data ? ufunc.data[row] : nullptr, ufunc.name,
            intern(signature)};
  }
  fail(ErrorKind::type, "[", ufunc.name, "] has no loop ", signature);
}

/// Runs the sort function of a NumPy dtype, which `data` is, on contiguous elements. NumPy never
/// calls it with fewer than two, and not all of its sorts survive that.
void run_sort(char** args, const intptr_t* dims, const intptr_t*, void* data) {
  if (dims[0] < 2) return;
  const auto sort = reinterpret_cast<PyArray_SortFunc*>(data);
  if (sort(args[0], dims[0], nullptr) < 0) fail(ErrorKind::out_of_memory, "[sort] no memory");
}

constexpr const char* kSort = "sort";

/// NumPy's dot function of a dtype, as the data of a loop; none where it has none.
constexpr const char* kDot = "dot";

ops::Loop find_dot(DType dtype) {
  PyArray_DotFunc* dot = PyDataType_GetArrFuncs(descr_of(dtype))->dotfunc;
  return {nullptr, reinterpret_cast<void*>(dot), kDot, name_of(dtype)};
}

constexpr const char* kCallKernel = "call_kernel";

Items items_of(PyObject* object) { return Items::of_list(object, kCallKernel); }

void require_pair(const Items& items) {
  if (items.size() == 2) return;
  fail(ErrorKind::type, "[", kCallKernel, "] expected two items, got ", items.size());
}

std::string text_of(PyObject* object) {
  const char* text = PyUnicode_AsUTF8(object);
  if (!text) throw PythonErrorSet{};
  return text;
}

}  // namespace

ops::Loop find_loop(PyObject* ufunc, const std::string& signature) {
  if (!PyObject_TypeCheck(ufunc, &PyUFunc_Type)) {
    fail(ErrorKind::type, "[call_kernel] expected a ufunc, got ", Py_TYPE(ufunc)->tp_name);
  }
  static auto* const known = new std::map<std::pair<PyObject*, std::string>, ops::Loop>;
  const auto found = known->find({ufunc, signature});
  if (found != known->end()) return found->second;
  const ops::Loop loop = search_loop(*reinterpret_cast<PyUFuncObject*>(ufunc), signature);
  Py_INCREF(ufunc);  // its address stays the key of this one
  return known->emplace(std::make_pair(ufunc, signature), loop).first->second;
}

ops::Loop find_sort(DType dtype) {
  PyArray_SortFunc* sort = PyDataType_GetArrFuncs(descr_of(dtype))->sort[NPY_QUICKSORT];
  if (!sort) return {};
  return {run_sort, reinterpret_cast<void*>(sort), kSort, name_of(dtype)};
}

ops::Loop parse_loop(PyObject* object) {
  if (object == Py_None) return {};
  const Items pair = items_of(object);
  require_pair(pair);
  if (PyUnicode_Check(pair[0])) {
    const DType dtype = parse_dtype(pair[1], kCallKernel);
    return text_of(pair[0]) == kSort ? find_sort(dtype) : find_dot(dtype);
  }
  return find_loop(pair[0], text_of(pair[1]));
}

namespace {

/// A new tensor with the order of axes of `like`, a tensor with as many axes.
Tensor make_lying(PyObject* like, DType dtype, const Dims& shape, const char* op) {
  const Tensor& x = require_tensor(like, op);
  if (x.ndim() != shape.size()) {
    fail(ErrorKind::value, "[", op, "] expected ", shape.size(), " dimensions, got ", x.ndim());
  }
  return make_as_it_lies(x, dtype, shape, issuer().site);
}

/// A tensor to write to; or (shape, dtype) of a new row-major one; or (shape, dtype, like) of a new
/// one with the order of axes that NumPy's function gives the result of `like`.
Tensor parse_output(PyObject* object, ops::KernelId kernel, Device device, const char* op) {
  if (is_tensor(object)) return tensor_of(object);
  const Items items = items_of(object);
  if (items.size() != 3) require_pair(items);
  const DType dtype = parse_dtype(items[1], op);
  const Dims shape = parse_dims(items[0], op);
  const Issuer from = issuer();
  if (items.size() == 2) return make_tensor(from.machine.state(device), dtype, shape, from.site);
  Tensor made = make_lying(items[2], dtype, shape, op);
  if (kernel == ops::KernelId::accumulate) {
    const auto item_size = static_cast<int64_t>(size_of(dtype));
    made.strides = strides_like(shape, tensor_of(items[2]).strides, item_size);
  }
  return made;
}

PyObject* tensor_list(std::vector<Tensor>&& tensors) {
  PyObject* list = checked(PyList_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t i = 0; i < tensors.size(); ++i) {
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), wrap(std::move(tensors[i])));
  }
  return list;
}

/// Integers and truths.
SmallVector<int64_t, 8> parse_attr(const Items& items) {
  SmallVector<int64_t, 8> attr;
  for (PyObject* item : items) {
    const Reference number(checked(PyNumber_Long(item)));
    attr.push_back(PyLong_AsLongLong(number.get()));
    if (PyErr_Occurred()) throw PythonErrorSet{};
  }
  return attr;
}

/// Of a tensor with unknown extents, a stand-in.
double elements_of(PyObject* given) {
  const std::optional<int64_t> number = stand_in_of(given);
  return number ? static_cast<double>(*number) : PyFloat_AsDouble(given);
}

/// call_kernel(name, kernel, inputs, outputs, attr, loop, elements, object)
PyObject* call_kernel(Arguments call) {
  ArrayPlan plan;
  plan.name = intern(text_of(call[0]));
  plan.kernel = ops::array_kernel(text_of(call[1]));
  const Items inputs = items_of(call[2]);
  for (PyObject* x : inputs) plan.inputs.push_back(&require_tensor(x, plan.name));
  const Device device = plan.inputs.empty() ? default_device() : plan.inputs[0]->device();
  const Items outputs = items_of(call[3]);
  std::vector<Tensor> results;
  results.reserve(outputs.size());
  for (PyObject* x : outputs) {
    if (is_tensor(x)) plan.targets |= 1u << results.size();
    results.push_back(parse_output(x, plan.kernel, device, plan.name));
    plan.outputs.push_back(&results.back());
  }
  if (call[4]) plan.attr = parse_attr(items_of(call[4]));
  if (call[5]) plan.loop = parse_loop(call[5]);
  if (call[6]) plan.elements = elements_of(call[6]);
  if (PyErr_Occurred()) throw PythonErrorSet{};
  const Issuer from = issuer();
  std::shared_ptr<const HostObject> object;
  if (from.sink && call[7]) {
    object = host_object(call[7]);
    plan.object = &object;
  }
  submit(from, plan);
  return tensor_list(std::move(results));
}

/// One input, one output of its shape, sorted along an axis by a kernel with a sort of NumPy's.
/// As in NumPy, sorted elements keep x's order of axes, and positions are row-major.
PyObject* sorted_by(ops::KernelId kernel, const Tensor& x, DType result, const ops::Loop& sort,
                    const SmallVector<int64_t, 8>& attr) {
  const Issuer from = issuer();
  const bool gives_elements = kernel == ops::KernelId::sort || kernel == ops::KernelId::partition;
  Tensor out = gives_elements ? make_as_it_lies(x, result, x.shape, from.site)
                              : make_tensor(x.storage->state(), result, x.shape, from.site);
  const char* const name = ops::info(kernel).name;
  submit(from, {name, kernel, {&x}, {&out}, attr, sort});
  return wrap(std::move(out));
}

/// The dtype of the keys by which partition sorts floats that are few.
DType integer_like(DType dtype) {
  const size_t size = size_of(dtype);
  return size == 2 ? DType::u16 : size == 4 ? DType::i32 : DType::i64;
}

/// sort(x, axis, descending, stable)
PyObject* sort_function(Arguments given) {
  return sort_tensor(require_tensor(given[0], "sort"), integer_argument(given[1]), truth(given[2]),
                     truth(given[3]));
}

/// argsort(x, axis, descending)
PyObject* argsort_function(Arguments given) {
  return argsort_tensor(require_tensor(given[0], "argsort"), integer_argument(given[1]),
                        truth(given[2]));
}

/// empty_as_it_lies(x, shape, dtype): a new tensor with x's order of axes in memory
PyObject* empty_as_it_lies_function(Arguments given) {
  const char* const op = "empty";
  return wrap(empty(issuer(), make_lying(given[0], parse_dtype(given[2], op),
                                         parse_new_shape(given[1], op), op)));
}

/// correlate(x, window, before, count): None where this NumPy has no dot function of the dtype.
PyObject* correlate_function(Arguments given) {
  const Tensor& x = require_tensor(given[0], "correlate");
  const Tensor& window = require_tensor(given[1], "correlate");
  PyObject* made =
      correlate_tensors(x, window, integer_argument(given[2]), integer_argument(given[3]));
  if (!made) Py_RETURN_NONE;
  return made;
}

constexpr int kNeeded = 4;
constexpr const char* kNames[] = {"name", "kernel", "inputs",   "outputs",
                                  "attr", "loop",   "elements", "object"};
constexpr int kParameters = sizeof(kNames) / sizeof(kNames[0]);

/// Puts the keywords in their places; what is left out is null.
PyObject* call_kernel_function(PyObject*, PyObject* const* given, Py_ssize_t count,
                               PyObject* keywords) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    if (count < kNeeded || count > kParameters) {
      fail(ErrorKind::type, "[call_kernel] expected ", kNeeded, " to ", kParameters,
           " positional arguments, got ", count);
    }
    PyObject* values[kParameters] = {};
    std::copy_n(given, count, values);
    for (Py_ssize_t k = 0; keywords && k < PyTuple_GET_SIZE(keywords); ++k) {
      PyObject* name = PyTuple_GET_ITEM(keywords, k);
      const auto place = std::find_if(std::begin(kNames), std::end(kNames), [name](const char* n) {
        return PyUnicode_CompareWithASCIIString(name, n) == 0;
      });
      if (place == std::end(kNames)) fail(ErrorKind::type, "[call_kernel] unknown keyword");
      values[place - kNames] = given[count + k];
    }
    return call_kernel(values);
  });
}

/// look(name, x): the values of x, for an operation whose result depends on them.
PyObject* look_function(Arguments given) {
  const char* op = name_argument(given[0]);
  return array_over(look_from_python(require_tensor(given[1], op), op), true);
}

}  // namespace

PyObject* correlate_tensors(const Tensor& x, const Tensor& window, int64_t before, int64_t count) {
  const ops::Loop loop = find_dot(x.dtype);
  if (!loop.data) return nullptr;
  const Issuer from = issuer();
  Tensor out = make_tensor(x.storage->state(), x.dtype, Dims{count}, from.site);
  ArrayPlan plan;
  plan.name = "correlate";
  plan.kernel = ops::KernelId::correlate;
  plan.inputs = {&x, &window};
  plan.outputs = {&out};
  plan.attr.push_back(before);
  plan.loop = loop;
  plan.elements = static_cast<double>(count) * static_cast<double>(window.shape[0]);
  submit(from, plan);
  return wrap(std::move(out));
}

DType compared_dtype(DType dtype) {
  if (info(dtype).kind == DTypeKind::complex) return DType::u64;
  return dtype == DType::bf16 || dtype == DType::f16 ? DType::u16 : dtype;
}

PyObject* sort_tensor(const Tensor& x, int64_t axis, bool descending, bool stable) {
  return sorted_by(ops::KernelId::sort, x, x.dtype, find_sort(compared_dtype(x.dtype)),
                   {axis, int64_t{descending}, int64_t{stable}});
}

PyObject* argsort_tensor(const Tensor& x, int64_t axis, bool descending) {
  return sorted_by(ops::KernelId::argsort, x, DType::i64, find_sort(DType::u64),
                   {axis, int64_t{descending}});
}

PyObject* partition_tensor(const Tensor& x, int64_t axis, int64_t place) {
  ops::Loop sort;
  switch (info(x.dtype).kind) {
    case DTypeKind::complex: break;
    case DTypeKind::floating: sort = find_sort(integer_like(x.dtype)); break;
    default: sort = find_sort(x.dtype);
  }
  return sorted_by(ops::KernelId::partition, x, x.dtype, sort, {axis, 0, 0, place});
}

PyObject* argpartition_tensor(const Tensor& x, int64_t axis, int64_t place) {
  return sorted_by(ops::KernelId::argpartition, x, DType::i64, find_sort(DType::u64),
                   {axis, 0, 0, place});
}

void init_array_functions(PyObject* module) {
  static PyMethodDef functions[] = {
      {"call_kernel", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(call_kernel_function)),
       METH_FASTCALL | METH_KEYWORDS, nullptr},
      positional<sort_function, 4>("sort"),
      positional<argsort_function, 3>("argsort"),
      positional<empty_as_it_lies_function, 3>("empty_as_it_lies"),
      positional<correlate_function, 4>("correlate"),
      positional<look_function, 2>("look"),
      {nullptr, nullptr, 0, nullptr}};
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
