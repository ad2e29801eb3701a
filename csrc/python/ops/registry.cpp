#include "python/ops/registry.h"

#include <structmember.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "ops/elementwise/float_functions/choice.h"
#include "ops/elementwise/known_loops.h"
#include "python/arguments.h"
#include "python/convert.h"

namespace ofl::python {

namespace {

constexpr const char* kSlotNames[kSlotCount] = {
    "add",  "sub",        "mul",   "truediv",  "floordiv", "mod", "pow",    "matmul",
    "and",  "or",         "xor",   "lshift",   "rshift",   "lt",  "le",     "eq",
    "ne",   "gt",         "ge",    "neg",      "pos",      "abs", "invert", "square",
    "sqrt", "reciprocal", "conj",  "sum",      "prod",     "max", "min",    "any",
    "all",  "fraction",   "whole", "mantissa", "exponent"};

PyTypeObject* op_type = nullptr;
OpObject* slot_ops[kSlotCount] = {};

std::vector<OpObject*>& all_ops() {
  static std::vector<OpObject*> ops;
  return ops;
}

std::unordered_map<PyObject*, const OpObject*>& ops_by_ufunc() {
  static std::unordered_map<PyObject*, const OpObject*> ops;
  return ops;
}

/// The target that `out` names, alone or in a tuple; null: none. Nothing but a tensor or an array
/// can be one.
PyObject* target_of(const OpObject& op, PyObject* value) {
  if (is_tensor(value)) return value;
  if (PyTuple_CheckExact(value)) {
    if (PyTuple_GET_SIZE(value) != 1) {
      fail(ErrorKind::value, "[", op.op->name, "] expected out of one entry, got a tuple of ",
           PyTuple_GET_SIZE(value));
    }
    value = PyTuple_GET_ITEM(value, 0);
  }
  if (is_of_other_type(value)) {
    fail(ErrorKind::type, "[", op.op->name, "] out: not for a ", Py_TYPE(value)->tp_name,
         "; y[...] = flow.", op.op->name, "(...)");
  }
  if (value != Py_None && !is_tensor(value) && !PyArray_Check(value)) {
    fail(ErrorKind::type, "[", op.op->name, "] out must be a tensor or array, got ",
         Py_TYPE(value)->tp_name);
  }
  return value == Py_None ? nullptr : value;
}

/// The keywords of a call.
struct Named {
  PyObject* out = nullptr;
  bool more = false;  // something else that NumPy's ufuncs take
};

Named find_named(const OpObject& op, PyObject* const* values, PyObject* names) {
  Named found;
  const Py_ssize_t keywords = names ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t i = 0; i < keywords; ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    if (PyUnicode_CompareWithASCIIString(name, "out") == 0) {
      found.out = target_of(op, values[i]);
      continue;
    }
    constexpr const char* kOthers[] = {"where", "dtype", "casting", "order", "signature", "subok"};
    const auto is_it = [name](const char* each) {
      return PyUnicode_CompareWithASCIIString(name, each) == 0;
    };
    if (std::none_of(std::begin(kOthers), std::end(kOthers), is_it)) {
      PyErr_Format(PyExc_TypeError, "[%s] unexpected keyword argument %A", op.op->name.c_str(),
                   name);
      throw PythonErrorSet{};
    }
    found.more = true;
  }
  return found;
}

/// Has interop/numpy_ufuncs.py do a call that is more than operands and a tensor for the result.
PyObject* call_at_length(PyObject* op, PyObject* const* args, int count, PyObject* names) {
  const Reference module(checked(PyImport_ImportModule("oneflow_lite.interop.numpy_ufuncs")));
  const Reference function(checked(PyObject_GetAttrString(module.get(), "call_row")));
  const int named = names ? static_cast<int>(PyTuple_GET_SIZE(names)) : 0;
  std::vector<PyObject*> given{op};
  given.insert(given.end(), args, args + count + named);
  return checked(PyObject_Vectorcall(function.get(), given.data(), count + 1, names));
}

PyObject* op_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const auto& op = *reinterpret_cast<OpObject*>(self);
    const auto count = static_cast<int>(PyVectorcall_NARGS(nargsf));
    const Named named = find_named(op, args + count, names);
    const int more = count - op.op->nin;  // 1: the target, too
    if (more < 0 || more > 1) {
      fail(ErrorKind::type, "[", op.op->name, "] takes ", op.op->nin,
           op.op->nin == 1 ? " operand, got " : " operands, got ", count);
    }
    if (more || named.more || (named.out && !is_tensor(named.out))) {
      return call_at_length(self, args, count, names);
    }
    return call_op(op, args, count, false, reinterpret_cast<TensorObject*>(named.out));
  });
}

