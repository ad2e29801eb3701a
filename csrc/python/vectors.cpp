// The instruction set of our own loops, as module functions.
#include "base/vectors.h"

#include "python/arguments.h"
#include "python/bind.h"

namespace ofl::python {

namespace {

PyObject* widest_cpu_isa(Arguments) { return PyUnicode_FromString(name_of(widest_isa())); }

PyObject* cpu_isa(Arguments) { return PyUnicode_FromString(name_of(isa_in_use())); }

/// By its place among CPU_ISAS.
PyObject* limit_cpu_isa(Arguments given) {
  limit_isa(static_cast<Isa>(integer_argument(given[0])));
  Py_RETURN_NONE;
}

PyObject* loops_chosen(Arguments) {
  Reference chosen(checked(PyDict_New()));
  for (const auto& [name, isa] : choices()) {
    const Reference text(checked(PyUnicode_FromString(name_of(isa))));
    if (PyDict_SetItemString(chosen.get(), name.c_str(), text.get()) < 0) throw PythonErrorSet{};
  }
  return chosen.release();
}

PyObject* cpu_is_intel(Arguments) { return PyBool_FromLong(is_intel()); }

PyObject* features_of_the_cpu(Arguments) {
  Reference names(checked(PyList_New(0)));
  for (const std::string& feature : cpu_features()) {
    const Reference name(checked(PyUnicode_FromString(feature.c_str())));
    if (PyList_Append(names.get(), name.get()) < 0) throw PythonErrorSet{};
  }
  return names.release();
}

PyMethodDef functions[] = {positional<widest_cpu_isa, 0>("widest_cpu_isa"),
                           positional<cpu_isa, 0>("cpu_isa"),
                           positional<limit_cpu_isa, 1>("limit_cpu_isa"),
                           positional<loops_chosen, 0>("loops_chosen"),
                           positional<cpu_is_intel, 0>("cpu_is_intel"),
                           positional<features_of_the_cpu, 0>("cpu_features"),
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_vectors(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
  Reference names(checked(PyTuple_New(kIsaCount)));
  for (int i = 0; i < kIsaCount; ++i) {
    PyTuple_SET_ITEM(names.get(), i, checked(PyUnicode_FromString(kIsaNames[i])));
  }
  if (PyModule_AddObjectRef(module, "CPU_ISAS", names.get()) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
