// The module numpy_watch: stands before NumPy's typed loops and sorts, and counts the calls that
// NumPy itself never makes (tests/cpp/test_numpy_calls.py).
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_3_API_VERSION
#define NPY_TARGET_VERSION NPY_2_3_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

std::mutex mutex;  // guards the two below
std::map<std::string, long> wrong;
long calls = 0;

void note(const std::string& what) {
  std::lock_guard<std::mutex> lock(mutex);
  ++wrong[what];
}

struct Watched {
  PyUFuncGenericFunction function;
  void* data;
  std::string name;
  int nin, nout;
  bool generalized;
  std::vector<npy_intp> sizes, alignments;
};

/// Bytes from the lowest address that n steps touch to the one past the highest.
struct Range {
  const char* low;
  const char* high;
  Range(const char* data, npy_intp n, npy_intp step, npy_intp size)
      : low(data + std::min<npy_intp>(0, (n - 1) * step)),
        high(data + std::max<npy_intp>(0, (n - 1) * step) + size) {}
  bool meets(const Range& other) const { return low < other.high && other.low < high; }
};

/// An output may be an input, element for element, or be written behind where the input is read;
/// or the input is what an accumulation has just written.
bool may_share(const Watched& w, char** args, const npy_intp* steps, int in, int out) {
  if (steps[in] != steps[out]) return false;
  if (args[in] == args[out] || (args[in] > args[out]) == (steps[in] > 0)) return true;
  return w.nin == 2 && in == 0 && args[in] + steps[in] == args[out];
}

void watch_elements(const Watched& w, char** args, npy_intp n, const npy_intp* steps) {
  const int operands = w.nin + w.nout;
  for (int k = 0; k < operands; ++k) {
    const npy_intp least = w.alignments[k];
    const bool steps_well = n == 1 || steps[k] % least == 0;
    if (reinterpret_cast<uintptr_t>(args[k]) % least != 0 || !steps_well) {
      note(w.name + " unaligned");
    }
  }
  for (int out = w.nin; out < operands; ++out) {
    const Range to(args[out], n, steps[out], w.sizes[out]);
    for (int in = 0; in < w.nin; ++in) {
      const Range from(args[in], n, steps[in], w.sizes[in]);
      if (to.meets(from) && !may_share(w, args, steps, in, out)) note(w.name + " overlapping");
    }
  }
}

void watched_loop(char** args, const npy_intp* dims, const npy_intp* steps, void* data) {
  const Watched& w = *static_cast<Watched*>(data);
  {
    std::lock_guard<std::mutex> lock(mutex);
    ++calls;
  }
  if (dims[0] <= 0) {
    note(w.name + " empty");
  } else if (!w.generalized) {
    watch_elements(w, args, dims[0], steps);
  }
  w.function(args, dims, steps, w.data);
}

PyArray_SortFunc* sorts[NPY_NTYPES_LEGACY];

template <int type>
int watched_sort(void* start, npy_intp count, void* array) {
  if (count < 2) note("sort of " + std::to_string(type) + " empty");
  return sorts[type](start, count, array);
}

template <int type>
void watch_sort() {
  PyArray_Descr* descr = PyArray_DescrFromType(type);
  PyArray_SortFunc*& slot = PyDataType_GetArrFuncs(descr)->sort[NPY_QUICKSORT];
  if (slot) {
    sorts[type] = slot;
    slot = watched_sort<type>;
  }
  Py_DECREF(descr);
}

template <int... types>
void watch_sorts(std::integer_sequence<int, types...>) {
  (watch_sort<types>(), ...);
}

PyObject* watch(PyObject*, PyObject* object) {
  if (!PyObject_TypeCheck(object, &PyUFunc_Type)) {
    PyErr_SetString(PyExc_TypeError, "a ufunc is expected");
    return nullptr;
  }
  auto* ufunc = reinterpret_cast<PyUFuncObject*>(object);
  auto* functions = new PyUFuncGenericFunction[ufunc->ntypes];
  auto* data = new void*[ufunc->ntypes];
  for (int i = 0; i < ufunc->ntypes; ++i) {
    std::vector<npy_intp> sizes, alignments;
    for (int k = 0; k < ufunc->nargs; ++k) {
      PyArray_Descr* descr = PyArray_DescrFromType(ufunc->types[i * ufunc->nargs + k]);
      sizes.push_back(std::max<npy_intp>(1, PyDataType_ELSIZE(descr)));
      alignments.push_back(std::max<npy_intp>(1, PyDataType_ALIGNMENT(descr)));
      Py_DECREF(descr);
    }
    const std::string signature(ufunc->types + i * ufunc->nargs, ufunc->nargs);
    functions[i] = watched_loop;
    data[i] = new Watched{ufunc->functions[i],
                          ufunc->data ? ufunc->data[i] : nullptr,
                          ufunc->name,
                          ufunc->nin,
                          ufunc->nout,
                          ufunc->core_enabled != 0,
                          sizes,
                          alignments};
  }
  ufunc->functions = functions;
  ufunc->data = data;
  Py_RETURN_NONE;
}

PyObject* seen(PyObject*, PyObject*) {
  std::lock_guard<std::mutex> lock(mutex);
  PyObject* found = PyDict_New();
  for (const auto& [what, count] : wrong) {
    PyObject* number = PyLong_FromLong(count);
    PyDict_SetItemString(found, what.c_str(), number);
    Py_DECREF(number);
  }
  return Py_BuildValue("Nl", found, calls);
}

/// Calls the float32 loop of a watched ufunc of two inputs as NumPy never does.
PyObject* misuse(PyObject*, PyObject* object) {
  auto* ufunc = reinterpret_cast<PyUFuncObject*>(object);
  for (int i = 0; i < ufunc->ntypes; ++i) {
    if (ufunc->types[i * ufunc->nargs] != NPY_FLOAT) continue;
    alignas(8) char memory[64] = {};
    const npy_intp none = 0, four = 4, steps[] = {4, 4, 4};
    char* same[] = {memory, memory, memory};
    ufunc->functions[i](same, &none, steps, ufunc->data[i]);
    char* odd[] = {memory + 1, memory + 1, memory + 32};
    ufunc->functions[i](odd, &four, steps, ufunc->data[i]);
    char* ahead[] = {memory + 32, memory, memory + 4};
    ufunc->functions[i](ahead, &four, steps, ufunc->data[i]);
  }
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"watch", watch, METH_O, "Stand before the loops of a ufunc, from now on."},
    {"misuse", misuse, METH_O, "Call the float32 loop of a watched ufunc in three wrong ways."},
    {"seen", seen, METH_NOARGS, "Return {what: how often} of wrong calls, and how many calls."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "numpy_watch", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_numpy_watch() {
  import_array();
  import_umath();
  watch_sorts(std::make_integer_sequence<int, NPY_CLONGDOUBLE + 1>());
  return PyModule_Create(&definition);
}