void op_dealloc(PyObject* self) {
  auto* op = reinterpret_cast<OpObject*>(self);
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(op->dict);
  Py_XDECREF(op->ufunc);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* op_repr(PyObject* self) {
  return PyUnicode_FromFormat("<oneflow_lite op '%s'>",
                              reinterpret_cast<OpObject*>(self)->op->name.c_str());
}

/// Pickled by name, like any function.
PyObject* op_reduce(PyObject* self, PyObject*) {
  return PyObject_GetAttrString(self, "__qualname__");
}

PyMethodDef op_methods[] = {{"__reduce__", op_reduce, METH_NOARGS, nullptr},
                            {nullptr, nullptr, 0, nullptr}};

PyMemberDef op_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OpObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(OpObject, dict), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef op_getset[] = {{"__dict__", PyObject_GenericGetDict, nullptr, nullptr, nullptr},
                           {nullptr, nullptr, nullptr, nullptr, nullptr}};

constexpr char kOpDoc[] =
    "A row of the op table, callable: ``op(x1[, x2[, x3]], /, out=None, *, where=True,\n"
    "casting='same_kind', order='K', dtype=None, subok=True, signature=None)``.\n\n"
    "Examples\n--------\n"
    ">>> flow.add(flow.ones(2), 1).tolist()\n"
    "[2.0, 2.0]";

/// A docstring is made at the first look, by the function that register_op() was given.
PyObject* op_getattro(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (!found || PyUnicode_CompareWithASCIIString(name, "__doc__") != 0) return found;
  if (!PyCallable_Check(found)) return found;
  PyObject* text = PyObject_CallNoArgs(found);
  Py_DECREF(found);
  if (text && PyObject_GenericSetAttr(self, name, text) < 0) Py_CLEAR(text);
  return text;
}

PyType_Slot op_slots[] = {{Py_tp_doc, const_cast<char*>(kOpDoc)},
                          {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                          {Py_tp_dealloc, reinterpret_cast<void*>(op_dealloc)},
                          {Py_tp_repr, reinterpret_cast<void*>(op_repr)},
                          {Py_tp_getattro, reinterpret_cast<void*>(op_getattro)},
                          {Py_tp_methods, op_methods},
                          {Py_tp_members, op_members},
                          {Py_tp_getset, op_getset},
                          {0, nullptr}};

PyType_Spec op_spec = {
    "oneflow_lite._C.Op", sizeof(OpObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, op_slots};

Slot parse_slot(const char* name) {
  for (int i = 0; i < kSlotCount; ++i) {
    if (std::strcmp(kSlotNames[i], name) == 0) return static_cast<Slot>(i);
  }
  fail(ErrorKind::value, "[register_op] unknown operator slot ", name);
}

void set_attribute(PyObject* object, const char* name, const char* text) {
  PyObject* value = checked(PyUnicode_FromString(text));
  const int status = PyObject_SetAttrString(object, name, value);
  Py_DECREF(value);
  if (status < 0) throw PythonErrorSet{};
}

/// From a Properties (oneflow_lite/ops/table.py).
void read_properties(PyObject* properties, ops::OpDef* op) {
  const auto number = [properties](const char* name) {
    return integer_argument(Reference(checked(PyObject_GetAttrString(properties, name))).get());
  };
  const int64_t operands = (1 << op->nin) - 1;
  op->pattern = static_cast<ops::Pattern>(number("pattern"));
  op->effect = static_cast<ops::Effect>(number("effect"));
  op->linear = static_cast<ops::Linear>(number("linear"));
  op->reads = static_cast<uint8_t>(number("reads") & operands);
  op->reuses = static_cast<uint8_t>(number("reuses") & operands);
  op->associative = number("associative");
  op->adds = number("adds");
  op->selects = number("selects");
  op->exact = number("exact");
  op->by_lanes = number("by_lanes");
  op->checks_exponent = number("checks_exponent");
}

/// properties_of(op)
PyObject* properties_of(Arguments given) {
  const ops::OpDef& op = *parse_op(given[0]).op;
  return checked(Py_BuildValue(
      "{s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i}",                        //
      "pattern", static_cast<int>(op.pattern), "effect", static_cast<int>(op.effect),     //
      "linear", static_cast<int>(op.linear),                                              //
      "reads", op.reads, "reuses", op.reuses, "associative", op.associative,              //
      "adds", op.adds, "selects", op.selects,                                             //
      "exact", op.exact, "by_lanes", op.by_lanes, "checks_exponent", op.checks_exponent,  //
      "element", op.loops.element != nullptr, "standard", op.loops.standard != nullptr,   //
      "bfloat16", op.loops.bfloat16 != nullptr));
}

PyObject* register_op(PyObject*, PyObject* args) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const char *name, *row, *slot;
    PyObject *ufunc, *properties, *doc;
    int result = 0;
    if (!PyArg_ParseTuple(args, "sOOsOz|i", &name, &ufunc, &properties, &row, &doc, &slot,
                          &result)) {
      return nullptr;
    }
    if (!PyObject_TypeCheck(ufunc, &PyUFunc_Type)) {
      fail(ErrorKind::type, "[register_op] expected a ufunc, got ", Py_TYPE(ufunc)->tp_name);
    }
    auto* loops = reinterpret_cast<PyUFuncObject*>(ufunc);
    if (loops->nin > ops::kMaxInputs || result < 0 || result >= loops->nout) {
      fail(ErrorKind::value, "[register_op] ", name, ": too many operands, or no result ", result);
    }
    auto def = std::make_unique<ops::OpDef>(name, ops::known_loops(row), loops->nin);
    read_properties(properties, def.get());
    auto* op = PyObject_New(OpObject, op_type);
    if (!op) return nullptr;
    op->vectorcall = op_vectorcall;
    op->dict = nullptr;
    op->ufunc = ufunc;
    op->result = result;
    Py_INCREF(ufunc);
    op->op = def.release();  // it lives as long as the process
    auto* object = reinterpret_cast<PyObject*>(op);
    set_attribute(object, "__name__", name);
    set_attribute(object, "__qualname__", name);
    set_attribute(object, "__module__", "oneflow_lite");
    if (PyObject_SetAttrString(object, "__doc__", doc) < 0) throw PythonErrorSet{};
    Py_INCREF(object);  // the tables keep it
    all_ops().push_back(op);
    if (!op->op->is_reduction() && loops->nout == 1) ops_by_ufunc().emplace(ufunc, op);
    if (slot) slot_ops[static_cast<int>(parse_slot(slot))] = op;
    return object;
  });
}

