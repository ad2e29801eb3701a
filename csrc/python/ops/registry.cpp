#include "python/ops/registry.h"

#include <structmember.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "ops/elementwise/arithmetic/arithmetic.h"
#include "ops/elementwise/float_functions/choice.h"
#include "ops/elementwise/known_loops.h"
#include "ops/elementwise/parts/parts.h"
#include "ops/elementwise/standard_values.h"
#include "ops/loop_cost.h"
#include "python/arguments.h"
#include "python/convert.h"
#include "python/runtime.h"

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

/// np.dtype for strong codes, int, float or complex for weak ones; borrowed.
PyObject* type_of_code(ops::TypeCode code) {
  switch (code) {
    case ops::kWeakInt: return reinterpret_cast<PyObject*>(&PyLong_Type);
    case ops::kWeakFloat: return reinterpret_cast<PyObject*>(&PyFloat_Type);
    case ops::kWeakComplex: return reinterpret_cast<PyObject*>(&PyComplex_Type);
    default: return reinterpret_cast<PyObject*>(descr_of(static_cast<DType>(code)));
  }
}

std::string code_name(ops::TypeCode code) {
  static constexpr const char* kWeakNames[] = {"int", "float", "complex"};
  return code < kDTypeCount ? name_of(static_cast<DType>(code)) : kWeakNames[code - kDTypeCount];
}

/// The place of an operand, or of the result of the row, among those of the ufunc.
int place_in_ufunc(const OpObject& op, int k) { return k < op.op->nin ? k : k + op.result; }

/// The ufunc's compiled loop whose types are exactly these dtypes, of the operands and of the
/// result.
bool find_loop(const OpObject& op, const DType* dtypes, ops::Resolution* out) {
  const auto* const ufunc = reinterpret_cast<PyUFuncObject*>(op.ufunc);
  for (int i = 0; i < ufunc->ntypes; ++i) {
    bool same = true;
    for (int k = 0; same && k <= ufunc->nin; ++k) {
      const int place = i * ufunc->nargs + place_in_ufunc(op, k);
      PyArray_Descr* descr = PyArray_DescrFromType(ufunc->types[place]);
      same = descr && PyArray_EquivTypes(descr, descr_of(dtypes[k]));  // long and long long
      Py_XDECREF(descr);
    }
    if (!same) continue;
    out->loop = reinterpret_cast<ops::LoopFn>(ufunc->functions[i]);
    out->data = ufunc->data ? const_cast<void*>(ufunc->data[i]) : nullptr;
    for (int k = 0; k < ufunc->nin; ++k) out->in[k] = dtypes[k];
    out->out = dtypes[ufunc->nin];
    return true;
  }
  return false;
}

[[noreturn]] void fail_undefined(const OpObject& op, const ops::TypeCode* codes) {
  const auto* const ufunc = reinterpret_cast<PyUFuncObject*>(op.ufunc);
  const std::string name = ufunc->nout > 1 ? ufunc->name : op.op->name;
  std::string given;
  for (int k = 0; k < op.op->nin; ++k) given += (k ? " and " : "") + code_name(codes[k]);
  fail(ErrorKind::type, "[", name, "] is not defined for ", given);
}

bool has(DType dtype, const ops::TypeCode* codes, int count) {
  return std::find(codes, codes + count, ops::code_of(dtype)) != codes + count;
}

/// What NumPy is asked about instead of bfloat16, which its loops do not know: it promotes as
/// float16 does, and beside float16 to float32.
DType instead_of_bfloat16(const ops::TypeCode* codes, int count) {
  return has(DType::f16, codes, count) ? DType::f32 : DType::f16;
}

/// The answer of a ufunc's resolve_dtypes(); null where it finds no loop. The first result of the
/// loop must have the dtype `result`, to which the operands cast safely; null: any dtype.
Reference resolved_types(PyObject* object, PyObject* types, PyObject* result) {
  const Reference method(checked(PyObject_GetAttrString(object, "resolve_dtypes")));
  const Reference positional(checked(PyTuple_Pack(1, types)));
  Reference named;
  if (result) {
    const Reference loop(checked(PyTuple_New(PyTuple_GET_SIZE(types))));
    const Py_ssize_t first = reinterpret_cast<PyUFuncObject*>(object)->nin;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(types); ++k) {
      PyTuple_SET_ITEM(loop.get(), k, Py_NewRef(k == first ? result : Py_None));
    }
    named =
        Reference(checked(Py_BuildValue("{s:O,s:s}", "signature", loop.get(), "casting", "safe")));
  }
  Reference answer(PyObject_Call(method.get(), positional.get(), named.get()));
  if (!answer.get()) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonErrorSet{};
    PyErr_Clear();
  }
  return answer;
}

/// The dtypes of an answer; false where there is none, or one of another kind than numbers.
bool read_answer(const Reference& answer, const OpObject& op, DType* dtypes) {
  if (!answer.get()) return false;
  for (int k = 0; k <= op.op->nin; ++k) {
    auto* descr =
        reinterpret_cast<PyArray_Descr*>(PyTuple_GetItem(answer.get(), place_in_ufunc(op, k)));
    if (!PyTypeNum_ISNUMBER(descr->type_num) && !PyTypeNum_ISBOOL(descr->type_num)) return false;
    dtypes[k] = dtype_of(descr, op.op->name.c_str());
  }
  return true;
}

