// How NumPy resolves a row of the op table for a combination of operand types, and the loop that
// computes it.
#include <algorithm>
#include <string>

#include "ops/elementwise/arithmetic/arithmetic.h"
#include "ops/elementwise/float_functions/choice.h"
#include "ops/elementwise/parts/parts.h"
#include "ops/elementwise/standard_values.h"
#include "ops/loop_cost.h"
#include "python/arguments.h"
#include "python/ops/registry.h"

namespace ofl::python {

namespace {

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

/// The dtype with which NumPy is asked instead of bfloat16, which its loops do not know. bfloat16
/// promotes as float16 does, and beside float16 to float32.
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

}  // namespace

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