/// Adds to `found`, for each row with a loop of our own for the dtype, which loop runs, and why.
void describe_choices(DType dtype, PyObject* found) {
  const ops::TypeCode code = ops::code_of(dtype), codes[] = {code, code, code};
  for (const OpObject* op : all_ops()) {
    if (op->op->loops.own == ops::FloatFunction::none) continue;
    resolve(*op, codes);
    const std::string text = ops::describe_choice(op->op->loops.own, dtype);
    if (text.empty()) continue;
    const Reference value(checked(PyUnicode_FromString(text.c_str())));
    const std::string name = std::string(name_of(dtype)) + " " + op->op->name;
    if (PyDict_SetItemString(found, name.c_str(), value.get()) < 0) throw PythonErrorSet{};
  }
}

/// float_functions(): by "float32 exp" and the like, which loop runs, and why.
PyObject* float_functions(Arguments) {
  Reference found(checked(PyDict_New()));
  describe_choices(DType::f32, found.get());
  describe_choices(DType::f64, found.get());
  return found.release();
}

/// op_named(name): the row with this name; Error(value) where there is none.
PyObject* op_named(Arguments given) {
  const std::string name = name_argument(given[0]);
  for (OpObject* op : all_ops()) {
    if (op->op->name == name) return Py_NewRef(reinterpret_cast<PyObject*>(op));
  }
  fail(ErrorKind::value, "there is no operation ", name);
}

PyMethodDef functions[] = {
    positional<float_functions, 0>("float_functions"),
    positional<op_named, 1>("op_named"),
    {"register_op", register_op, METH_VARARGS, "Adds a row to the op table."},
    positional<properties_of, 1>("properties_of"),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_op_type(PyObject* module) {
  op_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&op_spec)));
  if (PyModule_AddObjectRef(module, "Op", reinterpret_cast<PyObject*>(op_type)) < 0) {
    throw PythonErrorSet{};
  }
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
}

const OpObject& op_of(Slot slot) {
  const OpObject* op = slot_ops[static_cast<int>(slot)];
  if (!op) fail(ErrorKind::runtime, "operator ", kSlotNames[static_cast<int>(slot)], " has no op");
  return *op;
}

const OpObject* op_of_ufunc(PyObject* ufunc) {
  auto found = ops_by_ufunc().find(ufunc);
  return found == ops_by_ufunc().end() ? nullptr : found->second;
}

const OpObject& parse_op(PyObject* object) {
  if (Py_TYPE(object) != op_type) {
    fail(ErrorKind::type, "expected an op, got ", Py_TYPE(object)->tp_name);
  }
  return *reinterpret_cast<OpObject*>(object);
}

// With the GIL, which whoever resolves has, too.
void set_standard_values(bool on) {
  for (OpObject* op : all_ops()) {
    if (op->op->loops.standard) op->op->set_standard_values(on);
  }
}

}  // namespace ofl::python