/// Asks NumPy which dtypes the op uses for these operand types, `stand_in` in the place of
/// bfloat16.
bool ask_numpy(const OpObject& op, const ops::TypeCode* codes, DType stand_in, DType* dtypes) {
  const ops::TypeCode bfloat16 = ops::code_of(DType::bf16);
  const int count = reinterpret_cast<PyUFuncObject*>(op.ufunc)->nargs;
  const Reference types(checked(PyTuple_New(count)));
  for (int k = 0; k < op.op->nin; ++k) {
    PyObject* type = type_of_code(codes[k] == bfloat16 ? ops::code_of(stand_in) : codes[k]);
    PyTuple_SET_ITEM(types.get(), k, Py_NewRef(type));
  }
  for (int k = op.op->nin; k < count; ++k) PyTuple_SET_ITEM(types.get(), k, Py_NewRef(Py_None));
  const Reference answer = resolved_types(op.ufunc, types.get(), nullptr);
  if (!answer.get() || read_answer(answer, op, dtypes)) return answer.get() != nullptr;
  // NumPy remembers a loop of bfloat16 that it has run for an `out`, and then answers it for
  // integers.
  for (const DType result : {DType::f16, DType::f32, DType::f64}) {
    auto* const wanted = reinterpret_cast<PyObject*>(descr_of(result));
    if (read_answer(resolved_types(op.ufunc, types.get(), wanted), op, dtypes)) return true;
  }
  return false;
}

/// The dtypes of the operation, and the loop that computes it.
bool find_resolution(const OpObject& op, const ops::TypeCode* codes, ops::Resolution* out) {
  const int nin = op.op->nin;
  DType own[ops::kMaxOperands], computed[ops::kMaxOperands];
  const DType stand_in = instead_of_bfloat16(codes, nin);
  if (!ask_numpy(op, codes, stand_in, own)) return false;
  if (stand_in == DType::f16 && has(DType::bf16, codes, nin)) {
    std::replace(own, own + nin + 1, DType::f16, DType::bf16);
  }
  std::replace_copy(own, own + nin + 1, computed, DType::bf16, DType::f32);
  std::copy(own, own + nin, out->operand);
  out->result = own[nin];
  out->loop = own[nin] == DType::bf16 ? op.op->loops.bfloat16 : nullptr;
  if (!out->loop) return find_loop(op, computed, out);
  std::copy(own, own + nin, out->in);
  out->out = own[nin];
  return true;
}

/// The function of one element, where all operands have the one dtype that it is for.
ops::ElementFn element_of(const ops::OpDef& op, const ops::Resolution& resolution) {
  const DType* in = resolution.in;
  const bool is_one = std::equal(in + 1, in + op.nin, in);
  return is_one && op.loops.element ? op.loops.element(in[0]) : nullptr;
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

PyType_Slot op_slots[] = {{Py_tp_doc, const_cast<char*>(kOpDoc)},
                          {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                          {Py_tp_dealloc, reinterpret_cast<void*>(op_dealloc)},
                          {Py_tp_repr, reinterpret_cast<void*>(op_repr)},
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
    const char *name, *row, *doc, *slot;
    PyObject *ufunc, *properties;
    int result = 0;
    if (!PyArg_ParseTuple(args, "sOOssz|i", &name, &ufunc, &properties, &row, &doc, &slot,
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
    set_attribute(object, "__doc__", doc);
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

const ops::Resolution& resolve(const OpObject& op, const ops::TypeCode* codes) {
  if (const ops::Resolution* known = op.op->find(codes)) return *known;
  ops::Resolution resolution{};
  if (!find_resolution(op, codes, &resolution)) fail_undefined(op, codes);
  ops::use_own_loop(op.op->loops.own, &resolution);
  ops::use_arithmetic_loop(op.op->loops.arithmetic, op.op->nin, &resolution);
  ops::use_part_loop(op.op->loops.part, &resolution);
  if (op.op->standard_values) ops::use_standard_values(op.op->loops, &resolution);
  if (!op.op->is_product()) {
    resolution.cost = ops::measure_cost(resolution, op.op->nin, ops::sample_of(op.op->loops.own));
    resolution.element = element_of(*op.op, resolution);
  }
  return *op.op->add(codes, resolution);
}

const ops::Resolution& resolve_reduction(const OpObject& op, DType dtype) {
  const ops::TypeCode codes[2] = {ops::code_of(dtype), ops::code_of(dtype)};
  const ops::Resolution& resolution = resolve(op, codes);
  const DType* operand = resolution.operand;
  if (operand[0] != dtype || operand[1] != dtype || resolution.result != dtype) {
    fail(ErrorKind::type, "[", op.op->name, "] has no reduction in ", name_of(dtype));
  }
  return resolution;
}

}  // namespace ofl::python
