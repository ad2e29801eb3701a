// The op table as Python fills it, and the callable Op. NumPy resolves each combination of operand
// types once; the answer is cached in the OpDef.
#pragma once

#include "ops/op_def.h"
#include "python/errors.h"
#include "python/tensor/object.h"

namespace ofl::python {

/// What a row of the table may serve: operators, and native code that calls rows. The row says so.
enum class Slot : uint8_t {
  add,
  sub,
  mul,
  truediv,
  floordiv,
  mod,
  pow,
  matmul,
  and_,
  or_,
  xor_,
  lshift,
  rshift,
  lt,
  le,
  eq,
  ne,
  gt,
  ge,
  neg,
  pos,
  abs,
  invert,
  square,
  sqrt,
  reciprocal,
  conj,
  sum,
  prod,
  max,
  min,
  any,
  all,
  fraction,
  whole,
  mantissa,
  exponent,
  none,
};
inline constexpr int kSlotCount = static_cast<int>(Slot::none);

struct OpObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* dict;
  ops::OpDef* op;
  PyObject* ufunc;
  int result;  // of the ufunc's results, the one that it makes
};

/// Makes the type; adds it to the module.
void init_op_type(PyObject* module);

/// The row that serves a slot; Error(runtime) when the table has none.
const OpObject& op_of(Slot slot);
/// The first row of a ufunc of one result that is no reduction; null: there is none.
const OpObject* op_of_ufunc(PyObject* ufunc);
const OpObject& parse_op(PyObject* object);

/// Whether special values are the standard's, where NumPy has others.
void set_standard_values(bool on);

/// What the op does for these operand types; Error(type) when it is not defined for them.
const ops::Resolution& resolve(const OpObject& op, const ops::TypeCode* codes);
/// The loop of a binary ufunc that takes and gives `dtype` (reductions).
const ops::Resolution& resolve_reduction(const OpObject& op, DType dtype);

/// Calls an op on Python operands. `not_implemented`: answer Py_NotImplemented for operands of
/// unknown types (operators) instead of raising. `out`: write there instead of making a new tensor.
PyObject* call_op(const OpObject& op, PyObject* const* operands, int count, bool not_implemented,
                  TensorObject* out = nullptr);
/// How an operation is called on operands of which one is of a type of its own: tensors of many
/// ranks. That is asked only for operands that are no tensors.
using CallOnOthers = PyObject* (*)(const OpObject& op, PyObject* const* operands, int count);
void set_other_type(PyTypeObject* type, CallOnOthers call);
bool is_of_other_type(PyObject* object);

/// The same where call_on_elements() has nothing to say.
PyObject* call_on_tensors(const OpObject& op, PyObject* const* operands, int count,
                          bool not_implemented, TensorObject* out);

}  // namespace ofl::python
